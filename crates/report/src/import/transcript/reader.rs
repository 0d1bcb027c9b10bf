//! Finds runs in a text: takes statements line by line, and puts them together to what one end
//! printed of one run.

use std::borrow::Cow;

use measurement::{BitRate, Transport};

use super::checks;
use super::command::{Asked, Command};
use super::csv::Csv;
use super::document::Documents;
use super::lines::Lines;
use super::row::{Id, Row, Whose};
use super::said::{Detail, Said, begins, said};
use super::view::{Connection, End, Place, Side, Tool, View};

/// Everything that was found in a text.
#[derive(Debug, Default)]
pub(super) struct Found {
    pub(super) views: Vec<View>,
    /// Numbers of the lines that say nothing known, in their order.
    pub(super) unread: Vec<usize>,
    /// Those of them that begin like a row or a connection.
    pub(super) broken: Vec<usize>,
    /// Whether there were more views than [`MOST_VIEWS`].
    pub(super) is_full: bool,
}

/// Reads a text, the one with this number.
pub(super) fn read(number: usize, text: &[u8]) -> Found {
    let mut found = Found::default();
    let mut reader = Reader::new(number, text.len());
    let mut lines = Lines::new(text);
    while found.views.len() < MOST_VIEWS {
        if reader.documents.take(&mut lines, number, &mut found) {
            reader.columns.iter_mut().for_each(|column| column.close(&mut found));
            continue;
        }
        let Some(line) = lines.next() else { break };
        reader.line(line, &mut lines, &mut found);
    }
    reader.columns.iter_mut().for_each(|column| column.close(&mut found));
    reader.csv.close(&mut found);
    reader.documents.close(&mut found);
    found.is_full = !lines.is_at_end();
    found
}

/// What is open while a text is read.
struct Reader {
    /// Texts of two columns have two; the others use the first.
    columns: [Column; 2],
    /// Where the second column begins.
    right: Option<usize>,
    csv: Csv,
    documents: Documents,
    /// What stands before statements, e.g. a time, with zeros for all digits.
    before: String,
}

impl Reader {
    fn new(number: usize, length: usize) -> Self {
        Self {
            columns: [Column::new(number), Column::new(number)],
            right: None,
            csv: Csv::new(number),
            documents: Documents::new(length),
            before: String::new(),
        }
    }

    fn line<'a>(&mut self, line: Cow<'a, str>, lines: &mut Lines<'a>, found: &mut Found) {
        let first = lines.number;
        let starts = begins(&line);
        if let [_, right, ..] = starts[..] {
            self.right = Some(right);
            for (at, start) in starts.iter().enumerate() {
                let end = starts.get(at + 1).copied().unwrap_or(line.len());
                self.columns[at.min(1)].take(said(&line[*start..end]), (first, first), found);
            }
            return;
        }
        let start = starts.first();
        if self.is_blank(&line, start) {
            return;
        }
        let is_right = self.right.zip(start).is_some_and(|(right, at)| at + SHIFT >= right);
        let line = lines.unwrap(line);
        let place = (first, lines.number);
        if !self.csv.take(&line, place, found) {
            self.columns[usize::from(is_right)].take(said(&line), place, found);
        }
    }

    /// Whether a line has nothing but what stands before statements, as the last one had it.
    fn is_blank(&mut self, line: &str, start: Option<&usize>) -> bool {
        let shape = |text: &str| {
            let zero = |one: char| if one.is_ascii_digit() { '0' } else { one };
            text.trim().chars().map(zero).collect::<String>()
        };
        if let Some(start) = start.filter(|start| **start > 0 && **start < LONGEST_NAME) {
            self.before = shape(&line[..*start]);
            return false;
        }
        start.is_none() && !self.before.is_empty() && shape(line) == self.before
    }
}

/// One column of a text, with the view that is open in it.
pub(super) struct Column {
    text: usize,
    open: Option<View>,
    phase: Phase,
    /// A command line, and the line where it stands.
    command: Option<Typed>,
    /// What a waiting iperf 2 printed: transport and port.
    listening: Option<(Transport, Option<u16>)>,
    version: Option<String>,
    /// iperf 2: rows from zero that are a whole run, or the first interval of one.
    held: Vec<Row>,
    /// iperf 2: streams whose next row is the server's.
    reported: Vec<Id>,
}

