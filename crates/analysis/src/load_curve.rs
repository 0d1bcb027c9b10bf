//! Curves of what arrives over the load, of runs of UDP between the same hosts.

use std::collections::BTreeMap;
use std::net::IpAddr;

use measurement::{
    BitRate, Direction, DirectionOutcome, LoadCurve, LoadPoint, Order, TestRecord, Transport,
};

use crate::knee::{Carried, CurvePoint, knee};

/// The curves of `records`: for each pair of hosts and number of streams with three or more loads
/// one, in the order of the first record.
pub(crate) fn of_records<'a>(records: impl IntoIterator<Item = &'a TestRecord>) -> Vec<LoadCurve> {
    let mut groups: BTreeMap<Way, Vec<LoadPoint>> = BTreeMap::new();
    for (index, record) in records.into_iter().enumerate() {
        for outcome in &record.outcome.directions {
            if let Some(point) = point(index, record, outcome) {
                groups.entry(Way::of(record, outcome.direction)).or_default().push(point);
            }
        }
    }
    let mut curves: Vec<_> =
        groups.into_iter().filter_map(|(way, points)| curve(&way, points)).collect();
    curves.order_by_key(|curve| curve.points.iter().map(|point| point.record).min());
    curves
}

/// What the runs of a curve have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Way {
    from: Option<IpAddr>,
    to: Option<IpAddr>,
    both: bool,
    streams: u32,
}

impl Way {
    fn of(record: &TestRecord, direction: Direction) -> Self {
        let stream = record.streams.first();
        let address = |here: bool| {
            let socket = stream.and_then(|one| if here { one.local } else { one.peer });
            socket.map(|socket| socket.ip())
        };
        let sends = direction == Direction::Send;
        Self {
            from: address(sends),
            to: address(!sends),
            both: record.plan.direction == Direction::Both,
            streams: record.plan.streams,
        }
    }
}

fn point(index: usize, record: &TestRecord, outcome: &DirectionOutcome) -> Option<LoadPoint> {
    if record.plan.transport != Transport::Udp || !record.outcome.contradictions.is_empty() {
        return None;
    }
    let sent = outcome.offered.map(|sent| sent.rate);
    let arrived = outcome.delivered?.rate;
    let load = outcome.asked.or(sent).or_else(|| sent_by_datagrams(record, outcome))?;
    let is_kept = CurvePoint { load, sent, arrived }.carried() == Carried::Kept;
    let loss = outcome.datagrams.map(|datagrams| datagrams.loss());
    Some(LoadPoint { record: index, load, sent, arrived, loss, is_kept })
}

/// Of a run that only the receiver printed: its last sequence number says how much was sent.
fn sent_by_datagrams(record: &TestRecord, outcome: &DirectionOutcome) -> Option<BitRate> {
    let (datagrams, arrived) = (outcome.datagrams?, outcome.delivered?);
    let block = record.streams.first()?.block;
    Some(BitRate::average(datagrams.sent.saturating_mul(block.bytes()), arrived.span))
}

/// None: too few loads.
fn curve(way: &Way, mut points: Vec<LoadPoint>) -> Option<LoadCurve> {
    points.order_by_key(|point| (point.load, point.record));
    let loads = 1 + points.windows(2).filter(|pair| pair[0].load < pair[1].load).count();
    if loads < LEAST_LOADS {
        return None;
    }
    let of = |point: &LoadPoint| CurvePoint {
        load: point.load,
        sent: point.sent,
        arrived: point.arrived,
    };
    let all: Vec<_> = points.iter().map(of).collect();
    let carried = |what: Carried| all.iter().any(|point| point.carried() == what);
    let is_of_sender = carried(Carried::Void) && !carried(Carried::Missed);
    let has_limit = carried(Carried::Missed) || is_of_sender;
    let most = points.iter().map(|point| point.arrived).max();
    Some(LoadCurve {
        from: way.from,
        to: way.to,
        knee: knee(&all).map(|(kept, missed)| (points[kept].load, points[missed].load)),
        ceiling: most.filter(|_| has_limit),
        is_of_sender,
        points,
    })
}

