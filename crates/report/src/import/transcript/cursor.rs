//! A place in a line, from which numbers, words and signs are taken.

use super::figure::Figure;

/// What is left of a line.
#[derive(Clone, Copy, Debug)]
pub(super) struct Cursor<'a> {
    pub(super) rest: &'a str,
}

impl<'a> Cursor<'a> {
    pub(super) const fn new(rest: &'a str) -> Self {
        Self { rest }
    }

    /// Whether nothing but spaces is left.
    pub(super) fn is_at_end(&self) -> bool {
        self.rest.trim_start().is_empty()
    }

    /// Takes `text`, behind any spaces.
    pub(super) fn take(&mut self, text: &str) -> bool {
        let rest = self.rest.trim_start().strip_prefix(text);
        self.rest = rest.unwrap_or(self.rest);
        rest.is_some()
    }

    /// Takes a number without a sign, behind any spaces.
    pub(super) fn number(&mut self) -> Option<Figure> {
        let text = self.rest.trim_start();
        let length = length_of_number(text);
        let figure = Figure::parse(text.get(..length)?)?;
        self.rest = &text[length..];
        Some(figure)
    }

    /// Takes a number that may be negative, behind any spaces.
    pub(super) fn signed(&mut self) -> Option<Figure> {
        let mut ahead = *self;
        let sign = if ahead.take("-") { -1.0 } else { 1.0 };
        let figure = ahead.number()?;
        *self = ahead;
        Some(Figure { value: figure.value * sign, half: figure.half })
    }

    /// Takes letters, behind any spaces; empty: there are none.
    pub(super) fn word(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let length = text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let (word, rest) = text.split_at(length);
        if !word.is_empty() {
            self.rest = rest;
        }
        word
    }

    /// Takes what is before the next space, behind any spaces; empty: nothing is left.
    pub(super) fn piece(&mut self) -> &'a str {
        let text = self.rest.trim_start();
        let length = text.find(char::is_whitespace).unwrap_or(text.len());
        let (piece, rest) = text.split_at(length);
        self.rest = rest;
        piece
    }
}

/// Digits, a fraction and an exponent, with which a text begins.
fn length_of_number(text: &str) -> usize {
    let digits = |text: &str| text.bytes().take_while(u8::is_ascii_digit).count();
    let mut length = digits(text);
    if length == 0 || length > MOST_DIGITS {
        return 0;
    }
    // A comma: decimals of other languages.
    if text[length..].starts_with(['.', ',']) {
        let fraction = digits(&text[length + 1..]);
        length += if fraction > 0 { 1 + fraction } else { 0 };
    }
    for exponent in ["e+", "e-"] {
        if let Some(rest) = text[length..].strip_prefix(exponent) {
            let places = digits(rest);
            return length + if places > 0 { exponent.len() + places } else { 0 };
        }
    }
    length
}

/// More than any counter of 64 bits has.
const MOST_DIGITS: usize = 20;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_is_taken_piece_by_piece() {
        let mut cursor = Cursor::new("  0.00-10.00  sec  -3/905 (1e+02%) x");
        assert_eq!(cursor.number().map(|one| one.value), Some(0.0));
        assert!(cursor.take("-"));
        assert_eq!(cursor.number().map(|one| one.value), Some(10.0));
        assert_eq!(cursor.word(), "sec");
        assert_eq!(cursor.signed().map(|one| one.value), Some(-3.0));
        assert!(cursor.take("/"));
        assert_eq!(cursor.number().map(|one| one.value), Some(905.0));
        assert!(cursor.take("(") && !cursor.take("x"));
        assert_eq!(cursor.number().map(|one| one.value), Some(100.0));
        assert_eq!(cursor.piece(), "%)");
        assert_eq!(cursor.word(), "x");
        assert!(cursor.is_at_end() && cursor.number().is_none());
    }
}
