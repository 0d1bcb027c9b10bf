//! iperf3's JSON, as one document (`-J`) or as an event on each line (`--json-stream`), anywhere in a
//! text. Members that this does not know are passed over.

use std::borrow::Cow;
use std::collections::HashMap;
use std::fmt;
use std::net::{IpAddr, SocketAddr};

use measurement::{BitRate, Transport};
use serde::Deserialize;
use serde::de::{Deserializer, MapAccess, Visitor};
use serde_json::value::RawValue;

use super::super::iperf3_json::without_nan;
use super::ends::{End, Tool};
use super::figure::Figure;
use super::found::Found;
use super::lines::Lines;
use super::name::shortened;
use super::row::{FigureRow, Id, Tail, Whose};
use super::view::{Connection, Details, Place, Side, View};

/// Finds documents, and puts events together.
pub(super) struct Documents {
    /// Bytes that may still be looked at for the end of a document.
    budget: usize,
    /// The run whose events come.
    open: Option<View>,
    /// Documents around the one that is read: of the client of a server, or of another program.
    depth: u32,
    /// Finds the views in a text with this number.
    read_text: fn(usize, &[u8]) -> Found,
}

/// Members of an object, in their order. iperf3 writes some names twice.
struct Members<'a>(Vec<(Cow<'a, str>, &'a RawValue)>);

#[derive(Deserialize)]
struct Connected {
    socket: u32,
    local_host: IpAddr,
    local_port: u16,
    remote_host: IpAddr,
    remote_port: u16,
}

#[derive(Deserialize)]
struct DocumentHost {
    host: String,
    port: Option<u16>,
}

/// Of a stream what its sum does not have.
#[derive(Deserialize)]
struct Sender {
    snd_cwnd: Option<u64>,
    rtt: Option<u64>,
}

#[derive(Clone, Copy, Deserialize)]
struct Sum {
    start: Option<f64>,
    end: Option<f64>,
    bytes: Option<f64>,
    bits_per_second: Option<f64>,
    retransmits: Option<i64>,
    jitter_ms: Option<f64>,
    lost_packets: Option<i64>,
    packets: Option<i64>,
    omitted: Option<bool>,
    sender: Option<bool>,
}

impl Documents {
    pub(super) const fn new(length: usize, read_text: fn(usize, &[u8]) -> Found) -> Self {
        Self { budget: length.saturating_mul(MOST_LOOKS), open: None, depth: 0, read_text }
    }

    /// Takes a document or an event that begins on the next line; false: none does.
    pub(super) fn take(&mut self, lines: &mut Lines<'_>, text: usize, found: &mut Found) -> bool {
        let Some((start, is_quoted)) = begin(lines) else { return false };
        let first = lines.number + 1;
        let Some(length) = self.length(&lines.text[start..]) else { return false };
        let bytes = &lines.text[start..start + length];
        let last = first + bytes.split(|byte| *byte == b'\n').count() - 1;
        let place = Place { text, first, last };
        let Ok(json) = std::str::from_utf8(bytes) else { return false };
        let json = if is_quoted { Cow::Owned(unquoted(json)) } else { Cow::Borrowed(json) };
        if !self.read(&json, place, found) && !self.read(&without_nan(&json), place, found) {
            return false;
        }
        lines.skip_to(start + length);
        true
    }

    /// Ends the run whose events came.
    pub(super) fn close(&mut self, found: &mut Found) {
        found.views.extend(self.open.take().filter(|view| !view.is_empty()));
    }

    /// Length of the object with which bytes begin; none: it has no end, or too much was looked at.
    fn length(&mut self, bytes: &[u8]) -> Option<usize> {
        let (mut depth, mut is_string, mut is_escaped) = (0_usize, false, false);
        for (at, byte) in bytes.iter().enumerate() {
            self.budget = self.budget.checked_sub(1)?;
            match byte {
                _ if is_escaped => is_escaped = false,
                b'\\' if is_string => is_escaped = true,
                b'"' => is_string = !is_string,
                b'{' if !is_string => depth += 1,
                b'}' if !is_string => {
                    depth -= 1;
                    if depth == 0 {
                        return Some(at + 1);
                    }
                }
                _ => {}
            }
        }
        None
    }

    fn read(&mut self, json: &str, place: Place, found: &mut Found) -> bool {
        let Some(members) = Members::of(json) else { return false };
        match (members.get::<String>("event"), members.raw("data")) {
            (Some(event), Some(data)) => self.event(&event, data, place, found),
            _ => self.document(&members, place, found),
        }
    }

