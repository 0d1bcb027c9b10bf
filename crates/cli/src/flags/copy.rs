//! Flags of `copy`.

use std::path::PathBuf;

use clap::Args;
use clap::builder::BoolishValueParser;

use super::format::FormatFlags;
use super::store::StoreFile;
use ::copy::Routine;

/// Measures how fast the cores of this host copy memory, by each routine, and how fast its kernel
/// copies from and to processes. With a test it says what copies explain of its rate.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct CopyFlags {
    /// Test to explain: a file, or runs of the history as in linerate show (last, a number, a tag)
    #[arg(value_name = "FILE|RUN")]
    pub(crate) record: Option<String>,
    /// Measure and choose this routine alone; may be given several times, the first is chosen
    #[arg(long, env = "COPY_ROUTINE", value_name = "NAME", value_parser = routine)]
    pub(crate) routine: Vec<Routine>,
    /// Fewer lengths and less time
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) quick: bool,
    /// Probe anew, whatever an earlier probe chose
    #[arg(long, value_parser = BoolishValueParser::new())]
    pub(crate) fresh: bool,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// Write the record as JSON to a file too, packed if its name ends in .gz
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

fn routine(name: &str) -> Result<Routine, String> {
    let routine: Routine = name.parse().map_err(|error| format!("{error}"))?;
    if routine.copier().is_some() {
        return Ok(routine);
    }
    let available: Vec<_> = Routine::available().map(|copier| copier.routine().name()).collect();
    Err(format!("this processor cannot run it: choose {}", available.join(", ")))
}

const EXAMPLES: &str = "\
Examples:
  linerate copy                               table, picture, cliffs, and the best routine
  linerate copy --quick                       in less than a second
  linerate copy last                          what copies explain of the last test
  linerate copy --routine shift-x8 --json     one routine, for programs

Speeds are in 1e9 bytes in a second, of both buffers in the caches that hold them. 'off': the slowest
where source and destination differ in alignment. TCP send and recv are over the loopback interface,
with the work on packets; sendfile and MSG_TRUNC do the same without the copy.
What a probe chooses is kept in $XDG_CACHE_HOME/linerate/copy.json for this core, kernel and firmware.
Exit codes: 0 done; 1 failed; 2 usage";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_routine_of_another_processor_is_refused_with_those_of_this_one() {
        assert_eq!(routine("shift-x8"), Ok(Routine::ShiftX8));
        let other = if cfg!(target_arch = "aarch64") { "avx2" } else { "neon" };
        assert!(routine(other).is_err_and(|error| error.contains("choose libc, byte, word")));
        assert!(routine("memcpy").is_err_and(|error| error.contains("there is no such")));
    }
}
