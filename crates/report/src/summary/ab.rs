//! The rows of an A/B test: a side each.

use measurement::AbRecord;

use super::{Rows, word};
use crate::grid::{Column, Grid, Value};

impl Rows for AbRecord {
    const NAME: &'static str = "ab";

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(2);
        for (name, side) in [("A", &self.a), ("B", &self.b)] {
            let effect = self.effect.filter(|_| name == "B");
            let interval = effect.and_then(|effect| effect.interval);
            let finding = (name == "B").then_some(self.finding);
            grid.push(vec![
                Value::Text(name.to_owned()),
                Value::Text(side.shown()),
                Value::known(side.rate, Value::Rate),
                Value::known(effect.map(|effect| effect.ratio), Value::Number),
                Value::known(interval.map(|interval| interval.low), Value::Number),
                Value::known(interval.map(|interval| interval.high), Value::Number),
                Value::Count(self.pairs.into()),
                Value::known(finding, word),
            ]);
        }
        grid
    }
}

const COLUMNS: [Column; 8] = [
    Column { title: "side", key: "side" },
    Column { title: "setting", key: "setting" },
    Column { title: "mean rate", key: "rate_bits_per_second" },
    Column { title: "B to A", key: "ratio" },
    Column { title: "from", key: "from_ratio" },
    Column { title: "to", key: "to_ratio" },
    Column { title: "pairs", key: "pairs" },
    Column { title: "finding", key: "finding" },
];
