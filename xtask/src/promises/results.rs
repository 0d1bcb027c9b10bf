//! docs/promises.md: results by promise and task, with a column for each machine.

use testbed::markdown::{Align, Table};

use super::list::List;

/// What the file says.
#[derive(Debug, Default)]
pub(super) struct Results {
    /// Kernel and CPU of each.
    machines: Vec<String>,
    rows: Vec<Row>,
}

#[derive(Debug)]
struct Row {
    /// Promise and task, as the cells have them.
    key: [String; 2],
    /// The result on each machine; empty if it was not run there.
    cells: Vec<String>,
}

impl Results {
    /// Parses the file.
    pub(super) fn read(file: &str) -> Self {
        let lines = file.lines().filter_map(|line| line.strip_prefix("| ")?.strip_suffix(" |"));
        let mut rows = lines.filter_map(|line| {
            let mut cells = line.split(" | ").map(str::to_owned);
            Some(Row { key: [cells.next()?, cells.next()?], cells: cells.collect() })
        });
        let machines = rows.next().map(|head| head.cells).unwrap_or_default();
        Self { machines, rows: rows.collect() }
    }

    /// Adds the results of promises by tasks to the column of a machine.
    pub(super) fn add<'a>(
        &mut self,
        machine: &str,
        results: impl IntoIterator<Item = (&'a str, &'a str, String)>,
    ) {
        let column = self.machines.iter().position(|known| known == machine);
        let column = column.unwrap_or_else(|| {
            self.machines.push(machine.to_owned());
            self.machines.len() - 1
        });
        for (promise, task, result) in results {
            let key = key(promise, task);
            let index = self.rows.iter().position(|row| row.key == key).unwrap_or_else(|| {
                self.rows.push(Row { key, cells: Vec::new() });
                self.rows.len() - 1
            });
            let cells = &mut self.rows[index].cells;
            cells.resize(cells.len().max(column + 1), String::new());
            cells[column] = result;
        }
    }

    /// The file, with the results of promises that are still made.
    pub(super) fn write(&self, list: &List) -> String {
        let head = ["promise", "task"].into_iter().chain(self.machines.iter().map(String::as_str));
        let mut table = Table::new(head.map(|name| (name, Align::Left)));
        for (promise, task) in list.pairs() {
            let key = key(&promise.id, task);
            let row = self.rows.iter().find(|row| row.key == key);
            let mut cells = row.map_or_else(Vec::new, |row| row.cells.clone());
            cells.resize(self.machines.len(), String::new());
            table.push(key.into_iter().chain(cells));
        }
        format!("{HEAD}{table}")
    }
}

fn key(promise: &str, task: &str) -> [String; 2] {
    [promise, task].map(|name| format!("`{name}`"))
}

const HEAD: &str = "# Results of promises

`cargo xtask promises --write` writes the results of a run to the column of its machine. A promise
that was not run keeps its result, and one that was never run there has an empty cell. The names
are those of [SPECIFICATION.md](../SPECIFICATION.md); [misses.md](misses.md) has the bounds that
are not met.

";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::promises::read;

    #[test]
    fn each_machine_has_a_column_and_keeps_it() {
        let list = "[[section]]\nname = \"A\"\n[[section.promise]]\nid = \"one\"\nsays = \"One.\"\n\
            shown_by = [\"static\", \"bench x\"]\n";
        let list = read(list).expect("TOML");
        let run = |file: &str, machine, task, result: &str| {
            let mut results = Results::read(file);
            results.add(machine, [("one", task, result.to_owned()), ("gone", task, String::new())]);
            results.write(&list)
        };
        let file = run("", "m", "static", "kept: 4");
        let file = run(&file, "n", "static", "missed: 9");
        let file = run(&file, "m", "bench x", "kept: 1");
        let table = "| promise | task | m | n |\n|---|---|---|---|\n\
            | `one` | `static` | kept: 4 | missed: 9 |\n| `one` | `bench x` | kept: 1 |  |\n";
        assert!(file.ends_with(table), "{file}");
    }
}
