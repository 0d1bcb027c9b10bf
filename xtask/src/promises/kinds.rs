//! Kinds of tasks that show promises: a file each, and its line in [`KINDS`].

use super::task::Task;

mod bench;
mod board;
mod conformance;
mod cross;
mod exports;
mod faults;
mod fuzz;
mod models;
mod proof;
mod python;
mod release;
mod roots;
mod schema;
mod size;
mod soak;
mod suite;
mod web;

/// The task that a text between backticks names; none: there is no such kind.
pub(crate) fn task(span: &str) -> Option<Task> {
    KINDS.iter().find_map(|kind| kind(span))
}

/// The task of its kind that a text names.
type Kind = fn(&str) -> Option<Task>;

const KINDS: [Kind; 17] = [
    bench::task,
    board::task,
    conformance::task,
    cross::task,
    exports::task,
    faults::task,
    fuzz::task,
    models::task,
    proof::task,
    python::task,
    release::task,
    roots::task,
    schema::task,
    size::task,
    soak::task,
    suite::task,
    web::task,
];
