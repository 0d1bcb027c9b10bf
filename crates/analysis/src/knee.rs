//! The knee of a curve of what arrives over the load: one function for a sweep, the page and runs that were
//! imported.

use measurement::BitRate;

use crate::words::is_short;

/// A point of a curve: a run at one load.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CurvePoint {
    /// The rate that was asked.
    pub load: BitRate,
    /// The rate that the sender reached. None: not known, or the sender waits for the path, as TCP does.
    pub sent: Option<BitRate>,
    /// The rate that arrived.
    pub arrived: BitRate,
}

/// Evidence of a point on the path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Carried {
    /// The path carried the load: at least 98 % arrived.
    Kept,
    /// It did not.
    Missed,
    /// Nothing: the sender sent less than the load, and what it sent arrived.
    Void,
}

impl CurvePoint {
    /// Evidence of the point on the path.
    pub fn carried(&self) -> Carried {
        let [load, arrived] = [self.load, self.arrived].map(BitRate::bits_per_second);
        if !is_short(arrived, load) {
            return Carried::Kept;
        }
        let is_void = self
            .sent
            .map(BitRate::bits_per_second)
            .is_some_and(|sent| is_short(sent, load) && !is_short(arrived, sent));
        if is_void { Carried::Void } else { Carried::Missed }
    }
}

/// The places of the two points of a curve, in rising order of load, between which its knee lies: the last
/// point that is kept, and the first one above it that is missed. None: nothing is kept, or nothing above
/// that is missed. A point that is missed below one that is kept was disturbed: the path carried more.
pub fn knee(curve: &[CurvePoint]) -> Option<(usize, usize)> {
    let is = |what: Carried| move |point: &CurvePoint| point.carried() == what;
    let kept = curve.iter().rposition(is(Carried::Kept))?;
    let missed = curve[kept..].iter().position(is(Carried::Missed))?;
    Some((kept, kept + missed))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Points of load, what was sent and what arrived.
    fn of(curve: &[(u64, u64, u64)]) -> Option<(usize, usize)> {
        let rate = BitRate::from_bits_per_second;
        let point = |(load, sent, arrived): &(u64, u64, u64)| CurvePoint {
            load: rate(*load),
            sent: Some(rate(*sent)),
            arrived: rate(*arrived),
        };
        knee(&curve.iter().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn the_knee_is_between_the_last_that_is_kept_and_the_next_that_is_missed() {
        assert_eq!(
            of(&[(10, 10, 10), (100, 100, 99), (200, 200, 150), (400, 400, 140)]),
            Some((1, 2))
        );
        assert_eq!(of(&[(10, 10, 10), (100, 100, 98), (200, 200, 196)]), None);
        assert_eq!(of(&[(100, 100, 50), (200, 200, 150)]), None);
        assert_eq!(of(&[(10, 10, 9), (20, 20, 20), (40, 40, 39), (80, 80, 50)]), Some((1, 2)));
        assert_eq!(of(&[(10, 10, 10), (20, 20, 19), (40, 40, 40)]), None);
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn a_sender_that_falls_short_says_nothing() {
        assert_eq!(of(&[(10, 10, 10), (20, 15, 15), (40, 40, 30)]), Some((0, 2)));
        assert_eq!(of(&[(10, 10, 10), (20, 15, 15), (40, 15, 15)]), None);
        let sent = Some(BitRate::from_bits_per_second(15));
        let load = BitRate::from_bits_per_second(20);
        let arrived = BitRate::from_bits_per_second(10);
        assert_eq!(CurvePoint { load, sent, arrived }.carried(), Carried::Missed, "some was lost");
    }
}
