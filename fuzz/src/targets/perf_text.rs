//! Any bytes in place of what perf prints, and of folded stacks. Such a text comes from anywhere.

use crate::memory;
use measurement::Profile;
use measurement::is_shown;
use report::folded;
use report::import::{self, Content, Import, Imported, Table};

/// Judges one input.
pub(super) fn run(bytes: &[u8]) {
    for format in profiles() {
        let read = || (format.recognises(bytes), format.unread(bytes), format.read(bytes));
        let (_, unread, imported) = memory::bounded_to(PER_BYTE, bytes.len(), read);
        assert!(unread.is_sorted() && unread.len() <= bytes.len(), "{unread:?}");
        match imported {
            Ok(Imported::Profile(profile)) => check(&profile),
            Ok(Imported::Tables(tables)) => check_tables(&tables),
            _ => {}
        }
    }
}

/// There are several, each in its place, and none has more than all.
fn check_tables(tables: &[Table]) {
    assert!(tables.len() > 1 && tables.is_sorted_by(|a, b| a.line < b.line));
    for table in tables {
        assert!(table.heading.chars().all(is_shown), "{:?}", table.heading);
        check(&table.profile);
    }
}

/// Rows are in order and no more than all samples, nothing in them does something to a
/// terminal, and what is written can be read.
fn check(profile: &Profile) {
    assert!(!profile.rows.is_empty() && profile.rows.is_sorted_by(|a, b| a.count >= b.count));
    let sum = profile.rows.iter().fold(0_u64, |sum, row| sum.saturating_add(row.count));
    assert!(sum <= profile.samples, "{sum} of {}", profile.samples);
    let names = profile.rows.iter().flat_map(|row| [Some(&row.symbol), row.module.as_ref()]);
    let frames = profile.stacks.iter().map(|stack| &stack.frames);
    let all = names.flatten().chain(frames);
    all.for_each(|name| assert!(name.chars().all(is_shown), "{name:?}"));
    let mut text = Vec::new();
    folded::write(profile, &mut text).expect("a vector takes all");
    profiles().for_each(|format| _ = format.read(&text));
}

/// All formats that hold samples of CPUs.
fn profiles() -> impl Iterator<Item = &'static dyn Import> {
    import::ALL.iter().copied().filter(|format| format.content() == Content::Profile)
}

/// A short line becomes a row and a stack, each in a table and then in a list.
const PER_BYTE: usize = 512;