/// A command line that runs a client.
struct Typed {
    tool: Tool,
    host: String,
    asked: Asked,
    rate: Option<BitRate>,
    /// Where it stands.
    line: usize,
}

/// How far the open view is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Phase {
    Begin,
    Rows,
    /// A separator stands behind the rows.
    Separated,
    Summary,
}

impl Column {
    fn new(text: usize) -> Self {
        Self {
            text,
            open: None,
            phase: Phase::Begin,
            command: None,
            listening: None,
            version: None,
            held: Vec::new(),
            reported: Vec::new(),
        }
    }

    /// Takes a statement of the lines from `place.0` to `place.1`.
    fn take(&mut self, said: Said<'_>, place: (usize, usize), found: &mut Found) {
        match said {
            Said::Other => return found.unread.push(place.0),
            Said::Broken => {
                found.unread.push(place.0);
                return found.broken.push(place.0);
            }
            Said::Blank | Said::Known => return,
            Said::Row(row) => self.row(&row, place, found),
            Said::Connected(tool, one) => self.connected(tool, one, place, found),
            Said::Head(columns) => self.head(columns, place, found),
            Said::Version(version) => self.version = Some(version.to_owned()),
            Said::Command(command) => self.command(&command, place, found),
            Said::Listening { transport, port } => self.waits(transport, port, place, found),
            Said::Separator if self.phase == Phase::Rows => self.phase = Phase::Separated,
            Said::Separator => {}
            other => self.opens(other, place, found),
        }
        if let Some(view) = &mut self.open {
            view.place.last = view.place.last.max(place.1);
        }
    }

    /// What begins or ends a view, or belongs to the open one.
    fn opens(&mut self, said: Said<'_>, place: (usize, usize), found: &mut Found) {
        match said {
            Said::Connecting { host, port } => {
                self.begin(Tool::Iperf3, Some(End::Client), place, found);
                self.name(host, port, place);
            }
            Said::ClientConnecting { host, transport, port } => {
                self.client_of_iperf2(transport, place, found);
                self.name(host, port, place);
            }
            Said::Accepted => {
                self.begin(Tool::Iperf3, Some(End::Server), place, found);
            }
            Said::Done => {
                if let Some(view) = &mut self.open {
                    view.place.last = place.1;
                }
                self.close(found);
            }
            other => self.belongs(other),
        }
    }

    /// What tells something of the open view.
    fn belongs(&mut self, said: Said<'_>) {
        if let Said::ServerReport(id) = said {
            self.reported.push(id);
        }
        let Some(view) = &mut self.open else { return };
        match said {
            Said::Reverse => view.reverse = true,
            Said::Detail(detail) => detail_of(view, detail),
            Said::Failure(text) => view.fail(text),
            Said::NotAcknowledged => view.unacknowledged = true,
            Said::Sent(_, count) => {
                let known = view.sent.datagrams.unwrap_or(0);
                view.sent.datagrams = Some(known.saturating_add(count));
            }
            Said::OutOfOrder(_, count) => {
                let receives = view.sent.is_empty();
                view.flow_mut(!receives).reordered = Some(count);
            }
            _ => {}
        }
    }

    /// Begins a view, and ends the open one.
    fn begin(
        &mut self,
        tool: Tool,
        end: Option<End>,
        place: (usize, usize),
        found: &mut Found,
    ) -> &mut View {
        self.close(found);
        self.phase = Phase::Begin;
        let place = Place { text: self.text, first: place.0, last: place.1 };
        let mut view = View::new(tool, end, place);
        view.version = self.version.take().filter(|_| tool == Tool::Iperf3);
        self.open.insert(view)
    }

    /// The name of the server, and the command line above if it runs this client.
    fn name(&mut self, host: &str, port: Option<u16>, place: (usize, usize)) {
        let Some(view) = &mut self.open else { return };
        (view.host, view.port) = (Some(shortened(host)), port);
        let Some(typed) = self.command.take() else { return };
        let apart = place.0.saturating_sub(typed.line);
        let is_its = apart <= NEAR || (typed.host == host && apart <= FAR);
        if typed.tool == view.tool && is_its {
            view.place.first = typed.line;
            view.asked = Some(typed.asked);
            view.rate = typed.rate;
            view.both |= typed.asked.both;
        }
    }

