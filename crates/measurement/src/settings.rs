//! What a plan asks for beyond its title, by which runs of one row are told apart: runs are of one
//! series only if their plans are alike.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::json;
use crate::plan::{PlanDraft, TestPlan};
use crate::record::{Source, TestRecord};

impl TestRecord {
    /// Settings of the plan that are not the usual ones of its transport and direction, by the names
    /// that they have in a record: `congestion bbr, time_seconds 1`; empty: all are usual. The title
    /// has the number of streams. A rate that a search found, the time that it left for the test, and
    /// the time that an imported run took, are results.
    pub fn settings(&self) -> String {
        let is_imported = self.origin.source != Source::Measured;
        let is_result = |name: &String| {
            self.trials.rate.is_some() && FOUND.contains(&&**name) || is_imported && name == TIME
        };
        let settings = unusual(&self.plan).into_iter().filter(|(name, _)| !is_result(name));
        let shown = settings.map(|(name, value)| format!("{name} {value}"));
        shown.collect::<Vec<_>>().join(", ")
    }
}

fn unusual(plan: &TestPlan) -> BTreeMap<String, String> {
    let usual = flat(&json::value(&PlanDraft::new(plan.transport, plan.direction)));
    let mut settings = flat(&json::value(&**plan));
    settings.retain(|name, value| usual.get(name) != Some(value) && !TITLE.contains(&&**name));
    settings
}

/// Each value by its own name: no two parts of a plan have one name.
fn flat(plan: &Value) -> BTreeMap<String, String> {
    let mut values = BTreeMap::new();
    add(&mut values, "", plan);
    values
}

fn add(values: &mut BTreeMap<String, String>, name: &str, value: &Value) {
    let text = match value {
        Value::Object(parts) => {
            return parts.iter().for_each(|(name, value)| add(values, name, value));
        }
        Value::Null => return,
        Value::Array(items) => {
            let items: Vec<_> = items.iter().map(plain).collect();
            items.join("+")
        }
        value => plain(value),
    };
    values.insert(name.to_owned(), text);
}

fn plain(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// What the title has, and what does not change the traffic.
const TITLE: [&str; 4] = ["transport", "direction", "streams", "interval_seconds"];
/// What the search for a rate sets.
const FOUND: [&str; 2] = ["rate_bits_per_second", TIME];
const TIME: &str = "time_seconds";

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::plan::{Direction, End, Transport};
    use crate::units::BitRate;

    fn settings(change: impl FnOnce(&mut PlanDraft)) -> String {
        let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
        change(&mut draft);
        TestRecord::imported(draft.check().expect("a plan"), "a test".to_owned()).settings()
    }

    #[test]
    fn settings_that_are_not_usual_are_told() {
        assert_eq!(settings(|_| {}), "");
        let asked = |draft: &mut PlanDraft| {
            draft.streams = 3;
            draft.end = End::Time(Duration::from_secs(1));
            draft.options.rate = Some(BitRate::from_bits_per_second(10_000_000));
            draft.options.no_delay = true;
        };
        assert_eq!(settings(asked), "no_delay true, rate_bits_per_second 10000000");
        assert_eq!(settings(|draft| draft.end = End::Open), "end open");
    }
}
