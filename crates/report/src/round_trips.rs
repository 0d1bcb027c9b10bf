//! How long responses took, as people read it.

use std::time::Duration;

use measurement::units::group_thousands;
use measurement::{Loaded, OneWay, RoundTrips, Spread, TestRecord};

use crate::columns::{Cell, Emphasis};

/// What the columns hold.
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

/// The rows of a record, whose own row is called `title`.
pub(crate) fn rows(record: &TestRecord, title: &str) -> Vec<Vec<Cell>> {
    let own = record.outcome.round_trips.iter().map(|trips| row(title.to_owned(), trips));
    let probed = record.outcome.latency.iter().flat_map(|latency| {
        let kinds = [("before", &latency.idle), ("during", &latency.loaded)];
        kinds.map(|(when, trips)| row(format!("UDP probe {when} {title}"), trips))
    });
    own.chain(probed).collect()
}

fn row(title: String, trips: &RoundTrips) -> Vec<Cell> {
    let lost = group_thousands(trips.lost);
    let lost = if trips.lost > 0 { Cell::new(lost, Emphasis::Warning) } else { Cell::from(lost) };
    let mut row = vec![
        Cell::from(title),
        Cell::new(format!("{:.0}", trips.rate), Emphasis::Strong),
        Cell::from(group_thousands(trips.count)),
        lost,
    ];
    if trips.count > 0 {
        let Spread { min, mean, p50, p90, p99, p999, max } = trips.times;
        let times = [min, mean, p50, p90, p99, p999, max];
        row.extend(times.map(|span| Cell::from(time(span))));
    }
    row
}

/// What a reader must know of the times.
pub(crate) fn notes(record: &TestRecord) -> Vec<String> {
    let added = record.outcome.latency.as_ref().map(added);
    let shared = record.plan.exchange.is_some_and(|exchange| exchange.busy).then(|| {
        "both ends polled: the times leave out what it takes to wake a process".to_owned()
    });
    added.into_iter().chain(shared).collect()
}

/// What the load added, and on which way.
fn added(latency: &Loaded) -> String {
    let (idle, loaded) = (&latency.idle, &latency.loaded);
    if idle.count == 0 || loaded.count == 0 {
        return "no probe was answered: does a firewall drop UDP?".to_owned();
    }
    let text = format!(
        "round trips took {} at the median and {} at p99 under load",
        difference(idle.times.p50, loaded.times.p50),
        difference(idle.times.p99, loaded.times.p99)
    );
    let ways = latency.one_way.as_ref().and_then(ways);
    text + &ways.unwrap_or_default()
}

/// Each way apart, if the clocks tell more than their error.
fn ways(ways: &OneWay) -> Option<String> {
    let error = ways.clock_error;
    let there = (ways.idle_there.p50, ways.loaded_there.p50);
    let back = (ways.idle_back.p50, ways.loaded_back.p50);
    let is_told = [there, back].iter().any(|(idle, loaded)| idle.abs_diff(*loaded) > 2 * error);
    is_told.then(|| {
        format!(
            " ({} on the way there, {} on the way back; clocks compared to {})",
            difference(there.0, there.1),
            difference(back.0, back.1),
            time(error)
        )
    })
}

fn difference(from: Duration, to: Duration) -> String {
    let word = if to >= from { "longer" } else { "less" };
    format!("{} {word}", time(to.abs_diff(from)))
}

/// A time with as many digits as tell something.
pub(crate) fn time(span: Duration) -> String {
    let micros = span.as_secs_f64() * 1e6;
    match micros {
        _ if micros < 1_000.0 => format!("{micros:.1} us"),
        _ if micros < 1_000_000.0 => format!("{:.2} ms", micros / 1e3),
        _ => format!("{:.2} s", micros / 1e6),
    }
}

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
    fn a_way_is_told_if_the_clocks_can_tell() {
        let at = |micros| Spread { p50: Duration::from_micros(micros), ..Spread::default() };
        let told = OneWay {
            idle_there: at(50),
            idle_back: at(50),
            loaded_there: at(9_050),
            loaded_back: at(60),
            clock_error: Duration::from_micros(50),
        };
        let text = ways(&told).expect("told");
        assert!(text.contains("9.00 ms longer on the way there, 10.0 us longer"), "{text}");
        let vague = OneWay { clock_error: Duration::from_millis(5), ..told };
        assert_eq!(ways(&vague), None);
    }
}
