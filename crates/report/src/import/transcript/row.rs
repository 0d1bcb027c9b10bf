//! Rows of figures of iperf3 and iperf: a stream or a sum, an interval, an amount, a rate, and what
//! follows by transport and end. What a row means for its run is in `column`.

use super::cursor::Cursor;
use super::figure::Figure;

/// A row of figures.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct FigureRow {
    pub(super) id: Id,
    /// `[TX-C]`, which iperf3 prints where both ends send.
    pub(super) mark: Option<Mark>,
    /// Begin and end in seconds.
    pub(super) from: Figure,
    pub(super) to: Figure,
    /// Payload bytes.
    pub(super) bytes: Figure,
    /// Bits per second.
    pub(super) rate: Figure,
    pub(super) tail: Tail,
}

/// Which stream a row is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Id {
    /// One stream, or the way back of one (`[ *1]` of iperf 2).
    Stream { number: u32, back: bool },
    /// All streams.
    Sum,
}

/// The role of an end where both send.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    /// Whether the end that prints sends this stream.
    pub(super) sends: bool,
    /// Whether the client prints.
    pub(super) client: bool,
}

/// The end whose figures a row of the summary has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Whose {
    Sender,
    Receiver,
}

/// What stands behind the rate.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Tail {
    /// A number by itself: segments sent again, or datagrams sent.
    pub(super) count: Option<u64>,
    /// Congestion window in bytes.
    pub(super) window: Option<Figure>,
    /// Round-trip time in microseconds.
    pub(super) rtt: Option<u64>,
    /// Jitter in milliseconds.
    pub(super) jitter: Option<Figure>,
    pub(super) has_jitter: bool,
    pub(super) lost: Option<i64>,
    /// Datagrams, lost ones included.
    pub(super) total: Option<i64>,
    /// Lost datagrams in percent, as printed.
    pub(super) percent: Option<Figure>,
    pub(super) omitted: bool,
    pub(super) whose: Option<Whose>,
}

/// Why a text is no row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum NoRow {
    /// It begins like one and ends too early: the rest may stand on the next line.
    Short,
    /// It begins like one, and something else follows.
    Wrong,
    /// It is something else.
    Other,
}

impl FigureRow {
    /// Parses what follows the bracket with the id, up to the end of `text`.
    pub(super) fn parse(id: Id, text: &str) -> Result<Self, NoRow> {
        let mut cursor = Cursor::new(text);
        let mark = mark(&mut cursor);
        let from = cursor.number().ok_or(NoRow::Other)?;
        let failed = |cursor: &Cursor<'_>| {
            if breaks_off(*cursor) { NoRow::Short } else { NoRow::Wrong }
        };
        if !cursor.take("-") {
            return Err(if cursor.is_at_end() { NoRow::Short } else { NoRow::Other });
        }
        let to = cursor.number().ok_or_else(|| failed(&cursor))?;
        if !cursor.take("sec") {
            return Err(failed(&cursor));
        }
        let bytes = bytes(&mut cursor).ok_or_else(|| failed(&cursor))?;
        let rate = rate(&mut cursor).ok_or_else(|| failed(&cursor))?;
        Ok(Self { id, mark, from, to, bytes, rate, tail: Tail::parse(cursor) })
    }

    /// Duration in seconds.
    pub(super) fn span(&self) -> Figure {
        Figure { value: self.to.value - self.from.value, half: self.to.half + self.from.half }
    }
}

/// Whether nothing is left, or the begin of a number with its unit.
fn breaks_off(mut cursor: Cursor<'_>) -> bool {
    _ = cursor.number();
    let unit = cursor.rest.trim();
    UNITS.iter().any(|base| {
        let whole = unit.trim_start_matches(['K', 'M', 'G', 'T', 'P']);
        unit.len() - whole.len() <= 1 && base.starts_with(whole)
    })
}

fn mark(cursor: &mut Cursor<'_>) -> Option<Mark> {
    let marks = [("[TX-C]", true, true), ("[RX-C]", false, true), ("[TX-S]", true, false)];
    for (text, sends, client) in marks.into_iter().chain([("[RX-S]", false, false)]) {
        if cursor.take(text) {
            return Some(Mark { sends, client });
        }
    }
    None
}