/// Fewer are no curve.
const LEAST_LOADS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    /// A clean run of which `arrived` of `asked` Mbit/s arrive; all of it was sent.
    fn run(asked: u64, arrived: u64) -> TestRecord {
        let mut record = test_record::udp();
        let outcome = &mut record.outcome.directions[0];
        let offered = outcome.offered.as_mut().expect("reported");
        offered.rate = BitRate::from_bits_per_second(asked * 1_000_000);
        outcome.asked = Some(BitRate::from_bits_per_second(asked * 1_000_000));
        let delivered = outcome.delivered.as_mut().expect("reported");
        delivered.rate = BitRate::from_bits_per_second(arrived * 1_000_000);
        record
    }

    fn curves(loads: &[(u64, u64)]) -> Vec<LoadCurve> {
        let records: Vec<_> = loads.iter().map(|(asked, arrived)| run(*asked, *arrived)).collect();
        of_records(&records)
    }

    #[test]
    fn the_knee_is_between_what_arrives_and_what_does_not() {
        let curve = curves(&[(256, 89), (64, 64), (512, 70), (1, 1)]).remove(0);
        let rate = |mbps: u64| BitRate::from_bits_per_second(mbps * 1_000_000);
        assert_eq!(curve.knee, Some((rate(64), rate(256))));
        assert_eq!(curve.ceiling, Some(rate(89)));
        assert_eq!(curve.points.iter().map(|one| one.record).collect::<Vec<_>>(), [3, 1, 0, 2]);
    }

    #[test]
    fn what_the_sender_does_not_send_is_a_ceiling_and_no_knee() {
        let mut records: Vec<_> =
            [(64, 64), (1, 1), (256, 89), (512, 66)].map(|(a, b)| run(a, b)).into();
        for record in &mut records {
            let outcome = &mut record.outcome.directions[0];
            outcome.offered = outcome.delivered;
        }
        let curve = of_records(&records).remove(0);
        let most = Some(BitRate::from_bits_per_second(89_000_000));
        assert_eq!((curve.knee, curve.ceiling, curve.is_of_sender), (None, most, true));
        // One load that was sent and lost shows another limit.
        records.push(run(128, 80));
        let curve = of_records(&records).remove(0);
        assert!(curve.knee.is_some() && !curve.is_of_sender, "{curve:?}");
    }

    #[test]
    fn of_a_receiver_alone_its_datagrams_are_the_load_and_nothing_is_said_to_be_sent() {
        let mut records = vec![run(1, 1), run(2, 2), run(4, 3)];
        let outcome = &mut records[2].outcome.directions[0];
        (outcome.asked, outcome.offered) = (None, None);
        let point = of_records(&records)[0].points.iter().find(|one| one.record == 2).copied();
        let point = point.expect("a point");
        assert!(point.sent.is_none() && point.load.bits_per_second() > 0, "{point:?}");
    }

    #[test]
    fn where_all_arrives_there_is_no_limit() {
        let curve = curves(&[(1, 1), (2, 2), (4, 4)]).remove(0);
        assert_eq!((curve.knee, curve.ceiling), (None, None));
    }

    #[test]
    fn two_loads_are_no_curve() {
        assert_eq!(curves(&[(1, 1), (2, 2), (2, 1)]), []);
    }

    #[test]
    fn without_the_requested_rate_what_was_sent_is_the_load() {
        let mut records = vec![run(1, 1), run(2, 2), run(4, 3)];
        records[2].outcome.directions[0].asked = None;
        let sent = records[2].outcome.directions[0].offered.expect("reported").rate;
        assert_eq!(of_records(&records)[0].points[2].load, sent);
    }

    #[test]
    fn numbers_that_contradict_each_other_are_on_no_curve() {
        let mut records = vec![run(1, 1), run(2, 2), run(4, 3)];
        records[2].outcome.contradictions.push("more arrived than was sent".to_owned());
        assert_eq!(of_records(&records), []);
    }
}
