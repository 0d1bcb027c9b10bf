//! Which runs are kept when others are deleted.

use std::str::FromStr;
use std::time::Duration;

use crate::filter::SECONDS_OF_A_DAY;

/// How much of a history is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Keep {
    /// The last so many runs.
    Runs(u32),
    /// The runs that began within this time.
    Within(Duration),
}

impl FromStr for Keep {
    type Err = String;

    /// Reads a number of runs, or a number of days as in `90d`.
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || format!("'{text}' is neither runs nor days: type 500, or 90d");
        let Some(days) = text.strip_suffix('d') else {
            return text.parse().map(Self::Runs).map_err(|_| wrong());
        };
        let days: u32 = days.parse().map_err(|_| wrong())?;
        Ok(Self::Within(Duration::from_secs(u64::from(days) * SECONDS_OF_A_DAY)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_runs_and_with_a_d_days() {
        assert_eq!("500".parse(), Ok(Keep::Runs(500)));
        assert_eq!("2d".parse(), Ok(Keep::Within(Duration::from_secs(172_800))));
        for wrong in ["", "d", "-1", "1.5d", "9w", "99999999999"] {
            assert!(wrong.parse::<Keep>().is_err(), "{wrong}");
        }
    }
}
