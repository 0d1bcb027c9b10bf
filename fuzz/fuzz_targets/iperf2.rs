//! What iperf2 clients send: the first bytes of a connection, and the datagrams of a flow.

#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_fuzz::memory;
use linerate_protocol::iperf2::{Asks, Back, Flow, FlowEvent, Opening, Settings};
use linerate_protocol::iperf3::Cookie;

fuzz_target!(|bytes: &[u8]| memory::bounded(bytes.len(), || judge(bytes)));

fn judge(bytes: &[u8]) {
    if let Some(opening) = Opening::recognise(bytes) {
        if let Opening::Header(Settings { asks: Asks::Back(back), .. }) = opening {
            let rest = bytes.get(Opening::LENGTH..).unwrap_or_default();
            let read = Back::rate(rest.get(..back.rest).unwrap_or_default());
            assert!(read.is_none() || back.rest > 0);
        }
        let is_cookie = |bytes: &[u8]| bytes.iter().all(|byte| matches!(byte, b'a'..=b'z'));
        assert!(!bytes.get(..Cookie::LENGTH - 1).is_some_and(is_cookie));
    }
    let mut datagrams = bytes.chunks(DATAGRAM);
    let Some(first) = datagrams.next() else { return };
    let Some(mut flow) = Flow::begin(first, Default::default()) else { return };
    for datagram in std::iter::once(first).chain(datagrams) {
        if let FlowEvent::Answer(answer) = flow.handle(datagram, Default::default()) {
            assert!(answer.len() <= datagram.len(), "a forged source address gains nothing");
        }
    }
    assert!(flow.report().lost <= flow.report().datagrams);
}

const DATAGRAM: usize = 48;
