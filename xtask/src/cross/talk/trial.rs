//! What is asked of two ends, and what both have to agree on.

use anyhow::{Context, Result, ensure};
use measurement::outcome::{DirectionOutcome, Outcome};
use serde_json::Value;

/// A trial: words for each dialect, and what its output has to show.
pub(super) struct Trial {
    pub(super) name: &'static str,
    /// For linerate.
    pub(super) linerate: Ask,
    /// For `iperf3 -c`; none: iperf3 has no such test.
    pub(super) iperf3: Option<Ask>,
}

/// What a client is told, and what is read in its JSON: the rate, if both ends agree.
pub(super) struct Ask {
    pub(super) words: &'static str,
    pub(super) read: fn(&str) -> Result<String>,
}

impl Ask {
    const fn new(words: &'static str, read: fn(&str) -> Result<String>) -> Self {
        Self { words, read }
    }
}

pub(super) const TRIALS: [Trial; 6] = [
    Trial {
        name: "TCP send",
        linerate: Ask::new("test 127.0.0.1 --quiet --json --tcp --send -n 8M", bytes),
        iperf3: Some(Ask::new("-n 8M", segments)),
    },
    Trial {
        name: "TCP receive",
        linerate: Ask::new("test 127.0.0.1 --quiet --json --tcp --receive -n 8M", bytes),
        iperf3: Some(Ask::new("-n 8M -R", segments)),
    },
    Trial {
        name: "TCP both, 4 streams",
        linerate: Ask::new("test 127.0.0.1 --quiet --json --tcp --bidir -P 4 -n 8M", bytes),
        iperf3: None,
    },
    Trial {
        name: "UDP send",
        linerate: Ask::new("test 127.0.0.1 --quiet --json --udp --send -b 20M -t 1", datagrams),
        iperf3: Some(Ask::new("-u -b 20M -t 1", numbered)),
    },
    Trial {
        name: "UDP receive",
        linerate: Ask::new("test 127.0.0.1 --quiet --json --udp --receive -b 20M -t 1", datagrams),
        iperf3: Some(Ask::new("-u -b 20M -t 1 -R", numbered)),
    },
    Trial {
        name: "latency",
        linerate: Ask::new(
            "latency 127.0.0.1 --quiet --json --only tcp,udp,connect -t 1",
            round_trips,
        ),
        iperf3: None,
    },
];

/// Every byte has arrived.
fn bytes(text: &str) -> Result<String> {
    let directions = directions(text)?;
    for one in &directions {
        let of = |part: Option<measurement::outcome::Throughput>| part.map(|part| part.bytes);
        let (offered, delivered) = (of(one.offered), of(one.delivered));
        ensure!(
            delivered == Some(BYTES) && offered == delivered,
            "{offered:?} bytes were sent and {delivered:?} received"
        );
    }
    rate(&directions)
}

/// Every datagram is in the ledger, most have arrived, and their times are plausible.
fn datagrams(text: &str) -> Result<String> {
    let directions = directions(text)?;
    for one in &directions {
        let ledger = one.datagrams.context("no ledger of datagrams")?;
        ensure!(ledger.sent > 0 && ledger.received + ledger.lost == ledger.sent, "{ledger:?}");
        ensure!(ledger.loss() <= MOST_LOSS, "{ledger:?}");
        let jitter = one.jitter_seconds.context("no jitter")?;
        ensure!((0.0..1.0).contains(&jitter), "a jitter of {jitter} s");
    }
    rate(&directions)
}

/// Every request was answered, within a time that a host can take.
fn round_trips(text: &str) -> Result<String> {
    let outcomes = outcomes(text)?;
    let mut medians = Vec::new();
    for outcome in &outcomes {
        let times = outcome.round_trips.as_ref().context("a row without round trips")?;
        ensure!(times.count > 0 && times.lost == 0, "{} answers, {} lost", times.count, times.lost);
        ensure!(times.times.p50.as_secs_f64() < 1.0, "a median of {:?}", times.times.p50);
        medians.push(format!("{:.0}", times.times.p50.as_secs_f64() * 1e6));
    }
    ensure!(medians.len() == 3, "{} rows in place of three", medians.len());
    Ok(format!("{} us", medians.join(", ")))
}

