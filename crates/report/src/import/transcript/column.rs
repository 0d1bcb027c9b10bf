//! One column of a text: statements in their order are put together to views.

use std::collections::BTreeMap;

use measurement::{BitRate, Transport};

use super::command::{Asked, Command};
use super::ends::{End, Tool};
use super::found::Found;
use super::name::shortened;
use super::row::{FigureRow, Id, Whose};
use super::said::Said;
use super::view::{Connection, Place, Side, View};
use super::{checks, iperf2, iperf3};

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
    held: BTreeMap<Id, FigureRow>,
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
    pub(super) fn new(text: usize) -> Self {
        Self {
            text,
            open: None,
            phase: Phase::Begin,
            command: None,
            listening: None,
            version: None,
            held: BTreeMap::new(),
            reported: Vec::new(),
        }
    }

    /// Takes a statement of the lines from `place.0` to `place.1`.
    pub(super) fn take(&mut self, said: Said<'_>, place: (usize, usize), found: &mut Found) {
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
            Said::Version(version) => self.version = Some(shortened(version)),
            Said::Command(command) => self.command(&command, place, found),
            Said::Listening { transport, port } => self.waits(transport, port, place, found),
            Said::Separator if self.phase == Phase::Rows => self.phase = Phase::Separated,
            Said::Separator => {}
            Said::Summary => self.phase = Phase::Separated,
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
            other => self.belongs(&other),
        }
    }

    /// What tells something of the open view.
    fn belongs(&mut self, said: &Said<'_>) {
        if let Said::ServerReport(id) = said
            && self.reported.len() < MOST_STREAMS
        {
            self.reported.push(*id);
        }
        let Some(view) = &mut self.open else { return };
        match said {
            Said::Reverse => view.reverse = true,
            Said::Detail(detail) => iperf3::detail(view, *detail),
            Said::Failure(text) => view.fail(text),
            Said::NotAcknowledged => view.unacknowledged = true,
            Said::Sent(Id::Stream { .. }, count) => {
                let known = view.sent.datagrams.unwrap_or(0);
                view.sent.datagrams = Some(known.saturating_add(*count));
            }
            Said::OutOfOrder(_, count) => {
                let receives = view.sent.is_empty();
                view.flow_mut(!receives).reordered = Some(*count);
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

    /// The client's banner. Where both ends listen (`-d`, `-r`) it follows that of the server, or
    /// the connections of a server that connects back.
    fn client_of_iperf2(&mut self, transport: Transport, place: (usize, usize), found: &mut Found) {
        let is_fresh = self.held.is_empty();
        let open = self.open.as_mut().filter(|view| view.tool == Tool::Iperf2 && view.is_empty());
        let Some(view) = open.filter(|_| is_fresh) else {
            self.begin(Tool::Iperf2, Some(End::Client), place, found).transport = Some(transport);
            self.listening = None;
            return;
        };
        let is_server = view.end == Some(End::Server);
        view.both |= is_server;
        if !is_server || view.connections.is_empty() {
            view.end = Some(End::Client);
            view.transport = Some(transport);
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
        if view.connections.len() < MOST_STREAMS {
            view.connections.push(one);
        }
    }

    /// iperf 2: each stream has the row of its whole run.
    fn all_ended(&self, view: &View) -> bool {
        let held = |number, back| self.held.contains_key(&Id::Stream { number, back });
        let ended = |one: &Connection| held(one.number, false) || held(one.number, true);
        view.connections.len() >= MOST_STREAMS || view.connections.iter().all(ended)
    }

    fn head(&mut self, columns: &str, place: (usize, usize), found: &mut Found) {
        if self.open.is_none() || (self.phase == Phase::Summary && self.is_of(Tool::Iperf3)) {
            // The head of a table without what stands above it.
            let phase = self.phase;
            self.begin(Tool::Iperf3, None, place, found);
            self.phase = if phase == Phase::Separated { phase } else { Phase::Begin };
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

    fn row(&mut self, row: &FigureRow, place: (usize, usize), found: &mut Found) {
        // iperf3 prints times with two decimals, iperf 2 with one or four.
        let tool = if iperf3::has_times_of(row) { Tool::Iperf3 } else { Tool::Iperf2 };
        if self.open.as_ref().is_none_or(|view| view.is_of_rows() && view.tool != tool) {
            self.begin(tool, None, place, found);
        }
        let Some(view) = &mut self.open else { return };
        checks::row(row, place.0, &mut view.problems);
        match view.tool {
            Tool::Iperf3 => self.row_of_iperf3(row),
            Tool::Iperf2 => self.row_of_iperf2(row),
        }
    }

    fn row_of_iperf3(&mut self, row: &FigureRow) {
        let Some(view) = &mut self.open else { return };
        if let Some(mark) = row.mark {
            view.both = true;
            view.end = view.end.or(Some(if mark.client { End::Client } else { End::Server }));
        }
        note_transport(view, row);
        if self.phase == Phase::Begin {
            self.phase = Phase::Rows;
        }
        let is_total = self.phase == Phase::Summary || row.tail.whose.is_some();
        if !is_total {
            iperf3::note_receiver(view, row);
        }
        let sends = iperf3::sends(view, row);
        if !is_total {
            self.phase = Phase::Rows;
            return view.flow_mut(sends).intervals.push(row, sends);
        }
        iperf3::total(view, row, sends);
    }

    /// A row from zero is a run, or the first interval of one if more follow.
    fn row_of_iperf2(&mut self, row: &FigureRow) {
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
        let begins = row.from.value == 0.0;
        if let Some(first) = self.held.remove(&row.id) {
            let sends = iperf2::sends(view, first.id, self.listening);
            view.flow_mut(sends).intervals.push(&first, sends);
        }
        if begins && self.held.len() < MOST_STREAMS {
            self.held.insert(row.id, *row);
        } else {
            let sends = iperf2::sends(view, row.id, self.listening);
            view.flow_mut(sends).intervals.push(row, sends);
        }
    }

    /// Ends the open view; one without a row is dropped.
    pub(super) fn close(&mut self, found: &mut Found) {
        let Some(mut view) = self.open.take() else { return };
        for row in std::mem::take(&mut self.held).into_values() {
            let sends = iperf2::sends(&view, row.id, self.listening);
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
fn note_transport(view: &mut View, row: &FigureRow) {
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

/// Streams of a view; programs for text have fewer.
const MOST_STREAMS: usize = 512;
/// Lines between a command and what it prints first, for another name of its host.
const NEAR: usize = 2;
/// Lines beyond which a command is of something else.
const FAR: usize = 40;
/// Of iperf 2 and of iperf3.
const USUAL_PORTS: [u16; 2] = [5001, 5201];
