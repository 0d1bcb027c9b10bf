//! Samples that are collected from a text, row by row.

use std::cmp::Reverse;
use std::collections::HashMap;

use measurement::Foreign;
use measurement::profile::{FoldedStack, Mode, ProfileSource};
use measurement::{Order, Profile, ProfileRow, Task};

/// The samples that were read so far.
#[derive(Default)]
pub(super) struct Samples {
    rows: HashMap<ProfileRow, u64>,
    stacks: HashMap<String, u64>,
}

impl Samples {
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Adds to a row, whatever the count in it.
    pub(super) fn add(&mut self, row: ProfileRow, count: u64) {
        let kept = self.rows.entry(ProfileRow { count: 0, ..row }).or_default();
        *kept = kept.saturating_add(count);
    }

    pub(super) fn add_stack(&mut self, frames: String, count: u64) {
        let kept = self.stacks.entry(frames).or_default();
        *kept = kept.saturating_add(count);
    }

    /// Sum of all counts.
    pub(super) fn count(&self) -> u64 {
        self.rows.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The rows with the most, of `samples` in all.
    pub(super) fn profile(self, source: &str, samples: u64) -> Profile {
        let rows = most(self.rows, MOST_ROWS).into_iter();
        let stacks = most(self.stacks, MOST_STACKS).into_iter();
        Profile {
            source: ProfileSource::Imported(source.to_owned()),
            samples,
            rows: rows.map(|(row, count)| ProfileRow { count, ..row }).collect(),
            stacks: stacks.map(|(frames, count)| FoldedStack { frames, count }).collect(),
            ..Profile::default()
        }
    }
}

fn most<K: Ord>(counted: HashMap<K, u64>, room: usize) -> Vec<(K, u64)> {
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.order_by(|(a, few), (b, many)| Reverse(few).cmp(&Reverse(many)).then(a.cmp(b)));
    counted.truncate(room);
    counted
}

/// A place as others write it: file or module in brackets, and the function.
pub(super) fn row(command: &str, file: &str, mode: Mode, symbol: &str) -> ProfileRow {
    let bare = file.trim_matches(['[', ']', '(', ')']);
    let is_kernel = bare.starts_with("kernel") || bare.starts_with("guest.kernel");
    let name = bare.rsplit('/').next().unwrap_or(bare).trim_end_matches(".ko");
    ProfileRow {
        task: task(command),
        mode,
        symbol: bare_symbol(symbol),
        module: (!is_kernel && !name.is_empty()).then(|| shown(name)),
        ..ProfileRow::default()
    }
}

/// The kind of task that a process name belongs to, as far as the name shows it.
fn task(command: &str) -> Task {
    let is_kernel = ["ksoftirqd", "kworker", "migration", "rcu_", "irq/", "napi/", "kswapd"];
    match command {
        "swapper" => Task::Idle,
        name if name.starts_with("linerate") => Task::Own,
        name if is_kernel.iter().any(|prefix| name.starts_with(prefix)) => Task::Kernel,
        _ => Task::Unknown,
    }
}

/// Without an offset, what a compiler added, and letters that no terminal should get.
pub(super) fn bare_symbol(text: &str) -> String {
    let text = text.split("+0x").next().unwrap_or(text);
    let cut = ADDED.iter().filter_map(|added| text.find(added)).min();
    shown(text[..cut.unwrap_or(text.len())].trim())
}

pub(super) fn shown(text: &str) -> String {
    Foreign::from(text).into_text()
}

const ADDED: [&str; 5] = [".isra.", ".part.", ".constprop.", ".cold", ".llvm."];
const MOST_ROWS: usize = 1_000;
const MOST_STACKS: usize = 500;