    fn event(&mut self, event: &str, data: &RawValue, place: Place, found: &mut Found) -> bool {
        if event == "start" {
            let Some(start) = Members::of(data.get()) else { return false };
            self.close(found);
            self.open = Some(started(&start, place));
            return true;
        }
        let Some(view) = &mut self.open else { return EVENTS.contains(&event) };
        view.place.last = place.last;
        match event {
            "interval" => {
                if let Some(one) = Members::of(data.get()) {
                    interval(view, &one);
                }
            }
            "end" => {
                if let Some(end) = Members::of(data.get()) {
                    ended(view, &end);
                }
                self.close(found);
            }
            "error" => {
                if let Ok(reason) = measurement::json::read::<String>(data.get()) {
                    view.fail(&reason);
                }
            }
            _ => {}
        }
        true
    }

    fn document(&mut self, members: &Members<'_>, place: Place, found: &mut Found) -> bool {
        let start = members.object("start");
        let Some(start) = start.filter(Members::is_of_iperf3) else {
            return self.of_another_program(members, place, found);
        };
        let mut view = started(&start, place);
        for one in members.get::<Vec<Members<'_>>>("intervals").unwrap_or_default() {
            interval(&mut view, &one);
        }
        if let Some(end) = members.object("end") {
            ended(&mut view, &end);
        }
        if let Some(reason) = members.get::<String>("error") {
            view.fail(&reason);
        }
        if !view.is_empty() {
            found.views.push(view);
        }
        self.server(members, place, found);
        true
    }

    /// What the server printed, which a client asked for by `--get-server-output`.
    fn server(&mut self, members: &Members<'_>, place: Place, found: &mut Found) {
        if self.depth >= MOST_DEPTH {
            return;
        }
        // A server has no further one.
        let depth = std::mem::replace(&mut self.depth, MOST_DEPTH);
        if let Some(server) = members.raw("server_output_json") {
            _ = self.read(server.get(), place, found);
        }
        if let Some(text) = members.get::<String>("server_output_text") {
            self.text(&text, place, found);
        }
        self.depth = depth;
    }

    /// Whether a document of another program, e.g. of one that runs iperf3, has runs in its members.
    fn of_another_program(
        &mut self,
        members: &Members<'_>,
        place: Place,
        found: &mut Found,
    ) -> bool {
        let before = found.views.len();
        if self.depth >= MOST_DEPTH {
            return false;
        }
        self.depth += 1;
        for (_, member) in &members.0 {
            self.member(member, place, found);
        }
        self.depth -= 1;
        found.views.len() > before
    }

    fn member(&mut self, member: &RawValue, place: Place, found: &mut Found) {
        let json = member.get();
        if json.starts_with('{') {
            _ = self.read(json, place, found);
        } else if let Ok(all) = measurement::json::read::<Vec<&RawValue>>(json) {
            for one in all.iter().filter(|one| one.get().starts_with('{')) {
                _ = self.read(one.get(), place, found);
            }
        } else if let Ok(text) = measurement::json::read::<String>(json) {
            self.text(&text, place, found);
        }
    }

    /// Finds runs in a text that is a member.
    fn text(&self, text: &str, place: Place, found: &mut Found) {
        let inner = (self.read_text)(place.text, text.as_bytes()).views;
        found.views.extend(inner.into_iter().map(|view| View { place, ..view }));
    }
}

impl<'a> Members<'a> {
    fn of(json: &'a str) -> Option<Self> {
        measurement::json::read(json).ok()
    }

    /// All members of a name.
    fn all(&self, name: &str) -> impl Iterator<Item = &'a RawValue> {
        self.0.iter().filter(move |(known, _)| known == name).map(|(_, value)| *value)
    }

    /// The last member of a name, as most readers take it.
    fn raw(&self, name: &str) -> Option<&'a RawValue> {
        self.all(name).last()
    }

    fn object(&self, name: &str) -> Option<Members<'a>> {
        Self::of(self.raw(name)?.get())
    }

    /// A member of this type; none: there is none.
    fn get<T: Deserialize<'a>>(&self, name: &str) -> Option<T> {
        measurement::json::read(self.raw(name)?.get()).ok()
    }

    /// The sums of the usual direction and of the other one, which to 3.9 have one name.
    fn sums(&self, name: &str) -> [Option<Sum>; 2] {
        let sum = |value: &RawValue| measurement::json::read::<Sum>(value.get()).ok();
        let mut same = self.all(name).filter_map(sum);
        let usual = same.next();
        let other = self.all(&format!("{name}_bidir_reverse")).filter_map(sum).last();
        [usual, other.or(same.next())]
    }

    fn is_of_iperf3(&self) -> bool {
        self.get::<String>("version").is_some_and(|version| version.starts_with("iperf"))
    }
}