/// `152 MBytes`, with prefixes of 1024 (units.c of iperf3).
fn bytes(cursor: &mut Cursor<'_>) -> Option<Figure> {
    let mut ahead = *cursor;
    let number = ahead.number()?;
    let power = power_of(ahead.word(), "Byte")?;
    *cursor = ahead;
    Some(number.times(1024_f64.powi(power)))
}

/// `127 Mbits/sec`, with prefixes of 1000, or `15.1 MBytes/sec`, with prefixes of 1024.
pub(super) fn rate(cursor: &mut Cursor<'_>) -> Option<Figure> {
    let mut ahead = *cursor;
    let number = ahead.number()?;
    let unit = ahead.word();
    let bits = power_of(unit, "bit").map(|power| 1000_f64.powi(power));
    let factor = bits.or_else(|| power_of(unit, "Byte").map(|power| 8.0 * 1024_f64.powi(power)))?;
    if !ahead.take("/sec") {
        return None;
    }
    *cursor = ahead;
    Some(number.times(factor))
}

/// `MBytes` is 2.
fn power_of(unit: &str, base: &str) -> Option<i32> {
    let prefix = unit.strip_suffix('s').unwrap_or(unit).strip_suffix(base)?;
    ["", "K", "M", "G", "T", "P"].iter().position(|one| *one == prefix)?.try_into().ok()
}

impl Tail {
    fn parse(mut cursor: Cursor<'_>) -> Self {
        let mut tail = Self::default();
        while !cursor.is_at_end() {
            if cursor.take("(omitted)") {
                tail.omitted = true;
            } else if cursor.take("sender") {
                tail.whose = Some(Whose::Sender);
            } else if cursor.take("receiver") {
                tail.whose = Some(Whose::Receiver);
            } else if !tail.figure(&mut cursor) {
                tail.piece(cursor.piece());
            }
        }
        tail
    }

    /// What is no number: `nan` for a jitter that is none, `Unknown/905`.
    fn piece(&mut self, piece: &str) {
        if matches!(piece, "nan" | "-nan" | "inf") {
            self.has_jitter = true;
        }
        if let Some(total) = piece.strip_prefix("Unknown/") {
            self.total = total.parse().ok();
        }
    }

    /// Whether a number was taken, with what belongs to it.
    fn figure(&mut self, cursor: &mut Cursor<'_>) -> bool {
        if let Some(window) = bytes(cursor) {
            self.window = self.window.or(Some(window));
            return true;
        }
        let Some(number) = cursor.signed() else { return false };
        if cursor.rest.starts_with("K/") {
            self.window_and_rtt(number, cursor);
        } else if cursor.rest.starts_with('/') {
            self.pair(number, cursor);
        } else if cursor.rest.starts_with(['=', ':', '(']) {
            // A distribution of reads, or another column of iperf -e.
            cursor.piece();
        } else if cursor.take("ms") {
            self.jitter = self.jitter.or(Some(number));
            self.has_jitter = true;
        } else if !cursor.take("pps") && !cursor.take("us") && !cursor.take("pkts") {
            let whole = number.value.fract() == 0.0 && number.value >= 0.0;
            self.count = self.count.or_else(|| whole.then(|| number.whole()));
        }
        true
    }

    /// `1151K/83(44) us` of iperf 2: window, round-trip time, and its variation.
    fn window_and_rtt(&mut self, window: Figure, cursor: &mut Cursor<'_>) {
        self.window = self.window.or_else(|| Some(window.times(1024.0)));
        cursor.take("K/");
        self.rtt = cursor.number().map(Figure::whole);
        if cursor.rest.starts_with('(') {
            cursor.piece();
        }
    }

    /// `62608/220852 (28%)`, or columns of iperf -e: `48/0`, `0.003/0.000/0.033/0.002 ms`.
    fn pair(&mut self, first: Figure, cursor: &mut Cursor<'_>) {
        cursor.take("/");
        let Some(second) = cursor.number() else { return };
        if cursor.rest.starts_with(['/', '(']) {
            // Four times, or packets in order.
            cursor.piece();
            _ = cursor.take("ms") || cursor.take("pkts");
            return;
        }
        let has_share = self.share(cursor);
        if has_share || (self.has_jitter && self.total.is_none()) {
            self.lost = Some(first.whole_signed());
            self.total = Some(second.whole_signed());
        }
    }

