//! Foreign load: what other programs did on this machine, read from what no rule reads.
//!
//! Rules look at CPUs (`/proc/stat`) and pressure; this adds up what the kernel counts of each
//! process, and leaves this one and its children out. Steal is in `/proc/stat` alone.

use std::fmt::{self, Display, Formatter};
use std::fs;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use measurement::RuleId;

use crate::usage::{Stat, of_ticks};

/// CPU time of other processes, and stolen time of each CPU, up to one instant (`/proc`, proc(5)).
pub struct Reading {
    at: Instant,
    /// What others ran.
    others: Duration,
    /// What was stolen, by CPU.
    stolen: Vec<Duration>,
}

/// Load by other processes between two readings: CPU time that they used, and stolen time (`steal`,
/// proc_stat(5)).
#[derive(Clone, Copy, Debug)]
pub struct Noise {
    /// They ran so much of one CPU.
    pub others: f64,
    /// So much of the CPU that lost most was stolen.
    pub stolen: f64,
}

impl Reading {
    /// Reads the CPU time of other processes and the stolen time until now. This process and its
    /// children do not count.
    ///
    /// # Errors
    /// `/proc` cannot be read.
    pub fn take() -> Result<Self> {
        let text = fs::read_to_string("/proc/stat").context("cannot read /proc/stat")?;
        let cpus = text.lines().filter(|line| line.starts_with("cpu") && !line.starts_with("cpu "));
        // Field 8 after the name (proc_stat(5)).
        let steal = |line: &str| line.split_whitespace().nth(8)?.parse().ok();
        let stolen = cpus.map(|line| of_ticks(steal(line).unwrap_or(0))).collect();
        Ok(Self { at: Instant::now(), others: ran_by_others()?, stolen })
    }

    /// The load by other processes since the reading `before`.
    pub fn noise_since(&self, before: &Self) -> Noise {
        let span = self.at.duration_since(before.at).max(of_ticks(1));
        let share = |now: Duration, then| now.saturating_sub(then).div_duration_f64(span);
        let stolen = self.stolen.iter().zip(&before.stolen).map(|(now, then)| share(*now, *then));
        Noise { others: share(self.others, before.others), stolen: stolen.fold(0.0, f64::max) }
    }
}

impl Noise {
    /// Whether this load confirms a finding of `rule` as caused by other processes, by that rule's
    /// own threshold; false for rules that other processes do not trigger.
    pub fn confirms(self, rule: RuleId) -> bool {
        let (others, stolen) = (self.others > MUCH_BY_OTHERS, self.stolen > MUCH_STOLEN);
        match rule {
            RuleId::CpuSteal => stolen,
            RuleId::OtherProcesses => others,
            // They follow from one or the other.
            RuleId::SenderBelowRate
            | RuleId::WorkerSaturated
            | RuleId::RunDelay
            | RuleId::LossLocation
            | RuleId::SenderBursts
            | RuleId::WarmUpInMean
            | RuleId::TailLoss
            | RuleId::JitterOfReceiver
            | RuleId::IntervalMismatch
            | RuleId::SpuriousRetransmissions => others || stolen,
            _ => false,
        }
    }

    /// The smaller of both loads, separately for CPU time and for stolen time.
    #[must_use]
    pub fn quieter(self, other: Self) -> Self {
        Self { others: self.others.min(other.others), stolen: self.stolen.min(other.stolen) }
    }

    /// Whether the load is too small for any rule to report it: at most 5 % of a CPU used by
    /// others, at most 1 % stolen.
    pub fn is_quiet(self) -> bool {
        self.others <= MUCH_BY_OTHERS && self.stolen <= MUCH_STOLEN
    }
}

impl Display for Noise {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "others ran {:.2} of a CPU, {:.2} of one was stolen", self.others, self.stolen)
    }
}

/// Waits for a second without notable load by other processes ([`Noise::is_quiet`]), but at most
/// about 30 s.
///
/// # Errors
/// `/proc` cannot be read.
pub fn wait() -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let before = Reading::take()?;
        std::thread::sleep(Duration::from_secs(1));
        if Reading::take()?.noise_since(&before).is_quiet() || Instant::now() > deadline {
            return Ok(());
        }
    }
}

/// What all processes ran but this one and its children, with what they waited for: so what one
/// that ended ran is its parent's.
fn ran_by_others() -> Result<Duration> {
    let own = std::process::id();
    let mut sum = Duration::ZERO;
    for entry in fs::read_dir("/proc").context("cannot read /proc")?.flatten() {
        // What has ended meanwhile is counted with its parent.
        let Ok(text) = fs::read_to_string(entry.path().join("stat")) else { continue };
        let Some(stat) = Stat::parse(&text) else { continue };
        if stat.id != own && stat.parent != own {
            sum += stat.own + stat.children;
        }
    }
    Ok(sum)
}

/// The threshold of `other-processes`, of one CPU.
const MUCH_BY_OTHERS: f64 = 0.05;
/// The threshold of `cpu-steal`.
const MUCH_STOLEN: f64 = 0.01;
const PATIENCE: Duration = Duration::from_secs(30);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_witness_confirms_only_what_it_saw() {
        let loud = Noise { others: 0.5, stolen: 0.0 };
        assert!(loud.confirms(RuleId::OtherProcesses) && loud.confirms(RuleId::RunDelay));
        assert!(
            !loud.confirms(RuleId::CpuSteal)
                && !loud.confirms(RuleId::ForeignTraffic)
                && !loud.is_quiet()
        );
        let quiet = Noise { others: 0.01, stolen: 0.0 };
        assert!(
            !quiet.confirms(RuleId::OtherProcesses)
                && !quiet.confirms(RuleId::RunDelay)
                && quiet.is_quiet()
        );
    }
}
