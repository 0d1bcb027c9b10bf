//! `bench pacing`: how well a rate is kept, judged by a capture and not by who keeps it.
//!
//! Every run has a pair of hosts of its own (crate `lab`); tcpdump on the sender's interface
//! stamps each datagram when the kernel hands it to the link.

use std::fmt::Write;
use std::fs;
use std::path::PathBuf;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use measurement::BitRate;

use self::contender::Contender;
use self::figures::Figures;
use self::judgement::judge;
use super::promise::{self, Strictness};
use super::spread::Spread;
use crate::output::say;
use crate::packages;
use crate::workspace::Workspace;

mod capture;
mod contender;
mod figures;
mod judgement;
mod run;

/// Compares how well a rate is kept, by a capture on a veth pair
#[derive(Debug, Args)]
pub(super) struct Pacing {
    /// A further program to compare with: another linerate or iperf3
    #[arg(long, value_name = "PATH")]
    peer: Vec<PathBuf>,
    /// A linerate to use in place of the one that is built here
    #[arg(long, value_name = "PATH")]
    linerate: Option<PathBuf>,
    /// How often each program runs at each rate
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100))]
    rounds: u32,
    /// Seconds of each run
    #[arg(long, default_value_t = 5, value_name = "S", value_parser = clap::value_parser!(u32).range(1..=60))]
    time: u32,
    /// Rates of payload
    #[arg(long, value_name = "RATE,..", value_delimiter = ',', default_values = ["100M", "1G"])]
    rates: Vec<BitRate>,
    /// Write the table to a file too
    #[arg(long, value_name = "FILE")]
    markdown: Option<PathBuf>,
    /// Fail if a promise is missed
    #[arg(long)]
    strict: bool,
}

/// What one contender did at one rate, run by run.
#[derive(Debug)]
struct Row {
    rate: BitRate,
    name: String,
    figures: Vec<Figures>,
}

impl Row {
    /// The median of one figure.
    fn median(&self, of: fn(&Figures) -> f64) -> Option<f64> {
        Spread::of(self.figures.iter().map(of)).map(|spread| spread.median)
    }
}

impl Pacing {
    pub(super) fn run(self) -> Result<String> {
        for program in ["iperf3", "tcpdump"] {
            ensure!(packages::is_there(program), "no {program}; see `cargo xtask test`");
        }
        let contenders = self.contenders()?;
        if let lab::Access::Forbidden { reason } = lab::prepare() {
            bail!("cannot make hosts to run on: {reason}");
        }
        let rows = self.play(&contenders)?;
        let report = self.table(&rows);
        say(format!("\n{report}"));
        if let Some(file) = &self.markdown {
            fs::write(file, &report).with_context(|| format!("cannot write {}", file.display()))?;
        }
        promise::verdict(&judge(&rows), Strictness::of(self.strict))
    }

    /// The installed iperf3 first, then ours in each manner.
    fn contenders(&self) -> Result<Vec<Contender>> {
        let ours = match &self.linerate {
            Some(path) => path.clone(),
            None => Workspace::find()?.build_release()?,
        };
        let mut contenders = vec![Contender::of("iperf3".into())?];
        let manners = measurement::Pacing::ALL;
        contenders.extend(manners.map(|manner| Contender::linerate(ours.clone(), manner)));
        for path in &self.peer {
            contenders.push(Contender::of(path.clone())?);
        }
        Ok(contenders)
    }

    /// A B A B: in every round each contender once.
    fn play(&self, contenders: &[Contender]) -> Result<Vec<Row>> {
        let mut rows = Vec::new();
        for rate in self.rates.iter().copied() {
            let name = |contender: &Contender| contender.name.clone();
            let row = |contender| Row { rate, name: name(contender), figures: Vec::new() };
            let mut at_rate: Vec<_> = contenders.iter().map(row).collect();
            for _ in 0..self.rounds {
                for (contender, row) in contenders.iter().zip(&mut at_rate) {
                    let figures = run::run(contender, rate, self.time)
                        .with_context(|| format!("{} failed at {rate}", contender.name))?;
                    say(format!("{rate}: {}: {figures}", contender.name));
                    row.figures.push(figures);
                }
            }
            rows.extend(at_rate);
        }
        Ok(rows)
    }

    fn table(&self, rows: &[Row]) -> String {
        let mut text = format!(
            "Medians of {} rounds of {} s over a veth pair, programs in turn, UDP of {} bytes, \
             captured at the sender.\n\n{HEADING}",
            self.rounds,
            self.time,
            run::LENGTH
        );
        for row in rows {
            let median = |of, digits: usize| {
                row.median(of).map_or_else(String::new, |value| format!("{value:.digits$}"))
            };
            // Writing to a String does not fail.
            _ = writeln!(
                text,
                "| {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |",
                row.rate,
                row.name,
                median(|f| f.error_percent, 2),
                median(|f| f.error_outside_percent, 3),
                median(|f| f.stalled_percent, 2),
                median(|f| f.cpu_percent, 1),
                median(|f| f.burst_median, 0),
                median(|f| f.burst_p99, 0),
                median(|f| f.burst_most, 0),
                median(|f| f.even_percent, 1),
            );
        }
        text
    }
}

const HEADING: &str = "\
| rate | program | error % | error % outside stalls | stalled % | CPU % of sender | burst p50 | burst p99 | burst max | gaps within 10 % |
|---|---|--:|--:|--:|--:|--:|--:|--:|--:|
";
