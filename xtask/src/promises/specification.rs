//! SPECIFICATION.md as a list: the rows of its tables, each a promise and what shows it.

/// A row.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Promise {
    /// The heading above its table.
    pub(crate) section: String,
    /// What is promised.
    pub(crate) text: String,
    /// The second cell, in its order.
    pub(crate) shown_by: Vec<Show>,
}

/// What shows a promise: `cargo xtask bench` ("1 MiB").
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Show {
    /// A command, or a file or folder of tests; between backticks.
    pub(crate) span: String,
    /// Which of its results count: those that have one of these texts; empty: all.
    pub(crate) choice: Vec<String>,
}

impl Promise {
    /// Whether it is told that it is not kept everywhere yet.
    pub(super) fn has_reserve(&self) -> bool {
        RESERVES.iter().any(|words| self.text.contains(words))
    }
}

impl Show {
    /// Whether a result is one that counts.
    pub(super) fn wants(&self, result: &str) -> bool {
        self.choice.is_empty() || self.choice.iter().any(|text| result.contains(text.as_str()))
    }
}

/// The rows of all tables with two columns.
pub(crate) fn read(specification: &str) -> Vec<Promise> {
    let (mut section, mut promises) = ("", Vec::new());
    for line in specification.lines() {
        section = line.strip_prefix("## ").unwrap_or(section);
        let Some(cells) = line.strip_prefix("| ").and_then(|rest| rest.strip_suffix(" |")) else {
            continue;
        };
        let Some((text, shown_by)) = cells.split_once(" | ") else { continue };
        if text != HEAD && !shown_by.contains(" | ") {
            let (section, text) = (section.to_owned(), text.to_owned());
            promises.push(Promise { section, text, shown_by: shows(shown_by) });
        }
    }
    promises
}

/// Commands and paths; other words between backticks are prose.
fn shows(cell: &str) -> Vec<Show> {
    // Every second part stands between backticks; what follows it may choose among its results.
    let parts: Vec<&str> = cell.split('`').collect();
    let spans = parts.chunks_exact(2).map(|pair| pair[1]);
    let after = parts.iter().skip(2).step_by(2).copied().chain([""]);
    let all = spans.zip(after).filter(|(span, _)| BEGINNINGS.iter().any(|b| span.starts_with(b)));
    all.map(|(span, after)| Show { span: span.to_owned(), choice: choice(after) }).collect()
}

/// The texts between quotes in a parenthesis: ` ("a", "b")`.
fn choice(after: &str) -> Vec<String> {
    let inside = after.strip_prefix(" (\"").and_then(|rest| rest.split_once("\")"));
    inside.map_or_else(Vec::new, |(texts, _)| texts.split("\", \"").map(str::to_owned).collect())
}

/// The head of the first column.
const HEAD: &str = "promise";
/// With which commands and paths begin, and flags that lack their command.
const BEGINNINGS: [&str; 4] = ["cargo ", "crates/", "runtime/", "--"];
/// How a row says that it is not kept everywhere.
const RESERVES: [&str; 2] = ["ot kept yet", "not yet"];

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "# What\n\n## Speed\n\n| promise | shown by |\n|---|---|\n\
        | As fast, by `tc` | `cargo xtask bench` (\"a >=\", \"b\"), `crates/x/tests` (both), by `docs/x.md` |\n\
        | Not kept yet: small | |\n";

    #[test]
    fn a_row_is_a_promise_and_what_shows_it() {
        let promises = read(TEXT);
        assert_eq!(promises.len(), 1, "a row without a second cell is prose: {promises:?}");
        let promise = &promises[0];
        assert_eq!(
            (promise.section.as_str(), promise.text.as_str()),
            ("Speed", "As fast, by `tc`")
        );
        let [bench, tests] = promise.shown_by.as_slice() else { panic!("{promise:?}") };
        assert_eq!((bench.span.as_str(), bench.choice.len()), ("cargo xtask bench", 2));
        assert!(bench.wants("x: a >= 1") && !bench.wants("x: c"));
        assert_eq!(tests.span, "crates/x/tests");
        assert!(tests.wants("anything") && !promise.has_reserve());
    }
}