    fn command(&mut self, command: &Command<'_>, place: (usize, usize), found: &mut Found) {
        self.close(found);
        let (tool, asked, rate) = (command.tool, command.asked, command.rate());
        self.command = command.host.map(|host| Typed {
            tool,
            host: host.to_owned(),
            asked,
            rate,
            line: place.0,
        });
        self.listening = None;
    }

    /// A server that waits: of iperf 2 the transport and port of what follows.
    fn waits(
        &mut self,
        transport: Option<Transport>,
        port: Option<u16>,
        place: (usize, usize),
        found: &mut Found,
    ) {
        let Some(transport) = transport else { return self.close(found) };
        self.begin(Tool::Iperf2, Some(End::Server), place, found).transport = Some(transport);
        self.listening = Some((transport, port));
    }

    /// The client's banner; where both ends listen it follows that of the server.
    fn client_of_iperf2(&mut self, transport: Transport, place: (usize, usize), found: &mut Found) {
        let fresh = self.open.as_ref().is_some_and(|view| {
            let streams = &view.connections;
            let is_alone = view.end == Some(End::Server) && !streams.is_empty();
            view.tool == Tool::Iperf2 && view.is_empty() && self.held.is_empty() && !is_alone
        });
        let back = self.open.as_ref().is_some_and(|view| {
            view.end == Some(End::Server) && !view.connections.is_empty() && view.is_empty()
        });
        if back && self.held.is_empty() {
            // A server that connects back, as its client asked.
            if let Some(view) = &mut self.open {
                view.both = true;
            }
            return;
        }
        if fresh {
            if let Some(view) = &mut self.open {
                view.both |= view.end == Some(End::Server);
                view.end = Some(End::Client);
                view.transport = Some(transport);
            }
        } else {
            self.begin(Tool::Iperf2, Some(End::Client), place, found).transport = Some(transport);
            self.listening = None;
        }
    }

    fn connected(&mut self, tool: Tool, one: Connection, place: (usize, usize), found: &mut Found) {
        let goes_on = self.open.as_ref().is_some_and(|view| {
            let is_served = view.tool == Tool::Iperf2 && !self.all_ended(view);
            view.tool == tool && (view.is_empty() && self.held.is_empty() || is_served)
        });
        if !goes_on {
            let waits = self.listening.filter(|_| tool == Tool::Iperf2);
            let end = waits.map(|_| End::Server).or_else(|| end_of(&one));
            let view = self.begin(tool, end, place, found);
            view.transport = waits.map(|(transport, _)| transport);
        }
        let Some(view) = &mut self.open else { return };
        view.reverse |= one.reverse;
        view.both |= one.both;
        view.connections.push(one);
    }

    /// iperf 2: each stream has the row of its whole run.
    fn all_ended(&self, view: &View) -> bool {
        let ended = |one: &Connection| {
            let of =
                |row: &Row| matches!(row.id, Id::Stream { number, .. } if number == one.number);
            self.held.iter().any(of)
        };
        view.connections.iter().all(ended)
    }

    fn head(&mut self, columns: &str, place: (usize, usize), found: &mut Found) {
        if self.open.is_none() || (self.phase == Phase::Summary && self.is_of(Tool::Iperf3)) {
            // The head of a table without what stands above it.
            self.begin(Tool::Iperf3, None, place, found);
        }
        self.phase = match self.phase {
            Phase::Separated => Phase::Summary,
            other => other,
        };
        let Some(view) = &mut self.open else { return };
        let has = |word: &str| columns.contains(word);
        let transport = if has("Datagrams") || has("Jitter") {
            Some(Transport::Udp)
        } else if has("Retr") || has("Cwnd") || view.tool == Tool::Iperf3 {
            Some(Transport::Tcp)
        } else {
            None
        };
        view.transport = view.transport.or(transport);
    }

