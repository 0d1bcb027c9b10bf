//! The MPUs on which the streams of a test run ([`Spread`]).

/// How the streams of a test are distributed over its MPUs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Spread {
    /// All streams round all MPUs.
    InTurn,
    /// Senders and receivers on MPUs of their own, if there are both and two MPUs: senders on the
    /// first half, receivers on the rest.
    DirectionsApart,
}

impl Spread {
    /// The MPU of each stream; `senders` has true for a stream that sends.
    pub(super) fn places(self, senders: &[bool], mpus: usize) -> Vec<usize> {
        let has_both = senders.contains(&true) && senders.contains(&false);
        if self == Self::InTurn || !has_both || mpus == 1 {
            return (0..senders.len()).map(|index| index % mpus).collect();
        }
        let sending = mpus / 2;
        let (mut sender, mut receiver) = ((0..sending).cycle(), (sending..mpus).cycle());
        let place = |sends: &bool| if *sends { sender.next() } else { receiver.next() };
        senders.iter().filter_map(place).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BOTH: [bool; 8] = [true, true, true, true, false, false, false, false];

    #[test]
    fn streams_go_round_all_mpus() {
        assert_eq!(Spread::InTurn.places(&BOTH, 3), [0, 1, 2, 0, 1, 2, 0, 1]);
    }

    #[test]
    fn streams_of_both_directions_have_mpus_of_their_own() {
        let places = |senders: &[bool], mpus| Spread::DirectionsApart.places(senders, mpus);
        assert_eq!(places(&BOTH, 2), [0, 0, 0, 0, 1, 1, 1, 1]);
        assert_eq!(places(&BOTH, 5), [0, 1, 0, 1, 2, 3, 4, 2]);
        assert_eq!(places(&[false, true, false, true], 4), [2, 0, 3, 1]);
        assert_eq!(places(&[true; 5], 2), [0, 1, 0, 1, 0], "one direction");
        assert_eq!(places(&[true, false], 1), [0, 0], "one MPU");
    }
}
