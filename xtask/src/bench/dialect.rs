//! The command lines and the JSON of the programs that are compared.

use anyhow::Result;
use serde_json::Value;

use super::row::Row;

mod iperf3;
mod linerate;

pub(super) use iperf3::{Iperf3, sum};
pub(super) use linerate::Linerate;

/// What a client is asked for.
#[derive(Clone, Copy, Debug)]
pub(super) enum Task<'a> {
    /// A row for so many seconds, with this congestion control if it is TCP.
    Row { row: Row, seconds: u32, congestion: &'a str },
    /// A little TCP with this congestion control.
    Trial { congestion: &'a str },
    /// One MiB over TCP.
    Mebibyte,
}

/// What arrived.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Delivered {
    /// Payload bytes at the receiver, of both directions if both were asked for.
    pub(super) bytes: u64,
    /// Their rate there in bits per second.
    pub(super) rate: f64,
}

/// How one kind of program is spoken to.
pub(super) trait Dialect {
    /// Arguments of a server on a port of loopback.
    fn server(&self, port: u16) -> Vec<String>;

    /// Arguments of a client to it.
    fn client(&self, port: u16, task: Task) -> Vec<String>;

    /// Reads the JSON that the client prints.
    fn read(&self, printed: &Value) -> Result<Delivered>;
}

/// The dialect of a program that calls itself so.
pub(super) fn of(version: &str) -> &'static dyn Dialect {
    if version.starts_with("linerate") { &Linerate } else { &Iperf3 }
}

/// Splits at blanks, for command lines that are written as one text.
fn words(line: &str) -> Vec<String> {
    line.split_whitespace().map(str::to_owned).collect()
}
