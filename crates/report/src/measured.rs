//! What a direction of a test came to, as columns of a [`Grid`](crate::grid::Grid).

use measurement::{Direction, DirectionOutcome, PerSecond, TestRecord, Transport};

use crate::grid::{Column, Value};

/// The columns of [`values`].
pub(crate) const COLUMNS: [Column; 6] = [
    Column { title: "delivered", key: "delivered_bits_per_second" },
    Column { title: "packets", key: "packets_per_second" },
    Column { title: "lost", key: "lost_ratio" },
    RESENT,
    Column { title: "asked", key: ASKED },
    Column { title: "trust", key: "stamp" },
];

/// The key of the requested rate of all streams.
pub(crate) const ASKED: &str = "asked_bits_per_second";
/// Retransmitted segments; people read [`resent`] there.
pub(crate) const RESENT: Column = Column { title: "resent", key: "retransmitted_segments" };
/// The column of [`direction`].
pub(crate) const DIRECTION: Column = Column { title: "direction", key: "direction" };

/// What a direction of a record came to.
pub(crate) fn values(record: &TestRecord, outcome: &DirectionOutcome) -> [Value; 6] {
    let stamp = record.judgement.as_ref().map(|judgement| judgement.stamp.to_string());
    [
        Value::known(outcome.arrived(), |moved| Value::Rate(moved.rate)),
        Value::known(packets(record, outcome), Value::PerSecond),
        Value::known(loss(outcome), Value::Share),
        Value::known(outcome.retransmits, Value::Count),
        Value::known(outcome.asked, Value::Rate),
        Value::known(stamp, Value::Text),
    ]
}

/// `send` or `receive`.
pub(crate) fn direction(outcome: &DirectionOutcome) -> Value {
    let is_sent = outcome.direction == Direction::Send;
    Value::Text(if is_sent { Direction::Send } else { Direction::Receive }.to_string())
}

/// Packets that arrived in a second: datagrams, or full segments of TCP by the MSS in effect. None:
/// not known.
pub(crate) fn packets(record: &TestRecord, outcome: &DirectionOutcome) -> Option<PerSecond> {
    let arrived = outcome.headline()?;
    let seconds = arrived.span.as_secs_f64();
    let count = match record.plan.transport {
        Transport::Udp => {
            let all = outcome.datagrams?;
            all.sent.saturating_sub(all.lost) as f64
        }
        Transport::Tcp => arrived.bytes as f64 / f64::from(segment(record, outcome)?),
    };
    (seconds > 0.0).then(|| PerSecond::new(count / seconds))
}

/// Lost datagrams as a share of those sent, 0 to 1. None: none were sent, or it is not known.
pub(crate) fn loss(outcome: &DirectionOutcome) -> Option<f64> {
    let all = outcome.datagrams.filter(|all| all.sent > 0)?;
    Some(all.loss())
}

/// Retransmitted bytes as a share of those sent, 0 to 1: as the kernel of the sender counts them,
/// else retransmitted segments by the MSS in effect. None: not TCP, or it is not known.
pub(crate) fn resent(record: &TestRecord, outcome: &DirectionOutcome) -> Option<f64> {
    if record.plan.transport != Transport::Tcp {
        return None;
    }
    let mut accounts = record.judgement.iter().flat_map(|judgement| &judgement.directions);
    let own = accounts.find(|account| account.direction == outcome.direction);
    if let Some(tcp) = own.and_then(|account| account.tcp.as_ref()) {
        let sent = tcp.acknowledged.saturating_add(tcp.retransmitted).max(1);
        return Some(tcp.retransmitted as f64 / sent as f64);
    }
    let segments = outcome.retransmits?;
    if segments == 0 {
        return Some(0.0);
    }
    let again = segments as f64 * f64::from(segment(record, outcome)?);
    Some(again / (outcome.headline()?.bytes as f64 + again))
}

/// The MSS of a stream of this direction; of its peer's, where only that is known.
fn segment(record: &TestRecord, outcome: &DirectionOutcome) -> Option<u32> {
    let sends = outcome.direction == Direction::Send;
    let own = record.streams.iter().filter(|stream| stream.sender == sends);
    own.chain(&record.streams).find_map(|stream| stream.mss).filter(|mss| *mss > 0)
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::plan::PlanDraft;
    use measurement::record::StreamRecord;
    use measurement::{ByteSize, Throughput};

    use super::*;

    #[test]
    fn resent_is_a_share_where_the_mss_is_known() {
        let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
        let mut record = TestRecord::imported(plan, "a script");
        let outcome = |retransmits| DirectionOutcome {
            delivered: Some(Throughput::over(990_000, Duration::from_secs(1))),
            retransmits,
            ..DirectionOutcome::unknown(Direction::Send)
        };
        assert_eq!(resent(&record, &outcome(None)), None);
        assert_eq!(resent(&record, &outcome(Some(0))), Some(0.0));
        assert_eq!(resent(&record, &outcome(Some(10))), None, "no MSS");
        let mut stream = StreamRecord::unknown(1, true, ByteSize::from_bytes(1_000));
        stream.mss = Some(1_000);
        record.streams.push(stream);
        assert_eq!(resent(&record, &outcome(Some(10))), Some(0.01));
    }
}
