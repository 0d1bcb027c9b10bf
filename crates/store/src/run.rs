//! What names a run, and what its records do not tell.

use std::fmt::{self, Display, Formatter};

/// Number of a run in its store, from 1. A number is not given twice, also if the run is deleted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RunId(pub(crate) i64);

impl RunId {
    /// The run of this number, whether there is one or not.
    pub const fn from_number(number: i64) -> Self {
        Self(number)
    }

    /// The number.
    pub const fn number(self) -> i64 {
        self.0
    }
}

impl Display for RunId {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the records of a run do not tell.
#[derive(Clone, Copy, Debug)]
pub struct About<'a> {
    /// The command that made them: `test`, `latency`, `diagnose`, `import`.
    pub command: &'a str,
    /// Now, in milliseconds since the Unix epoch: the time of a run whose records have none.
    pub now_millis: u64,
}
