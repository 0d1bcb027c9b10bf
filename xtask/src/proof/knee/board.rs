//! A board whose runs of iperf3 were published, replayed: what it delivered of each rate. The
//! figures are those of N. Malykh, of a SiFive HiFive Unleashed with Linux 5.2.9 (ten seconds
//! each, datagrams of 1,448 bytes); the board itself is not here.

use anyhow::{Context, Result};
use lab::{Delivery, DeliveryCurve, Impairment, LinkSpec, Rate};
use measurement::{BitRate, SearchLimit};
use testbed::topology::{Path, Topology};

use super::{Outcome, QUEUE, UnderTest, search, shape_to};
use crate::hosts::Testbed;

/// A run of iperf3 for ten seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Run {
    is_received: bool,
    sent: u64,
    lost: u64,
}

/// The board receives: a relay delivers of each rate what the board did. It kept 128 Mbit/s, and
/// lost 15 % of 160.
pub(super) fn receives(under_test: &UnderTest, name: &'static str) -> Result<Outcome> {
    let there =
        Impairment { delivery: Some(curve()?), queue_limit: QUEUE, ..Impairment::default() };
    let topology = Topology::relay(&LinkSpec::default(), there, Impairment::default())?;
    let bed = Testbed::on(under_test, topology);
    let _server = bed.serve("")?;
    let record = search(&bed, &format!("--loss 0 {LENGTH}"))?;
    let bounds = record.goals.first().and_then(|goal| goal.lower.zip(goal.upper));
    let is_right = record.limit == SearchLimit::Knee
        && bounds.is_some_and(|(lower, upper)| {
            mbps(lower) >= KEPT * (1.0 - WIDTH) && (KEPT..=LOST).contains(&mbps(upper))
        });
    Ok(Outcome::show(name, told(record.limit, bounds), is_right))
}

/// The board sends, 89 Mbit/s at most: its interface takes no more.
pub(super) fn sends(under_test: &UnderTest, name: &'static str) -> Result<Outcome> {
    let most = runs()?.into_iter().filter(|run| !run.is_received).map(Run::delivered);
    let most = most.max_by(f64::total_cmp).context("the board sent")?;
    let bed = Testbed::new(under_test, Path::Veth)?;
    shape_to(bed.near(), of_frames(most)?.bits_per_second(), "20ms")?;
    let _server = bed.serve("")?;
    let record = search(&bed, &format!("--loss 0 {LENGTH}"))?;
    let bounds = record.goals.first().and_then(|goal| goal.lower.zip(goal.upper));
    let holds = |(lower, upper): (BitRate, BitRate)| {
        (mbps(lower)..=mbps(upper)).contains(&(most / 1e6)) && mbps(upper) < mbps(lower) * WIDE
    };
    let is_right = record.limit == SearchLimit::Ceiling && bounds.is_some_and(holds);
    Ok(Outcome::show(name, told(record.limit, bounds), is_right))
}

fn told(limit: SearchLimit, bounds: Option<(BitRate, BitRate)>) -> String {
    let bounds = bounds.map(|(lower, upper)| format!("{lower}..{upper}"));
    format!("{limit:?}; {}", bounds.unwrap_or_else(|| "no bounds".to_owned()))
}

fn mbps(rate: BitRate) -> f64 {
    rate.bits_per_second() as f64 / 1e6
}

impl Run {
    /// Payload that was sent, in bit/s.
    fn offered(self) -> f64 {
        self.sent as f64 * PAYLOAD * 8.0 / SECONDS
    }

    /// Payload that arrived, in bit/s.
    fn delivered(self) -> f64 {
        self.sent.saturating_sub(self.lost) as f64 * PAYLOAD * 8.0 / SECONDS
    }
}

/// What the board received, as rates of frames, from the fastest run without loss on.
fn curve() -> Result<DeliveryCurve> {
    let runs: Vec<_> = runs()?.into_iter().filter(|run| run.is_received).collect();
    let whole = runs.iter().filter(|run| run.lost == 0).map(|run| run.sent).max();
    let runs = runs.into_iter().filter(|run| Some(run.sent) >= whole);
    let point = |run: Run| {
        let (offered, delivered) = (of_frames(run.offered())?, of_frames(run.delivered())?);
        anyhow::Ok(Delivery { offered, delivered })
    };
    let points = runs.map(point).collect::<Result<Vec<_>>>()?;
    DeliveryCurve::new(&points).context("the rates of the board do not ascend")
}

/// The rate of Ethernet frames that bear a payload, both in bit/s.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn of_frames(payload: f64) -> Result<Rate> {
    let bits = payload * (PAYLOAD + HEADERS) / PAYLOAD;
    Rate::from_bits_per_second(bits.round() as u64).context("a rate above zero")
}

/// The runs of both directions.
fn runs() -> Result<Vec<Run>> {
    let lines = FIGURES.lines().skip(1);
    lines.map(|line| run(line).with_context(|| format!("'{line}' is no run"))).collect()
}

fn run(line: &str) -> Result<Run> {
    let mut fields = line.split(',');
    let is_received = fields.next().context("who")? == "receives";
    let mut number = || anyhow::Ok(fields.nth(1).context("a number")?.parse::<u64>()?);
    let sent = number()?;
    let lost = fields.next().context("a number")?.parse()?;
    Ok(Run { is_received, sent, lost })
}

const FIGURES: &str = include_str!("hifive-unleashed.csv");
/// Datagrams as long as those of the board.
const LENGTH: &str = "-l 1448";
/// Bytes of a datagram, and of its headers as far as Ethernet's.
const PAYLOAD: f64 = 1_448.0;
const HEADERS: f64 = 42.0;
const SECONDS: f64 = 10.0;
/// In Mbit/s: what the board received without loss, and what it did not.
const KEPT: f64 = 128.0;
const LOST: f64 = 160.0;
/// Of a goal.
const WIDTH: f64 = 0.01;
const WIDE: f64 = 1.0101;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_figures_are_those_that_were_printed() {
        let runs = runs().expect("figures");
        assert_eq!(runs.len(), 24);
        let delivered = |is_received: bool, sent: u64| {
            let run = runs.iter().find(|run| run.is_received == is_received && run.sent == sent);
            run.expect("a run").delivered() / 1e6
        };
        for (is_received, sent, printed) in [
            (false, 76_504, 88.6),
            (false, 57_375, 66.5),
            (true, 110_489, 128.0),
            (true, 220_852, 183.0),
        ] {
            let told = delivered(is_received, sent);
            assert!((told / printed - 1.0).abs() < 0.003, "{told} {printed}");
        }
        assert!(curve().is_ok());
    }
}
