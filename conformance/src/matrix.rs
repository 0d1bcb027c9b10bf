//! `matrix`: all pairs of options, between all pairs of programs.

use clap::Args;
use lab::LinkSpec;
use testbed::topology::{Path, Topology};

use crate::Verdict;
use crate::cell::{self, Topic};
use crate::program::Programs;
use crate::trial::{Judged, Summary, Trial};

/// Plays every cell between linerate and iperf3, both ways, and linerate and itself
#[derive(Debug, Args)]
pub(crate) struct Matrix {
    #[command(flatten)]
    programs: Programs,
    /// A dozen cells in which every option occurs, held against what does not depend on the load
    #[arg(long)]
    short: bool,
    /// Only the cells about this option
    #[arg(long, value_name = "OPTION")]
    about: Option<Topic>,
}

impl Matrix {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        let (ours, theirs) = self.programs.find()?;
        let mut cells = if self.short { cell::few() } else { cell::all() };
        cells.retain(|cell| self.about.is_none_or(|topic| topic == cell.topic));
        let hosts = &Topology::cable(Path::Veth, &LinkSpec::default())?;
        let judged = if self.short { Judged::WhateverTheLoad } else { Judged::All };
        let mut summary = Summary::begin();
        for (client, server) in [(&ours, &theirs), (&theirs, &ours), (&ours, &ours)] {
            for cell in &cells {
                summary.add(&Trial { hosts, client, server, ask: &cell.ask, judged })?;
            }
        }
        Ok(summary.finish("matrix"))
    }
}
