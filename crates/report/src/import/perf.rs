//! What perf(1) prints: `perf report --stdio`, a screen of `perf top`, and `perf script`.

mod script;
mod table;

use std::fmt::{self, Display, Formatter};

use measurement::Profile;

/// Why a text is no profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct NotPerf;

impl Display for NotPerf {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(
            "this is no output of perf: give the text of \"perf report --stdio\", of \
             \"perf top --stdio\" or of \"perf script\"",
        )
    }
}

impl std::error::Error for NotPerf {}

/// Reads the samples of a table, in hundredths of a percent, or those of a script, one by one.
///
/// # Errors
/// There is not one in the text.
pub fn read(text: &str) -> Result<Profile, NotPerf> {
    table::read(text).or_else(|| script::read(text)).ok_or(NotPerf)
}

#[cfg(test)]
mod tests;
