//! `cwnd-growing`: the congestion window, which was still growing, or cannot be the limit.

use std::time::Duration;

use measurement::remedy::Setting;

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{count, percent};

const PAGE: Page = Page {
    id: RuleId::CwndGrowing,
    title: "Congestion window still growing",
    what: "The sender waited for its congestion window at least half of the time, sent next to \
           nothing again, and was at least a tenth faster at the end than before. Where the \
           sender does not tell what it waited for, the window is set against the rate: the delay \
           that both imply, against a round trip.",
    why: "A test that ends before the window is as large as the path takes shows how fast it \
          grew, not what the path can do. A window that implies a delay that the path does not \
          have was not used up: then something else limits.",
    evidence: "What the sender moved in steps of 100 ms; congestion window over rate.",
    remedy: "A longer test (`-t 30`), an omitted start (`-O 5`), another congestion control \
             (`-C`).",
    source: "RFC 5681",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Symptom, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let all = transfer::wanting(case);
    all.iter().flat_map(|one| [growing(case, one), unlikely(one)]).flatten().collect()
}

fn growing(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let shares = transfer.account.shares?;
    if shares.congestion_window < MOSTLY || transfer.sent_again() > NEXT_TO_NOTHING {
        return None;
    }
    let growth = growth(case, transfer)?;
    (growth > GROWN).then(|| {
        Found::candidate("the congestion window was still growing when the test ended")
            .at(&transfer.sender())
            .going(transfer.flow.outcome.direction)
            .explaining(1.0 - 1.0 / growth)
            .seen(format!(
                "the last third of the time was {} faster than the one before",
                percent(growth - 1.0)
            ))
            .remedy("test for longer (-t 30), or omit the start (-O 5)")
            .change(Setting::Seconds(LONGER))
    })
}

/// The last third of the time against the second.
fn growth(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<f64> {
    let record = case.test?.record;
    let pulses = match transfer.sender() {
        measurement::Role::Here => &record.pulses,
        _ => &record.reported.pulses,
    };
    let bytes = &pulses.iter().find(|pulse| pulse.sender)?.bytes;
    let third = bytes.len() / 3;
    let sum = |from: usize| -> u64 {
        bytes[from..from + third].iter().copied().fold(0, u64::saturating_add)
    };
    let (second, last) = (sum(third), sum(2 * third));
    (third >= 5 && second > 0).then(|| last as f64 / second as f64)
}

/// Without times of the sender: what the window says against the rate.
fn unlikely(transfer: &Transfer<'_>) -> Option<Found> {
    if transfer.account.shares.is_some() {
        return None;
    }
    let window =
        transfer.senders.iter().map(|tcp| tcp.congestion_window).fold(0, u64::saturating_add);
    let delay = Duration::try_from_secs_f64(window as f64 / transfer.rate.max(1.0)).ok()?;
    let trip = transfer.least_round_trip();
    let is_used_up = trip.map_or(delay < LONG_FOR_A_LAN, |trip| delay < 2 * trip);
    let against = trip.map_or_else(
        || "a local network's round trip is below 1 ms".to_owned(),
        |trip| format!("the minimum round trip was {}", transfer::shown(trip)),
    );
    (window > 0 && !is_used_up).then(|| {
        Found::note("the congestion window is unlikely to be the limit")
            .at(&transfer.sender())
            .going(transfer.flow.outcome.direction)
            .seen(format!(
                "{} bytes of window at that rate are {} of delay; {against}",
                count(window),
                transfer::shown(delay)
            ))
            .remedy("look at the CPUs of both hosts, not at windows")
    })
}

/// Share of the time that the sender waited for its congestion window. To be calibrated.
const MOSTLY: f64 = 0.5;
/// Seconds.
const LONGER: u32 = 30;
/// Of the bytes.
const NEXT_TO_NOTHING: f64 = 0.000_1;
/// Against the time before. To be calibrated.
const GROWN: f64 = 1.10;
/// Ten times what a local network takes.
const LONG_FOR_A_LAN: Duration = Duration::from_millis(5);

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| record.pulses[0].bytes[66..].iter_mut().for_each(|bytes| *bytes *= 2))
    .silent(|record| {
        record.pulses[0].bytes[66..].iter_mut().for_each(|bytes| *bytes *= 2);
        crate::test_record::sent(record).bytes_retransmitted = 10_000_000;
    });
