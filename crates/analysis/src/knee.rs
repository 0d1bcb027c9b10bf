//! The knee of a saturation curve: how far what arrives keeps up with what is asked.

use measurement::BitRate;

/// Index of the knee of a curve of pairs, asked and delivered, in rising order of what is asked: the
/// last point of which at least 98 % arrives. None: no point keeps up, or the last one does.
///
/// A lower point that does not keep up was disturbed: the path carried more than it.
pub fn knee(curve: &[(BitRate, BitRate)]) -> Option<usize> {
    let keeps_up = |(asked, delivered): &(BitRate, BitRate)| {
        delivered.bits_per_second() as f64 >= KEPT * asked.bits_per_second() as f64
    };
    let last = curve.iter().rposition(keeps_up)?;
    (last + 1 < curve.len()).then_some(last)
}

/// Share of a rate that arrives where a path keeps up; less is not the noise of short tests.
const KEPT: f64 = 0.98;

#[cfg(test)]
mod tests {
    use super::*;

    fn of(curve: &[(u64, u64)]) -> Option<usize> {
        let rate = BitRate::from_bits_per_second;
        let curve: Vec<_> = curve.iter().map(|(asked, got)| (rate(*asked), rate(*got))).collect();
        knee(&curve)
    }

    #[test]
    fn the_knee_is_the_last_point_that_keeps_up() {
        assert_eq!(of(&[(10, 10), (100, 99), (200, 150), (400, 140)]), Some(1));
        assert_eq!(of(&[(10, 10), (100, 98), (200, 196)]), None);
        assert_eq!(of(&[(100, 50), (200, 150)]), None);
        assert_eq!(of(&[(10, 9), (20, 20), (40, 39), (80, 50)]), Some(1));
        assert_eq!(of(&[(10, 10), (20, 19), (40, 40)]), None);
        assert_eq!(of(&[]), None);
    }
}
