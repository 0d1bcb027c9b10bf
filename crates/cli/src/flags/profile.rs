//! How often CPUs are sampled, as `test` and `serve` take it.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

use host::PerfAccess;
use linux::perf::SampleFrequency;

/// Samples a second of each CPU; none: no samples.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ProfileFlag(pub(crate) Option<SampleFrequency>);

impl ProfileFlag {
    /// Access to the events of the CPUs, shared by all tests of a command. `None`: the user wants no
    /// samples, or the process may open few files.
    pub(crate) fn access(self) -> Option<Arc<PerfAccess>> {
        let hertz = self.0.filter(|_| !session::has_few_files());
        hertz.map(|hertz| Arc::new(PerfAccess::new(hertz)))
    }
}

impl Default for ProfileFlag {
    fn default() -> Self {
        Self(Some(SampleFrequency::default()))
    }
}

impl fmt::Display for ProfileFlag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.map_or(0, SampleFrequency::per_second).fmt(f)
    }
}

impl FromStr for ProfileFlag {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let times: u32 = text.parse().map_err(|_| HINT)?;
        if times == 0 {
            return Ok(Self(None));
        }
        SampleFrequency::new(times).map(|hertz| Self(Some(hertz))).ok_or(HINT)
    }
}

const HINT: &str = "choose between 1 and 10,000 times a second, or 0 for never";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn zero_is_never_and_too_often_is_refused() {
        assert_eq!("0".parse(), Ok(ProfileFlag(None)));
        assert_eq!("997".parse(), Ok(ProfileFlag(SampleFrequency::new(997))));
        assert_eq!("10001".parse::<ProfileFlag>(), Err(HINT));
        assert_eq!("often".parse::<ProfileFlag>(), Err(HINT));
        assert_eq!(ProfileFlag::default().to_string().parse(), Ok(ProfileFlag::default()));
    }
}
