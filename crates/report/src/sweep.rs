//! A sweep: points over one or two axes, as a table and as pictures of curves.

use std::fmt;
use std::io::{self, Write};

use measurement::units::group_thousands;
use measurement::{BitRate, ByteSize, DirectionOutcome, Order, TestRecord};

use crate::Glyphs;
use crate::export::Audience;
use crate::grid::{Column, Grid, Value, exact, percent};
use crate::measured;
use crate::page::wrap;
use crate::plot::{Axis, Bars, Curve, Plot, Scale, Side, Unit};

mod reasons;

/// The points of a sweep, and its axes.
#[derive(Clone, Debug)]
pub struct Sweep<'a> {
    /// One axis or two.
    pub axes: Vec<Dimension>,
    /// The points that have a result, in the order of their settings.
    pub points: Vec<Point<'a>>,
    /// Where the curve of a sweep over rates bends. None: it does not, or it is no such sweep.
    pub knee: Option<Knee<'a>>,
    /// Why a sweep over rates has no knee. None: it has one, or it is no such sweep.
    pub no_knee: Option<NoKnee>,
}

/// Why a curve of rates has no knee.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoKnee {
    /// At least 98 % of the highest rate, of all streams, arrives.
    KeepsUp(BitRate),
    /// Of no rate at least 98 % arrives.
    FallsShort,
    /// The sender reaches no more than this rate, and that arrives.
    Sender(BitRate),
}

/// The knee of a curve of rates.
#[derive(Clone, Copy, Debug)]
pub struct Knee<'a> {
    /// The last rate that arrives, of all streams.
    pub at: BitRate,
    /// Settings between which the curve is drawn once more.
    pub around: (u64, u64),
    /// The record of the next higher rate, which shows the limit.
    pub above: &'a TestRecord,
}

/// An axis of a sweep.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dimension {
    /// Its title, e.g. `buffer`.
    pub title: &'static str,
    /// Its key in CSV, which ends in its unit, e.g. `buffer_bytes`.
    pub key: &'static str,
    /// Unit of its numbers. None: its settings are names.
    pub unit: Option<Unit>,
    /// Whether packets in a second are the first thing to see over it.
    pub shows_packets: bool,
}

/// A setting of an axis.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A number in the base unit of the axis.
    Number(u64),
    /// A name, e.g. of a congestion control.
    Name(String),
}

/// A point of a sweep: its settings, one for each axis, and the record of its test.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// The settings, in the order of the axes.
    pub settings: Vec<Setting>,
    /// The record.
    pub record: &'a TestRecord,
}

/// What a test came to, in a few words: `9.998 Mbit/s, 863 /s, 0 % lost`.
pub fn summary(record: &TestRecord) -> String {
    let each = record.outcome.directions.iter().map(|outcome| {
        let rate = outcome.headline().map(|moved| moved.rate.to_string());
        let packets = measured::packets(record, outcome).map(|packets| packets.to_string());
        let lost = measured::loss(outcome).map(|share| format!("{} lost", percent(share)));
        let parts: Vec<_> = [rate, packets, lost].into_iter().flatten().collect();
        parts.join(", ")
    });
    each.collect::<Vec<_>>().join(" and ")
}

