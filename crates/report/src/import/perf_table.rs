//! Tables of `perf report --stdio`, and screens of `perf top --stdio`: a share, perhaps the process
//! and its file, `[k]` or `[.]`, and a function.

use measurement::Profile;
use measurement::profile::Mode;

use super::samples::{Samples, row};
use super::{Content, Import, ImportError, Imported, head, profile};

/// The text of `perf report --stdio` or of `perf top --stdio`.
pub(super) struct PerfTable;

impl Import for PerfTable {
    fn name(&self) -> &'static str {
        "output of perf report --stdio or perf top --stdio"
    }

    fn content(&self) -> Content {
        Content::Profile
    }

    fn recognises(&self, bytes: &[u8]) -> bool {
        head(bytes).lines().any(|line| Line::parse(line).is_some())
    }

    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        profile(read(&String::from_utf8_lossy(bytes)))
    }
}

/// None: no line has a share and a function.
fn read(text: &str) -> Option<Profile> {
    let mut samples = Samples::default();
    for line in text.lines() {
        if let Some(line) = Line::parse(line) {
            samples.add(row(line.command, line.file, line.mode, line.symbol), line.weight);
        }
    }
    if samples.is_empty() {
        return None;
    }
    // Shares are of all that was sampled; a screen shows the first of them.
    let all = samples.count().max(WHOLE);
    let from_top = text.contains("PerfTop:");
    let profile = samples.profile(if from_top { "perf top" } else { "perf report" }, all);
    Some(Profile { event: event(text), ..profile })
}

/// A line of the table.
struct Line<'a> {
    /// Hundredths of a percent.
    weight: u64,
    command: &'a str,
    file: &'a str,
    mode: Mode,
    symbol: &'a str,
}

impl<'a> Line<'a> {
    fn parse(line: &'a str) -> Option<Self> {
        let (share, rest) = first_word(line);
        let mut weight = hundredths(share)?;
        let mut rest = rest;
        // With chains of calls the second share is the function's own.
        if let (second, behind) = first_word(rest)
            && let Some(own) = hundredths(second)
        {
            (weight, rest) = (own, behind);
        }
        let (at, mark, mode) =
            MARKS.iter().find_map(|(mark, mode)| rest.find(mark).map(|at| (at, mark, *mode)))?;
        let before = rest[..at].trim();
        let (command, file) = before.rsplit_once(char::is_whitespace).unwrap_or(("", before));
        // Further columns stand apart.
        let symbol = rest[at + mark.len()..].trim().split("  ").next().unwrap_or("").trim();
        let command = command.trim().split("  ").next().unwrap_or("");
        (!symbol.is_empty()).then_some(Self { weight, command, file, mode, symbol })
    }
}

fn first_word(text: &str) -> (&str, &str) {
    let text = text.trim_start();
    text.split_once(char::is_whitespace).unwrap_or((text, ""))
}

/// `40.40%` as 4,040.
fn hundredths(word: &str) -> Option<u64> {
    let percent: f64 = word.strip_suffix('%')?.parse().ok()?;
    if !(0.0..=100.0).contains(&percent) {
        return None;
    }
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "it is between 0 and 10,000"
    )]
    let hundredths = (percent * 100.0).round() as u64;
    Some(hundredths)
}

/// `# Samples: 12K of event 'cycles'`, or `[4000Hz cycles]` above a screen.
fn event(text: &str) -> String {
    let quoted = text.split_once("of event '").and_then(|(_, rest)| rest.split_once('\''));
    let screen = || text.split_once("Hz ").and_then(|(_, rest)| rest.split_once(']'));
    let name = quoted.or_else(screen).map_or("", |(name, _)| name);
    let name = name.split(':').next().unwrap_or("");
    name.chars()
        .filter(|letter| letter.is_ascii_alphanumeric() || *letter == '-')
        .take(64)
        .collect()
}

const MARKS: [(&str, Mode); 5] = [
    ("[k] ", Mode::Kernel),
    ("[.] ", Mode::User),
    ("[g] ", Mode::User),
    ("[u] ", Mode::User),
    ("[H] ", Mode::Kernel),
];
/// A hundred percent.
const WHOLE: u64 = 10_000;
