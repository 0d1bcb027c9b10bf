//! Which of the numbered streams of a test have come.

/// The numbers of streams that have come. It grows as they come.
pub(super) struct NumberSet {
    /// All are below this.
    end: u32,
    words: Vec<u64>,
}

impl NumberSet {
    pub(super) const fn below(end: u32) -> Self {
        Self { end, words: Vec::new() }
    }

    /// Whether `number` is one of them and has not come.
    pub(super) fn awaits(&self, number: u32) -> bool {
        let word = self.words.get(number as usize / 64).copied().unwrap_or_default();
        number < self.end && word & (1 << (number % 64)) == 0
    }

    pub(super) fn note(&mut self, number: u32) {
        let index = number as usize / 64;
        if self.words.len() <= index {
            self.words.resize(index + 1, 0);
        }
        self.words[index] |= 1 << (number % 64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_is_awaited_until_it_has_come() {
        let mut numbers = NumberSet::below(130);
        assert!(numbers.awaits(0) && numbers.awaits(129) && !numbers.awaits(130));
        numbers.note(129);
        assert!(!numbers.awaits(129) && numbers.awaits(128) && numbers.awaits(65));
        assert_eq!(NumberSet::below(u32::MAX).words.len(), 0, "it takes nothing before");
    }
}
