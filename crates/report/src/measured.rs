//! What a direction of a test came to, as columns of a [`Grid`](crate::grid::Grid).

use measurement::{Direction, DirectionOutcome, PerSecond, TestRecord, Transport};

use crate::grid::{Column, Value};

/// The columns of [`values`].
pub(crate) const COLUMNS: [Column; 6] = [
    Column { title: "delivered", key: "delivered_bits_per_second" },
    Column { title: "packets", key: "packets_per_second" },
    Column { title: "lost", key: "lost_ratio" },
    Column { title: "resent", key: "retransmitted_segments" },
    Column { title: "asked", key: ASKED },
    Column { title: "trust", key: "stamp" },
];

/// The key of the requested rate of all streams.
pub(crate) const ASKED: &str = "asked_bits_per_second";
/// The column of [`direction`].
pub(crate) const DIRECTION: Column = Column { title: "direction", key: "direction" };

/// What a direction of a record came to.
pub(crate) fn values(record: &TestRecord, outcome: &DirectionOutcome) -> [Value; 6] {
    let stamp = record.judgement.as_ref().map(|judgement| judgement.stamp.to_string());
    [
        Value::known(outcome.headline(), |moved| Value::Rate(moved.rate)),
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

/// The MSS of a stream of this direction; of its peer's, where only that is known.
fn segment(record: &TestRecord, outcome: &DirectionOutcome) -> Option<u32> {
    let sends = outcome.direction == Direction::Send;
    let own = record.streams.iter().filter(|stream| stream.sender == sends);
    own.chain(&record.streams).find_map(|stream| stream.mss).filter(|mss| *mss > 0)
}
