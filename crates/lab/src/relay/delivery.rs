//! What a device delivers of each rate that it is offered: a curve through points that were
//! measured. It holds no frames and reads no clock.

use crate::shape::Rate;

/// A point of a [`DeliveryCurve`]: rates of frames, with headers as far as Ethernet's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Delivery {
    /// The rate that is offered.
    pub offered: Rate,
    /// The rate that is delivered of it.
    pub delivered: Rate,
}

/// Delivered over offered rate: straight lines between its points, up to as much as at the first
/// below it, and as much as at the last beyond it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DeliveryCurve {
    points: [Option<Delivery>; MOST_POINTS],
}

impl DeliveryCurve {
    /// The curve through `points`. None: there are none, more than 8, or their offered rates do not
    /// ascend.
    pub fn new(points: &[Delivery]) -> Option<Self> {
        let ascends = points.windows(2).all(|pair| pair[0].offered < pair[1].offered);
        if points.is_empty() || points.len() > MOST_POINTS || !ascends {
            return None;
        }
        let mut all = [None; MOST_POINTS];
        for (slot, point) in all.iter_mut().zip(points) {
            *slot = Some(*point);
        }
        Some(Self { points: all })
    }

    /// The rate at which the device serves what it is offered, both in bit/s.
    pub(super) fn service(&self, offered: f64) -> f64 {
        let bits = |rate: Rate| rate.bits_per_second() as f64;
        let mut before: Option<(f64, f64)> = None;
        for point in self.points.iter().flatten() {
            let (x, y) = (bits(point.offered), bits(point.delivered));
            if offered <= x {
                let Some((x0, y0)) = before else { return y };
                return y0 + (y - y0) * (offered - x0) / (x - x0);
            }
            before = Some((x, y));
        }
        before.map_or(f64::MAX, |(_, delivered)| delivered)
    }
}

const MOST_POINTS: usize = 8;

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(u64, u64)]) -> Option<DeliveryCurve> {
        let rate = |bits| Rate::from_bits_per_second(bits).expect("not zero");
        let point = |(offered, delivered): &(u64, u64)| Delivery {
            offered: rate(*offered),
            delivered: rate(*delivered),
        };
        DeliveryCurve::new(&points.iter().map(point).collect::<Vec<_>>())
    }

    #[test]
    fn between_its_points_a_curve_is_straight() {
        let curve = curve(&[(100, 100), (200, 120), (400, 60)]).expect("ascending");
        let delivered = |offered: f64| curve.service(offered);
        assert!([0.0, 50.0, 100.0].iter().all(|rate| (delivered(*rate) - 100.0).abs() < 1e-9));
        for (offered, expected) in [(150.0, 110.0), (200.0, 120.0), (300.0, 90.0), (800.0, 60.0)] {
            assert!((delivered(offered) - expected).abs() < 1e-9, "{offered}");
        }
    }

    #[test]
    fn points_ascend_and_are_few() {
        assert_eq!(curve(&[]), None);
        assert_eq!(curve(&[(2, 2), (2, 1)]), None);
        let many: Vec<_> = (1..=9).map(|rate| (rate, rate)).collect();
        assert_eq!(curve(&many), None);
        assert!(curve(&many[..8]).is_some());
    }
}
