//! Texts that are looked for in a line all at once. A search for each by itself prepares as many
//! searches a line, which takes longer than to read a short line.

/// Texts, and the bytes that they begin with.
pub(super) struct Needles<const COUNT: usize> {
    texts: [&'static str; COUNT],
    begins: [bool; 256],
}

impl<const COUNT: usize> Needles<COUNT> {
    /// Prepares the search, at compile time; no text is empty.
    pub(super) const fn new(texts: [&'static str; COUNT]) -> Self {
        let mut begins = [false; 256];
        let mut at = 0;
        while at < COUNT {
            begins[texts[at].as_bytes()[0] as usize] = true;
            at += 1;
        }
        Self { texts, begins }
    }

    /// Where the texts stand in a line, from left to right, and which it is.
    pub(super) fn find(&self, line: &str) -> impl Iterator<Item = (usize, &'static str)> {
        let bytes = line.as_bytes();
        let begins = |at: &usize| self.begins[usize::from(bytes[*at])];
        (0..bytes.len()).filter(begins).filter_map(|at| {
            let is_here = |text: &&&str| bytes[at..].starts_with(text.as_bytes());
            self.texts.iter().find(is_here).map(|text| (at, *text))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_found_from_left_to_right() {
        const NEEDLES: Needles<3> = Needles::new(["bc", "a b", "ab"]);
        let found = |line| NEEDLES.find(line).collect::<Vec<_>>();
        assert_eq!(found("xabca b"), [(1, "ab"), (2, "bc"), (4, "a b")]);
        assert_eq!(found("b"), []);
        assert_eq!(found("\u{e4}bc"), [(2, "bc")]);
        assert_eq!(found(""), []);
    }
}
