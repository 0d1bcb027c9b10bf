//! Axes of pictures: from quantities to places, with ticks at round numbers.

use measurement::Order;
use measurement::units::group_thousands;

/// An axis of a [`Plot`](super::Plot).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    /// What it is of, e.g. `delivered`. The unit is added.
    pub title: String,
    /// The unit of its quantity.
    pub unit: Unit,
    /// How its quantity is laid out.
    pub scale: Scale,
}

/// The unit of a quantity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Rates in bit/s, with decimal prefixes.
    BitsPerSecond,
    /// Speeds in bytes in a second, with decimal prefixes.
    BytesPerSecond,
    /// Events in a second, with decimal prefixes.
    PerSecond,
    /// Sizes in bytes, with binary prefixes.
    Bytes,
    /// Shares of 1, in percent.
    Share,
    /// Numbers of things, without a prefix.
    Count,
}

/// How a quantity is laid out on an axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    /// In proportion, from zero.
    FromZero,
    /// In proportion, from the least to the most.
    Linear,
    /// By its logarithm, from the least to the most. What is not above zero is left out.
    Logarithmic,
}

impl Scale {
    /// By the logarithm if that spaces the numbers more evenly, else in proportion.
    pub fn fitting(numbers: impl Iterator<Item = f64>) -> Self {
        let mut numbers: Vec<_> = numbers.collect();
        numbers.order_by(f64::total_cmp);
        numbers.dedup();
        let unevenness = |of: fn(f64) -> f64| {
            let gaps = numbers.windows(2).map(|pair| of(pair[1]) - of(pair[0]));
            let (least, most) = gaps.fold((f64::MAX, 0.0), |(least, most): (f64, f64), gap| {
                (least.min(gap), most.max(gap))
            });
            most / least
        };
        let is_positive = numbers.first().is_some_and(|least| *least > 0.0);
        let is_even = is_positive && unevenness(f64::ln) < unevenness(|number| number);
        if is_even { Self::Logarithmic } else { Self::Linear }
    }
}

/// A tick of an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// Its place, from 0 to 1.
    pub(super) at: f64,
    pub(super) label: String,
}

/// An axis with its ends.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ruler {
    title: String,
    scale: Scale,
    from: f64,
    to: f64,
    /// The unit that suits the values: how much of the base unit it is, and its name.
    unit: (f64, &'static str),
    ticks: Vec<Tick>,
}

impl Ruler {
    /// A ruler that ends at the least and the most of `values`, with about `most` ticks. None:
    /// there are no values.
    pub(super) fn of_data(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        most: usize,
    ) -> Option<Self> {
        let (from, to) = ends(axis.scale, values)?;
        let (title, scale, ticks) = (String::new(), axis.scale, Vec::new());
        let unit = axis.unit.prefixed(from.abs().max(to.abs()));
        let ruler = Self { title, scale, from, to, unit, ticks };
        Some(if axis.scale == Scale::Logarithmic {
            ruler.with_powers(axis)
        } else {
            ruler.with_steps(axis, most)
        })
    }

    /// The same, but a linear one ends at ticks.
    pub(super) fn with_round_ends(
        axis: &Axis,
        values: impl Iterator<Item = f64>,
        most: usize,
    ) -> Option<Self> {
        let ruler = Self::of_data(axis, values, most)?;
        if axis.scale == Scale::Logarithmic {
            return Some(ruler);
        }
        let step = ruler.step(axis.unit, most);
        let (from, to) = ((ruler.from / step + SLACK).floor(), (ruler.to / step - SLACK).ceil());
        let wider = Self { from: from * step, to: to.max(from + 1.0) * step, ..ruler };
        Some(wider.with_steps(axis, most))
    }

    /// `delivered, Mbit/s`.
    pub(super) fn title(&self) -> String {
        self.title.clone()
    }

    pub(super) fn ticks(&self) -> &[Tick] {
        &self.ticks
    }

    /// Letters of the longest label.
    pub(super) fn widest(&self) -> usize {
        self.ticks.iter().map(|tick| tick.label.chars().count()).max().unwrap_or(0)
    }

    /// The place of a value, 0 to 1 between the ends. None: it has none.
    pub(super) fn place(&self, value: f64) -> Option<f64> {
        if !is_placed(self.scale, value) {
            return None;
        }
        let of = |value: f64| if self.scale == Scale::Logarithmic { value.ln() } else { value };
        Some((of(value) - of(self.from)) / (of(self.to) - of(self.from)))
    }

