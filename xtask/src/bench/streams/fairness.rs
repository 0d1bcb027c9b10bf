//! How evenly streams share.

/// What the bytes of the streams say.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Fairness {
    /// Jain's index: 1 if all got the same, 1/n if one got all.
    pub(super) jain: f64,
    /// Bytes of the stream that got least.
    pub(super) least: f64,
    /// Streams that got nothing.
    pub(super) without_progress: f64,
}

impl Fairness {
    /// Of the bytes of each stream; none if there are no streams.
    pub(super) fn of(bytes: &[u64]) -> Option<Self> {
        let least = *bytes.iter().min()?;
        let without_progress = bytes.iter().filter(|bytes| **bytes == 0).count();
        Some(Self {
            jain: jain(bytes),
            least: least as f64,
            without_progress: without_progress as f64,
        })
    }
}

/// R. Jain, D. Chiu, W. Hawe: A Quantitative Measure of Fairness, DEC-TR-301 (1984).
fn jain(bytes: &[u64]) -> f64 {
    let sum: f64 = bytes.iter().map(|bytes| *bytes as f64).sum();
    let squares: f64 = bytes.iter().map(|bytes| (*bytes as f64).powi(2)).sum();
    if squares > 0.0 { sum * sum / (bytes.len() as f64 * squares) } else { 0.0 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jains_index_is_between_one_and_one_nth() {
        let jain = |bytes: &[u64]| Fairness::of(bytes).map(|fairness| fairness.jain);
        assert_eq!(jain(&[5, 5, 5, 5]), Some(1.0));
        assert_eq!(jain(&[8, 0, 0, 0]), Some(0.25));
        assert_eq!(jain(&[0, 0]), Some(0.0));
        assert_eq!(jain(&[]), None);
    }

    #[test]
    fn streams_that_got_nothing_are_counted() {
        let fairness = Fairness::of(&[0, 3, 0]).expect("three streams");
        assert!(fairness.without_progress > 1.9 && fairness.least < 0.1);
    }
}
