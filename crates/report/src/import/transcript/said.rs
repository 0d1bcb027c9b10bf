//! What one line, or one column of a line, says. What it means for a run is in `column`.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use measurement::{Order, Transport};

use super::command::Command;
use super::cursor::Cursor;
use super::ends::Tool;
use super::needles::Needles;
use super::row::{FigureRow, Id, NoRow};
use super::view::Connection;

/// A statement of iperf3 or iperf, or what stands between them.
#[derive(Clone, Debug, PartialEq)]
pub(super) enum Said<'a> {
    Row(FigureRow),
    Connected(Tool, Connection),
    /// The head of a table, with its columns.
    Head(&'a str),
    /// iperf3's client.
    Connecting {
        host: &'a str,
        port: Option<u16>,
    },
    Reverse,
    /// iperf3's server.
    Accepted,
    /// A server that waits; iperf 2 names the transport.
    Listening {
        transport: Option<Transport>,
        port: Option<u16>,
    },
    /// iperf 2's client.
    ClientConnecting {
        host: &'a str,
        transport: Transport,
        port: Option<u16>,
    },
    /// iperf 2: what follows for this stream is of the server.
    ServerReport(Id),
    /// iperf 2, and iperf3 to 3.1: how many datagrams were sent.
    Sent(Id, u64),
    /// iperf 2's client: the server did not confirm the end.
    NotAcknowledged,
    OutOfOrder(Id, u64),
    Separator,
    /// iperf3 to 3.1: the summary follows.
    Summary,
    /// The end of iperf3's client.
    Done,
    Version(&'a str),
    /// Details that iperf3 prints with `-V`.
    Detail(Detail<'a>),
    Failure(&'a str),
    Command(Command<'a>),
    /// Printed by iperf3 or iperf, and of no account here.
    Known,
    /// It begins like a row and is none.
    Broken,
    Blank,
    Other,
}

/// A detail of a test that iperf3 prints with `-V`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Detail<'a> {
    /// Bits per second of each stream.
    Target(u64),
    Starting {
        transport: Transport,
        streams: u32,
        block: u64,
        omit: u64,
        seconds: Option<f64>,
    },
    /// Shares of one CPU in percent: all, user, system, of this end and of the other.
    Cpu([f64; 6]),
    Congestion(&'a str),
    Segment(u32),
}

/// What a part of a line with one statement says.
pub(super) fn said(text: &str) -> Said<'_> {
    let trimmed =
        text.trim_matches(|letter: char| letter.is_whitespace() || MARKS.contains(letter));
    if trimmed.is_empty() {
        return if text.contains(RULE) { Said::Separator } else { Said::Blank };
    }
    if let Some((at, bracket)) = bracket(text) {
        return behind_bracket(bracket, &text[at..]);
    }
    phrase(text)
        .or_else(|| Command::find(text).map(Said::Command))
        .unwrap_or_else(|| known(trimmed))
}

/// A bracket that begins a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Bracket {
    Id(Id),
    /// `[ ID]`.
    Head,
}

/// Where statements begin in a line, from left to right; empty: nothing known begins in it.
pub(super) fn begins(line: &str) -> Vec<usize> {
    let mut found: Vec<usize> = Vec::new();
    for (at, _) in line.match_indices('[') {
        let is_statement = parse_bracket(&line[at..]).is_some_and(|(bracket, length)| {
            behind_bracket(bracket, &line[at + length..]) != Said::Other
        });
        if is_statement {
            found.push(at);
        }
    }
    if found.is_empty() || line.len() > WIDE {
        found.extend(first_of_each(line));
        found.order();
    }
    found
}

/// Where each phrase stands first: a rule has several in one another.
fn first_of_each(line: &str) -> impl Iterator<Item = usize> {
    let mut known = Vec::new();
    PHRASES.find(line).filter_map(move |(at, phrase)| {
        let is_first = !known.contains(&phrase);
        is_first.then(|| known.push(phrase)).map(|()| at)
    })
}

/// The first bracket of a text that begins a statement, and where it ends.
fn bracket(text: &str) -> Option<(usize, Bracket)> {
    text.match_indices('[').find_map(|(at, _)| {
        let (bracket, length) = parse_bracket(&text[at..])?;
        let is_statement = behind_bracket(bracket, &text[at + length..]) != Said::Other;
        is_statement.then_some((at + length, bracket))
    })
}

/// `[  5]`, `[SUM]`, `[ *1]`, `[ ID]`, and its length.
fn parse_bracket(text: &str) -> Option<(Bracket, usize)> {
    let length = text.bytes().take(LONGEST_BRACKET).position(|byte| byte == b']')? + 1;
    let inner = text.get(1..length - 1)?.trim();
    let bracket = match inner {
        "ID" => Bracket::Head,
        _ if inner.starts_with("SUM") => Bracket::Id(Id::Sum),
        _ => {
            let number = inner.trim_start_matches('*');
            let back = number.len() < inner.len();
            let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
            let number = number.parse().ok().filter(|_| is_number)?;
            Bracket::Id(Id::Stream { number, back })
        }
    };
    Some((bracket, length))
}

fn behind_bracket(bracket: Bracket, text: &str) -> Said<'_> {
    let Bracket::Id(id) = bracket else {
        let columns = text.trim_start().strip_prefix("[Role]").unwrap_or(text).trim_start();
        return if columns.starts_with("Interval") { Said::Head(columns) } else { Said::Other };
    };
    match FigureRow::parse(id, text) {
        Ok(row) => return Said::Row(row),
        Err(NoRow::Other) => {}
        Err(NoRow::Short | NoRow::Wrong) => {
            return out_of_order(id, text).unwrap_or(Said::Broken);
        }
    }
    let mut cursor = Cursor::new(text);
    if cursor.take("local ") {
        return connected(id, cursor)
            .map_or(Said::Broken, |(tool, one)| Said::Connected(tool, one));
    }
    if cursor.take("Server Report") {
        return Said::ServerReport(id);
    }
    if cursor.take("Sent ") {
        return cursor.number().map_or(Said::Broken, |count| Said::Sent(id, count.whole()));
    }
    if cursor.take("WARNING: did not receive ack") {
        return Said::NotAcknowledged;
    }
    let known =
        cursor.rest.contains("statistics not available") || cursor.rest.contains("WARNING:");
    if known { Said::Known } else { Said::Other }
}

/// `[SUM]  0.0-10.0 sec  3 datagrams received out-of-order`.
fn out_of_order(id: Id, text: &str) -> Option<Said<'_>> {
    let mut cursor = Cursor::new(text.split_once("sec")?.1);
    let count = cursor.number()?;
    cursor.take("datagrams received out-of-order").then(|| Said::OutOfOrder(id, count.whole()))
}

