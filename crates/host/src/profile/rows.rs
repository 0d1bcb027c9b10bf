//! Counted samples as rows and chains of names, the most first, and no more than are of use.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use linux::perf;
use measurement::profile::{FoldedStack, Mode, is_generic};
use measurement::{Profile, ProfileRow, Task};

use super::names::Names;
use super::programs::Programs;
use super::tally::{Spot, Tally, call};

/// Rows and stacks of what was counted.
pub(super) fn profile(tally: &Tally, names: &Names) -> Profile {
    let programs = Programs::own();
    let mut rows: HashMap<ProfileRow, u64> = HashMap::new();
    let mut stacks: HashMap<String, u64> = HashMap::new();
    for (spot, count) in &tally.spots {
        let row = row(spot, tally, names, &programs);
        *stacks.entry(frames(spot, &row, tally, names)).or_default() += count;
        *rows.entry(row).or_default() += count;
    }
    let rows = most(rows, MOST_ROWS).into_iter();
    let stacks = most(stacks, MOST_STACKS).into_iter();
    Profile {
        samples: tally.samples,
        rows: rows.map(|(row, count)| ProfileRow { count, ..row }).collect(),
        stacks: stacks.map(|(frames, count)| FoldedStack { frames, count }).collect(),
        ..Profile::default()
    }
}

/// Those with the largest counts; the order of equals is that of their names.
fn most<K: Ord + Hash>(counted: HashMap<K, u64>, room: usize) -> Vec<(K, u64)> {
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.sort_unstable_by(|(a, few), (b, many)| Reverse(few).cmp(&Reverse(many)).then(a.cmp(b)));
    counted.truncate(room);
    counted
}

fn row(spot: &Spot, tally: &Tally, names: &Names, programs: &Programs) -> ProfileRow {
    let task = tally.owner(spot.process).task;
    let row = ProfileRow { cpu: Some(spot.cpu), task, ..ProfileRow::default() };
    match spot.mode {
        perf::Mode::Kernel => in_kernel(spot, row, tally, names),
        perf::Mode::User => {
            let file = programs.file(spot.place).filter(|_| task == Task::Own);
            let symbol = "user".to_owned();
            ProfileRow { mode: Mode::User, symbol, module: file.map(str::to_owned), ..row }
        }
        // Of what runs in a guest nothing more is known.
        perf::Mode::Virtual => ProfileRow { mode: Mode::User, symbol: "guest".to_owned(), ..row },
    }
}

fn in_kernel(spot: &Spot, row: ProfileRow, tally: &Tally, names: &Names) -> ProfileRow {
    let Some(function) = names.function(spot.place) else {
        return ProfileRow { symbol: UNNAMED.to_owned(), ..row };
    };
    let mut callers = tally.callers(spot).iter().filter_map(|back| names.function(call(*back)));
    let within = if is_generic(&function.name) {
        callers.find(|caller| !is_generic(&caller.name)).map(|caller| caller.name.clone())
    } else {
        None
    };
    ProfileRow { symbol: function.name.clone(), module: function.module.clone(), within, ..row }
}

fn frames(spot: &Spot, row: &ProfileRow, tally: &Tally, names: &Names) -> String {
    let mut frames = tally.owner(spot.process).name.clone();
    if frames.is_empty() {
        frames.push_str("process");
    }
    let callers = tally.callers(spot).iter().rev();
    let callers = callers.filter_map(|back| names.function(call(*back)));
    let callers = callers.map(|function| function.name.as_str());
    for name in callers.chain([row.symbol.as_str()]) {
        frames.push(';');
        frames.push_str(name);
    }
    frames
}

/// A place in a kernel that does not tell its names.
const UNNAMED: &str = "[kernel]";
const MOST_ROWS: usize = 1_000;
const MOST_STACKS: usize = 500;
