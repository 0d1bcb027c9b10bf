//! `bench`: an honest comparison of linerate and its peers on this machine.
//!
//! The programs take turns, A B A B, so that whatever else the machine does hits them alike; ratios
//! are taken within a round. Each bench is a file: its rows, its columns and its promises are
//! tables, and crate `testbed` runs them.

use anyhow::Result;
use clap::{Args, Subcommand};

mod datagrams;
mod engines;
mod exchanges;
mod flags;
mod loopback;
mod mars;
mod memory;
mod pacing;
mod reference;
mod streams;
mod table;
mod values;

/// Compares linerate with the installed iperf3 over loopback
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Bench {
    #[command(subcommand)]
    special: Option<Special>,
    #[command(flatten)]
    loopback: loopback::Loopback,
}

/// Comparisons of one thing each.
#[derive(Debug, Subcommand)]
enum Special {
    Streams(streams::Streams),
    Pacing(pacing::Pacing),
    Engines(engines::Engines),
    Datagrams(datagrams::Datagrams),
    Mars(mars::Mars),
    Table(table::Overview),
    Exchanges(exchanges::Exchanges),
    Memory(memory::Memory),
}

impl Bench {
    pub(crate) fn run(self) -> Result<String> {
        match self.special {
            Some(Special::Streams(streams)) => streams.run(),
            Some(Special::Pacing(pacing)) => pacing.run(),
            Some(Special::Engines(engines)) => engines.run(),
            Some(Special::Datagrams(datagrams)) => datagrams.run(),
            Some(Special::Mars(mars)) => mars.run(),
            Some(Special::Table(table)) => table.run(),
            Some(Special::Exchanges(exchanges)) => exchanges.run(),
            Some(Special::Memory(memory)) => memory.run(),
            None => self.loopback.run(),
        }
    }
}
