//! What a server of iperf2 prints.

use std::fmt::Write;

use measurement::outcome::{DatagramLedger, Throughput};
use measurement::{StreamRecord, Transport};

use super::rows::{Datagrams, Row, Whose};
use super::{COLUMNS, Form, HEADER, RULE, Text, at};
use crate::iperf3::UnitFormat;

/// A test that a server has received.
#[derive(Clone, Copy, Debug)]
pub struct Received<'a> {
    /// Number of its first stream, counted from the start of the server.
    pub first: u64,
    /// Its streams.
    pub streams: &'a [StreamRecord],
    /// What came on all of them together.
    pub delivered: Throughput,
    /// Of UDP: the datagrams, and the jitter in seconds.
    pub datagrams: Option<(DatagramLedger, f64)>,
}

impl Text {
    /// The lines of a server that waits for clients.
    pub fn listening(transport: Transport, port: u16) -> String {
        format!("{RULE}Server listening on {transport} port {port}\n{RULE}")
    }
}

impl Received<'_> {
    /// The lines on the test, with `date` as the time of day as `20261126174035`.
    pub fn text(&self, form: Form, unit: UnitFormat, date: &str) -> String {
        let row = self.row();
        if form == Form::Csv {
            return row.csv(date);
        }
        let mut out = String::new();
        for (number, stream) in (self.first..).zip(self.streams) {
            if let (Some(local), Some(peer)) = (stream.local, stream.peer) {
                let (local, peer) = (at(local), at(peer));
                _ = writeln!(out, "[{number:3}] local {local} connected with {peer}");
            }
        }
        let columns = if self.datagrams.is_some() { COLUMNS } else { "" };
        out + &format!("{HEADER}{columns}\n{}", row.text(unit))
    }

    fn row(&self) -> Row {
        let index = usize::try_from(self.first.saturating_sub(1)).unwrap_or(usize::MAX);
        let whose = match self.streams.len() {
            1 => Whose::Stream(index, true),
            streams => Whose::Sum(streams),
        };
        let Throughput { bytes, span, .. } = self.delivered;
        let datagrams = self.datagrams.map(|(ledger, jitter)| Datagrams {
            jitter_millis: jitter * 1e3,
            lost: ledger.lost,
            all: ledger.sent,
        });
        let last = self.streams.last();
        Row {
            transport: if datagrams.is_some() { Transport::Udp } else { Transport::Tcp },
            datagrams,
            local: last.and_then(|stream| stream.local),
            peer: last.and_then(|stream| stream.peer),
            ..Row::new(whose, (0.0, span.as_secs_f64()), bytes)
        }
    }
}
