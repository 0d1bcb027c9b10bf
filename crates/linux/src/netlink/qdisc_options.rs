//! The options of qdiscs and classes that bound a rate, delay or lose packets (`TCA_OPTIONS`,
//! `linux/pkt_sched.h`). Options of other kinds are not read.

use std::time::Duration;

use super::kernel;
use super::message::{attribute, u16_at, u32_at, u64_at};

/// Configured limits of a queueing discipline (tc(8)); `None`: not configured, or not of this kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct QdiscOptions {
    /// Rate in bytes per second: `rate` of tbf and netem, `bandwidth` of cake.
    pub rate: Option<u64>,
    /// Highest rate of each flow in bytes per second: `maxrate` of fq.
    pub flow_rate: Option<u64>,
    /// Bytes that may leave at once after a pause: `burst` of tbf.
    pub burst_bytes: Option<u64>,
    /// Largest queue in bytes: `limit` of tbf.
    pub limit_bytes: Option<u32>,
    /// Largest queue in packets: `limit` of netem.
    pub limit_packets: Option<u32>,
    /// Delay of each packet: `delay` of netem.
    pub delay: Option<Duration>,
    /// Share of packets that are lost at random, in millionths: `loss` of netem.
    pub loss_millionths: Option<u32>,
    /// Minor number of the class of packets that no filter matches: `default` of htb and hfsc.
    pub default_class: Option<u32>,
}

impl QdiscOptions {
    /// Reads `TCA_OPTIONS` of a qdisc of this kind. Values that the bytes do not hold are `None`.
    pub fn read(kind: &str, options: &[u8]) -> Self {
        match kind {
            "tbf" => tbf(options),
            "netem" => netem(options),
            "cake" => cake(options),
            "fq" => fq(options),
            "htb" => Self { default_class: htb_default(options), ..Self::default() },
            "hfsc" => Self { default_class: hfsc_default(options), ..Self::default() },
            _ => Self::default(),
        }
    }
}

/// Highest rate of a class of htb (`ceil`) or hfsc (`ul`) in bytes per second, by its
/// `TCA_OPTIONS`; `None`: it has none, or the bytes do not hold it.
pub fn class_ceiling(kind: &str, options: &[u8]) -> Option<u64> {
    match kind {
        "htb" => {
            let narrow = attribute(options, kernel::TCA_HTB_PARMS)
                .and_then(|parameters| u32_at(parameters, kernel::HTB_CEIL));
            let wide = attribute(options, kernel::TCA_HTB_CEIL64);
            rate(narrow, wide)
        }
        // `struct tc_service_curve`: the slope in the long run comes last.
        "hfsc" => {
            let curve = attribute(options, kernel::TCA_HFSC_USC)?;
            rate(u32_at(curve, 8..12), None)
        }
        _ => None,
    }
}

/// `tbf_dump`, `net/sched/sch_tbf.c`.
fn tbf(options: &[u8]) -> QdiscOptions {
    let parameters = attribute(options, kernel::TCA_TBF_PARMS).unwrap_or_default();
    let narrow = u32_at(parameters, kernel::RATE);
    let rate = rate(narrow, attribute(options, kernel::TCA_TBF_RATE64));
    let burst = u32_at(parameters, kernel::TBF_BUFFER);
    QdiscOptions {
        rate,
        burst_bytes: rate.zip(burst).map(|(rate, burst)| bytes_in(ticks(burst), rate)),
        limit_bytes: u32_at(parameters, kernel::TBF_LIMIT),
        ..QdiscOptions::default()
    }
}

/// `netem_dump`, `net/sched/sch_netem.c`: attributes behind a structure.
fn netem(options: &[u8]) -> QdiscOptions {
    let attributes = options.get(kernel::NETEM_BYTES..).unwrap_or_default();
    let narrow = attribute(attributes, kernel::TCA_NETEM_RATE);
    let rate = rate(
        narrow.and_then(|rate| u32_at(rate, 0..4)),
        attribute(attributes, kernel::TCA_NETEM_RATE64),
    );
    let delay = attribute(attributes, kernel::TCA_NETEM_LATENCY64)
        .and_then(|nanos| u64_at(nanos, 0..8))
        .map(Duration::from_nanos);
    let delay = delay.or_else(|| u32_at(options, kernel::NETEM_LATENCY).map(ticks));
    let loss = u32_at(options, kernel::NETEM_LOSS).filter(|loss| *loss > 0);
    QdiscOptions {
        rate,
        limit_packets: u32_at(options, kernel::NETEM_LIMIT),
        delay: delay.filter(|delay| !delay.is_zero()),
        loss_millionths: loss.map(millionths),
        ..QdiscOptions::default()
    }
}

/// `cake_dump`, `net/sched/sch_cake.c`.
fn cake(options: &[u8]) -> QdiscOptions {
    let rate = rate(None, attribute(options, kernel::TCA_CAKE_BASE_RATE64));
    QdiscOptions { rate, ..QdiscOptions::default() }
}

/// `fq_dump`, `net/sched/sch_fq.c`: all bits set is no limit.
fn fq(options: &[u8]) -> QdiscOptions {
    let most = attribute(options, kernel::TCA_FQ_FLOW_MAX_RATE).and_then(|rate| u32_at(rate, 0..4));
    let most = most.filter(|rate| *rate != u32::MAX);
    QdiscOptions { flow_rate: rate(most, None), ..QdiscOptions::default() }
}

/// `struct tc_htb_glob`.
fn htb_default(options: &[u8]) -> Option<u32> {
    u32_at(attribute(options, kernel::TCA_HTB_INIT)?, 8..12).filter(|class| *class > 0)
}

