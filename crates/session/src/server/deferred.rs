//! A deadline that is put off as long as something happens.

use measurement::Timestamp;

/// Looked up again only when it has come: to find out how far it was put off takes a look
/// at each of thousands of streams.
#[derive(Debug, Default)]
pub(crate) struct Deferred(Known);

#[derive(Clone, Copy, Debug, Default)]
enum Known {
    #[default]
    Nothing,
    /// It is then at the earliest.
    At(Timestamp),
    /// It does not come any more.
    Never,
}

impl Deferred {
    /// Whether it has come; `deadline` says when it is, as things stand: never sooner than
    /// it said before, and if there is none any more, never again.
    pub(crate) fn is_over(
        &mut self,
        now: Timestamp,
        deadline: impl FnOnce() -> Option<Timestamp>,
    ) -> bool {
        match self.0 {
            Known::Never => return false,
            Known::At(at) if now < at => return false,
            Known::At(_) | Known::Nothing => {}
        }
        self.0 = deadline().map_or(Known::Never, Known::At);
        matches!(self.0, Known::At(at) if now >= at)
    }

    /// When to look next; none: not any more.
    pub(crate) fn next_look(&self) -> Option<Timestamp> {
        match self.0 {
            Known::Nothing => Some(Timestamp::default()),
            Known::At(at) => Some(at),
            Known::Never => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(nanos: u64) -> Timestamp {
        Timestamp::from_nanos(nanos)
    }

    #[test]
    fn it_is_looked_up_when_it_may_have_come_and_not_before() {
        let mut deferred = Deferred::default();
        assert!(deferred.next_look().is_some_and(|look| look < at(1)), "at once");
        assert!(!deferred.is_over(at(1), || Some(at(5))));
        assert_eq!(deferred.next_look(), Some(at(5)));
        assert!(!deferred.is_over(at(4), || unreachable!("too early")));
        assert!(!deferred.is_over(at(5), || Some(at(8))), "put off");
        assert!(deferred.is_over(at(9), || Some(at(8))));
        assert!(!deferred.is_over(at(9), || None));
        assert!(!deferred.is_over(at(10), || unreachable!("never again")));
        assert_eq!(deferred.next_look(), None);
    }
}
