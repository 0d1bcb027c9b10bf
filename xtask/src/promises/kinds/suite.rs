//! A file or folder of tests: `cargo test` runs what is in it.

use crate::promises::task::{Course, Found, Program, Task, Verdict};

pub(super) fn task(span: &str) -> Option<Task> {
    let (workspace, rest) = span.split_once('/')?;
    let manifest: &[&str] = match workspace {
        "crates" => &[],
        "runtime" => &["--manifest-path", "runtime/Cargo.toml"],
        _ => return None,
    };
    let (folder, path) = rest.split_once('/')?;
    let package =
        if folder == "cli" { "linerate".to_owned() } else { format!("linerate-{folder}") };
    let mut words = vec!["test".to_owned()];
    words.extend(manifest.iter().map(|word| (*word).to_owned()));
    words.extend(["--package".to_owned(), package]);
    let features = FEATURES.iter().filter(|(of, _)| *of == folder);
    words.extend(features.flat_map(|(_, name)| ["--features".to_owned(), (*name).to_owned()]));
    words.extend(target(folder, path.strip_suffix(".rs").unwrap_or(path)));
    Some(Task {
        name: span.to_owned(),
        program: Program::Cargo,
        words,
        quick: None,
        read: |course| vec![passed(course)],
        files: vec![span.to_owned()],
    })
}

/// The target, and which of its tests.
fn target(folder: &str, path: &str) -> Vec<String> {
    let words = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect();
    let unit = if folder == "cli" { "--bins" } else { "--lib" };
    let parts: Vec<&str> = path.split('/').collect();
    match parts.as_slice() {
        ["tests"] => words(&["--tests"]),
        ["tests", target] => words(&["--test", target]),
        ["tests", target, modules @ ..] => {
            words(&["--test", target, "--", &format!("{}::", modules.join("::"))])
        }
        ["src", modules @ ..] => {
            let modules: Vec<_> =
                modules.iter().filter(|name| **name != "tests").copied().collect();
            words(&[unit, "--", &format!("{}::", modules.join("::"))])
        }
        _ => Vec::new(),
    }
}

/// The sum of what the targets say; that no test ran shows nothing.
fn passed(course: &Course) -> Found {
    let results = course.lines.iter().filter_map(|line| line.strip_prefix("test result: ok. "));
    let counts = results.filter_map(|rest| rest.split_once(" passed")?.0.parse::<u32>().ok());
    match counts.sum() {
        _ if !course.succeeded => course.end(),
        0 => Found { text: "no test ran".to_owned(), verdict: Verdict::Missed },
        count => Found { text: format!("{count} tests passed"), verdict: Verdict::Kept },
    }
}

/// Features without which some tests of a crate are not built.
const FEATURES: [(&str, &str); 1] = [("mars", "tasks")];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_is_a_target_and_a_module() {
        let line = |span| task(span).expect("tests").words.join(" ");
        assert_eq!(line("crates/host/tests"), "test --package linerate-host --tests");
        assert_eq!(
            line("crates/report/tests/screen.rs"),
            "test --package linerate-report --test screen"
        );
        assert_eq!(
            line("runtime/mars/tests/tasks.rs"),
            "test --manifest-path runtime/Cargo.toml --package linerate-mars --features tasks --test tasks"
        );
        let dropin = "test --package linerate --test dropin -- packets::";
        assert_eq!(line("crates/cli/tests/dropin/packets.rs"), dropin);
        let habits = "test --package linerate --bins -- flags::habits::";
        assert_eq!(line("crates/cli/src/flags/habits.rs"), habits);
        let rate = "test --package linerate-campaign --lib -- search::rate::";
        assert_eq!(line("crates/campaign/src/search/rate/tests.rs"), rate);
    }

    #[test]
    fn tests_of_all_targets_are_added_and_none_is_not_enough() {
        let told = |lines: &[&str]| {
            let lines = lines.iter().map(|line| (*line).to_owned()).collect();
            passed(&Course { succeeded: true, lines, allowance: 1.0 })
        };
        let line = "test result: ok. 3 passed; 0 failed; 0 ignored";
        assert_eq!(told(&[line, "x", line]).text, "6 tests passed");
        assert_eq!(told(&["test result: ok. 0 passed; 0 failed"]).verdict, Verdict::Missed);
    }
}
