//! How long responses took, as people read it.

use std::time::Duration;

use measurement::units::{counted, group_thousands};
use measurement::{Loaded, OneWay, RoundTrips, Spread, TestRecord};

use crate::columns::{Cell, Emphasis};

/// Head of the table of round-trip times.
pub(crate) fn head() -> Vec<Cell> {
    let head = [
        "round trips",
        "per second",
        "count",
        "lost",
        "min",
        "mean",
        "p50",
        "p90",
        "p99",
        "p99.9",
        "max",
    ];
    head.into_iter().map(|text| Cell::new(text, Emphasis::Faint)).collect()
}

/// Rows of a record in the table of round-trip times; `title` is that of the record.
pub(crate) fn rows(record: &TestRecord, title: &str) -> Vec<Vec<Cell>> {
    let own = record.outcome.round_trips.iter().map(|trips| row(title.to_owned(), trips));
    let probed = record.outcome.latency.iter().flat_map(|latency| {
        let kinds = [("before", &latency.idle), ("during", &latency.loaded)];
        kinds.map(|(when, trips)| row(format!("UDP probe {when} {title}"), trips))
    });
    own.chain(probed).collect()
}

/// Whole numbers, unless there are but few.
pub(crate) fn rate(per_second: f64) -> String {
    if per_second < 10.0 {
        return format!("{per_second:.1}");
    }
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is rounded")]
    group_thousands(per_second.round() as u64)
}

fn row(title: String, trips: &RoundTrips) -> Vec<Cell> {
    let lost = group_thousands(trips.lost);
    let lost = if trips.lost > 0 { Cell::new(lost, Emphasis::Warning) } else { Cell::from(lost) };
    let mut row = vec![
        Cell::from(title),
        Cell::new(rate(trips.rate), Emphasis::Strong),
        Cell::from(group_thousands(trips.count)),
        lost,
    ];
    if trips.count > 0 {
        let Spread { min, mean, p50, p90, p99, p999, max } = trips.times;
        // So many that some lie above.
        let known = |least: u64, span| (trips.count >= least).then_some(span);
        let times = [Some(min), Some(mean), Some(p50), known(10, p90), known(100, p99)];
        let times = times.into_iter().chain([known(1_000, p999), Some(max)]);
        row.extend(times.map(|span| Cell::from(span.map_or_else(String::new, time))));
    }
    row
}

/// Notes on the round-trip times.
pub(crate) fn notes(record: &TestRecord) -> Vec<String> {
    let latency = record.outcome.latency.as_ref();
    let probed = latency.and_then(|latency| unanswered(latency).or_else(|| added(latency)));
    probed.into_iter().chain(remarks(record)).collect()
}

/// Notes on how requests were sent.
pub(crate) fn remarks(record: &TestRecord) -> impl Iterator<Item = String> {
    let shared = record.plan.exchange.is_some_and(|exchange| exchange.busy).then(|| {
        "both ends polled: the times leave out what it takes to wake a process".to_owned()
    });
    let trips = record.outcome.round_trips.as_ref().filter(|trips| trips.unsent > 0);
    let unsent = trips.map(|trips| {
        let requests = counted(trips.unsent, "request");
        let (whose, is) =
            if trips.unsent == 1 { ("its time", "is") } else { ("their times", "are") };
        format!("{requests} could not be sent at {whose}, and {is} in no figure")
    });
    shared.into_iter().chain(unsent)
}

/// The note on probes without answers.
pub(crate) fn unanswered(latency: &Loaded) -> Option<String> {
    let none = latency.idle.count == 0 || latency.loaded.count == 0;
    none.then(|| "no probe was answered: does a firewall drop UDP?".to_owned())
}

/// The delay that load added, and in which direction.
fn added(latency: &Loaded) -> Option<String> {
    let (before, during) = (latency.idle.times.p50, latency.loaded.times.p50);
    // What a CPU that sleeps, or does not, makes of a round trip is not the load's work.
    if during < before + before / 2 || during < before + LEAST_SHOWN {
        return None;
    }
    let more = time(during.saturating_sub(before));
    let ways = latency.one_way.as_ref().and_then(ways);
    let ways = ways.unwrap_or_default();
    Some(format!("under load the median round trip took {more} longer{ways}"))
}

/// Note on the one-way delays, if they are larger than the error of the clocks.
fn ways(ways: &OneWay) -> Option<String> {
    let error = ways.clock_error;
    let there = (ways.idle_there.p50, ways.loaded_there.p50);
    let back = (ways.idle_back.p50, ways.loaded_back.p50);
    let is_shown = [there, back].iter().any(|(idle, loaded)| idle.abs_diff(*loaded) > 2 * error);
    is_shown.then(|| {
        let way = |(idle, loaded): (Duration, Duration)| {
            let more = loaded.saturating_sub(idle);
            if more > 2 * error { format!("{} of it", time(more)) } else { "nothing".to_owned() }
        };
        let (there, back) = (way(there), way(back));
        format!(
            ": {there} on the way there, {back} on the way back, each to within {}",
            time(error)
        )
    })
}

/// A time with as many digits as are significant.
pub(crate) fn time(span: Duration) -> String {
    let micros = span.as_secs_f64() * 1e6;
    match micros {
        _ if micros < 1_000.0 => format!("{micros:.1} us"),
        _ if micros < 1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

/// What a host's own doings add and take away.
const LEAST_SHOWN: Duration = Duration::from_micros(200);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_have_their_unit() {
        assert_eq!(time(Duration::from_nanos(21_340)), "21.3 us");
        assert_eq!(time(Duration::from_micros(1_234)), "1.23 ms");
        assert_eq!(time(Duration::from_millis(2_500)), "2.50 s");
    }

    #[test]
    fn one_way_delays_are_shown_if_the_clocks_are_precise_enough() {
        let at = |micros| Spread { p50: Duration::from_micros(micros), ..Spread::default() };
        let precise = OneWay {
            idle_there: at(50),
            idle_back: at(50),
            loaded_there: at(9_050),
            loaded_back: at(60),
            clock_error: Duration::from_micros(50),
        };
        let text = ways(&precise).expect("shown");
        assert!(text.contains("9.00 ms of it on the way there, nothing on the way back"), "{text}");
        let vague = OneWay { clock_error: Duration::from_millis(5), ..precise };
        assert_eq!(ways(&vague), None);
    }
}
