//! What a target did, from what libFuzzer prints.

use std::fmt;
use std::path::PathBuf;

/// One run of one target.
#[derive(Debug)]
pub(super) struct Outcome {
    name: String,
    runs: u64,
    runs_per_second: u64,
    peak_mib: u64,
    reach: Reach,
    failure: Option<Failure>,
}

/// How far all its inputs came together.
#[derive(Debug, Default, PartialEq, Eq)]
struct Reach {
    edges: u64,
    features: u64,
    inputs: u64,
}

#[derive(Debug)]
struct Failure {
    why: String,
    input: Option<PathBuf>,
}

impl Outcome {
    /// The head of the table whose lines outcomes are.
    pub(super) const HEAD: &'static str =
        "target                 runs     runs/s    edges  features   inputs  peak MiB";

    /// Reads the log of a target; `input` is what it left if it did not end well.
    pub(super) fn new(name: &str, log: &str, ended_well: bool, input: Option<PathBuf>) -> Self {
        let count = |key: &str| {
            let line = log.lines().rev().find_map(|line| line.strip_prefix(key));
            line.and_then(|number| number.trim().parse().ok()).unwrap_or(0)
        };
        Self {
            name: name.to_owned(),
            runs: count("stat::number_of_executed_units:"),
            runs_per_second: count("stat::average_exec_per_sec:"),
            peak_mib: count("stat::peak_rss_mb:"),
            reach: Reach::read(log),
            failure: (!ended_well).then(|| Failure { why: reason(log), input }),
        }
    }

    /// What is wrong, and how to see it again.
    pub(super) fn complaint(&self) -> Option<String> {
        let Failure { why, input } = self.failure.as_ref()?;
        let name = &self.name;
        let Some(input) = input else { return Some(format!("{name}: {why}")) };
        let input = input.display();
        Some(format!("{name}: {why}\n    cargo xtask fuzz --target {name} --replay {input}"))
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, runs, runs_per_second, peak_mib, reach, failure } = self;
        let Reach { edges, features, inputs } = reach;
        write!(f, "{name:16} {runs:>10} {runs_per_second:>10} {edges:>8} {features:>9}")?;
        write!(f, " {inputs:>8} {peak_mib:>9}")?;
        f.write_str(if failure.is_some() { "  FAILED" } else { "" })
    }
}

impl Reach {
    /// Of the last line of progress, e.g. `#8 DONE cov: 90 ft: 200 corp: 7/1Kb exec/s: 0`.
    fn read(log: &str) -> Self {
        let last = log.lines().rev().find(|line| line.starts_with('#') && line.contains(" cov: "));
        let words: Vec<_> = last.unwrap_or_default().split_whitespace().collect();
        let after = |key: &str| {
            let at = words.iter().position(|word| *word == key)?;
            words.get(at + 1)?.split('/').next()?.parse().ok()
        };
        let number = |key| after(key).unwrap_or(0);
        Self { edges: number("cov:"), features: number("ft:"), inputs: number("corp:") }
    }
}

/// The panic with the line below it, or libFuzzer's own reason, or the last that was said.
fn reason(log: &str) -> String {
    let lines: Vec<_> = log.lines().collect();
    if let Some(at) = lines.iter().position(|line| line.contains("panicked at ")) {
        return lines[at..].iter().take(2).copied().collect::<Vec<_>>().join("\n    ");
    }
    let own = lines.iter().find(|line| line.contains("ERROR: libFuzzer: "));
    own.or(lines.last()).map_or_else(|| "it said nothing".to_owned(), |line| (*line).to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    const STATS: &str = "\
stat::number_of_executed_units: 9260
stat::average_exec_per_sec:     1028
stat::peak_rss_mb:              28
";

    fn log(middle: &str) -> String {
        format!(
            "INFO: Seed: 1\n#9\tINITED cov: 5 ft: 7 corp: 1/1b exec/s: 0 rss: 27Mb\n{middle}{STATS}"
        )
    }

    #[test]
    fn a_good_end_is_one_line() {
        let log = log("#9260\tDONE   cov: 562 ft: 840 corp: 43/2677b lim: 246 exec/s: 1028\n");
        let outcome = Outcome::new("form", &log, true, None);
        let line = outcome.to_string();
        let numbers: Vec<_> = line.split_whitespace().collect();
        assert_eq!(numbers, ["form", "9260", "1028", "562", "840", "43", "28"]);
        assert_eq!(line.len(), Outcome::HEAD.len());
        assert_eq!(outcome.complaint(), None);
    }

    #[test]
    fn a_panic_is_shown_with_the_way_to_see_it_again() {
        let log = log(
            "\nthread '<unnamed>' panicked at src/x.rs:1:2:\nno good\nnote: y\n==1== ERROR: libFuzzer: deadly signal\n",
        );
        let outcome = Outcome::new("form", &log, false, Some("/t/crash-1".into()));
        assert!(outcome.to_string().ends_with("FAILED"));
        assert_eq!(
            outcome.complaint().as_deref(),
            Some(
                "form: thread '<unnamed>' panicked at src/x.rs:1:2:\n    no good\n    \
                 cargo xtask fuzz --target form --replay /t/crash-1"
            )
        );
    }

    #[test]
    fn what_takes_too_long_or_too_much_has_libfuzzers_reason() {
        let log = log("==1== ERROR: libFuzzer: timeout after 10 seconds\n");
        let outcome = Outcome::new("form", &log, false, None);
        assert_eq!(
            outcome.complaint().as_deref(),
            Some("form: ==1== ERROR: libFuzzer: timeout after 10 seconds")
        );
    }
}
