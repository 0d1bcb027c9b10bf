//! What each row has to keep, for scripts: `--min-rate`, `--max-loss`, `--max-latency`, `--require`.

use std::time::Duration;

use campaign::Requirements;
use clap::{Args, ValueEnum};
use measurement::units::parse_duration;
use measurement::{BitRate, Stamp, TestPlan};

use crate::exit::UsageError;

/// Thresholds. A row that misses one is a line on standard error, and the exit code is 4.
#[derive(Debug, Default, Args)]
pub(crate) struct RequirementFlags {
    /// Exit with 4 if a row delivers less in a direction, e.g. 900M
    #[arg(long, env = "LINERATE_MIN_RATE", value_name = "RATE")]
    min_rate: Option<BitRate>,
    /// Exit with 4 if a row over UDP loses more, e.g. 0.1%
    #[arg(long, env = "LINERATE_MAX_LOSS", value_name = "PERCENT", value_parser = parse_percentage)]
    max_loss: Option<f64>,
    /// Exit with 4 if a round trip under load takes longer, e.g. 5ms: the 99th percentile of
    /// requests or of the probe of --latency, else the highest smoothed RTT of TCP
    #[arg(long, env = "LINERATE_MAX_LATENCY", value_name = "DURATION", value_parser = parse_duration)]
    max_latency: Option<Duration>,
    /// Exit with 4 if a row has a worse stamp
    #[arg(long, env = "LINERATE_REQUIRE", value_name = "STAMP")]
    require: Option<LeastStamp>,
}

/// The worst stamp that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LeastStamp {
    /// Every row is VALID
    Valid,
    /// No row is INVALID
    Suspect,
}

impl RequirementFlags {
    /// The requirements on rows with these plans, beside which a probe of the round-trip time runs
    /// or not.
    ///
    /// # Errors
    /// No row can tell whether it keeps one of them.
    pub(crate) fn of_rows(
        &self,
        plans: &[TestPlan],
        probed: bool,
    ) -> Result<Requirements, UsageError> {
        let requirements = Requirements {
            min_rate: self.min_rate,
            max_loss: self.max_loss,
            max_latency: self.max_latency,
            worst_stamp: self.require.map(|least| match least {
                LeastStamp::Valid => Stamp::Valid,
                LeastStamp::Suspect => Stamp::Suspect,
            }),
        };
        match requirements.untold(plans, probed) {
            Some(text) => Err(UsageError(text.to_owned())),
            None => Ok(requirements),
        }
    }
}

/// A share from 0 % to 100 %.
pub(super) fn parse_percentage(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').map(str::trim_end).and_then(|number| number.parse().ok());
    let share = number.filter(|percent: &f64| (0.0..=100.0).contains(percent));
    share.map(|percent| percent / 100.0).ok_or_else(|| "a share looks like 0.1%".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_share_is_a_percentage() {
        assert_eq!(parse_percentage("50%"), Ok(0.5));
        assert_eq!(parse_percentage("0 %"), Ok(0.0));
        for text in ["0.1", "101%", "-1%", "%", "nan%", "much"] {
            assert!(parse_percentage(text).is_err(), "{text}");
        }
    }
}
