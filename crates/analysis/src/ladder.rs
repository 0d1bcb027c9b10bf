//! What the tests of a ladder say: the rate of each layer against the link and the rung above, and
//! why it is less. It runs no test.

use measurement::packets::PacketsRecord;
use measurement::units::group_thousands;
use measurement::{
    BitRate, DirectionOutcome, HostEvidence, LadderLatency, Layer, Order, Role, Rung, Stamp,
    TestRecord, Transport,
};

/// The rungs of a ladder by its judged tests, and by the frames that left below the sockets if they
/// were measured, from the link on; empty: there are no tests.
pub fn rungs(tests: &[(Layer, TestRecord)], sent: Option<&PacketsRecord>) -> Vec<Rung> {
    let Some((_, first)) = tests.first() else { return Vec::new() };
    let link = link(first);
    let speed = link.rate;
    let mut rungs = vec![link];
    rungs.extend(sent.map(|sent| frames(sent, speed)));
    let mut tests: Vec<_> = tests.iter().collect();
    tests.order_by_key(|(layer, _)| *layer);
    for (layer, record) in tests {
        let above = rungs.last().and_then(|rung| rung.rate);
        rungs.push(rung(*layer, record, speed, above));
    }
    rungs
}

/// The round trips beside a test of a ladder; none: no test had a probe, or it was not answered.
pub fn latency(tests: &[(Layer, TestRecord)]) -> Option<LadderLatency> {
    let loads = tests.iter().filter_map(|(_, record)| record.outcome.latency.as_ref());
    let bloat = measurement::Bufferbloat::of(loads)?;
    Some(LadderLatency { idle: bloat.idle, loaded: bloat.loaded, grade: bloat.grade() })
}

/// The lowest speed that the interfaces of both ends report.
fn link(record: &TestRecord) -> Rung {
    let ends = record.hosts.iter().filter(|host| !matches!(host.role, Role::Observed(_)));
    let speeds: Vec<_> = ends.flat_map(speeds).collect();
    let words: Vec<_> = speeds
        .iter()
        .map(|(role, name, speed)| format!("{name} of {} says {speed}", crate::words::host(role)))
        .collect();
    let rate = speeds.iter().map(|(.., speed)| *speed).min();
    let explanation = if words.is_empty() {
        "no interface of the path reports a speed".to_owned()
    } else {
        words.join(", ")
    };
    Rung {
        layer: Layer::Link,
        rate,
        of_link_ratio: rate.map(|_| 1.0),
        of_above_ratio: None,
        lost_ratio: None,
        explanation: Some(explanation),
        record: None,
        frames: None,
    }
}

/// What the interfaces of a host that carried the test report.
fn speeds(host: &HostEvidence) -> impl Iterator<Item = (&Role, &str, BitRate)> {
    let interfaces = host.inventory.interfaces.iter();
    let own = interfaces.filter(|one| host.interfaces.contains(&one.name));
    own.filter_map(|one| {
        let mbps = one.speed_mbps.filter(|mbps| *mbps > 0)?;
        let speed = BitRate::from_bits_per_second(mbps.saturating_mul(1_000_000));
        Some((&host.role, one.name.as_str(), speed))
    })
}

/// The payload of the frames that left.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a rate")]
fn frames(sent: &PacketsRecord, link: Option<BitRate>) -> Rung {
    let dropped: u64 = sent.drops.iter().map(|one| one.frames).sum();
    let left = sent.sent.frames.saturating_sub(dropped);
    let each = left as f64 / sent.duration.as_secs_f64().max(1e-9);
    let size = sent.sizes.first().copied().unwrap_or_default();
    let rate = BitRate::from_bits_per_second((each * 8.0 * sent.payload_bytes(size) as f64) as u64);
    let engine = sent.send_engine.engine.name();
    let text = format!(
        "{} frames of {} bytes left {} in a second, sent by {engine}; nothing counts them at the far \
         end",
        group_thousands(each as u64),
        group_thousands(size as u64),
        sent.from
    );
    Rung {
        layer: Layer::Frames,
        rate: Some(rate),
        of_link_ratio: share(rate, link),
        of_above_ratio: share(rate, link),
        lost_ratio: None,
        explanation: Some(text),
        record: None,
        frames: Some(Box::new(sent.clone())),
    }
}