/// `struct tc_hfsc_qopt`.
fn hfsc_default(options: &[u8]) -> Option<u32> {
    u16_at(options, 0..2).map(u32::from).filter(|class| *class > 0)
}

/// A rate in bytes per second; an attribute of 64 bits overrides a field of 32, and zero is none.
pub(super) fn rate(narrow: Option<u32>, wide: Option<&[u8]>) -> Option<u64> {
    let wide = wide.and_then(|rate| u64_at(rate, 0..8));
    wide.or_else(|| narrow.map(u64::from)).filter(|rate| *rate > 0)
}

/// Ticks of the packet scheduler: 64 ns each (`PSCHED_SHIFT`, `include/net/pkt_sched.h`).
fn ticks(count: u32) -> Duration {
    Duration::from_nanos(u64::from(count) << 6)
}

/// Bytes that leave in a time at so many bytes per second, rounded to the nearest.
fn bytes_in(time: Duration, rate: u64) -> u64 {
    let bytes = (time.as_nanos() * u128::from(rate) + NANOS / 2) / NANOS;
    u64::try_from(bytes).unwrap_or(u64::MAX)
}

/// A probability, of which all bits set is one.
fn millionths(probability: u32) -> u32 {
    let scaled = (u64::from(probability) * 1_000_000).div_ceil(u64::from(u32::MAX));
    u32::try_from(scaled).unwrap_or(u32::MAX)
}

const NANOS: u128 = 1_000_000_000;

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, Message};
    use super::*;

    fn attributes(fill: impl FnOnce(Message) -> Message) -> Vec<u8> {
        fill(Message::new(0, 0, &[])).finish(1)[HEADER_BYTES..].to_vec()
    }

    fn numbers(numbers: &[u32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_ne_bytes()).collect()
    }

    fn wide(kind: u16, number: u64) -> Vec<u8> {
        attributes(|message| message.attribute(kind, &number.to_ne_bytes()))
    }

    #[test]
    fn a_token_bucket_is_read_with_rate_burst_and_limit() {
        // 25,000 bytes per second: 1,600 bytes take 64 ms, a million ticks.
        let parameters = numbers(&[0, 0, 25_000, 0, 0, 0, 3_000, 1_000_000, 0]);
        let options = attributes(|message| message.attribute(kernel::TCA_TBF_PARMS, &parameters));
        let expected = QdiscOptions {
            rate: Some(25_000),
            burst_bytes: Some(1_600),
            limit_bytes: Some(3_000),
            ..QdiscOptions::default()
        };
        assert_eq!(QdiscOptions::read("tbf", &options), expected);
        let fast = [options, wide(kernel::TCA_TBF_RATE64, 12_500_000_000)].concat();
        assert_eq!(QdiscOptions::read("tbf", &fast).rate, Some(12_500_000_000));
    }

    #[test]
    fn an_emulated_link_is_read_with_delay_loss_and_rate() {
        let mut options = numbers(&[312_500, 1_000, u32::MAX / 100, 0, 0, 0]);
        let by_structure = QdiscOptions::read("netem", &options);
        assert_eq!(by_structure.delay, Some(Duration::from_millis(20)));
        assert_eq!((by_structure.limit_packets, by_structure.rate), (Some(1_000), None));
        assert_eq!(by_structure.loss_millionths, Some(10_000));
        options.extend(wide(kernel::TCA_NETEM_LATENCY64, 50_000_000));
        options.extend(attributes(|message| {
            message.attribute(kernel::TCA_NETEM_RATE, &numbers(&[125_000, 0, 0, 0]))
        }));
        let by_attributes = QdiscOptions::read("netem", &options);
        assert_eq!(by_attributes.delay, Some(Duration::from_millis(50)));
        assert_eq!(by_attributes.rate, Some(125_000));
    }

    #[test]
    fn rates_of_cake_and_fq_are_read_where_they_limit() {
        let cake = |rate| QdiscOptions::read("cake", &wide(kernel::TCA_CAKE_BASE_RATE64, rate));
        assert_eq!((cake(2_500_000).rate, cake(0).rate), (Some(2_500_000), None));
        let fq = |rate: u32| {
            let options = attributes(|message| {
                message.attribute(kernel::TCA_FQ_FLOW_MAX_RATE, &rate.to_ne_bytes())
            });
            QdiscOptions::read("fq", &options).flow_rate
        };
        assert_eq!((fq(125_000), fq(u32::MAX)), (Some(125_000), None));
    }

    #[test]
    fn a_class_has_its_ceiling() {
        let parameters = numbers(&[0, 0, 1_000, 0, 0, 2_000, 0, 0, 0, 0, 0]);
        let options = attributes(|message| message.attribute(kernel::TCA_HTB_PARMS, &parameters));
        assert_eq!(class_ceiling("htb", &options), Some(2_000));
        let curve = numbers(&[9, 9, 3_000]);
        let options = attributes(|message| message.attribute(kernel::TCA_HFSC_USC, &curve));
        assert_eq!(class_ceiling("hfsc", &options), Some(3_000));
        assert_eq!(class_ceiling("mq", &options), None);
    }

    #[test]
    fn options_that_end_early_are_none() {
        for kind in ["tbf", "netem", "cake", "fq", "htb", "hfsc"] {
            assert_eq!(QdiscOptions::read(kind, &[]), QdiscOptions::default());
            for length in 0..64 {
                let _ = (QdiscOptions::read(kind, &vec![0xff; length]), class_ceiling(kind, &[1]));
            }
        }
    }
}