    fn is_of(&self, tool: Tool) -> bool {
        self.open.as_ref().is_some_and(|view| view.tool == tool)
    }

    fn row(&mut self, row: &Row, place: (usize, usize), found: &mut Found) {
        if self.open.is_none() {
            // iperf3 prints times with two decimals, iperf 2 with one or four.
            let tool = if is_of_iperf3(row) { Tool::Iperf3 } else { Tool::Iperf2 };
            self.begin(tool, None, place, found);
        }
        let Some(view) = &mut self.open else { return };
        checks::row(row, place.0, &mut view.problems);
        match view.tool {
            Tool::Iperf3 => self.row_of_iperf3(row),
            Tool::Iperf2 => self.row_of_iperf2(row),
        }
    }

    fn row_of_iperf3(&mut self, row: &Row) {
        let Some(view) = &mut self.open else { return };
        if let Some(mark) = row.mark {
            view.both = true;
            view.end = view.end.or(Some(if mark.client { End::Client } else { End::Server }));
        }
        note_transport(view, row);
        let sends = sends_of_iperf3(view, row);
        if self.phase == Phase::Begin {
            self.phase = Phase::Rows;
        }
        let is_total = self.phase == Phase::Summary || row.tail.whose.is_some();
        if !is_total {
            self.phase = Phase::Rows;
            return view.flow_mut(sends).intervals.push(row, sends);
        }
        total_of_iperf3(view, row, sends);
    }

    /// A row from zero is a run, or the first interval of one if more follow.
    fn row_of_iperf2(&mut self, row: &Row) {
        let is_report = self.reported.iter().position(|id| *id == row.id);
        let Some(view) = &mut self.open else { return };
        note_transport(view, row);
        if let Some(at) = is_report {
            self.reported.swap_remove(at);
            let side = Side::of(row);
            return view.sent.totals(Whose::Receiver).push(row.id, side);
        }
        if view.both && row.id == Id::Sum {
            // Of both directions together.
            return;
        }
        let held = self.held.iter().position(|one| one.id == row.id);
        let begins = row.from.value == 0.0;
        if let Some(at) = held {
            let first = self.held.swap_remove(at);
            let sends = sends_of_iperf2(view, first.id, self.listening);
            view.flow_mut(sends).intervals.push(&first, sends);
        }
        if begins {
            self.held.push(*row);
        } else {
            let sends = sends_of_iperf2(view, row.id, self.listening);
            view.flow_mut(sends).intervals.push(row, sends);
        }
    }

    /// Ends the open view; one without a row is dropped.
    pub(super) fn close(&mut self, found: &mut Found) {
        let Some(mut view) = self.open.take() else { return };
        for row in std::mem::take(&mut self.held) {
            let sends = sends_of_iperf2(&view, row.id, self.listening);
            let whose = if sends { Whose::Sender } else { Whose::Receiver };
            view.flow_mut(sends).totals(whose).push(row.id, Side::of(&row));
        }
        self.reported.clear();
        self.phase = Phase::Begin;
        if !view.is_empty() {
            found.views.push(view);
        }
    }
}

/// `-V` of iperf3 prints what a command line asks for, too.
fn detail_of(view: &mut View, detail: Detail<'_>) {
    match detail {
        Detail::Target(rate) if rate > 0 => {
            view.rate = Some(BitRate::from_bits_per_second(rate));
        }
        Detail::Target(_) => {}
        Detail::Starting { transport, streams, block, omit, seconds } => {
            view.transport = Some(transport);
            view.details.streams = Some(streams);
            view.details.block = Some(block);
            view.details.omit = Some(omit);
            view.details.seconds = seconds;
        }
        Detail::Cpu(shares) => view.details.cpu = Some(shares),
        Detail::Congestion(name) => view.details.congestion = Some(shortened(name)),
        Detail::Segment(bytes) => view.details.segment = Some(bytes),
    }
}

/// The end that printed a connection, by the usual port of a server; none: it does not show.
fn end_of(one: &Connection) -> Option<End> {
    let is_usual = |port: u16| USUAL_PORTS.contains(&port);
    match (is_usual(one.local.port()), is_usual(one.peer.port())) {
        (true, false) => Some(End::Server),
        (false, true) => Some(End::Client),
        _ => None,
    }
}