impl<'de: 'a, 'a> Deserialize<'de> for Members<'a> {
    fn deserialize<D: Deserializer<'de>>(reader: D) -> Result<Self, D::Error> {
        reader.deserialize_map(Collect)
    }
}

/// Collects all members.
struct Collect;

impl<'de> Visitor<'de> for Collect {
    type Value = Members<'de>;

    fn expecting(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut entries: A) -> Result<Self::Value, A::Error> {
        let mut members = Vec::new();
        while let Some(Name(name)) = entries.next_key()? {
            members.push((name, entries.next_value()?));
        }
        Ok(Members(members))
    }
}

/// A name, borrowed where it has no escapes.
#[derive(Deserialize)]
struct Name<'a>(#[serde(borrow)] Cow<'a, str>);

/// Where an object begins on the next line, and whether something of mail stands before it.
fn begin(lines: &Lines<'_>) -> Option<(usize, bool)> {
    let rest = lines.text.get(lines.at..)?;
    let mark = if rest.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 };
    let marks = mark + rest[mark..].iter().take_while(|byte| b" \t>+|".contains(byte)).count();
    let head = rest.get(marks..)?;
    // A log may have a time before it.
    let line = head.iter().take(LONGEST_PREFIX).take_while(|byte| **byte != b'\n');
    let before = line.take_while(|byte| **byte != b'{').count();
    let head = head.get(before..).filter(|head| head.first() == Some(&b'{'))?;
    let is_quoted = rest[mark..marks].iter().any(|byte| !b" \t".contains(byte));
    is_named(head).then_some((lines.at + marks + before, is_quoted))
}

/// Whether an object begins like a document of iperf3, or like one with such a document in it.
fn is_named(object: &[u8]) -> bool {
    let head = String::from_utf8_lossy(&object[..object.len().min(LOOK)]);
    let has = |name: &str| {
        let mut quotes = head.match_indices(name).map(|(at, _)| &head[at + name.len()..]);
        quotes.any(|rest| rest.starts_with(['"', '\\']))
    };
    NAMES.into_iter().any(has)
}

fn unquoted(json: &str) -> String {
    json.lines().map(|line| line.trim_start_matches([' ', '\t', '>', '+', '|'])).collect()
}

fn started(start: &Members<'_>, place: Place) -> View {
    let server = start.get::<DocumentHost>("connecting_to");
    let end = if server.is_some() { End::Client } else { End::Server };
    let mut view = View::new(Tool::Iperf3, Some(end), place);
    let version = start.get::<String>("version").unwrap_or_default();
    view.version = version.split_whitespace().nth(1).map(shortened);
    if let Some(server) = server {
        (view.host, view.port) = (Some(shortened(&server.host)), server.port);
    }
    let connected = start.get::<Vec<Connected>>("connected").unwrap_or_default();
    view.connections = connected.iter().map(connection).collect();
    view.details.segment = start.get("tcp_mss").or_else(|| start.get("tcp_mss_default"));
    let test = start.object("test_start");
    if let Some(test) = test {
        planned(&mut view, &test);
    }
    view
}

fn connection(one: &Connected) -> Connection {
    Connection {
        number: one.socket,
        back: false,
        local: SocketAddr::new(one.local_host.to_canonical(), one.local_port),
        peer: SocketAddr::new(one.remote_host.to_canonical(), one.remote_port),
        reverse: false,
        both: false,
    }
}

fn planned(view: &mut View, test: &Members<'_>) {
    let number = |name: &str| test.get::<u64>(name);
    view.transport = match test.get::<String>("protocol").as_deref() {
        Some("UDP") => Some(Transport::Udp),
        Some("TCP") => Some(Transport::Tcp),
        _ => None,
    };
    view.reverse = number("reverse") == Some(1);
    view.both = number("bidir") == Some(1);
    let rate = number("target_bitrate").filter(|rate| *rate > 0);
    view.rate = rate.map(BitRate::from_bits_per_second);
    view.details = Details {
        block: number("blksize").filter(|bytes| *bytes > 0),
        streams: number("num_streams").and_then(|count| count.try_into().ok()),
        omit: number("omit"),
        seconds: test.get::<f64>("duration").filter(|seconds| *seconds > 0.0),
        ..view.details.clone()
    };
}