impl Sweep<'_> {
    /// A row for each point and direction. People are spared columns that tell nothing new.
    pub fn grid(&self, audience: Audience) -> Grid {
        let for_all = audience == Audience::Programs;
        let has_ways = for_all && self.axes.iter().all(|axis| axis.key != measured::DIRECTION.key)
            || self.outcomes().any(|(point, _)| point.record.outcome.directions.len() > 1);
        let is_told =
            |column: &Column| for_all || column.key != measured::ASKED || self.asks_else();
        let mut columns: Vec<_> = self.axes.iter().map(Dimension::column).collect();
        columns.extend(has_ways.then_some(measured::DIRECTION));
        columns.extend(measured::COLUMNS.into_iter().filter(is_told));
        let mut grid = Grid::new(columns);
        for (point, outcome) in self.outcomes() {
            let mut row: Vec<_> = self.settings(point).collect();
            row.extend(has_ways.then(|| measured::direction(outcome)));
            let values = measured::COLUMNS.iter().zip(measured::values(point.record, outcome));
            let resent = || measured::resent(point.record, outcome);
            let value = |(column, value): (&Column, Value)| match (value, resent()) {
                (_, Some(share)) if !for_all && *column == measured::RESENT => Value::Share(share),
                (Value::Count(count), None) if !for_all => {
                    Value::Text(format!("{} seg", group_thousands(count)))
                }
                (value, _) => value,
            };
            row.extend(values.filter(|(column, _)| is_told(column)).map(value));
            grid.push(row);
        }
        grid
    }

    fn outcomes(&self) -> impl Iterator<Item = (&Point<'_>, &DirectionOutcome)> {
        let each = self.points.iter();
        each.flat_map(|point| point.record.outcome.directions.iter().map(move |one| (point, one)))
    }

    /// Whether a rate was asked that is none of the settings.
    fn asks_else(&self) -> bool {
        self.outcomes().any(|(point, outcome)| {
            let is_setting =
                |rate: BitRate| point.settings.contains(&Setting::Number(rate.bits_per_second()));
            outcome.asked.is_some_and(|rate| !is_setting(rate))
        })
    }

    /// Writes the table, the pictures and the knee for people, in `width` columns but for the table.
    /// Nothing: there are no points.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write(&self, width: usize, glyphs: Glyphs, out: &mut dyn Write) -> io::Result<()> {
        if self.points.is_empty() {
            return Ok(());
        }
        self.grid(Audience::People).write_text(out, 0)?;
        self.write_reasons(width, out)?;
        self.write_pictures(width, glyphs, out)?;
        self.knee.as_ref().map_or(Ok(()), |knee| knee.write(width, out))?;
        self.no_knee.map_or(Ok(()), |why| write_headed(&[("KNEE", why.to_string())], width, out))
    }

    /// Writes the pictures of the curves in `width` columns, each after an empty line. Nothing: there
    /// are fewer than two points.
    fn write_pictures(&self, width: usize, glyphs: Glyphs, out: &mut dyn Write) -> io::Result<()> {
        if self.points.len() < 2 {
            return Ok(());
        }
        let Some((axis, unit)) = self.axes.iter().find_map(|axis| Some((axis, axis.unit?))) else {
            writeln!(out)?;
            return self.bars().write(width, glyphs, out);
        };
        let plot = self.picture(axis, unit);
        writeln!(out)?;
        plot.write(width, glyphs, out)?;
        if let Some(second) = self.second_picture(axis, unit) {
            writeln!(out)?;
            second.write(width, glyphs, out)?;
        }
        let Some((from, to)) = self.knee.map(|knee| knee.around) else { return Ok(()) };
        let near = plot.between(from as f64, to as f64);
        if near == plot {
            return Ok(());
        }
        writeln!(out, "\nnear the knee:")?;
        near.write(width, glyphs, out)
    }

    /// The second quantity in a picture of its own, where several curves leave it no room in the
    /// first one. None: it is there, or zero.
    fn second_picture(&self, axis: &Dimension, unit: Unit) -> Option<Plot> {
        let [_, second] = Self::quantities(axis);
        let curves = self.curves(axis, &second);
        (curves.len() > 1 && is_any(&curves)).then(|| self.plot(axis, unit, &second, None))
    }

    fn picture(&self, axis: &Dimension, unit: Unit) -> Plot {
        let [first, second] = Self::quantities(axis);
        self.plot(axis, unit, &first, Some(&second))
    }

    /// What is drawn over an axis, the main quantity first.
    fn quantities(axis: &Dimension) -> [Quantity; 2] {
        let rate = Quantity::new("delivered", Unit::BitsPerSecond, |_, moved| {
            Some(moved.headline()?.rate.bits_per_second() as f64)
        });
        if axis.shows_packets {
            let packets = Quantity::new("packets", Unit::PerSecond, |record, moved| {
                Some(measured::packets(record, moved)?.get())
            });
            return [packets, rate];
        }
        let lost = Quantity::new("lost", Unit::Share, |_, moved| measured::loss(moved));
        [rate, lost]
    }

    /// One or two quantities over an axis. Where there are several curves of the first, the second
    /// is not drawn, nor where it is zero.
    fn plot(
        &self,
        axis: &Dimension,
        unit: Unit,
        first: &Quantity,
        second: Option<&Quantity>,
    ) -> Plot {
        let curves = self.curves(axis, first);
        let beside = second.filter(|_| curves.len() == 1);
        let beside = beside.map(|second| (second, self.curves(axis, second)));
        let beside = beside.filter(|(_, curves)| is_any(curves));
        let alone = beside.is_none() && curves.len() == 1;
        let named = |quantity: &Quantity, curve: Curve, side| {
            let several = !curve.name.is_empty();
            let name = if several || alone { curve.name } else { quantity.title.to_owned() };
            Curve { name, side, ..curve }
        };
        let axis_of = |quantity: &Quantity| Axis {
            title: quantity.title.to_owned(),
            unit: quantity.unit,
            scale: Scale::FromZero,
        };
        let mut all: Vec<_> =
            curves.into_iter().map(|curve| named(first, curve, Side::Left)).collect();
        let right = beside.map(|(second, curves)| {
            all.extend(curves.into_iter().map(|curve| named(second, curve, Side::Right)));
            axis_of(second)
        });
        let x = Axis { title: axis.title.to_owned(), unit, scale: self.scale(axis) };
        Plot { x, left: axis_of(first), right, curves: all }
    }

    /// A curve for each setting of the other axis, and for each direction.
    fn curves(&self, axis: &Dimension, quantity: &Quantity) -> Vec<Curve> {
        let at = self.axes.iter().position(|one| one == axis).unwrap_or(0);
        let mut curves: Vec<Curve> = Vec::new();
        for point in &self.points {
            let Some(Setting::Number(x)) = point.settings.get(at) else { continue };
            let directions = &point.record.outcome.directions;
            for outcome in directions {
                let name = self.name(point, at, (directions.len() > 1).then_some(outcome));
                let at = curves.iter().position(|curve| curve.name == name).unwrap_or_else(|| {
                    curves.push(Curve { name, points: Vec::new(), side: Side::Left });
                    curves.len() - 1
                });
                let value = (quantity.of)(point.record, outcome);
                curves[at].points.extend(value.map(|value| (*x as f64, value)));
            }
        }
        for curve in &mut curves {
            curve.points.order_by(|one, other| one.0.total_cmp(&other.0));
        }
        curves
    }

    /// `streams 4, send`; empty: there is one curve.
    fn name(&self, point: &Point<'_>, axis: usize, way: Option<&DirectionOutcome>) -> String {
        let others = self.axes.iter().zip(&point.settings).enumerate();
        let others = others.filter(|(index, _)| *index != axis);
        let mut names: Vec<_> = others.map(|(_, (axis, setting))| axis.titled(setting)).collect();
        names.extend(way.map(|outcome| outcome.direction.to_string()));
        names.join(", ")
    }

    /// By the logarithm if that spaces the settings more evenly.
    fn scale(&self, axis: &Dimension) -> Scale {
        let at = self.axes.iter().position(|one| one == axis).unwrap_or(0);
        let numbers = self.points.iter().filter_map(|point| match point.settings.get(at) {
            Some(Setting::Number(number)) => Some(*number as f64),
            _ => None,
        });
        Scale::fitting(numbers)
    }

    /// A bar for each point and direction.
    fn bars(&self) -> Bars {
        let mut bars = Bars { bars: Vec::new() };
        for point in &self.points {
            let directions = &point.record.outcome.directions;
            for outcome in directions {
                let settings = point.settings.iter().map(Setting::text);
                let way = (directions.len() > 1).then(|| outcome.direction.to_string());
                let name = settings.chain(way).collect::<Vec<_>>().join(", ");
                let rate = outcome.headline().map_or(0, |moved| moved.rate.bits_per_second());
                let shown = BitRate::from_bits_per_second(rate).to_string();
                bars.bars.push((name, rate as f64, shown));
            }
        }
        bars
    }

    fn settings<'b>(&self, point: &'b Point<'_>) -> impl Iterator<Item = Value> + use<'_, 'b> {
        self.axes.iter().zip(&point.settings).map(|(axis, setting)| axis.value(setting))
    }
}