/// `192.168.0.3 port 52003 connected to 192.168.0.10 port 5201`.
fn connected(id: Id, mut cursor: Cursor<'_>) -> Option<(Tool, Connection)> {
    let Id::Stream { number, back } = id else { return None };
    let local = address(&mut cursor)?;
    let tool = if cursor.take("connected to") {
        Tool::Iperf3
    } else if cursor.take("connected with") {
        Tool::Iperf2
    } else {
        return None;
    };
    let peer = address(&mut cursor)?;
    let (reverse, both) =
        (cursor.rest.contains("(reverse)"), cursor.rest.contains("(full-duplex)"));
    Some((tool, Connection { number, back, local, peer, reverse, both }))
}

/// `192.168.0.3 port 52003`, of iperf 2 also `127.0.0.1%lo port 5001`.
fn address(cursor: &mut Cursor<'_>) -> Option<SocketAddr> {
    let piece = cursor.piece();
    let ip = piece.split('%').next()?.parse().unwrap_or(HIDDEN);
    if !cursor.take("port") {
        return None;
    }
    let port = u16::try_from(cursor.number()?.whole()).ok()?;
    Some(SocketAddr::new(ip.to_canonical(), port))
}

/// A statement that has no bracket.
fn phrase(text: &str) -> Option<Said<'_>> {
    let (at, phrase) = PHRASES.find(text).next()?;
    let rest = text[at + phrase.len()..].trim();
    let said = match phrase {
        CONNECTING => {
            let (host, port) = rest.split_once(',')?;
            Said::Connecting { host: host.trim(), port: port_in(port) }
        }
        REVERSE => Said::Reverse,
        ACCEPTED => Said::Accepted,
        LISTENING => listening(rest),
        CLIENT => {
            let (host, rest) = rest.split_once(',')?;
            let udp = rest.contains("UDP port");
            let transport = if udp { Transport::Udp } else { Transport::Tcp };
            Said::ClientConnecting { host: host.trim(), transport, port: port_in(rest) }
        }
        DONE => Said::Done,
        RULE => Said::Separator,
        SUMMARY => Said::Summary,
        TARGET => Said::Detail(Detail::Target(Cursor::new(rest).number()?.whole())),
        STARTING => Said::Detail(starting(rest)?),
        CPU => Said::Detail(Detail::Cpu(cpu(rest)?)),
        SEGMENT => {
            Said::Detail(Detail::Segment(Cursor::new(rest).number()?.whole().try_into().ok()?))
        }
        CONGESTION => Said::Detail(Detail::Congestion(rest.split_whitespace().next()?)),
        FAILURE | INTERRUPT => Said::Failure(rest),
        _ => return None,
    };
    Some(said)
}

