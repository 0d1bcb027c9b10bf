//! `receiver-result-missing`: nobody confirmed what arrived.

use measurement::outcome::Ending;
use measurement::record::Source;
use measurement::{ByteSize, TestRecord, Throughput, Transport};

use super::{Finding, Page, Rule, RuleId, Test};

pub(crate) const PAGE: Page = Page {
    id: RuleId::ReceiverResultMissing,
    title: "No result from the receiver",
    what: "The receiver's word is missing.",
    why: "What the sender handed to its kernel is no throughput: of datagrams none need have \
           arrived. A TCP client of iperf 2 prints nothing else: all but what its socket buffer held \
           at the end has arrived, so that a long run is SUSPECT and not INVALID.",
    evidence: "No delivered amount; the amount sent, beside the largest send buffer that Linux \
               gives by itself (tcp(7), `tcp_wmem`).",
    remedy: "See why the server did not answer at the end; of iperf 2 import the server's output, \
             too.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let silent = test.flows.iter().filter(|flow| flow.outcome.delivered.is_none());
    silent
        .map(|flow| {
            let (prefix, receiver) = (test.prefix(flow), flow.receiver());
            if let Some(share) = in_buffer(test.record, flow.outcome.offered) {
                let percent = 100.0 * share;
                let sentence = format!(
                    "{prefix}sender's rate: up to {percent:.1} % may not have left its socket \
                     buffer; import both ends"
                );
                return Finding::suspect(Some(&receiver), sentence);
            }
            let sentence = format!(
                "{prefix}no result from the receiver: the rate is what was sent, not what arrived; \
                 test again"
            );
            Finding::invalid(Some(&receiver), sentence)
        })
        .collect()
}

/// The largest share of the payload of a TCP sender that may not have arrived when its program said
/// that it had ended; none: nothing or little need have arrived.
fn in_buffer(record: &TestRecord, sent: Option<Throughput>) -> Option<f64> {
    let is_whole = record.outcome.ending == Ending::Completed;
    let is_printed = matches!(record.origin.source, Source::Imported(_));
    let to_iperf3 = |port: u16| port == IPERF3_PORT;
    // iperf3 prints what its server got, and its server reads nothing of an iperf 2.
    let mut ports = record.streams.iter().filter_map(|stream| stream.peer);
    let is_confirmed_elsewhere = ports.any(|peer| to_iperf3(peer.port()));
    let is_tcp = record.plan.transport == Transport::Tcp;
    if !(is_whole && is_printed && is_tcp) || is_confirmed_elsewhere {
        return None;
    }
    let window = record.plan.options.window.map_or(0, ByteSize::bytes);
    let streams = u64::from(record.plan.streams);
    let most = window.saturating_mul(2).max(LARGEST_BUFFER).saturating_mul(streams);
    let share = most as f64 / sent?.bytes as f64;
    (share <= LARGEST_SHARE).then_some(share)
}

/// Bytes of a send buffer, without `-w`: the default of the third value of `tcp_wmem` (tcp(7)).
const LARGEST_BUFFER: u64 = 4 << 20;
/// If more may be missing, the rate tells nothing.
const LARGEST_SHARE: f64 = 0.5;
const IPERF3_PORT: u16 = 5201;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_receiver_that_says_nothing_confirms_nothing() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        record.outcome.directions[0].delivered = None;
        assert!(test_record::refuted(&RULE, &record).starts_with("no result from the receiver"));
    }

    #[test]
    fn a_tcp_client_of_another_program_may_be_believed() {
        let mut record = test_record::tcp();
        record.outcome.directions[0].delivered = None;
        assert!(test_record::refuted(&RULE, &record).starts_with("no result from the receiver"));
        record.origin.source = Source::Imported("output of iperf: client".to_owned());
        for stream in &mut record.streams {
            stream.peer = Some(([10, 0, 0, 2], 5001).into());
        }
        // 4,194,304 of 125,000,000 bytes.
        let text = test_record::suspected(&RULE, &record);
        assert!(text.starts_with("sender's rate: up to 3.4 % may not have left"), "{text}");
        let mut short = record.clone();
        let sent = Throughput::over(8_000_000, std::time::Duration::from_secs(1));
        short.outcome.directions[0].offered = Some(sent);
        assert!(test_record::refuted(&RULE, &short).starts_with("no result from the receiver"));
        let mut broken = record.clone();
        broken.outcome.ending = Ending::Failed { error: "no route to host".to_owned() };
        assert!(test_record::refuted(&RULE, &broken).starts_with("no result from the receiver"));
        record.streams[0].peer = Some(([10, 0, 0, 2], IPERF3_PORT).into());
        assert!(test_record::refuted(&RULE, &record).starts_with("no result from the receiver"));
    }
}