/// Whether curves have anything above zero.
fn is_any(curves: &[Curve]) -> bool {
    curves.iter().any(|curve| curve.points.iter().any(|(_, value)| *value > 0.0))
}

impl Knee<'_> {
    fn write(&self, width: usize, out: &mut dyn Write) -> io::Result<()> {
        let knee = format!("at {}: the last rate of which at least 98 % arrives", self.at);
        let judgement = self.above.judgement.as_ref();
        let verdict = judgement.and_then(|judgement| judgement.verdict.as_ref());
        let limit = verdict.map(|verdict| ("LIMIT", verdict.sentence.clone()));
        let lines: Vec<_> = [("KNEE", knee)].into_iter().chain(limit).collect();
        write_headed(&lines, width, out)
    }
}

impl fmt::Display for NoKnee {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::KeepsUp(rate) => {
                write!(f, "none up to {rate}: at least 98 % of it arrives; sweep higher rates")
            }
            Self::FallsShort => {
                f.write_str("none: of no rate at least 98 % arrives; sweep lower rates")
            }
            Self::Sender(rate) => {
                write!(f, "not reached: the sender sends no more than {rate}, and that arrives")
            }
        }
    }
}

/// Writes an empty line, and sentences behind their heads.
fn write_headed(texts: &[(&str, String)], width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out)?;
    for (head, text) in texts {
        let lines = wrap(text, width.saturating_sub(HEAD).max(HEAD));
        for (number, line) in lines.into_iter().enumerate() {
            let head = if number == 0 { head } else { "" };
            writeln!(out, "{head:HEAD$}{line}")?;
        }
    }
    Ok(())
}

