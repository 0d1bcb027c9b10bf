//! The rows of a measurement of copies: a routine or a path of the kernel with a length each.

use measurement::copies::{CopyRecord, CoreCopies};
use measurement::{ByteSize, PerSecond};

use super::Rows;
use crate::grid::{Column, Grid, Value};

impl Rows for CopyRecord {
    const NAME: &'static str = "copy";

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(5);
        for core in &self.cores {
            push(core, &mut grid);
        }
        grid
    }
}

fn push(core: &CoreCopies, grid: &mut Grid) {
    let bytes = |bytes| Value::Size(ByteSize::from_bytes(bytes));
    for one in &core.routines {
        grid.push(vec![
            Value::Count(core.cpu.into()),
            Value::Text(one.routine.clone()),
            bytes(one.length),
            bytes(one.source_offset),
            bytes(one.destination_offset),
            Value::PerSecond(PerSecond::new(one.speed.bytes_per_second())),
        ]);
    }
    for one in &core.kernel {
        grid.push(vec![
            Value::Count(core.cpu.into()),
            Value::Text(one.path.to_string()),
            bytes(one.length),
            Value::Missing,
            Value::Missing,
            Value::PerSecond(PerSecond::new(one.speed.bytes_per_second())),
        ]);
    }
}

const COLUMNS: [Column; 6] = [
    Column { title: "CPU", key: "cpu" },
    Column { title: "copy", key: "copy" },
    Column { title: "length", key: "length_bytes" },
    Column { title: "source", key: "source_offset_bytes" },
    Column { title: "destination", key: "destination_offset_bytes" },
    Column { title: "bytes", key: "bytes_per_second" },
];