    /// Whether `(28%)` was taken; `(-nan%)` has no number.
    fn share(&mut self, cursor: &mut Cursor<'_>) -> bool {
        let mut ahead = *cursor;
        if !ahead.take("(") {
            return false;
        }
        let number = ahead.signed();
        if number.is_none() {
            _ = ahead.take("-");
            _ = ahead.word();
        }
        if !ahead.take("%)") {
            return false;
        }
        self.percent = number;
        *cursor = ahead;
        true
    }
}

/// What follows the prefix of a unit.
const UNITS: [&str; 3] = ["Bytes/sec", "bits/sec", "sec"];

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Id = Id::Stream { number: 5, back: false };

    fn row(text: &str) -> FigureRow {
        FigureRow::parse(ONE, text).unwrap_or_else(|no| panic!("{text}: {no:?}"))
    }

    #[test]
    fn rows_of_tcp_have_a_window() {
        let row = row("   1.02-2.03   sec  15.0 MBytes   125 Mbits/sec    7    157 KBytes       ");
        assert_eq!((row.bytes.value, row.rate.value), (15.0 * 1_048_576.0, 125e6));
        assert_eq!((row.tail.count, row.tail.window.map(Figure::whole)), (Some(7), Some(160_768)));
    }

    #[test]
    fn rows_of_udp_have_a_loss() {
        let row = row(
            " 0.00-10.00  sec   219 MBytes   183 Mbits/sec  0.127 ms  62608/220852 (28%)  receiver",
        );
        assert_eq!((row.tail.lost, row.tail.total), (Some(62_608), Some(220_852)));
        assert_eq!(row.tail.whose, Some(Whose::Receiver));
        let old = FigureRow::parse(
            ONE,
            " 0.0- 1.0 sec  1.25 MBytes  10.5 Mbits/sec   0.014 ms    0/  893 (0%)",
        );
        assert_eq!(old.map(|row| (row.tail.lost, row.tail.total)), Ok((Some(0), Some(893))));
        let none =
            FigureRow::parse(ONE, " 0.0-1.0 sec  0.00 Bytes  0.00 bits/sec  nan ms  -3/0 (-nan%)");
        let tail = none.expect("a row").tail;
        assert_eq!((tail.jitter, tail.lost, tail.percent), (None, Some(-3), None));
    }

    #[test]
    fn columns_of_iperf_2_are_not_mistaken() {
        let sent = row(
            " 0.0000-2.0408 sec  12.1 MBytes  49.8 Mbits/sec  97/0          3     1151K/83(44) us  75060",
        );
        assert_eq!((sent.tail.count, sent.tail.rtt, sent.tail.lost), (Some(3), Some(83), None));
        let got = row(
            " 0.0000-2.0016 sec  2.39 MBytes  10.0 Mbits/sec   0.001 ms 4/1704 (0%) 0.003/0.000/0.033/0.002 ms 851 pps 1704/0(0) pkts 444254",
        );
        assert_eq!((got.tail.lost, got.tail.total), (Some(4), Some(1_704)));
        let read = row(" 0.0000-1.0000 sec  6.00 MBytes  50.3 Mbits/sec  50=2:0:0:0:0:0:0:48");
        assert_eq!(read.tail, Tail::default());
    }

    #[test]
    fn a_row_that_breaks_off_is_told_from_a_wrong_one() {
        let parse = |text| FigureRow::parse(ONE, text).expect_err("no row");
        assert_eq!(parse("  0.00-1.00   sec  15.1 MBytes   124"), NoRow::Short);
        assert_eq!(parse("  0.00-"), NoRow::Short);
        assert_eq!(parse("  0.00-1.00   sec  15.1 parsecs"), NoRow::Wrong);
        assert_eq!(parse(" Sent 3 datagrams"), NoRow::Other);
    }
}
