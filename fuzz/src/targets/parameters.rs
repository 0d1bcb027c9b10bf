//! Any text in place of a client's parameters.

use crate::memory;
use measurement::Transport;
use measurement::plan::PlanDraft;
use protocol::iperf3::Parameters;

/// Judges one input.
pub(super) fn run(text: &[u8]) {
    memory::bounded(text.len(), || judge(text));
}

fn judge(text: &[u8]) {
    let Ok(read) = Parameters::from_json(text) else { return };
    let draft = PlanDraft::from(read.plan.clone());
    assert_eq!(draft.check(), Ok(read.plan.clone()), "a plan that exists is valid");
    assert!(read.plan.options.block.is_some(), "both ends know the block length");
    assert!(read.client_version.bytes().all(|byte| matches!(byte, b' '..=b'~')));
    let again = Parameters::from_json(read.to_json().to_string().as_bytes());
    assert_eq!(again, Ok(what_can_be_said(read)), "what was understood can be said again");
}

/// Offload is UDP's alone: with TCP it is asked for in vain, and not repeated.
fn what_can_be_said(mut read: Parameters) -> Parameters {
    if read.plan.transport == Transport::Tcp {
        let mut draft = PlanDraft::from(read.plan);
        draft.options.segmentation_offload = false;
        read.plan = draft.check().expect("still valid");
    }
    read
}