fn share(rate: BitRate, of: Option<BitRate>) -> Option<f64> {
    let of = of.map(BitRate::bits_per_second).filter(|bits| *bits > 0)?;
    Some(rate.bits_per_second() as f64 / of as f64)
}

fn rung(layer: Layer, record: &TestRecord, link: Option<BitRate>, above: Option<BitRate>) -> Rung {
    let outcome = record.outcome.directions.first();
    let rate = outcome.and_then(DirectionOutcome::headline).map(|moved| moved.rate);
    let share = |of| share(rate?, of);
    let of_above_ratio = share(above);
    let is_less = of_above_ratio.is_none_or(|share| share < KEPT);
    let datagrams = outcome.and_then(|outcome| outcome.datagrams);
    let datagrams = datagrams.filter(|_| record.plan.transport == Transport::Udp);
    Rung {
        layer,
        rate,
        of_link_ratio: share(link),
        of_above_ratio,
        lost_ratio: datagrams.map(|ledger| ledger.loss()),
        explanation: is_less.then(|| explanation(record)).flatten(),
        record: Some(Box::new(record.clone())),
        frames: None,
    }
}

/// The verdict; of a result that cannot be trusted why that is so.
fn explanation(record: &TestRecord) -> Option<String> {
    let judgement = record.judgement.as_ref()?;
    let reason = judgement.reasons.first().filter(|reason| reason.stamp == Stamp::Invalid);
    let verdict = judgement.verdict.as_ref().map(|verdict| verdict.sentence.clone());
    verdict.or_else(|| reason.map(|reason| reason.text.clone()))
}

/// Of the rate of the rung above: what is as much is not explained.
const KEPT: f64 = 0.98;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{judge, test_record};

    fn judged(mut record: TestRecord) -> TestRecord {
        record.judgement = Some(judge(&record));
        record
    }

    #[test]
    fn each_rung_is_a_share_of_the_link_and_of_the_one_above() {
        let mut slower = test_record::tcp();
        test_record::offer(&mut slower, 62_500_000, 62_500_000);
        test_record::fill(test_record::host(&mut slower, &Role::Peer), 0.98);
        let mut udp = test_record::udp();
        for (host, mbps) in udp.hosts.iter_mut().zip([1_000, 2_500]) {
            host.inventory.interfaces[0].speed_mbps = Some(mbps);
            host.interfaces = vec![host.inventory.interfaces[0].name.clone()];
        }
        let tests = [(Layer::UdpSingle, judged(udp)), (Layer::TcpStream, judged(slower))];
        let rungs = rungs(&tests, None);
        let [link, udp, tcp] = &rungs[..] else { panic!("{rungs:?}") };
        assert_eq!(link.rate, Some(BitRate::from_bits_per_second(1_000_000_000)));
        let words = link.explanation.as_deref().expect("who says so");
        assert!(words.contains("eth0 of this host says 1.000 Gbit/s"), "{words}");
        let near = |share: Option<f64>, truth: f64| (share.expect("known") - truth).abs() < 0.01;
        assert!(near(udp.of_link_ratio, 0.1) && near(udp.lost_ratio, 0.0), "{udp:?}");
        assert!(near(tcp.of_link_ratio, 0.05) && near(tcp.of_above_ratio, 0.5), "{tcp:?}");
        assert_eq!(tcp.lost_ratio, None);
        let verdict = tests[1].1.judgement.as_ref().and_then(|judged| judged.verdict.as_ref());
        assert_eq!(tcp.explanation, verdict.map(|verdict| verdict.sentence.clone()));
        assert!(tcp.explanation.is_some(), "it is less");
    }

    #[test]
    fn as_much_as_above_needs_no_explanation_and_no_speed_is_said() {
        let mut record = judged(test_record::tcp());
        for host in &mut record.hosts {
            host.inventory.interfaces.clear();
        }
        let tests = [(Layer::TcpStreams, record.clone()), (Layer::TcpStream, record)];
        let rungs = rungs(&tests, None);
        assert_eq!((rungs[0].rate, rungs[1].of_link_ratio), (None, None));
        assert!(rungs[0].explanation.as_deref().is_some_and(|text| text.contains("no interface")));
        assert_eq!((rungs[2].of_above_ratio, rungs[2].explanation.clone()), (Some(1.0), None));
        assert_eq!(super::rungs(&[], None), []);
        assert_eq!(latency(&tests), None);
    }
}
