//! The server's record of a test, held against what the client of that test reports.

use std::collections::BTreeSet;
use std::net::SocketAddr;

use serde_json::Value;

use super::server::Event;
use crate::ask::{Ask, Direction, End, Transport, Way, ways};
use crate::seen::{Seen, WaySeen};

/// What the server says of a test that has ended.
#[derive(Clone, Debug)]
pub(super) struct Record(Value);

impl Record {
    /// That of an event, if it is the end of a test that had streams.
    pub(super) fn from_event(event: &Event) -> Option<Self> {
        let record = Self(event.value["test"].clone());
        (event.is("ended") && !record.streams().is_empty()).then_some(record)
    }

    /// Whether it is about these streams and no others. UDP and TCP may use the same
    /// port at one time.
    pub(super) fn is_of(&self, ask: &Ask, ports: &BTreeSet<u16>) -> bool {
        self.transport() == Some(ask.transport) && self.ports() == *ports
    }

    fn transport(&self) -> Option<Transport> {
        match self.0.pointer("/plan/transport")?.as_str()? {
            "tcp" => Some(Transport::Tcp),
            "udp" => Some(Transport::Udp),
            _ => None,
        }
    }

    /// The client's ports of its streams.
    fn ports(&self) -> BTreeSet<u16> {
        let peer = |stream: &Value| stream["peer"].as_str()?.parse::<SocketAddr>().ok();
        self.streams().iter().filter_map(peer).map(|peer| peer.port()).collect()
    }

    fn streams(&self) -> &[Value] {
        self.0["streams"].as_array().map_or(&[], Vec::as_slice)
    }

    fn way(&self, way: Way) -> Option<&Value> {
        let name = if way == Way::Up { "send" } else { "receive" };
        self.0["directions"].as_array()?.iter().find(|one| one["direction"] == name)
    }
}

/// The ports of a client's streams, as its own report tells them.
pub(super) fn stream_ports(stdout: &str) -> BTreeSet<u16> {
    let document: Value = serde_json::from_str(stdout).unwrap_or_default();
    let connected = document.pointer("/start/connected").and_then(Value::as_array);
    let port = |one: &Value| u16::try_from(one["local_port"].as_u64()?).ok();
    connected.map(|list| list.iter().filter_map(port).collect()).unwrap_or_default()
}

/// Whether a client's streams share a record with others, or have several.
pub(super) fn is_among_strangers(ask: &Ask, ports: &BTreeSet<u16>, records: &[Record]) -> bool {
    let is_kind = |record: &&Record| record.transport() == Some(ask.transport);
    let mut touched = records.iter().filter(is_kind).filter(|one| !one.ports().is_disjoint(ports));
    touched.any(|record| record.ports() != *ports)
}

/// What client and server do not agree on; nothing is what is promised.
pub(super) fn disagreements(ask: &Ask, client: &Seen, server: &Record) -> Vec<String> {
    let mut found = Vec::new();
    let ways = ways(ask.direction);
    let streams = u64::from(ask.streams) * ways.len() as u64;
    let mut compare = |what: &str, expected: Option<u64>, reported: Option<u64>| {
        if expected != reported {
            found.push(format!("{what}: {expected:?} and {reported:?}"));
        }
    };
    compare("streams", Some(streams), Some(server.streams().len() as u64));
    let plan = &server.0["plan"];
    compare("plan.streams", Some(ask.streams.into()), plan["streams"].as_u64());
    let length = ask.length.map(u64::from);
    compare("plan.options.block_bytes", length, plan["options"]["block_bytes"].as_u64());
    for stream in server.streams() {
        compare("block", length, stream["block_bytes"].as_u64());
    }
    let direction = match ask.direction {
        Direction::Send => "send",
        Direction::Reverse => "receive",
        Direction::Both => "both",
    };
    if plan["direction"] != direction {
        found.push(format!("direction: {direction} and {}", plan["direction"]));
    }
    let state = &server.0["ending"]["state"];
    if state != "completed" {
        found.push(format!("the server's test ended: {}", server.0["ending"]));
    }
    for way in ways {
        match (client.way(*way), server.way(*way)) {
            (Some(seen), Some(reported)) => {
                found.extend(disagreements_of(ask, *way, seen, reported));
            }
            _ => found.push(format!("{way:?}: one end knows nothing of it")),
        }
    }
    found
}

