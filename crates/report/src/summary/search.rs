//! The rows of a search for throughput: a goal each.

use measurement::{GoalResult, SearchRecord};

use super::{Rows, word};
use crate::grid::{Column, Grid, Value};

impl Rows for SearchRecord {
    const NAME: &'static str = "search";
    const HAS_LINES: bool = true;

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(1);
        for goal in &self.goals {
            grid.push(values(goal).to_vec());
        }
        grid
    }
}

/// Result of a search for a goal, for [`COLUMNS`].
pub(super) fn values(result: &GoalResult) -> [Value; 8] {
    [
        Value::Share(result.goal.loss_ratio),
        Value::known(result.lower, Value::Rate),
        Value::known(result.upper, Value::Rate),
        Value::known(result.throughput, Value::Rate),
        Value::known(result.width(), Value::Share),
        Value::Count(result.trials.into()),
        Value::Seconds(result.took.as_secs_f64()),
        word(result.end),
    ]
}

/// The columns of a goal.
pub(super) const COLUMNS: [Column; 8] = [
    Column { title: "loss goal", key: "goal_loss_ratio" },
    Column { title: "lower bound", key: "lower_bits_per_second" },
    Column { title: "upper bound", key: "upper_bits_per_second" },
    Column { title: "throughput", key: "conditional_throughput_bits_per_second" },
    Column { title: "width", key: "width_ratio" },
    Column { title: "trials", key: "trials" },
    Column { title: "took", key: "took_seconds" },
    Column { title: "end", key: "end" },
];
