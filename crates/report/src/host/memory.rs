//! The memory modules of a host as a table: a row for those that are alike.

use measurement::host::MemoryModule;

use super::{head, size};
use crate::columns::{Cell, Columns, Emphasis};

pub(super) fn table(modules: &[MemoryModule]) -> Columns {
    let mut columns = Columns::default();
    columns.push(head(&["memory", "type", "of", "runs at", ""]));
    let mut kinds: Vec<(Vec<Cell>, usize)> = Vec::new();
    for module in modules {
        let cells = cells_of(module);
        match kinds.iter_mut().find(|(kind, _)| *kind == cells) {
            Some((_, count)) => *count += 1,
            None => kinds.push((cells, 1)),
        }
    }
    for (cells, count) in kinds {
        let count = if count == 1 { "1 module".to_owned() } else { format!("{count} modules") };
        columns.push([vec![count.into()], cells].concat());
    }
    columns
}

fn cells_of(module: &MemoryModule) -> Vec<Cell> {
    let speed = match (module.speed_mtps, module.most_mtps) {
        (Some(speed), _) => format!("{speed} MT/s"),
        (None, Some(most)) => format!("up to {most} MT/s"),
        (None, None) => String::new(),
    };
    let slower = match (module.speed_mtps, module.most_mtps) {
        (Some(speed), Some(most)) if speed < most => format!("rated for {most} MT/s"),
        _ => String::new(),
    };
    vec![
        module.kind.clone().unwrap_or_default().into(),
        size(module.bytes).into(),
        speed.into(),
        Cell::new(slower, Emphasis::Warning),
    ]
}