fn interval(view: &mut View, one: &Members<'_>) {
    let usual = sends(view);
    let streams = one.get::<Vec<Sender>>("streams").unwrap_or_default();
    for (sum, sends) in one.sums("sum").into_iter().zip([usual, !usual]) {
        let Some(sum) = sum else { continue };
        let sends = sum.sender.unwrap_or(sends);
        let row = sum.row(streams.first().filter(|_| streams.len() == 1));
        view.flow_mut(sends).intervals.push(&row, sends);
    }
}

/// Whether the end that prints sends what stands first.
fn sends(view: &View) -> bool {
    (view.end == Some(End::Server)) == view.reverse
}

fn ended(view: &mut View, end: &Members<'_>) {
    let usual = sends(view);
    let mut has_pair = false;
    for (name, whose) in [("sum_sent", Whose::Sender), ("sum_received", Whose::Receiver)] {
        for (sum, sends) in end.sums(name).into_iter().zip([usual, !usual]) {
            let Some(sum) = sum else { continue };
            has_pair = true;
            view.flow_mut(sends).totals(whose).push(Id::Sum, Side::of(&sum.row(None)));
        }
    }
    let udp = end.get::<Sum>("sum").filter(|_| view.transport == Some(Transport::Udp));
    if let Some(sum) = udp.filter(|_| !has_pair) {
        super::iperf3::total(view, &sum.row(None), usual);
    }
    let cpu = end.get::<HashMap<String, f64>>("cpu_utilization_percent");
    view.details.cpu = cpu.and_then(|cpu| shares(&cpu));
    let congestion = end.get::<String>("sender_tcp_congestion");
    view.details.congestion = congestion.map(|name| shortened(&name));
}

fn shares(cpu: &HashMap<String, f64>) -> Option<[f64; 6]> {
    let mut shares = [0.0; 6];
    for (share, name) in shares.iter_mut().zip(CPU) {
        *share = *cpu.get(name)?;
    }
    Some(shares)
}

impl Sum {
    /// As a row of the text has it, with exact numbers.
    fn row(&self, sender: Option<&Sender>) -> FigureRow {
        let exact = |number: Option<f64>| Figure::exact(number.unwrap_or(0.0).max(0.0));
        let is_receiver = self.lost_packets.is_some();
        let packets = self.packets.and_then(|count| u64::try_from(count).ok());
        let retransmits = self.retransmits.and_then(|count| u64::try_from(count).ok());
        let tail = Tail {
            count: retransmits.or_else(|| packets.filter(|_| !is_receiver)),
            window: sender.and_then(|one| one.snd_cwnd).map(|bytes| Figure::exact(bytes as f64)),
            rtt: sender.and_then(|one| one.rtt),
            jitter: self.jitter_ms.map(Figure::exact),
            has_jitter: self.jitter_ms.is_some(),
            lost: self.lost_packets,
            total: self.packets.filter(|_| is_receiver),
            omitted: self.omitted == Some(true),
            ..Tail::default()
        };
        FigureRow {
            id: Id::Sum,
            mark: None,
            from: exact(self.start),
            to: exact(self.end),
            bytes: exact(self.bytes),
            rate: exact(self.bits_per_second),
            tail,
        }
    }
}

/// How often a byte may be looked at, for documents in one another.
const MOST_LOOKS: usize = 4;
const BYTE_ORDER_MARK: &[u8] = "\u{feff}".as_bytes();
/// Bytes in which a document has one of its names.
const LOOK: usize = 300;
/// Each with the quote before it.
const NAMES: [&str; 3] = ["\"start", "\"event", "\"intervals"];
/// Bytes of a line before a document.
const LONGEST_PREFIX: usize = 200;
/// Documents in one another.
const MOST_DEPTH: u32 = 3;
/// Events that may follow the end of a run.
const EVENTS: [&str; 4] = ["end", "error", "server_output_text", "server_output_json"];
/// Names of the shares of CPU time.
const CPU: [&str; 6] =
    ["host_total", "host_user", "host_system", "remote_total", "remote_user", "remote_system"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn documents_in_one_another_are_looked_at_a_few_times_only() {
        let mut documents = Documents::new(20, |_, _| Found::default());
        assert_eq!(documents.length(b"{\"a}\\\"\":{}}x"), Some(11));
        assert_eq!(documents.length(b"{{}"), None);
        assert_eq!(documents.length(&[b'{'; 100]), None);
        assert_eq!(documents.budget, 0);
    }
}
