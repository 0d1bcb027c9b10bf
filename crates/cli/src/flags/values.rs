//! Values that flags of several commands take.

use std::time::Duration;

use measurement::plan::MAX_STREAMS;
use measurement::units::{group_thousands, parse_count, parse_duration};
use report::rates::UnitFormat;

use super::requirements::parse_percentage;

/// A number of parallel streams.
pub(super) fn parse_streams(text: &str) -> Result<u32, String> {
    let most = group_thousands(MAX_STREAMS.into());
    let number = text.parse().ok().filter(|number| (1..=MAX_STREAMS).contains(number));
    number.ok_or_else(|| format!("choose between 1 and {most}"))
}

/// A time between two requests.
pub(super) fn parse_pause(text: &str) -> Result<Duration, String> {
    parse_time_within(text, Duration::from_micros(100), Duration::from_secs(5), "100us and 5s")
}

/// A time between two probes, which are to disturb nothing, and of which some are needed.
pub(super) fn parse_pause_of_probes(text: &str) -> Result<Duration, String> {
    parse_time_within(text, Duration::from_millis(1), Duration::from_secs(1), "1ms and 1s")
}

/// A time between `least` and `most`, for which `limits` are the words.
pub(super) fn parse_time_within(
    text: &str,
    least: Duration,
    most: Duration,
    limits: &str,
) -> Result<Duration, String> {
    let span = parse_duration(text).map_err(|error| error.to_string())?;
    let is_within = (least..=most).contains(&span);
    is_within.then_some(span).ok_or_else(|| format!("choose between {limits}"))
}

/// A number of pairs of tests.
pub(super) fn parse_pairs(text: &str) -> Result<u32, String> {
    let count = parse_count(text).map_err(|error| error.to_string())?;
    let pairs = u32::try_from(count).ok().filter(|pairs| (4..=1_000).contains(pairs));
    pairs.ok_or_else(|| "choose between 4 and 1000".to_owned())
}

/// A margin of equivalence.
pub(super) fn parse_margin(text: &str) -> Result<f64, String> {
    let share = parse_percentage(text).ok().filter(|share| (0.001..=0.5).contains(share));
    share.ok_or_else(|| "choose between 0.1% and 50%".to_owned())
}

/// The unit of rates, by iperf3's letters.
pub(super) fn parse_unit(text: &str) -> Result<UnitFormat, String> {
    text.parse().map_err(|_| "type k, m, g or t for bits, K, M, G or T for bytes".to_owned())
}

/// A label for the record: `key=value`.
pub(super) fn parse_tag(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("a label looks like site=lab".to_owned()),
    }
}
