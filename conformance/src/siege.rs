//! `siege`: proofs that the server never wedges, whoever comes in whatever number.
//!
//! Each proof prints a table of figures, limits and verdicts. Unlike the other tasks it
//! judges the server alone: what is measured of the network is a means here.

use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::Verdict;
use crate::program::Programs;
use crate::table;

mod bare;
mod client;
mod crowd;
mod dropper;
mod fixture;
mod flood;
mod footprint;
mod held;
mod hostile;
mod limits;
mod mutator;
mod peer;
mod peers;
mod probe;
mod random;
mod record;
mod script;
mod server;
mod shut;
mod spoofed;
mod topology;
mod vanished;

pub(crate) use bare::Bare;
use limits::LimitTable;
use random::Random;

/// Besieges a server of linerate: many clients, hostile ones, floods, vanished hosts
#[derive(Debug, Args)]
pub(crate) struct Siege {
    #[command(flatten)]
    programs: Programs,
    /// Smaller numbers, about a quarter of a minute for each proof
    #[arg(long)]
    short: bool,
    /// Only these proofs
    #[arg(long, value_name = "NAME", value_delimiter = ',')]
    only: Vec<Proof>,
    /// Three times the limits of time, cost and rate, for busy machines
    #[arg(long)]
    generous: bool,
    /// What random numbers begin with; 0: something new
    #[arg(long, default_value_t = 0, value_name = "NUMBER")]
    seed: u64,
    /// Seconds of the parts that may take any time
    #[arg(long, value_name = "SECONDS")]
    time: Option<u64>,
}

/// What is proved.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Proof {
    Shut,
    Held,
    Crowd,
    Hostile,
    Flood,
    Vanished,
    Spoofed,
    Mutator,
}

impl Siege {
    pub(crate) fn run(&self) -> anyhow::Result<Verdict> {
        linux::host::raise_file_limit();
        let proofs = Proof::value_variants().iter();
        let mut missed = Vec::new();
        for proof in proofs.filter(|proof| self.only.is_empty() || self.only.contains(proof)) {
            if proof.run(self)? == Verdict::Failed {
                missed.push(format!("{proof:?}").to_lowercase());
            }
        }
        if missed.is_empty() {
            table::say("\nsiege: every limit was kept");
            return Ok(Verdict::Passed);
        }
        table::say(format!("\nsiege: limits were missed by: {}", missed.join(", ")));
        Ok(Verdict::Failed)
    }

    fn limits(&self, proof: &'static str) -> LimitTable {
        LimitTable::open(proof, if self.generous { GENEROSITY } else { 1.0 })
    }

    fn seed(&self) -> u64 {
        if self.seed == 0 { Random::fresh_seed() } else { self.seed }
    }

    /// How long a part takes, unless that was asked for.
    fn time(&self, whole: Duration, short: Duration) -> Duration {
        let usual = if self.short { short } else { whole };
        self.time.map_or(usual, Duration::from_secs)
    }
}

impl Proof {
    fn run(self, siege: &Siege) -> anyhow::Result<Verdict> {
        match self {
            Self::Shut => shut::run(siege),
            Self::Held => held::run(siege),
            Self::Crowd => crowd::run(siege),
            Self::Hostile => hostile::run(siege),
            Self::Flood => flood::run(siege),
            Self::Vanished => vanished::run(siege),
            Self::Spoofed => spoofed::run(siege),
            Self::Mutator => mutator::run(siege),
        }
    }
}

const GENEROSITY: f64 = 3.0;
