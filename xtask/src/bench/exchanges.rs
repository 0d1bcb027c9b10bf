//! `bench exchanges`: request and response, one at a time, beside the peers.
//!
//! It plays by the rules of [`super::streams`]: hosts of their own, A B A B. The sizes are the
//! same for all; what differs is who waits how, which is what is compared.

use anyhow::{Result, ensure};
use clap::Args;

use self::contender::Contender;
use self::contest::{Contest, Row};
use super::environment::Environment;
use super::flags::{Flags, prepare_hosts};
use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

mod contender;
mod contest;
mod figures;
mod markdown;
mod run;

use self::contender::Exchange;

/// Compares request/response and connect/request/response with sockperf, iperf and peers
#[derive(Debug, Args)]
pub(super) struct Exchanges {
    #[command(flatten)]
    flags: Flags,
    /// What is exchanged
    #[arg(long, value_name = "WHAT,..", value_delimiter = ',', default_values_t = [Exchange::Tcp, Exchange::Udp, Exchange::Connect])]
    only: Vec<Exchange>,
    /// Bytes of a request and of a response
    #[arg(long, default_value_t = 64, value_name = "N", value_parser = clap::value_parser!(u32).range(16..=1400))]
    size: u32,
    /// Leave linerate out
    #[arg(long)]
    peers_only: bool,
    /// A date to put at the head of the table
    #[arg(long, value_name = "DATE")]
    date: Option<String>,
}

impl Exchanges {
    pub(super) fn run(self) -> Result<String> {
        packages::provide(&packages::EXCHANGERS)?;
        let contenders = self.contenders()?;
        // Before the first thread, as it asks.
        prepare_hosts()?;
        let contest =
            Contest { rounds: self.flags.rounds, seconds: self.flags.time, size: self.size };
        let environment = Environment::look(&self.flags.over)?;
        let head = markdown::head(&contest, &contenders, &environment, self.date.as_deref());
        say(&head);
        let jobs: Vec<_> = self
            .only
            .iter()
            .flat_map(|&what| self.flags.over.iter().map(move |&route| (what, route)))
            .collect();
        let rows = contest.rows(&jobs, &contenders)?;
        self.flags.publish(&format!("{head}\n{}", markdown::of(&rows)))?;
        verdict(&rows)
    }

    /// Ours first, then the installed peers, then those that were named.
    fn contenders(&self) -> Result<Vec<Contender>> {
        let mut contenders = Vec::new();
        if !self.peers_only {
            contenders.push(Contender::find(self.flags.ours(&Workspace::find()?)?)?);
        }
        for installed in ["sockperf", "iperf"] {
            contenders.push(Contender::find(installed.into())?);
        }
        for peer in &self.flags.peer {
            contenders.push(Contender::find(peer.clone())?);
        }
        Ok(contenders)
    }
}

fn verdict(rows: &[Row]) -> Result<String> {
    ensure!(rows.iter().any(Row::has_figures), "exchanges: nobody ran");
    let compared: Vec<_> = rows.iter().filter_map(Row::comparison).collect();
    let ahead = compared.iter().filter(|(_, rate)| rate.median >= 1.0).count();
    Ok(format!(
        "exchanges: linerate makes at least as many as the best peer in {ahead} of {} rows",
        compared.len()
    ))
}