    /// Ticks at multiples of 1, 2 or 5 times a power of ten of the unit.
    fn with_steps(mut self, axis: &Axis, most: usize) -> Self {
        let step = self.step(axis.unit, most);
        let (factor, unit) = self.unit;
        let decimals = decimals(step / factor);
        self.title = titled(&axis.title, unit);
        let first = (self.from / step - SLACK).ceil();
        let values = (0..MOST_TICKS).map(|index| (first + f64::from(index)) * step);
        let values = values.take_while(|value| *value <= self.to + step * SLACK);
        let label = |value: f64| number(value / factor, decimals);
        let ticks =
            values.filter_map(|value| Some(Tick { at: self.place(value)?, label: label(value) }));
        self.ticks = ticks.collect();
        self
    }

    fn step(&self, unit: Unit, most: usize) -> f64 {
        let (factor, _) = self.unit;
        let least = (self.to - self.from) / factor / most.max(1) as f64;
        let power = 10_f64.powf(least.log10().floor());
        let step = [1.0, 2.0, 5.0]
            .map(|step| step * power)
            .into_iter()
            .find(|step| *step >= least * (1.0 - SLACK));
        let step = step.unwrap_or(10.0 * power);
        // There is no half of a thing.
        let step = if unit == Unit::Count { step.max(1.0) } else { step };
        step * factor
    }

    /// Ticks at powers of two of sizes and numbers, else at 1, 2 and 5 times powers of ten.
    fn with_powers(mut self, axis: &Axis) -> Self {
        self.title = titled(&axis.title, axis.unit.plain());
        let is_binary = matches!(axis.unit, Unit::Bytes | Unit::Count);
        let values: Vec<f64> = if is_binary {
            (0..64).map(|power| 2_f64.powi(power)).collect()
        } else {
            let steps = if self.to / self.from > 100.0 { &[1.0][..] } else { &[1.0, 2.0, 5.0] };
            let powers = (-9..15).map(|power| 10_f64.powi(power));
            powers.flat_map(|power| steps.iter().map(move |step| step * power)).collect()
        };
        let range = self.from * (1.0 - SLACK)..=self.to * (1.0 + SLACK);
        let values = values.into_iter().filter(|value| range.contains(value));
        let label = |value: f64| axis.unit.short(value);
        let ticks =
            values.filter_map(|value| Some(Tick { at: self.place(value)?, label: label(value) }));
        self.ticks = ticks.collect();
        self
    }
}

impl Unit {
    /// The unit with the prefix that suits a value, and how much of the base unit it is.
    fn prefixed(self, most: f64) -> (f64, &'static str) {
        let pick = |step: f64, names: [&'static str; 5]| {
            let mut power = 0;
            while power < 4 && most >= step.powi(power + 1) {
                power += 1;
            }
            (step.powi(power), names[power.unsigned_abs() as usize])
        };
        match self {
            Self::BitsPerSecond => pick(1e3, ["bit/s", "kbit/s", "Mbit/s", "Gbit/s", "Tbit/s"]),
            Self::BytesPerSecond => pick(1e3, ["B/s", "kB/s", "MB/s", "GB/s", "TB/s"]),
            Self::PerSecond => pick(1e3, ["/s", "k/s", "M/s", "G/s", "T/s"]),
            Self::Bytes => pick(1024.0, ["B", "KiB", "MiB", "GiB", "TiB"]),
            Self::Share => (0.01, "%"),
            Self::Count => (1.0, ""),
        }
    }

    const fn plain(self) -> &'static str {
        match self {
            Self::BitsPerSecond => "bit/s",
            Self::BytesPerSecond => "B/s",
            Self::PerSecond => "/s",
            Self::Bytes => "bytes",
            Self::Share => "%",
            Self::Count => "",
        }
    }

    /// A value with the letter of its prefix, as options take it: `128K`, `10M`.
    fn short(self, value: f64) -> String {
        let step = if self == Self::Bytes { 1024.0 } else { 1e3 };
        let value = if self == Self::Share { 100.0 * value } else { value };
        if self == Self::Count {
            return number(value, 0);
        }
        let (mut value, mut letter) = (value, "");
        for next in ["K", "M", "G", "T"] {
            if value < step * (1.0 - SLACK) {
                break;
            }
            (value, letter) = (value / step, next);
        }
        format!("{}{letter}", number(value, decimals(value)))
    }
}

/// The least and the most of the values that have a place.
fn ends(scale: Scale, values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let values = values.filter(|value| is_placed(scale, *value));
    let ends = values.fold(None, |ends: Option<(f64, f64)>, value| {
        Some(ends.map_or((value, value), |(from, to)| (from.min(value), to.max(value))))
    });
    let (from, to) = ends?;
    Some(match scale {
        Scale::FromZero if to >= LEAST => (from.min(0.0), to),
        Scale::FromZero => (from.min(0.0), from.min(0.0) + 1.0),
        // A single value is in the middle.
        Scale::Linear if to - from <= (to.abs() * SLACK).max(LEAST) => {
            let room = if to.abs() < LEAST { 1.0 } else { to.abs() / 2.0 };
            (from - room, to + room)
        }
        Scale::Logarithmic if to <= from * (1.0 + SLACK) => (from / 2.0, to * 2.0),
        Scale::Linear | Scale::Logarithmic => (from, to),
    })
}