fn outcomes(text: &str) -> Result<Vec<Outcome>> {
    let set =
        report::import::record::read(text.as_bytes()).context("what it printed is no record")?;
    ensure!(!set.records.is_empty(), "no record");
    Ok(set.records.into_iter().map(|record| record.outcome).collect())
}

fn directions(text: &str) -> Result<Vec<DirectionOutcome>> {
    let directions: Vec<_> =
        outcomes(text)?.into_iter().flat_map(|outcome| outcome.directions).collect();
    ensure!(!directions.is_empty(), "a record without a direction");
    Ok(directions)
}

fn rate(directions: &[DirectionOutcome]) -> Result<String> {
    let rates = directions.iter().map(|one| {
        let rate = one.headline().context("a direction without a rate")?.rate;
        Ok(format!("{:.0}", rate.bits_per_second() as f64 / 1e6))
    });
    Ok(format!("{} Mbit/s", rates.collect::<Result<Vec<_>>>()?.join(" and ")))
}

/// iperf3, as a sender, goes on until the receiver has the amount: it has arrived, and no more
/// than was sent.
fn segments(text: &str) -> Result<String> {
    let end = end(text)?;
    let sent = number(&end["sum_sent"], "bytes")?;
    let received = number(&end["sum_received"], "bytes")?;
    ensure!(
        received >= BYTES as f64 && received <= sent,
        "{sent} bytes were sent and {received} received"
    );
    megabits(&end["sum_received"])
}

/// As [`datagrams`], as far as iperf3 tells.
fn numbered(text: &str) -> Result<String> {
    let end = end(text)?;
    let sum = &end["sum"];
    let (packets, lost) = (number(sum, "packets")?, number(sum, "lost_packets")?);
    ensure!(packets > 0.0 && lost / packets <= MOST_LOSS, "{lost} of {packets} datagrams are lost");
    let jitter = number(sum, "jitter_ms")?;
    ensure!((0.0..1000.0).contains(&jitter), "a jitter of {jitter} ms");
    megabits(sum)
}

fn end(text: &str) -> Result<Value> {
    let mut output: Value = serde_json::from_str(text).context("no JSON of iperf3")?;
    ensure!(output["error"].is_null(), "{}", output["error"]);
    Ok(output["end"].take())
}

fn megabits(sum: &Value) -> Result<String> {
    Ok(format!("{:.0} Mbit/s", number(sum, "bits_per_second")? / 1e6))
}

fn number(object: &Value, key: &str) -> Result<f64> {
    object[key].as_f64().with_context(|| format!("no {key} in {object}"))
}

/// `-n 8M`, in each direction.
const BYTES: u64 = 8 << 20;
/// An emulated receiver may be late for a few of the datagrams.
const MOST_LOSS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_that_did_not_arrive_are_told() {
        let output = |received: u64| {
            format!(
                "{{\"end\":{{\"sum_sent\":{{\"bytes\":{BYTES}}},\"sum_received\":{{\"bytes\":\
                 {received},\"bits_per_second\":5e6}}}}}}"
            )
        };
        assert_eq!(segments(&output(BYTES)).expect("all"), "5 Mbit/s");
        assert!(segments(&output(BYTES - 1)).is_err());
        assert!(segments(&output(BYTES.swap_bytes())).is_err());
    }

    #[test]
    fn numbers_in_the_wrong_byte_order_are_told() {
        let output = |packets: u64, lost: u64, jitter: f64| {
            format!(
                "{{\"end\":{{\"sum\":{{\"packets\":{packets},\"lost_packets\":{lost},\
                 \"jitter_ms\":{jitter},\"bits_per_second\":2e7}}}}}}"
            )
        };
        assert_eq!(numbered(&output(1000, 1, 0.1)).expect("few are lost"), "20 Mbit/s");
        assert!(numbered(&output(1000_u32.swap_bytes().into(), 1_000_000_000, 0.1)).is_err());
        assert!(numbered(&output(1000, 1, 1e9)).is_err());
    }
}
