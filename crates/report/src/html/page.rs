//! The data of a page ([`Page`]): what `web/src/data.ts` reads. Numbers are in base units (bit/s,
//! seconds), names end in their unit; texts are those of the other formats.

use measurement::{BitRate, LoadCurve};
use serde::Serialize;

use super::Report;
use super::comparison::Compared;
use super::search::Search;
use super::test::Test;
use crate::runs;

/// All data of a page.
#[derive(Debug, Serialize)]
pub(super) struct Page {
    schema: &'static str,
    linerate: &'static str,
    title: String,
    tests: Vec<Test>,
    searches: Vec<Search>,
    curves: Vec<Curve>,
    #[serde(skip_serializing_if = "Option::is_none")]
    comparison: Option<Compared>,
    #[serde(skip_serializing_if = "Option::is_none")]
    error: Option<String>,
}

impl Page {
    pub(super) fn new(report: &Report<'_>) -> Self {
        let runs = runs::numbered(&report.records.records);
        let tests: Vec<_> = runs.iter().map(|(record, run)| Test::new(record, run)).collect();
        let searches: Vec<_> = report.searches.iter().map(Search::new).collect();
        let ends = tests.first().map(Test::ends).or_else(|| searches.first().map(Search::ends));
        Self {
            schema: "linerate/report/1",
            linerate: env!("CARGO_PKG_VERSION"),
            title: report.title.map(str::to_owned).or(ends).unwrap_or_default(),
            tests,
            searches,
            curves: report.curves.iter().map(Curve::new).collect(),
            comparison: report.comparison.map(Compared::new),
            error: report.records.error.as_ref().map(|error| error.message.clone()),
        }
    }
}

/// What arrived over the load, of several tests.
#[derive(Debug, Serialize)]
struct Curve {
    title: String,
    points: Vec<CurvePoint>,
    #[serde(skip_serializing_if = "Option::is_none")]
    knee_bits_per_second: Option<[BitRate; 2]>,
    #[serde(skip_serializing_if = "Option::is_none")]
    ceiling_bits_per_second: Option<BitRate>,
}

#[derive(Debug, Serialize)]
struct CurvePoint {
    load_bits_per_second: BitRate,
    arrived_bits_per_second: BitRate,
    #[serde(skip_serializing_if = "Option::is_none")]
    lost_ratio: Option<f64>,
}

impl Curve {
    fn new(curve: &LoadCurve) -> Self {
        let name = |address: Option<std::net::IpAddr>| address.map(|one| one.to_string());
        let ends = name(curve.from).zip(name(curve.to));
        let title = ends.map_or_else(String::new, |(from, to)| format!("{from} -> {to}"));
        let points = curve.points.iter().map(|point| CurvePoint {
            load_bits_per_second: point.load,
            arrived_bits_per_second: point.arrived,
            lost_ratio: point.loss,
        });
        Self {
            title,
            points: points.collect(),
            knee_bits_per_second: curve.knee.map(|(kept, lost)| [kept, lost]),
            ceiling_bits_per_second: curve.ceiling,
        }
    }
}
