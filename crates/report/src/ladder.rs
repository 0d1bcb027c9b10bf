//! Writes the record of a ladder: a row a rung, why a rung gives less than the one above, and the
//! round trips.

use std::io::{self, Write};
use std::time::Duration;

use measurement::units::counted;
use measurement::{LadderLatency, LadderRecord, Layer, Rung};

use crate::columns::{Cell, Columns, Emphasis};
use crate::grid::{Column, Grid, Value, percent};
use crate::heading;
use crate::judgement;
use crate::screen::{labelled, sentence};
use crate::summary::Rows;
use crate::width::Width;

/// Writes `record` as text of at most `width` columns where words allow it.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(record: &LadderRecord, width: usize, out: &mut dyn Write) -> io::Result<()> {
    writeln!(out, "{}", head(record))?;
    writeln!(out)?;
    rows(record).write(out, INDENT, Width::of(width))?;
    writeln!(out)?;
    for line in closing(record, width) {
        writeln!(out, "{line}")?;
    }
    Ok(())
}

impl Rows for LadderRecord {
    const NAME: &'static str = "ladder";

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(1);
        for rung in &self.rungs {
            let stamp = judged(rung).map(|judgement| judgement.stamp.to_string());
            grid.push(vec![
                Value::Text(name(rung, self)),
                Value::known(rung.rate, Value::Rate),
                Value::known(rung.of_link_ratio, Value::Share),
                Value::known(rung.of_above_ratio, Value::Share),
                Value::known(rung.lost_ratio, Value::Share),
                Value::known(stamp, Value::Text),
                Value::known(rung.explanation.clone(), Value::Text),
            ]);
        }
        grid
    }
}

/// `linerate  10.0.0.1 -> 10.0.0.2   ladder, send`.
fn head(record: &LadderRecord) -> String {
    let heading = heading::shown(&record.heading);
    format!("{heading}ladder, {}", record.direction)
}

fn rows(record: &LadderRecord) -> Columns {
    let mut columns = Columns::default();
    let titles = ["layer", "rate", "of the link", "of the one above", "lost", "trust"];
    columns.push(titles.map(|title| Cell::new(title, Emphasis::Faint)).to_vec());
    let share = |share: Option<f64>| share.map_or("-".to_owned(), part);
    for rung in &record.rungs {
        let rate = rung.rate.map_or("-".to_owned(), |rate| rate.to_string());
        columns.push(vec![
            name(rung, record).into(),
            Cell::new(rate, Emphasis::Strong),
            share(rung.of_link_ratio).into(),
            share(rung.of_above_ratio).into(),
            share(rung.lost_ratio).into(),
            rung.record.as_deref().map_or_else(|| Cell::from(String::new()), judgement::stamp),
        ]);
    }
    columns
}

/// `58.7 %`, `6.9 x`.
fn part(share: f64) -> String {
    if share < SEVERAL { percent(share) } else { format!("{share:.1} x") }
}

/// `TCP, 8 streams`.
fn name(rung: &Rung, record: &LadderRecord) -> String {
    match rung.layer {
        Layer::TcpStreams => format!("TCP, {}", counted(record.streams.into(), "stream")),
        layer => layer.to_string(),
    }
}

fn closing(record: &LadderRecord, width: usize) -> Vec<String> {
    let mut lines = Vec::new();
    for rung in &record.rungs {
        let Some(why) = &rung.explanation else { continue };
        let text = format!("{}: {why}{}", name(rung, record), ledger(rung));
        lines.extend(labelled("WHY", Emphasis::Strong, &sentence(&text), width));
    }
    if let Some(latency) = &record.latency {
        lines.extend(labelled("DELAY", Emphasis::Strong, &round_trips(latency), width));
    }
    for text in &record.left_out {
        lines.extend(labelled("NOTE", Emphasis::Warning, &sentence(text), width));
    }
    lines
}

/// Where datagrams of a rung were lost; empty: none were.
fn ledger(rung: &Rung) -> String {
    let is_lossy = rung.lost_ratio.is_some_and(|share| share > 0.0);
    let accounts = judged(rung).into_iter().flat_map(|judgement| &judgement.directions);
    let lines = accounts.filter(|_| is_lossy).flat_map(judgement::lines);
    lines.fold(String::new(), |text, (_, line)| text + "; " + &line)
}

fn judged(rung: &Rung) -> Option<&measurement::Judgement> {
    rung.record.as_ref()?.judgement.as_ref()
}

fn round_trips(latency: &LadderLatency) -> String {
    let added = latency.loaded.saturating_sub(latency.idle);
    format!(
        "Median round trip {} idle, {} beside one TCP stream: +{}, grade {}",
        millis(latency.idle),
        millis(latency.loaded),
        millis(added),
        latency.grade
    )
}

fn millis(span: Duration) -> String {
    format!("{:.2} ms", span.as_secs_f64() * 1e3)
}

const INDENT: usize = 2;
/// From so many times on a share is told as a multiple.
const SEVERAL: f64 = 2.0;
const COLUMNS: [Column; 7] = [
    Column { title: "layer", key: "layer" },
    Column { title: "rate", key: "rate_bits_per_second" },
    Column { title: "of the link", key: "of_link_ratio" },
    Column { title: "of the one above", key: "of_above_ratio" },
    Column { title: "lost", key: "lost_ratio" },
    Column { title: "trust", key: "stamp" },
    Column { title: "why", key: "explanation" },
];

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use measurement::{BitRate, Direction, Grade, Heading};

    use super::*;
    use crate::columns::plain;

    fn rung(layer: Layer, mbps: u64, above: Option<f64>, why: Option<&str>) -> Rung {
        let rate = BitRate::from_bits_per_second(mbps * 1_000_000);
        Rung {
            layer,
            rate: Some(rate),
            of_link_ratio: Some(mbps as f64 / 10_000.0),
            of_above_ratio: above,
            lost_ratio: None,
            explanation: why.map(str::to_owned),
            record: None,
            frames: None,
        }
    }

    fn record() -> LadderRecord {
        LadderRecord {
            heading: Heading::new(BTreeMap::new(), None),
            direction: Direction::Send,
            streams: 8,
            rungs: vec![
                rung(Layer::Link, 10_000, None, Some("eth0 of this host says 10.00 Gbit/s")),
                rung(Layer::UdpBatched, 9_000, Some(0.9), Some("the path is the limit")),
                rung(Layer::UdpSingle, 2_000, Some(0.222), Some("this host's CPU is full")),
                rung(Layer::TcpStreams, 9_400, Some(4.7), None),
            ],
            latency: Some(LadderLatency {
                idle: Duration::from_micros(110),
                loaded: Duration::from_micros(1_310),
                grade: Grade::APlus,
            }),
            left_out: vec!["packets below UDP are not measured".to_owned()],
            error: None,
        }
    }

    #[test]
    fn rungs_and_what_is_lost_between_them_fit_a_terminal() {
        let mut out = Vec::new();
        write(&record(), 80, &mut out).expect("a vector takes all");
        let text = plain(&String::from_utf8(out).expect("text"));
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        insta::assert_snapshot!(text);
    }

    #[test]
    fn a_line_of_csv_is_a_rung() {
        let mut out = Vec::new();
        record().grid().write_csv(&mut out).expect("a vector takes all");
        let text = String::from_utf8(out).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(
            lines[0],
            "layer,rate_bits_per_second,of_link_ratio,of_above_ratio,lost_ratio,stamp,explanation"
        );
        assert_eq!(lines[4], "\"TCP, 8 streams\",9400000000,0.94,4.7,,,");
        assert_eq!(lines.len(), 5);
    }
}