/// A quantity of a direction of a test.
struct Quantity {
    title: &'static str,
    unit: Unit,
    of: fn(&TestRecord, &DirectionOutcome) -> Option<f64>,
}

impl Quantity {
    const fn new(
        title: &'static str,
        unit: Unit,
        of: fn(&TestRecord, &DirectionOutcome) -> Option<f64>,
    ) -> Self {
        Self { title, unit, of }
    }
}

impl Dimension {
    const fn column(&self) -> Column {
        Column { title: self.title, key: self.key }
    }

    /// A setting as people read it, with its unit: `10.00 Mbit/s`, `cubic`.
    pub fn show(&self, setting: &Setting) -> String {
        match (self.unit, setting) {
            (Some(Unit::BitsPerSecond), Setting::Number(0)) => "unlimited".to_owned(),
            (Some(Unit::BitsPerSecond), Setting::Number(bits)) => {
                BitRate::from_bits_per_second(*bits).to_string()
            }
            (Some(Unit::Bytes), Setting::Number(bytes)) => exact(ByteSize::from_bytes(*bytes)),
            (_, setting) => setting.text(),
        }
    }

    fn titled(&self, setting: &Setting) -> String {
        match setting {
            Setting::Name(name) => name.clone(),
            Setting::Number(_) => format!("{} {}", self.title, self.show(setting)),
        }
    }

    fn value(&self, setting: &Setting) -> Value {
        match (self.unit, setting) {
            (_, Setting::Name(name)) => Value::Text(name.clone()),
            (Some(Unit::BitsPerSecond), Setting::Number(bits)) => {
                Value::Rate(BitRate::from_bits_per_second(*bits))
            }
            (Some(Unit::Bytes), Setting::Number(bytes)) => {
                Value::Size(ByteSize::from_bytes(*bytes))
            }
            (_, Setting::Number(number)) => Value::Count(*number),
        }
    }
}

impl Setting {
    fn text(&self) -> String {
        match self {
            Self::Number(number) => number.to_string(),
            Self::Name(name) => name.clone(),
        }
    }
}

/// Columns of what stands in front of a sentence.
const HEAD: usize = 7;

#[cfg(test)]
mod tests;
