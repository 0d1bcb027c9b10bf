//! Tells code from comments and from literals.
//!
//! Not a parser: it knows just enough of Rust's lexis (comments, strings, raw
//! strings, characters, lifetimes) that a word in a string is not taken for code.

/// A text split in two of the same shape: what is not of a kind is blank.
pub(super) struct Scanned {
    /// Code; what stands between the quotes of literals is blank.
    pub(super) code: String,
    /// Comments.
    pub(super) comments: String,
}

/// Splits Rust source.
pub(super) fn scan(text: &str) -> Scanned {
    let mut scanner = Scanner {
        rest: text.chars().collect(),
        at: 0,
        scanned: Scanned { code: String::new(), comments: String::new() },
    };
    while let Some(next) = scanner.peek(0) {
        scanner.item(next);
    }
    scanner.scanned
}

struct Scanner {
    rest: Vec<char>,
    at: usize,
    scanned: Scanned,
}

/// Where a character belongs.
#[derive(Clone, Copy)]
enum Kind {
    Code,
    Comment,
    Literal,
}

impl Scanner {
    /// One comment, one literal or one character of code.
    fn item(&mut self, next: char) {
        match (next, self.peek(1)) {
            ('/', Some('/')) => self.line_comment(),
            ('/', Some('*')) => self.block_comment(),
            ('"', _) => match self.raw_hashes() {
                Some(hashes) => self.raw_text(hashes),
                None => self.quoted('"'),
            },
            ('\'', _) if self.is_character() => self.quoted('\''),
            _ => self.take(1, Kind::Code),
        }
    }

    fn line_comment(&mut self) {
        while self.peek(0).is_some_and(|next| next != '\n') {
            self.take(1, Kind::Comment);
        }
    }

    /// Block comments nest.
    fn block_comment(&mut self) {
        let mut depth = 0_u32;
        while let Some(next) = self.peek(0) {
            match (next, self.peek(1)) {
                ('/', Some('*')) => depth += 1,
                ('*', Some('/')) => depth -= 1,
                _ => {
                    self.take(1, Kind::Comment);
                    continue;
                }
            }
            self.take(2, Kind::Comment);
            if depth == 0 {
                return;
            }
        }
    }

    fn quoted(&mut self, quote: char) {
        self.take(1, Kind::Code);
        while let Some(next) = self.peek(0) {
            match next {
                '\\' => self.take(2, Kind::Literal),
                _ if next == quote => return self.take(1, Kind::Code),
                _ => self.take(1, Kind::Literal),
            }
        }
    }

    fn raw_text(&mut self, hashes: usize) {
        self.take(1, Kind::Code);
        while let Some(next) = self.peek(0) {
            if next == '"' && (1..=hashes).all(|ahead| self.peek(ahead) == Some('#')) {
                return self.take(1 + hashes, Kind::Code);
            }
            self.take(1, Kind::Literal);
        }
    }

    /// With `r`, `br` or `cr` and hashes before the quote at hand: how many hashes.
    fn raw_hashes(&self) -> Option<usize> {
        let before = &self.rest[..self.at];
        let hashes = before.iter().rev().take_while(|c| **c == '#').count();
        let word: String = before[..before.len() - hashes]
            .iter()
            .rev()
            .take_while(|c| c.is_alphanumeric() || **c == '_')
            .collect();
        matches!(word.as_str(), "r" | "rb" | "rc").then_some(hashes)
    }

    /// Whether the apostrophe at hand opens a character, not a lifetime.
    fn is_character(&self) -> bool {
        self.peek(1) == Some('\\') || self.peek(2) == Some('\'')
    }

    fn peek(&self, ahead: usize) -> Option<char> {
        self.rest.get(self.at + ahead).copied()
    }

    fn take(&mut self, count: usize, kind: Kind) {
        for _ in 0..count {
            let Some(next) = self.peek(0) else { return };
            self.at += 1;
            let blank = if next == '\n' { '\n' } else { ' ' };
            let (code, comment) = match kind {
                Kind::Code => (next, blank),
                Kind::Comment => (blank, next),
                Kind::Literal => (blank, blank),
            };
            self.scanned.code.push(code);
            self.scanned.comments.push(comment);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn code(text: &str) -> String {
        scan(text).code
    }

    #[test]
    fn comments_leave_the_code() {
        assert_eq!(code("a // b\nc"), "a     \nc");
        assert_eq!(code("a /* /* b */ c */ d"), "a                 d");
        assert_eq!(scan("a // b\nc").comments, "  // b\n ");
    }

    #[test]
    fn literals_are_emptied() {
        assert_eq!(code(r#"f("a\"// b") + 1"#), r#"f("       ") + 1"#);
        assert_eq!(code("r#\"a\"b\"# + 1"), "r#\"   \"# + 1");
        assert_eq!(code("br\"a\\\" + 1"), "br\"  \" + 1");
        assert_eq!(code("'\"' + '\\'' + 'x'"), "' ' + '  ' + ' '");
    }

    #[test]
    fn lifetimes_are_code() {
        assert_eq!(code("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
    }

    #[test]
    fn what_is_not_closed_ends_with_the_text() {
        assert_eq!(code("\"abc"), "\"   ");
        assert_eq!(code("/* abc"), "      ");
    }
}