/// `5201 (test #1)`; of iperf 2 `TCP port 5001`.
fn listening(rest: &str) -> Said<'_> {
    let of = |name, transport| rest.starts_with(name).then_some(transport);
    let transport = of("TCP", Transport::Tcp).or_else(|| of("UDP", Transport::Udp));
    let port = if transport.is_some() {
        port_in(rest)
    } else {
        Cursor::new(rest).number().and_then(|port| u16::try_from(port.whole()).ok())
    };
    Said::Listening { transport, port }
}

fn port_in(text: &str) -> Option<u16> {
    let rest = text.split_once("port")?.1;
    u16::try_from(Cursor::new(rest).number()?.whole()).ok()
}

/// `protocol: UDP, 1 streams, 1448 byte blocks, omitting 0 seconds, 10 second test, tos 0`.
fn starting(rest: &str) -> Option<Detail<'_>> {
    let mut parts = rest.split(',');
    let transport = match parts.next()?.trim().strip_prefix("protocol:")?.trim() {
        "TCP" => Transport::Tcp,
        "UDP" => Transport::Udp,
        _ => return None,
    };
    let mut number = || Cursor::new(parts.next()?.trim_start_matches(" omitting")).number();
    let (streams, block, omit) = (number()?, number()?, number()?);
    let end = parts.next()?;
    let seconds = end.contains("second").then(|| Cursor::new(end).number()).flatten();
    Some(Detail::Starting {
        transport,
        streams: u32::try_from(streams.whole()).ok()?,
        block: block.whole(),
        omit: omit.whole(),
        seconds: seconds.map(|one| one.value),
    })
}

/// `local/sender 0.2% (0.0%u/0.2%s), remote/receiver 0.1% (0.0%u/0.1%s)`.
fn cpu(rest: &str) -> Option<[f64; 6]> {
    let mut found = [0.0; 6];
    let mut parts = rest.split('%').map(|part| {
        let mut words = part.rsplit(|letter: char| !letter.is_ascii_digit() && letter != '.');
        words.next()?.parse::<f64>().ok()
    });
    for place in &mut found {
        *place = parts.next()??;
    }
    Some(found)
}

/// What iperf3 and iperf print beside what counts here.
fn known(trimmed: &str) -> Said<'_> {
    if let Some(version) = version(trimmed) {
        return Said::Version(version);
    }
    let is_rule =
        trimmed.len() >= SHORTEST_RULE && trimmed.bytes().all(|byte| b"-=_* ".contains(&byte));
    let is_known = is_rule
        || KNOWN.find(trimmed).next().is_some()
        || KNOWN_BEGINS.iter().any(|known| trimmed.starts_with(known));
    if is_known { Said::Known } else { Said::Other }
}

/// `iperf 3.12`, with which `-V` begins.
fn version(text: &str) -> Option<&str> {
    let rest = text.strip_prefix("iperf3 ").or_else(|| text.strip_prefix("iperf "))?;
    let version = rest.split_whitespace().next()?;
    (version.starts_with("3.") && text.len() < LONGEST_VERSION).then_some(version)
}

/// What people and mail set around lines.
const MARKS: &str = ">+|-*`\u{feff}";
const LONGEST_BRACKET: usize = 9;
const LONGEST_VERSION: usize = 40;
const SHORTEST_RULE: usize = 5;
/// Lines with two statements are longer.
const WIDE: usize = 100;

/// What stands for an address that somebody made unreadable.
const HIDDEN: IpAddr = IpAddr::V4(Ipv4Addr::UNSPECIFIED);
const CONNECTING: &str = "Connecting to host ";
const REVERSE: &str = "Reverse mode, remote host";
const ACCEPTED: &str = "Accepted connection from ";
const LISTENING: &str = "Server listening on ";
const CLIENT: &str = "Client connecting to ";
const DONE: &str = "iperf Done.";
const RULE: &str = "- - - - - -";
const SUMMARY: &str = "Test Complete. Summary Results:";
const TARGET: &str = "Target Bitrate:";
/// With which the details of a test begin.
pub(super) const STARTING: &str = "Starting Test:";
const CPU: &str = "CPU Utilization:";
const SEGMENT: &str = "TCP MSS:";
const CONGESTION: &str = "snd_tcp_congestion ";
const FAILURE: &str = "iperf3: error - ";
const INTERRUPT: &str = "iperf3: interrupt - ";
static PHRASES: Needles<15> = Needles::new([
    SUMMARY, CONNECTING, REVERSE, ACCEPTED, LISTENING, CLIENT, DONE, RULE, TARGET, STARTING, CPU,
    SEGMENT, CONGESTION, FAILURE, INTERRUPT,
]);