fn disagreements_of(ask: &Ask, way: Way, seen: &WaySeen, reported: &Value) -> Vec<String> {
    let mut found = Vec::new();
    let length = ask.length.map(u64::from);
    let bytes = |part: &str| reported[part]["bytes"].as_u64();
    let sent = seen.sent.and_then(|amount| amount.bytes);
    let received = seen.received.and_then(|amount| amount.bytes);
    let mut check = |holds: bool, what: String| {
        if !holds {
            found.push(format!("{way:?}: {what}"));
        }
    };
    let (offered, delivered) = (bytes("offered"), bytes("delivered"));
    check(sent == offered, format!("bytes sent: {sent:?} and {offered:?}"));
    check(received == delivered, format!("bytes received: {received:?} and {delivered:?}"));
    match ask.transport {
        Transport::Tcp => {
            // An iperf3 that receives stops counting when it says the end, and what the
            // server sends until it hears that is read and thrown away (clause 10.2).
            let late = if way == Way::Down { sent.unwrap_or_default() / LATE_SHARE } else { 0 };
            let in_flight = MOST_IN_FLIGHT * u64::from(ask.streams) + late;
            let missing = sent.zip(received).map(|(sent, received)| sent.checked_sub(received));
            let is_near = missing.flatten().is_some_and(|missing| missing <= in_flight);
            check(is_near, format!("{sent:?} bytes were sent, and {received:?} received"));
        }
        Transport::Udp => {
            let count = |name: &str| reported["datagrams"][name].as_u64();
            let sent = count("sent");
            let sum = count("received")
                .zip(count("lost"))
                .map(|(received, lost)| received + lost + count("unaccounted").unwrap_or_default());
            check(sent == sum, format!("{sent:?} datagrams were sent, {sum:?} are accounted for"));
            let whole = count("received").zip(length).map(|(count, length)| count * length);
            check(delivered == whole, format!("{delivered:?} bytes, {whole:?} in datagrams"));
            if way == Way::Up {
                check(seen.datagrams == sent, format!("datagrams: {:?}, {sent:?}", seen.datagrams));
                let lost = count("lost");
                check(seen.lost == lost, format!("lost: {:?} and {lost:?}", seen.lost));
            }
        }
    }
    if let (End::Bytes(asked), Some(sent), Some(length)) = (ask.end, sent, length) {
        let most = asked + BLOCKS_OF_A_TURN * length * u64::from(ask.streams);
        check((asked..=most).contains(&sent), format!("{asked} bytes were asked, {sent} sent"));
    }
    found
}

/// Most of what the kernel's buffers of a TCP stream hold (tcp(7), `tcp_rmem`, `tcp_wmem`).
const MOST_IN_FLIGHT: u64 = 10_485_760;
/// One in so many bytes is sent after the end: a tenth of a second and more.
const LATE_SHARE: u64 = 20;
/// Clause 9.8.
const BLOCKS_OF_A_TURN: u64 = 10;

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use serde_json::json;

    use super::*;
    use crate::seen::Amount;

    fn record(value: &Value) -> Record {
        let value = json!({"event": "ended", "test": value});
        Record::from_event(&Event { at: Instant::now(), value }).expect("an end")
    }

    fn server() -> Value {
        json!({
            "plan": {"transport": "tcp", "direction": "send", "streams": 1,
                "options": {"block_bytes": 500}},
            "ending": {"state": "completed"},
            "streams": [{"peer": "127.0.0.1:4000", "block_bytes": 500}],
            "directions": [{"direction": "send", "offered": {"bytes": 1000},
                "delivered": {"bytes": 500}}],
        })
    }

    fn client(sent: u64, received: u64) -> Seen {
        let up = WaySeen {
            sent: Some(Amount::over(sent, 1.0)),
            received: Some(Amount::over(received, 1.0)),
            ..WaySeen::default()
        };
        Seen { up: Some(up), ..Seen::default() }
    }

    fn ask() -> Ask {
        Ask { length: Some(500), ..Ask::new(Transport::Tcp, Direction::Send) }
    }

    #[test]
    fn ends_that_agree_have_nothing_to_say() {
        assert_eq!(disagreements(&ask(), &client(1000, 500), &record(&server())), [""; 0]);
    }

    #[test]
    fn a_strangers_result_shows() {
        let found = disagreements(&ask(), &client(1000, 400), &record(&server()));
        assert_eq!(found, ["Up: bytes received: Some(400) and Some(500)"]);
    }

    #[test]
    fn a_stream_in_a_strangers_test_shows() {
        let records = [record(&server())];
        let ports = |ports: &[u16]| ports.iter().copied().collect();
        assert!(!is_among_strangers(&ask(), &ports(&[4000]), &records));
        assert!(is_among_strangers(&ask(), &ports(&[4000, 4001]), &records));
        assert!(!is_among_strangers(&ask(), &ports(&[4001]), &records));
        assert!(records[0].is_of(&ask(), &ports(&[4000])));
    }

    #[test]
    fn ports_are_read_from_the_clients_report() {
        let report = r#"{"start": {"connected": [{"local_port": 1}, {"local_port": 2}]}}"#;
        assert_eq!(stream_ports(report).len(), 2);
    }
}
