//! What iperf3 and iperf (version 2) print, as text, JSON or CSV, in texts of any kind: logs, mail,
//! pages. A text may have any number of runs, and other lines between them. What an end printed and
//! what its peer printed become one record.

use measurement::TestRecord;

mod bare_table;
mod block;
mod checks;
mod column;
mod command;
mod csv;
mod cursor;
mod document;
mod ends;
mod figure;
#[cfg(feature = "full")]
mod format;
mod found;
mod intervals;
mod iperf2;
mod iperf3;
mod lines;
mod name;
mod needles;
mod pairing;
mod rates;
mod reader;
mod record;
mod row;
mod said;
mod speaker;
mod view;

#[cfg(feature = "full")]
pub(super) use self::format::Transcript;
pub use self::found::Rates;

use self::ends::{End, Tool};
use self::pairing::{Pair, pairs};
use self::view::{Place, View};

/// The runs in one or several texts.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Runs {
    /// Runs in the order in which they are printed.
    pub runs: Vec<TranscriptRun>,
    /// For each text, in the order of the texts, numbers of the lines that are no output of iperf3
    /// or iperf, counted from 1.
    pub unread: Vec<Vec<usize>>,
    /// For each text numbers of the lines that begin like output of iperf3 or iperf and could not
    /// be read.
    pub broken: Vec<Vec<usize>>,
    /// Rates that stand by themselves, without the runs that they are of.
    pub rates: Vec<Rates>,
    /// Whether a text has more runs than are read: what an end printed counts, up to 10,000.
    pub is_cut: bool,
}

/// A run that was found in a text.
#[derive(Clone, Debug, PartialEq)]
pub struct TranscriptRun {
    /// Its record, without a judgement.
    pub record: TestRecord,
    /// The lines where it is printed: by the client, by the server, and again.
    pub lines: Vec<Lines>,
}

/// Lines of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lines {
    /// Index of the text.
    pub text: usize,
    /// Number of the first line, from 1.
    pub first: usize,
    /// Number of the last line.
    pub last: usize,
}

/// Finds all runs in texts, which may each have one end of a run.
pub fn runs(texts: &[&[u8]]) -> Runs {
    let mut reading = Reading::default();
    for text in texts {
        reading.add(text);
    }
    reading.finish()
}

/// Reads one text after another, of which only what was found is kept.
#[derive(Default)]
pub struct Reading {
    views: Vec<View>,
    found: Runs,
}

impl Reading {
    /// Reads a further text.
    pub fn add(&mut self, text: &[u8]) {
        let found = reader::read(self.found.unread.len(), text);
        self.views.extend(found.views);
        self.found.unread.push(found.unread);
        self.found.broken.push(found.broken);
        self.found.rates.extend(found.rates);
        self.found.is_cut |= found.is_full;
    }

    /// Puts together what the texts have of each run.
    pub fn finish(self) -> Runs {
        let runs = pairs(self.views).into_iter().map(|pair| run(&pair)).collect();
        Runs { runs, ..self.found }
    }
}

fn run(pair: &Pair) -> TranscriptRun {
    let places = pair.views().map(|view| view.place).chain(pair.copies.iter().copied());
    let lines = places.map(|Place { text, first, last }| Lines { text, first, last });
    let mut lines: Vec<_> = lines.collect();
    // The document of a client may have what its server printed.
    lines.dedup();
    TranscriptRun { record: record::record(pair, source(pair)), lines }
}

/// `output of iperf3 3.12: client, lines 1-20; server, lines 30-50`.
fn source(pair: &Pair) -> String {
    let program = pair.views().map(|view| match view.tool {
        Tool::Iperf3 => "iperf3",
        Tool::Iperf2 => "iperf",
    });
    let version = pair.views().find_map(|view| view.version.as_deref());
    let version = version.map_or_else(String::new, |version| format!(" {version}"));
    let ends = pair.views().map(|view| {
        let end = match view.end {
            Some(End::Client) => "client",
            Some(End::Server) => "server",
            None => "one end",
        };
        format!("{end}, lines {}-{}", view.place.first, view.place.last)
    });
    let ends = ends.collect::<Vec<_>>().join("; ");
    format!("output of {}{version}: {ends}", program.take(1).collect::<String>())
}
