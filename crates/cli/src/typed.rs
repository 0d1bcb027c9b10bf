//! The command line as it can be typed again.

use std::env;

/// What was typed, as a shell takes it. An option that is appended to it counts in place of the
/// same one before.
pub(crate) fn command() -> String {
    env::args().map(|word| quoted(&word)).collect::<Vec<_>>().join(" ")
}

/// A word that a shell would take apart stands in quotes.
fn quoted(word: &str) -> String {
    let is_plain = |letter: char| letter.is_alphanumeric() || "-_./:,%@=+[]".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_quoted_where_a_shell_would_take_them_apart() {
        assert_eq!(quoted("fe80::1%eth0"), "fe80::1%eth0");
        assert_eq!(quoted("a b"), "'a b'");
        assert_eq!(quoted("it's"), "'it'\\''s'");
        assert_eq!(quoted(""), "''");
    }
}
