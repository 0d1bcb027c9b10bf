//! `bench`: an honest comparison of linerate and its peers on this machine.
//!
//! The programs take turns, A B A B, so that whatever else the machine does hits them alike; ratios
//! are taken within a round. A bench is a file with what it compares ([`compared::Bench`]) and its
//! line in [`Special`]; its columns and its promises are tables, and crate `testbed` runs them.

use anyhow::Result;
use clap::{Args, Subcommand};

use self::compared::Compared;

mod compared;
mod datagrams;
mod engines;
mod exchanges;
mod flags;
mod growth;
mod import;
mod loopback;
mod mars;
mod memory;
mod pacing;
mod packets;
mod peers;
mod reference;
mod search;
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
    Streams(Compared<streams::Streams>),
    Pacing(Compared<pacing::Pacing>),
    Engines(Compared<engines::Engines>),
    Datagrams(Compared<datagrams::Datagrams>),
    Mars(mars::Mars),
    Table(Compared<table::Overview>),
    Exchanges(Compared<exchanges::Exchanges>),
    Memory(memory::Memory),
    Growth(growth::Growth),
    Search(search::Search),
    Import(import::Import),
    Packets(packets::Packets),
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
            Some(Special::Growth(growth)) => growth.run(),
            Some(Special::Search(search)) => search.run(),
            Some(Special::Import(import)) => import.run(),
            Some(Special::Packets(packets)) => packets.run(),
            None => self.loopback.run(),
        }
    }
}
