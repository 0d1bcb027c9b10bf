//! iperf3, 3.1 to 3.21: its JSON, alike for client and server.

use std::net::IpAddr;

use anyhow::Context;
use report::import::iperf3_json::without_nan;
use serde_json::Value;

use crate::ask::{Direction, Way, ways};
use crate::seen::{Amount, Role, Seen, WaySeen};

/// A server for one test.
pub(super) const SERVER_ARGUMENTS: &[&str] = &["--server", "--one-off", "--json"];

/// Reads the report of either end.
pub(super) fn parse(role: Role, direction: Direction, stdout: &str) -> anyhow::Result<Seen> {
    let document: Value =
        serde_json::from_str(&without_nan(stdout)).context("iperf3 printed no JSON")?;
    let mut seen = read_start(&document);
    let report = Report { role, direction, end: &document["end"] };
    for way in ways(direction) {
        *seen.way_mut(*way) = report.way(*way);
    }
    Ok(seen)
}

fn read_start(document: &Value) -> Seen {
    let start = &document["start"];
    let connected = start["connected"].as_array().map_or(&[][..], Vec::as_slice);
    let ends = connected.iter().flat_map(|one| [&one["local_host"], &one["remote_host"]]);
    let numbers = |keys: &[&str]| keys.iter().filter_map(|key| start[*key].as_u64()).collect();
    Seen {
        addresses: ends.filter_map(address).collect(),
        mss: numbers(&["tcp_mss"]),
        buffers: numbers(&["sndbuf_actual", "rcvbuf_actual"]),
        lengths: start["test_start"]["blksize"].as_u64().into_iter().collect(),
        error: document["error"].as_str().map(str::to_owned),
        ..Seen::default()
    }
}

/// A dual-stack server may show an IPv4 address in its mapped form.
fn address(text: &Value) -> Option<IpAddr> {
    let address: IpAddr = text.as_str()?.parse().ok()?;
    Some(address.to_canonical())
}

/// The part of the document with the results.
struct Report<'a> {
    role: Role,
    direction: Direction,
    end: &'a Value,
}

impl Report<'_> {
    fn way(&self, way: Way) -> WaySeen {
        let streams = self.streams(way);
        let parts = |name: &'static str| streams.iter().filter_map(move |one| one.get(name));
        let mut seen = WaySeen { streams: Some(streams.len()), ..WaySeen::default() };
        if parts("udp").next().is_some() {
            let sum = |key: &str| parts("udp").map(|part| part[key].as_u64()).sum::<Option<u64>>();
            (seen.datagrams, seen.lost) = (sum("packets"), sum("lost_packets"));
            (seen.sent, seen.received) = (self.sum("sum_sent", way), self.sum("sum_received", way));
            if self.sends(way) {
                seen.sent = total(parts("udp"));
            }
        } else {
            (seen.sent, seen.received) = (total(parts("sender")), total(parts("receiver")));
        }
        self.forget_hearsay(way, &mut seen);
        seen
    }

    /// A server knows only its own half of the bytes, and repeats the client's loss
    /// for what it sends (clause 10.13).
    fn forget_hearsay(&self, way: Way, seen: &mut WaySeen) {
        match (self.role, way) {
            (Role::Client, _) => {}
            (Role::Server, Way::Up) => seen.sent = None,
            (Role::Server, Way::Down) => (seen.received, seen.lost) = (None, None),
        }
    }

    fn sends(&self, way: Way) -> bool {
        (self.role == Role::Client) == (way == Way::Up)
    }

    /// The streams of one way. Before 3.7 they do not report theirs, and need not.
    fn streams(&self, way: Way) -> Vec<&Value> {
        let streams = self.end["streams"].as_array().map_or(&[][..], Vec::as_slice);
        let sends = |one: &Value| {
            let flag = |name: &str| one.get(name)?.get("sender")?.as_bool();
            flag("udp").or_else(|| flag("sender"))
        };
        streams.iter().filter(|one| sends(one).is_none_or(|s| s == self.sends(way))).collect()
    }

    /// A sum of UDP, in the versions that have it.
    fn sum(&self, name: &str, way: Way) -> Option<Amount> {
        let is_second = self.direction == Direction::Both && way == Way::Down;
        let suffix = if is_second { "_bidir_reverse" } else { "" };
        amount(self.end.get(format!("{name}{suffix}"))?)
    }
}

fn total<'a>(parts: impl Iterator<Item = &'a Value>) -> Option<Amount> {
    let amounts: Vec<_> = parts.map(amount).collect::<Option<_>>()?;
    let seconds = amounts.iter().map(|one| one.seconds).fold(0.0, f64::max);
    let bytes = amounts.iter().map(|one| one.bytes).sum::<Option<u64>>()?;
    (!amounts.is_empty()).then(|| Amount::over(bytes, seconds))
}

/// The span is `end`: for what the other end did, `seconds` is this end's.
fn amount(part: &Value) -> Option<Amount> {
    Some(Amount::over(part["bytes"].as_u64()?, part["end"].as_f64()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_reports_both_ends_of_tcp() {
        let seen = parse(Role::Client, Direction::Both, TCP).expect("parses");
        let (up, down) = (seen.up.expect("up"), seen.down.expect("down"));
        assert_eq!(up.sent, Some(Amount::over(10, 1.0)));
        assert_eq!(up.received, Some(Amount::over(9, 2.0)));
        assert_eq!(down.received, Some(Amount::over(6, 1.0)));
        assert_eq!((up.streams, down.streams), (Some(1), Some(1)));
        assert_eq!((seen.mss, seen.buffers), (vec![1000], vec![8, 9]));
    }

    #[test]
    fn a_server_reports_what_it_did_itself() {
        let seen = parse(Role::Server, Direction::Both, TCP).expect("parses");
        // The same text read as a server's: what it sends goes down.
        let (up, down) = (seen.up.expect("up"), seen.down.expect("down"));
        assert_eq!((up.sent, up.received), (None, Some(Amount::over(6, 1.0))));
        assert_eq!((down.sent, down.received), (Some(Amount::over(10, 1.0)), None));
    }

    #[test]
    fn a_server_of_udp_has_its_bytes_in_the_sum() {
        let seen = parse(Role::Server, Direction::Send, UDP).expect("parses");
        let up = seen.up.expect("up");
        assert_eq!(up.received, Some(Amount::over(6258, 1.0)));
        assert_eq!((up.datagrams, up.lost), (Some(191), Some(0)));
    }

    const TCP: &str = r#"{"start":{"tcp_mss":1000,"sndbuf_actual":8,"rcvbuf_actual":9},
        "end":{"streams":[
        {"sender":{"end":1.0,"bytes":10,"sender":true},
         "receiver":{"end":2.0,"bytes":9,"sender":true}},
        {"sender":{"end":1.0,"bytes":7,"sender":false},
         "receiver":{"end":1.0,"bytes":6,"sender":false}}]}}"#;
    const UDP: &str = r#"{"end":{"streams":[{"udp":{"end":1.0,"bytes":0,"lost_packets":0,
        "packets":191,"sender":false}}],"sum_sent":{"end":1.0,"bytes":0},
        "sum_received":{"end":1.0,"bytes":6258}}}"#;
}
