//! The rows of a tuning: an attempt each.

use measurement::tune::{Attempt, TuneRecord};

use super::{Rows, word};
use crate::grid::{Column, Grid, Value};

impl Rows for TuneRecord {
    const NAME: &'static str = "tune";

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(3);
        for attempt in &self.attempts {
            grid.push(values(self, attempt).to_vec());
        }
        grid
    }
}

fn values(record: &TuneRecord, attempt: &Attempt) -> [Value; 9] {
    let changes: Vec<_> =
        attempt.changes.iter().map(|one| one.change.setting.to_string()).collect();
    let metrics = attempt.comparison.iter().flat_map(|comparison| &comparison.metrics);
    let goal = metrics.into_iter().find(|one| one.metric == record.goal);
    let effect = goal.and_then(|goal| goal.effect);
    let interval = effect.and_then(|effect| effect.interval);
    [
        Value::Text(attempt.rule.to_string()),
        Value::Text(changes.join("; ")),
        word(attempt.outcome),
        Value::known(goal.map(|goal| goal.before), Value::Number),
        Value::known(goal.map(|goal| goal.after), Value::Number),
        Value::known(effect.map(|effect| effect.ratio), Value::Number),
        Value::known(interval.map(|interval| interval.low), Value::Number),
        Value::known(interval.map(|interval| interval.high), Value::Number),
        Value::known(attempt.reason.clone(), Value::Text),
    ]
}

const COLUMNS: [Column; 9] = [
    Column { title: "rule", key: "rule" },
    Column { title: "change", key: "change" },
    Column { title: "outcome", key: "outcome" },
    Column { title: "before", key: "before" },
    Column { title: "after", key: "after" },
    Column { title: "ratio", key: "ratio" },
    Column { title: "from", key: "from_ratio" },
    Column { title: "to", key: "to_ratio" },
    Column { title: "reason", key: "reason" },
];
