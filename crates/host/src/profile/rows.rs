//! Turns counted samples into the rows and folded stacks of a profile, the largest first, up to a
//! bound.

use std::cmp::Reverse;
use std::collections::HashMap;
use std::hash::Hash;

use linux::perf;
use measurement::profile::{FoldedStack, Mode, is_generic};
use measurement::{Order, Profile, ProfileRow, Task};

use super::mapped_files::MappedFiles;
use super::names::Names;
use super::sample_counts::{SampleCounts, SampleKey, call};

/// Rows and folded stacks of the samples.
pub(super) fn profile(counts: &SampleCounts, names: &Names) -> Profile {
    let mapped_files = MappedFiles::own();
    let mut rows: HashMap<ProfileRow, u64> = HashMap::new();
    let mut stacks: HashMap<String, u64> = HashMap::new();
    for (key, count) in &counts.by_key {
        let row = row(key, counts, names, &mapped_files);
        *stacks.entry(frames(key, &row, counts, names)).or_default() += count;
        *rows.entry(row).or_default() += count;
    }
    let rows = most(rows, MOST_ROWS).into_iter();
    let stacks = most(stacks, MOST_STACKS).into_iter();
    Profile {
        samples: counts.samples,
        rows: rows.map(|(row, count)| ProfileRow { count, ..row }).collect(),
        stacks: stacks.map(|(frames, count)| FoldedStack { frames, count }).collect(),
        ..Profile::default()
    }
}

/// Those with the largest counts; the order of equals is that of their names.
fn most<K: Ord + Hash>(counted: HashMap<K, u64>, room: usize) -> Vec<(K, u64)> {
    let mut counted: Vec<_> = counted.into_iter().collect();
    counted.order_by(|(a, few), (b, many)| Reverse(few).cmp(&Reverse(many)).then(a.cmp(b)));
    counted.truncate(room);
    counted
}

fn row(
    key: &SampleKey,
    counts: &SampleCounts,
    names: &Names,
    mapped_files: &MappedFiles,
) -> ProfileRow {
    let task = counts.process(key.process).task;
    let row = ProfileRow { cpu: Some(key.cpu), task, ..ProfileRow::default() };
    match key.mode {
        perf::Mode::Kernel => in_kernel(key, row, counts, names),
        perf::Mode::User => {
            let file = mapped_files.file(key.address).filter(|_| task == Task::Own);
            let symbol = "user".to_owned();
            ProfileRow { mode: Mode::User, symbol, module: file.map(str::to_owned), ..row }
        }
        // The samples of a guest have no more than the mode.
        perf::Mode::Virtual => ProfileRow { mode: Mode::User, symbol: "guest".to_owned(), ..row },
    }
}

fn in_kernel(key: &SampleKey, row: ProfileRow, counts: &SampleCounts, names: &Names) -> ProfileRow {
    let Some(function) = names.function(key.address) else {
        return ProfileRow { symbol: UNNAMED.to_owned(), ..row };
    };
    let mut callers = counts.callers(key).iter().filter_map(|back| names.function(call(*back)));
    let within = if is_generic(&function.name) {
        callers.find(|caller| !is_generic(&caller.name)).map(|caller| caller.name.clone())
    } else {
        None
    };
    ProfileRow { symbol: function.name.clone(), module: function.module.clone(), within, ..row }
}

fn frames(key: &SampleKey, row: &ProfileRow, counts: &SampleCounts, names: &Names) -> String {
    let mut frames = counts.process(key.process).name.clone();
    if frames.is_empty() {
        frames.push_str("process");
    }
    let callers = counts.callers(key).iter().rev();
    let callers = callers.filter_map(|back| names.function(call(*back)));
    let callers = callers.map(|function| function.name.as_str());
    for name in callers.chain([row.symbol.as_str()]) {
        frames.push(';');
        frames.push_str(name);
    }
    frames
}

/// Symbol of an address in a kernel that hides its names.
const UNNAMED: &str = "[kernel]";
const MOST_ROWS: usize = 1_000;
/// Call chains beyond the most frequent ones say little, and make a record long.
const MOST_STACKS: usize = 40;
