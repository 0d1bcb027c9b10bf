//! Runs tests and has them judged: one plan becomes one judged record ([`Runner::run`]), and a
//! [`Search`] decides from the results so far which plan comes next ([`Runner::search`]).
//!
//! Prints nothing: what happens meanwhile goes to a [`Monitor`] as typed [`Event`]s.

#![forbid(unsafe_code)]

mod delegate;
mod diagnose;
pub mod dut;
mod event;
mod judge;
mod ladder;
pub mod mesh;
mod runner;
pub mod search;
mod tune;
mod tuner;

pub use analysis::Requirements;
pub use analysis::comparison::{
    AB_CONFIDENCE, Look, Point, by_version, compare, mean_rate, remarks,
};
pub use analysis::copies::{cliffs as copy_cliffs, explained as explained_by_copies};
pub use analysis::ladder::{latency as ladder_latency, rungs};
pub use analysis::search::SearchLimits;
pub use delegate::Delegate;
pub use diagnose::{diagnose, rules};
pub use event::{Event, Monitor};
pub use judge::{attribute, judge, judge_together, load_curves};
pub use ladder::Ladder;
pub use runner::{ObservedHost, Results, Runner};
pub use search::{Next, PlannedRow, Purpose, RowRate, Search, ServerAddress, Task, Trial};
pub use tune::{Answer, Proposal, Tune, Tuned};
pub use tuner::{Joined, Outlook, Tuner};