/// Wherever they stand in a line.
static KNOWN: Needles<15> = Needles::new([
    "TCP window size:",
    "UDP buffer size:",
    "byte datagrams",
    "Write buffer size:",
    "Read buffer size:",
    "TOS set to",
    "Binding to local",
    "listener bind failed",
    "read failed: Connection refused",
    "Control connection MSS",
    "Setting UDP block size",
    "Finished omit period",
    "rcv_tcp_congestion ",
    "Server output:",
    "Waiting for server threads",
]);
/// At the begin of a line.
const KNOWN_BEGINS: [&str; 6] =
    ["Time: ", "Cookie: ", "Linux ", "warning: ", "write failed:", "Sent "];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_of_a_cpu_are_read_and_letters_of_several_bytes_do_no_harm() {
        let line = "local/sender 0.2% (0.0%u/0.2%s), remote/receiver 0.1% (0.0%u/0.1%s)";
        assert_eq!(cpu(line), Some([0.2, 0.0, 0.2, 0.1, 0.0, 0.1]));
        assert_eq!(cpu("po\u{fffd}4944%, \u{fffd}%"), None);
    }

    #[test]
    fn statements_are_found_behind_what_stands_before_them() {
        for line in [
            "[  5]   0.00-1.00   sec  15.1 MBytes   124 Mbits/sec    0    148 KBytes",
            "> > [  5]   0.00-1.00   sec  15.1 MBytes   124 Mbits/sec    0    148 KBytes",
            "Nov 25 01:57:30 host iperf3[4242]: [  5]   0.00-1.00   sec  15.1 MBytes   124 Mbits/sec",
            "[2026-11-25 01:57:30] [  5]   0.00-1.00   sec  15.1 MBytes   124 Mbits/sec",
        ] {
            assert!(matches!(said(line), Said::Row(_)), "{line}");
        }
    }

    #[test]
    fn two_columns_are_two_statements() {
        let line = "[  5] 0.00-1.00 sec 1.0 MBytes 8.39 Mbits/sec 0 148 KBytes     [  5] 0.00-1.00 sec 1.0 MBytes 8.39 Mbits/sec";
        assert_eq!(begins(line).len(), 2);
        assert_eq!(begins("nothing [1] here [ 2]"), Vec::<usize>::new());
    }

    #[test]
    fn prose_says_nothing() {
        for line in ["as [5] shows, 3.00-4.00", "it is 127 Mbits/sec", "see [12]", "a - b"] {
            assert_eq!(said(line), Said::Other, "{line}");
        }
        assert_eq!(said("> "), Said::Blank);
    }

    #[test]
    fn details_are_taken_apart() {
        let line =
            "CPU Utilization: local/sender 0.2% (0.1%u/0.3%s), remote/receiver 1.5% (0.5%u/1.0%s)";
        assert_eq!(said(line), Said::Detail(Detail::Cpu([0.2, 0.1, 0.3, 1.5, 0.5, 1.0])));
        let line = "Starting Test: protocol: UDP, 2 streams, 1448 byte blocks, omitting 1 seconds, 10 second test, tos 0";
        let Said::Detail(Detail::Starting { transport, streams, block, omit, seconds }) =
            said(line)
        else {
            panic!("{line}")
        };
        assert_eq!((transport, streams, block, omit), (Transport::Udp, 2, 1_448, 1));
        assert_eq!(seconds, Some(10.0));
    }

    #[test]
    fn connections_have_both_addresses() {
        let line =
            "[  1] local 127.0.0.1%lo port 5001 connected with 127.0.0.1 port 35753 (sock=3)";
        let Said::Connected(Tool::Iperf2, one) = said(line) else { panic!("{line}") };
        assert_eq!((one.local.port(), one.peer.port()), (5_001, 35_753));
        assert_eq!(said("[  5] local 1.2.3.4 port 5 connected to 1.2.3.4 port"), Said::Broken);
    }
}
