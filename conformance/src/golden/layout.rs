//! Where the words of a line stand.
//!
//! Numbers have different lengths in two runs, so columns cannot simply be equal. printf
//! keeps one of four distances between neighbours: from start to start (left-aligned),
//! from end to end (right-aligned), the gap (no width, or too long for it), or both
//! together. A column that moved keeps none of them, unless the lengths differ by just
//! so much; where they do not differ, the check is exact.

/// The words of one line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    /// Start and end of each word, between two empty ones at the ends of the line.
    words: Vec<(usize, usize)>,
}

impl Layout {
    /// The layout of a line; tabs count as one column, since both would have them.
    pub(crate) fn parse(line: &str) -> Self {
        let mut words = vec![(0, 0)];
        let mut start = None;
        for (column, character) in line.chars().enumerate() {
            match (start, character.is_whitespace()) {
                (None, false) => start = Some(column),
                (Some(first), true) => {
                    words.push((first, column));
                    start = None;
                }
                _ => {}
            }
        }
        let length = line.chars().count();
        words.extend(start.map(|first| (first, length)));
        words.push((length, length));
        Self { words }
    }

    /// Whether one format can have printed both.
    pub(crate) fn agrees(&self, other: &Self) -> bool {
        let steps = self.words.windows(2).zip(other.words.windows(2));
        self.words.len() == other.words.len()
            && steps.map(|(a, b)| (Step::between(a), Step::between(b))).all(|(a, b)| a.agrees(&b))
    }
}

/// The distances from a word to the next.
struct Step([usize; 4]);

impl Step {
    fn between(pair: &[(usize, usize)]) -> Self {
        let ((start, end), (next_start, next_end)) = (pair[0], pair[1]);
        Self([next_start - start, next_end - end, next_start - end, next_end - start])
    }

    fn agrees(&self, other: &Self) -> bool {
        self.0.iter().zip(&other.0).any(|(a, b)| a == b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn agree(a: &str, b: &str) -> bool {
        Layout::parse(a).agrees(&Layout::parse(b))
    }

    #[test]
    fn aligned_numbers_of_any_length_agree() {
        let one = "[  5]   0.00-1.00   sec  5.04 GBytes  43.2 Gbits/sec    2   3.62 MBytes       ";
        let two = "[  5]   0.00-1.00   sec   160 KBytes   131 Mbits/sec   12    895 KBytes       ";
        assert!(agree(one, two));
        assert!(agree("a  Bytes  7 x", "a GBytes  7 x"));
    }

    #[test]
    fn a_moved_column_does_not() {
        let row = "[  5]   0.00-1.00   sec  5.04 GBytes";
        assert!(!agree(row, "[  5]    0.00-1.00   sec  5.04 GBytes"));
        assert!(!agree(row, "[  5]   0.00-1.00   sec  5.04 GBytes "));
        assert!(!agree("[ ID] Interval           Transfer", "[ ID] Interval          Transfer"));
    }
}
