//! One Rust file.

use super::imports::imports;
use super::scanner::scan;

/// A Rust file, its code and comments apart, its tests known.
#[derive(Debug)]
pub(crate) struct Source {
    /// Below the root, e.g. `crates/report/src/lib.rs`.
    pub(crate) path: String,
    /// First line as it stands; empty in an empty file.
    pub(crate) first_line: String,
    lines: Vec<Line>,
    imports: Vec<(usize, String)>,
}

/// One line of a file.
#[derive(Debug)]
pub(crate) struct Line {
    /// Its code without comments and without the inside of literals.
    pub(crate) code: String,
    /// Its comments.
    pub(crate) comment: String,
    /// Whether it is compiled for tests only.
    in_test: bool,
}

impl Source {
    /// Reads the text of a file.
    pub(crate) fn new(path: &str, text: &str) -> Self {
        let scanned = scan(text);
        let test_lines = test_lines(&scanned.code);
        let whole_file = path.ends_with("/tests.rs") || path.contains("/tests/");
        let line = |(number, (code, comment)): (usize, (&str, &str))| Line {
            code: code.to_owned(),
            comment: comment.to_owned(),
            in_test: whole_file || test_lines.iter().any(|lines| lines.contains(&(number + 1))),
        };
        Self {
            path: path.to_owned(),
            first_line: text.lines().next().unwrap_or_default().to_owned(),
            imports: imports(&scanned.code),
            lines: scanned
                .code
                .lines()
                .zip(scanned.comments.lines())
                .enumerate()
                .map(line)
                .collect(),
        }
    }

    /// The folder below `crates/`; none for a crate beside it.
    pub(crate) fn folder(&self) -> Option<&str> {
        self.path.strip_prefix("crates/")?.split('/').next()
    }

    /// Whether it is part of a crate under `crates/` itself, not of its tests or examples.
    pub(crate) fn is_shipped(&self) -> bool {
        self.path.strip_prefix("crates/").and_then(|path| path.split('/').nth(1)) == Some("src")
    }

    /// Whether a crate begins here.
    pub(crate) fn is_crate_root(&self) -> bool {
        let in_bin =
            |path: &str| path.split_once("/src/bin/").is_some_and(|(_, name)| !name.contains('/'));
        self.path.ends_with("/src/lib.rs")
            || self.path.ends_with("/src/main.rs")
            || in_bin(&self.path)
    }

    /// Lines, numbered from one.
    pub(crate) fn lines(&self) -> impl DoubleEndedIterator<Item = (usize, &Line)> {
        self.lines.iter().enumerate().map(|(index, line)| (index + 1, line))
    }

    /// Lines that are not for tests only, numbered from one.
    pub(crate) fn production(&self) -> impl Iterator<Item = (usize, &Line)> {
        self.lines().filter(|(_, line)| !line.in_test)
    }

    /// Numbers of the lines outside of tests that name a path such as `std::fs`,
    /// in full or by an import.
    pub(crate) fn mentions(&self, path: &str) -> Vec<usize> {
        let below = format!("{path}::");
        let imported = |import: &str| import == path || import.starts_with(&below);
        let mut numbers: Vec<usize> = self
            .imports
            .iter()
            .filter(|(number, import)| imported(import) && !self.is_test_line(*number))
            .map(|(number, _)| *number)
            .chain(self.production().filter(|(_, line)| line.has(path)).map(|(number, _)| number))
            .collect();
        numbers.sort_unstable();
        numbers.dedup();
        numbers
    }

    fn is_test_line(&self, number: usize) -> bool {
        self.lines.get(number - 1).is_some_and(|line| line.in_test)
    }
}

impl Line {
    /// Whether the code has this word or path, not as part of a longer word.
    pub(crate) fn has(&self, words: &str) -> bool {
        has_word(&self.code, words)
    }
}

/// Whether a text has these words, not as part of longer ones. A macro of the
/// same name, such as `std::env!`, does not count.
pub(crate) fn has_word(text: &str, words: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.match_indices(words).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + words.len()..].chars().next();
        !before.is_some_and(is_word) && !after.is_some_and(|c| is_word(c) || c == '!')
    })
}

/// The lines of each item below `#[cfg(test)]`.
fn test_lines(code: &str) -> Vec<std::ops::RangeInclusive<usize>> {
    let number = |at: usize| 1 + code[..at].matches('\n').count();
    code.match_indices("#[cfg(test)]")
        .map(|(at, attribute)| {
            let item = at + attribute.len();
            number(at)..=number(item + end_of_item(&code[item..]))
        })
        .collect()
}

/// Where an item ends: at its closing brace, or at a semicolon before any brace.
fn end_of_item(code: &str) -> usize {
    let mut depth = 0_u32;
    for (at, next) in code.char_indices() {
        match next {
            ';' if depth == 0 => return at,
            '{' => depth += 1,
            '}' if depth <= 1 => return at,
            '}' => depth -= 1,
            _ => {}
        }
    }
    code.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tests_are_not_production() {
        let text = "use a;\n#[cfg(test)]\nmod tests {\n fn f() {}\n}\nfn g() {}\n";
        let source = Source::new("crates/x/src/lib.rs", text);
        let numbers: Vec<_> = source.production().map(|(number, _)| number).collect();
        assert_eq!(numbers, [1, 6]);
        let source = Source::new("crates/x/src/y/tests.rs", text);
        assert_eq!(source.production().count(), 0);
    }

    #[test]
    fn an_item_without_a_body_ends_at_its_semicolon() {
        let source = Source::new("crates/x/src/lib.rs", "#[cfg(test)]\nmod tests;\nfn f() {}\n");
        assert_eq!(source.production().map(|(number, _)| number).collect::<Vec<_>>(), [3]);
    }

    #[test]
    fn paths_are_found_in_full_and_by_import() {
        let text = "use std::{fs, io};\nfn f() { std::fs::read(x); std::fsync() }\n// std::fs\n";
        let source = Source::new("crates/x/src/lib.rs", text);
        assert_eq!(source.mentions("std::fs"), [1, 2]);
        assert!(source.mentions("std::env").is_empty());
    }

    #[test]
    fn a_word_is_a_whole_word() {
        assert!(has_word("a(unsafe {", "unsafe"));
        assert!(!has_word("forbid(unsafe_code)", "unsafe"));
        assert!(!has_word("std::env!(x)", "std::env") && has_word("std::env::var", "std::env"));
    }

    #[test]
    fn a_path_says_what_a_file_is() {
        let source = |path| Source::new(path, "");
        assert_eq!(source("crates/lab/src/a/b.rs").folder(), Some("lab"));
        assert_eq!(source("xtask/src/main.rs").folder(), None);
        assert!(source("crates/lab/src/lib.rs").is_shipped());
        assert!(!source("crates/lab/tests/link.rs").is_shipped());
        assert!(source("xtask/src/main.rs").is_crate_root());
        assert!(source("crates/lab/src/bin/x.rs").is_crate_root());
        assert!(!source("crates/lab/src/link.rs").is_crate_root());
    }
}