fn is_placed(scale: Scale, value: f64) -> bool {
    value.abs() <= MOST && (scale != Scale::Logarithmic || value >= LEAST)
}

fn titled(title: &str, unit: &str) -> String {
    if unit.is_empty() { title.to_owned() } else { format!("{title}, {unit}") }
}

/// Decimals that show a step.
fn decimals(step: f64) -> usize {
    let is_whole = |decimals: &usize| {
        let scaled = step * [1.0, 10.0, 100.0, 1000.0][*decimals];
        (scaled - scaled.round()).abs() < 1e-6 * scaled.abs().max(1.0) && scaled.abs() >= 0.5
    };
    (0..4).find(is_whole).unwrap_or(3)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it is checked")]
fn number(value: f64, decimals: usize) -> String {
    let rounded = value.round();
    if decimals == 0 && (0.0..1e15).contains(&rounded) {
        return group_thousands(rounded as u64);
    }
    format!("{value:.decimals$}")
}

/// Part of a step within which two numbers are the same.
const SLACK: f64 = 1e-9;
/// What is less is nothing.
const LEAST: f64 = 1e-12;
/// What is more is no measurement.
const MOST: f64 = 1e18;
/// No axis has more.
const MOST_TICKS: u32 = 64;

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(unit: Unit, scale: Scale, values: &[f64], most: usize) -> Vec<String> {
        let axis = Axis { title: "x".to_owned(), unit, scale };
        let ruler = Ruler::with_round_ends(&axis, values.iter().copied(), most).expect("values");
        let labels = ruler.ticks.iter().map(|tick| tick.label.clone());
        std::iter::once(ruler.title).chain(labels).collect()
    }

    #[test]
    fn ticks_are_round_and_have_one_unit() {
        let rates = labels(Unit::BitsPerSecond, Scale::FromZero, &[1e6, 941.4e6], 5);
        assert_eq!(rates, ["x, Mbit/s", "0", "200", "400", "600", "800", "1,000"]);
        let shares = labels(Unit::Share, Scale::FromZero, &[0.0, 0.003], 4);
        assert_eq!(shares, ["x, %", "0.0", "0.1", "0.2", "0.3"]);
        let sizes = labels(Unit::Bytes, Scale::FromZero, &[3.0 * 1024.0 * 1024.0], 3);
        assert_eq!(sizes, ["x, MiB", "0", "1", "2", "3"]);
        let near = labels(Unit::Share, Scale::Linear, &[0.981, 0.9999], 4);
        assert_eq!(near, ["x, %", "98.0", "98.5", "99.0", "99.5", "100.0"]);
    }

    #[test]
    fn logarithmic_ticks_are_powers() {
        let sizes = labels(Unit::Bytes, Scale::Logarithmic, &[64.0, 4096.0], 4);
        assert_eq!(sizes, ["x, bytes", "64", "128", "256", "512", "1K", "2K", "4K"]);
        let rates = labels(Unit::BitsPerSecond, Scale::Logarithmic, &[1e6, 1e9], 4);
        assert_eq!(rates, ["x, bit/s", "1M", "10M", "100M", "1G"]);
        let near = labels(Unit::BitsPerSecond, Scale::Logarithmic, &[10e6, 60e6], 4);
        assert_eq!(near, ["x, bit/s", "10M", "20M", "50M"]);
        let streams = labels(Unit::Count, Scale::Logarithmic, &[1.0, 8.0], 4);
        assert_eq!(streams, ["x", "1", "2", "4", "8"]);
    }

    #[test]
    fn no_value_makes_a_ruler_fail() {
        let hostile = [0.0, -1.0, 1.0, 1e300, -1e300, f64::MIN_POSITIVE, f64::NAN, f64::INFINITY];
        for unit in [Unit::BitsPerSecond, Unit::Bytes, Unit::Share, Unit::Count, Unit::PerSecond] {
            for scale in [Scale::FromZero, Scale::Linear, Scale::Logarithmic] {
                for (one, two) in hostile.iter().flat_map(|one| hostile.map(|two| (*one, two))) {
                    let axis = Axis { title: String::new(), unit, scale };
                    let values = [one, two].into_iter();
                    let Some(ruler) = Ruler::with_round_ends(&axis, values, 5) else { continue };
                    assert!(ruler.ticks.len() <= 64, "{ruler:?}");
                    for value in [one, two] {
                        let place = ruler.place(value).unwrap_or(0.0);
                        assert!(!place.is_nan(), "{value} of {ruler:?}");
                    }
                }
            }
        }
    }
}
