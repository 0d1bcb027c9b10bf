//! The rows of a device under test: a direction, sizes of frames and a goal each.

use measurement::dut::{DutRecord, DutRow};
use measurement::{GoalResult, PerSecond};

use super::{Rows, search};
use crate::grid::{Column, Grid, Value};

impl Rows for DutRecord {
    const NAME: &'static str = "dut";

    fn grid(&self) -> Grid {
        let columns = ROW.iter().chain(&search::COLUMNS).chain(&FRAMES).copied();
        let mut grid = Grid::new(columns.collect()).identified_by(ROW.len() + 1);
        for row in &self.rows {
            for goal in &row.goals {
                let values = of_row(row).into_iter().chain(search::values(goal));
                grid.push(values.chain(frames(row, goal)).collect());
            }
        }
        grid
    }
}

fn of_row(row: &DutRow) -> [Value; 3] {
    let sizes: Vec<_> = row.sizes.iter().map(usize::to_string).collect();
    [
        Value::Text(row.direction.to_string()),
        Value::Text(sizes.join(" ")),
        Value::Count(row.run.into()),
    ]
}

fn frames(row: &DutRow, goal: &GoalResult) -> [Value; 3] {
    let frames = goal.lower.map(|load| PerSecond::new(row.frames_per_second(load)));
    [
        Value::known(frames, Value::PerSecond),
        Value::Count(row.duplicates),
        Value::Count(row.reordered),
    ]
}

const ROW: [Column; 3] = [
    Column { title: "direction", key: "direction" },
    Column { title: "frame sizes", key: "frame_bytes" },
    Column { title: "run", key: "run" },
];
const FRAMES: [Column; 3] = [
    Column { title: "frames", key: "lower_frames_per_second" },
    Column { title: "duplicates", key: "duplicate_frames" },
    Column { title: "reordered", key: "reordered_frames" },
];
