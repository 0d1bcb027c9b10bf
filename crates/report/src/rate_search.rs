//! Writes the search for the rate of a test of UDP in one line.

use measurement::{BitRate, RateSearch, RateSearchEnd, RateTrial, TestRecord};

/// `95.0 (0 %), 105 (8.1 % lost), 97.0 (0 %) Mbit/s: held 97.0 Mbit/s`, with the rate and the loss
/// of each trial. `lost` is [`lost`].
pub(crate) fn line(search: &RateSearch, lost: Option<f64>) -> String {
    let trials: Vec<_> = search.trials.iter().map(trial).collect();
    let why = match (search.end, search.floor) {
        (RateSearchEnd::Loss, None) => "the highest without loss".to_owned(),
        (RateSearchEnd::Loss | RateSearchEnd::Time, Some(floor)) => {
            format!("{} are lost at any rate", percent(floor))
        }
        (RateSearchEnd::Sender, _) => "the sender sends no more".to_owned(),
        (RateSearchEnd::Time, None) => "no time for higher rates".to_owned(),
    };
    let trials = trials.join(", ");
    match lost {
        Some(lost) => format!("{trials}; not held: {} lost {}", search.held, percent(lost)),
        None => format!("{trials}; held {}: {why}", search.held),
    }
}

/// The share that a test lost at the rate of its search, if that is more than the trials allow: what
/// passed in them is no rate without loss then.
pub(crate) fn lost(record: &TestRecord, search: &RateSearch) -> Option<f64> {
    let ledgers = record.outcome.directions.iter().filter_map(|one| one.datagrams);
    let lost = ledgers.map(|ledger| ledger.loss()).fold(0.0, f64::max);
    let allowed = search.floor.map_or(ALLOWED, |floor| f64::max(ALLOWED, floor * BY_CHANCE));
    (lost > allowed).then_some(lost)
}

/// The least that a trial of at least the held rate lost, as a share; none: no trial had that rate.
pub(crate) fn least_lost(search: &RateSearch) -> Option<f64> {
    let held = search.held.bits_per_second() as f64 * NEARLY;
    let trials = search.trials.iter();
    let trials = trials.filter(|trial| trial.sent.bits_per_second() as f64 >= held);
    trials.map(|trial| trial.loss).reduce(f64::min)
}

fn trial(trial: &RateTrial) -> String {
    let RateTrial { asked, sent, arrived, loss } = trial;
    let is_short = |part: &BitRate, whole: &BitRate| {
        part.bits_per_second() < whole.bits_per_second() / 100 * SHORT_PERCENT
    };
    match () {
        () if *loss > 0.0 => format!("{asked} ({} lost)", percent(*loss)),
        () if is_short(sent, asked) => format!("{asked} ({sent} sent)"),
        () if is_short(arrived, sent) => format!("{asked} ({arrived} arrived in time)"),
        () => format!("{asked} (no loss)"),
    }
}

fn percent(share: f64) -> String {
    format!("{:.2} %", 100.0 * share)
}

/// Share of the datagrams, ten times what a trial may lose: a busy CPU loses some in a longer test.
const ALLOWED: f64 = 0.01;
/// Loss above this multiple of that of slow trials is not by chance.
const BY_CHANCE: f64 = 2.0;
/// Of a rate, which senders keep about.
const NEARLY: f64 = 0.98;
/// Of a rate; less is worth a word.
const SHORT_PERCENT: u64 = 95;

#[cfg(test)]
mod tests {
    use super::*;

    fn rate(mbps: u64) -> BitRate {
        BitRate::from_bits_per_second(mbps * 1_000_000)
    }

    #[test]
    fn trials_are_told_in_one_line() {
        let trial = |asked, sent, arrived, loss| RateTrial {
            asked: rate(asked),
            sent: rate(sent),
            arrived: rate(arrived),
            loss,
        };
        let trials = vec![
            trial(95, 95, 95, 0.0),
            trial(420, 200, 97, 0.515),
            trial(105, 105, 97, 0.0),
            trial(97, 80, 80, 0.0),
        ];
        let search = RateSearch {
            held: rate(95),
            end: RateSearchEnd::Loss,
            floor: None,
            trials,
            above: None,
        };
        assert_eq!(
            line(&search, None),
            "95.00 Mbit/s (no loss), 420.0 Mbit/s (51.50 % lost), 105.0 Mbit/s (97.00 Mbit/s \
             arrived in time), 97.00 Mbit/s (80.00 Mbit/s sent); held 95.00 Mbit/s: the highest \
             without loss"
        );
        assert!(line(&search, Some(0.31)).ends_with("; not held: 95.00 Mbit/s lost 31.00 %"));
        assert_eq!(least_lost(&search), Some(0.0));
        assert_eq!(least_lost(&RateSearch { held: rate(300), ..search }), None);
    }
}