/// Columns tell the transport where nothing above did.
fn note_transport(view: &mut View, row: &Row) {
    let tail = &row.tail;
    let shown = if tail.has_jitter || tail.total.is_some() {
        Some(Transport::Udp)
    } else if tail.window.is_some() || (tail.whose.is_some() && view.tool == Tool::Iperf3) {
        Some(Transport::Tcp)
    } else {
        None
    };
    view.transport = view.transport.or(shown);
}

/// Whether the end that prints sends the stream of a row.
fn sends_of_iperf3(view: &View, row: &Row) -> bool {
    if let Some(mark) = row.mark {
        return mark.sends;
    }
    if view.end != Some(End::Server) {
        return !view.reverse;
    }
    // A server tells by what it counts: a sender segments or datagrams, a receiver losses.
    let known = !view.sent.is_empty() || !view.received.is_empty();
    if known && (view.sent.is_empty() || view.received.is_empty()) {
        return !view.sent.is_empty();
    }
    match row.tail.whose {
        Some(Whose::Sender) => row.bytes.value > 0.0,
        Some(Whose::Receiver) => row.bytes.value == 0.0,
        None => row.tail.count.is_some(),
    }
}

/// Whether the end that prints sends a stream of iperf 2. A server sends what it connects itself
/// (`-d`, `-r`), and streams that are marked as reverse; `[ *1]` is the way back of such as `[  1]`.
fn sends_of_iperf2(view: &View, id: Id, listening: Option<(Transport, Option<u16>)>) -> bool {
    let is_server = view.end == Some(End::Server);
    let Id::Stream { number, back } = id else { return !is_server };
    let of = |back: Option<bool>| {
        let is_its = |one: &&Connection| one.number == number && back.is_none_or(|b| one.back == b);
        view.connections.iter().find(is_its)
    };
    let Some(one) = of(Some(back)).or_else(|| of(None)) else { return is_server == back };
    let port = listening.and_then(|(_, port)| port);
    let is_accepted = port.is_some_and(|port| one.local.port() == port);
    let sends = match (is_server, port) {
        (true, Some(_)) => !is_accepted || one.reverse,
        (true, None) => one.reverse,
        (false, _) => !is_accepted && !one.reverse,
    };
    let is_way_back = back && !one.back && !one.reverse;
    sends != is_way_back
}

/// A row of the summary. Without a name it is of UDP, to 3.6: with the amount of the sender, which
/// a server does not know, and the losses of the receiver.
pub(super) fn total_of_iperf3(view: &mut View, row: &Row, sends: bool) {
    let side = Side::of(row);
    // A server that sends has no results of the client.
    let knows_losses = !(sends && view.end == Some(End::Server));
    let flow = view.flow_mut(sends);
    if let Some(whose) = row.tail.whose {
        return flow.totals(whose).push(row.id, side);
    }
    if side.bytes.value > 0.0 {
        flow.by_sender.push(row.id, Side { lost: None, jitter: None, ..side });
    }
    if knows_losses && side.total.is_some_and(|total| total > 0) {
        flow.by_receiver.push(row.id, checks::arrived(side));
    }
}

/// Two decimals of the begin.
fn is_of_iperf3(row: &Row) -> bool {
    (0.004..0.006).contains(&row.from.half)
}

/// Letters that are kept of what a text has.
pub(super) fn shortened(text: &str) -> String {
    let shown = text.chars().map(|one| if measurement::host::is_shown(one) { one } else { ' ' });
    shown.take(LONGEST_NAME).collect::<String>().trim().to_owned()
}

/// Views of one text; a log has fewer.
pub(super) const MOST_VIEWS: usize = 20_000;
/// Lines between a command and what it prints first, for another name of its host.
const NEAR: usize = 2;
/// Lines beyond which a command is of something else.
const FAR: usize = 40;
const LONGEST_NAME: usize = 120;
/// Columns by which a second column of text may be shifted.
const SHIFT: usize = 2;
/// Of iperf 2 and of iperf3.
const USUAL_PORTS: [u16; 2] = [5001, 5201];
