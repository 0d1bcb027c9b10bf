//! What a server of iperf2 prints.

use std::fmt::Write;

use measurement::outcome::{DatagramLedger, Throughput};
use measurement::{StreamRecord, Transport};

use super::rows::{Datagrams, Iperf2Row, Whose, way};
use super::{COLUMNS, Form, HEADER, RULE, Text, at};
use crate::iperf3::UnitFormat;

/// What a server has received, or sent.
#[derive(Clone, Copy, Debug)]
pub struct Carried<'a> {
    /// Number of its first stream, counted from the start of the server.
    pub first: u64,
    /// Its streams, on all of which the server receives, or sends.
    pub streams: &'a [StreamRecord],
    /// What they carried together.
    pub moved: Throughput,
    /// Payload bytes of each; empty: only their sum is known.
    pub each: &'a [u64],
    /// Of UDP: the datagrams, and the jitter in seconds.
    pub datagrams: Option<(DatagramLedger, f64)>,
}

impl Text {
    /// The lines of a server that waits for clients.
    pub fn listening(transport: Transport, port: u16) -> String {
        format!("{RULE}Server listening on {transport} port {port}\n{RULE}")
    }
}

impl Carried<'_> {
    /// The lines on the test, with `date` as the time of day as `20261126174035`.
    pub fn text(&self, form: Form, unit: UnitFormat, date: &str) -> String {
        let rows = self.rows();
        if form == Form::Csv {
            return rows.iter().map(|row| row.csv(date)).collect();
        }
        let mut out = String::new();
        for (number, stream) in (self.first..).zip(self.streams) {
            if let (Some(local), Some(peer)) = (stream.local, stream.peer) {
                let (local, peer) = (at(local), at(peer));
                let (label, way) = if stream.sender {
                    (format!("*{number}"), " (reverse)")
                } else {
                    (number.to_string(), "")
                };
                _ = writeln!(out, "[{label:>3}] local {local} connected with {peer}{way}");
            }
        }
        let columns = if self.datagrams.is_some() { COLUMNS } else { "" };
        let rows: String = rows.iter().map(|row| row.text(unit)).collect();
        out + &format!("{HEADER}{columns}\n{rows}")
    }

    /// A row for each stream, if there are several whose bytes are known, and that of all together.
    fn rows(&self) -> Vec<Iperf2Row> {
        let all = self.row();
        let is_known = self.streams.len() > 1 && self.each.len() == self.streams.len();
        let each = self.each.iter().zip(self.streams).enumerate().filter(|_| is_known);
        let each = each.map(|(index, (bytes, stream))| Iperf2Row {
            bytes: *bytes,
            whose: Whose::Stream(self.index() + index, !stream.sender),
            way: way(stream),
            ..all.clone()
        });
        each.chain([all.clone()]).collect()
    }

    fn index(&self) -> usize {
        usize::try_from(self.first.saturating_sub(1)).unwrap_or(usize::MAX)
    }

    fn row(&self) -> Iperf2Row {
        let whose = match self.streams.len() {
            1 => Whose::Stream(self.index(), !self.streams[0].sender),
            streams => Whose::Sum(streams),
        };
        let Throughput { bytes, span, .. } = self.moved;
        let datagrams = self.datagrams.map(|(ledger, jitter)| Datagrams {
            jitter_millis: jitter * 1e3,
            lost: ledger.lost,
            all: ledger.sent,
            one_way: None,
        });
        Iperf2Row {
            transport: if datagrams.is_some() { Transport::Udp } else { Transport::Tcp },
            datagrams,
            way: self.streams.last().map_or((None, None), way),
            ..Iperf2Row::new(whose, (0.0, span.as_secs_f64()), bytes)
        }
    }
}
