//! Input formats ([`Import`]): parsers of linerate's records, of what iperf3 and iperf print, and of CPU
//! profiles that perf prints, into the types of the crate `measurement`. Pure: bytes in, data out.
//!
//! A new format is one file in this folder and one line in [`ALL`].

use std::fmt::{self, Display, Formatter};
use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use measurement::{Profile, RecordSet};

mod folded;
pub mod iperf3_json;
mod perf_script;
mod perf_table;
mod plain;
pub mod record;
mod samples;
pub mod transcript;

use self::folded::Folded;
use self::perf_script::PerfScript;
use self::perf_table::PerfTable;
use self::plain::plain;
use self::record::{Record, RecordError};
#[cfg(feature = "full")]
use self::transcript::Transcript;

/// A format of files that can be imported: records of linerate, output of iperf3 or iperf, or
/// profiles of perf.
pub trait Import: Sync {
    /// Name of the format for error messages, e.g. `output of perf script`.
    fn name(&self) -> &'static str;

    /// Kind of data that texts in this format contain.
    fn content(&self) -> Content;

    /// Whether a file that starts with `bytes` may have this format; the formats are tried in the
    /// order of [`ALL`].
    fn recognises(&self, bytes: &[u8]) -> bool;

    /// Parses a whole file.
    ///
    /// # Errors
    /// [`ImportError::Record`] for a record that cannot be parsed, [`ImportError::Unrecognised`]
    /// for a text without any sample.
    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError>;

    /// Numbers of the lines that [`Import::read`] passes over, counted from 1, in their order: what
    /// is neither data of this format nor what the program prints around it.
    fn unread(&self, _bytes: &[u8]) -> Vec<usize> {
        Vec::new()
    }
}

/// Kind of data that an input format contains: records or a CPU profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Content {
    /// Records of tests.
    Records,
    /// A CPU profile.
    Profile,
}

/// Content of an imported file, parsed.
#[derive(Clone, Debug, PartialEq)]
pub enum Imported {
    /// Records of tests, at least one.
    Records(RecordSet),
    /// A CPU profile.
    Profile(Profile),
    /// Several CPU profiles, at least two: shares of one are not shares of another.
    Tables(Vec<Table>),
}

/// One of several CPU profiles, as tables, in one input text: its line, heading and shares.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Number of the line where it begins, with its heading if it has one.
    pub line: usize,
    /// The part of the text that the table is in, by the nearest line such as `--- TCP recv ---`
    /// above it; empty: there is none.
    pub section: String,
    /// The nearest heading, prompt or other text above the table, or else the event that was
    /// sampled; empty: there is none.
    pub heading: String,
    /// The shares of this table.
    pub profile: Profile,
}

/// Reason for which a file cannot be imported.
#[derive(Debug)]
pub enum ImportError {
    /// The input could not be read.
    Read(io::Error),
    /// The input is longer than so many bytes.
    TooLong(u64),
    /// No importer recognises the input.
    Unrecognised,
    /// The input is a record that cannot be parsed.
    Record(RecordError),
}

/// Finds the importer for a file or input that starts with `bytes`.
///
/// # Errors
/// [`ImportError::Unrecognised`] if no importer recognises it.
pub fn importer(bytes: &[u8]) -> Result<&'static dyn Import, ImportError> {
    ALL.iter().copied().find(|one| one.recognises(bytes)).ok_or(ImportError::Unrecognised)
}

/// Reads all of `reader`, at most [`MOST_BYTES`] bytes, and unpacks it if it is gzip (RFC 1952).
///
/// # Errors
/// [`ImportError::TooLong`] beyond [`MOST_BYTES`], or if far more comes out of gzip than records and texts
/// are packed into; [`ImportError::Read`] if the reader fails, or the gzip is damaged.
pub fn read_bounded(reader: impl Read) -> Result<Vec<u8>, ImportError> {
    let bytes = read_up_to(MOST_BYTES, reader)?;
    if !bytes.starts_with(GZIP) {
        return Ok(bytes);
    }
    let most = (MOST_TIMES * bytes.len() as u64).clamp(ALWAYS_BYTES, MOST_BYTES);
    read_up_to(most, MultiGzDecoder::new(&bytes[..]))
}

fn read_up_to(most: u64, reader: impl Read) -> Result<Vec<u8>, ImportError> {
    let mut bytes = Vec::new();
    reader.take(most + 1).read_to_end(&mut bytes).map_err(ImportError::Read)?;
    if bytes.len() as u64 > most { Err(ImportError::TooLong(most)) } else { Ok(bytes) }
}

impl Display for ImportError {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Read(error) => error.fmt(f),
            Self::TooLong(most) => write!(
                f,
                "it is longer than {} MiB, the most that linerate reads of it",
                most >> 20
            ),
            Self::Unrecognised => {
                let has_all = cfg!(feature = "full");
                let others = if has_all { ", iperf3 or iperf" } else { "" };
                write!(
                    f,
                    "it is no record, and no output of perf report --stdio{others}: give one of these"
                )
            }
            Self::Record(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for ImportError {}

/// The first part of a text, in which it is recognised.
fn head(bytes: &[u8]) -> String {
    plain(&bytes[..bytes.len().min(HEAD)]).into_owned()
}

fn profile(profile: Option<Profile>) -> Result<Imported, ImportError> {
    profile.map(Imported::Profile).ok_or(ImportError::Unrecognised)
}

/// All input formats, in the order in which an input is tried for them.
pub const ALL: &[&dyn Import] = &[
    #[cfg(feature = "full")]
    &Transcript,
    &Record,
    &PerfTable,
    &PerfScript,
    &Folded,
];

/// Maximum length of an input that is accepted, in bytes; the record of 100,000 streams is shorter.
pub const MOST_BYTES: u64 = 512 << 20;

/// First bytes of gzip (RFC 1952, 2.3.1).
const GZIP: &[u8] = &[0x1f, 0x8b];
/// Records become 6 to 30 times as short, and that of 10,000 streams that are all alike 125 times by gzip(1);
/// the format can be 1,000 times as short.
const MOST_TIMES: u64 = 400;
/// Bytes that gzip may unpack to, however short it is.
const ALWAYS_BYTES: u64 = 1 << 20;

/// Longer than the comments above a table of perf.
const HEAD: usize = 1 << 20;

#[cfg(test)]
mod tests;
