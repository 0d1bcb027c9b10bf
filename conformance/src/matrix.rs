//! `matrix`: all pairs of options, between all pairs of programs.

use std::path::PathBuf;

use clap::Args;
use lab::LinkSpec;

use crate::Verdict;
use crate::bench::Bench;
use crate::cell::{self, Topic};
use crate::program::{Installed, Program};
use crate::trial::Summary;

/// Plays every cell between linerate and iperf3, both ways, and linerate and itself
#[derive(Debug, Args)]
pub(crate) struct Matrix {
    /// The linerate to test
    #[arg(long, value_name = "FILE")]
    linerate: PathBuf,
    /// The iperf3 to test against
    #[arg(long, default_value = "iperf3", value_name = "FILE")]
    iperf3: PathBuf,
    /// A dozen cells in which every option occurs
    #[arg(long)]
    short: bool,
    /// Only the cells about this option
    #[arg(long, value_name = "OPTION")]
    about: Option<Topic>,
}

impl Matrix {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let ours = Installed::find(Program::Linerate, &self.linerate)?;
        let theirs = Installed::find(Program::Iperf3, &self.iperf3)?;
        let mut cells = if self.short { cell::few() } else { cell::all() };
        cells.retain(|cell| self.about.is_none_or(|topic| topic == cell.topic));
        let bench = Bench::new(&LinkSpec::default())?;
        let mut summary = Summary::begin();
        for (client, server) in [(&ours, &theirs), (&theirs, &ours), (&ours, &ours)] {
            for cell in &cells {
                summary.add(&bench, client, server, &cell.ask)?;
            }
        }
        Ok(summary.finish("matrix"))
    }
}
