//! linerate: its record, and the line that its server prints.

use std::net::SocketAddr;

use anyhow::Context;
use serde_json::Value;

use crate::ask::Way;
use crate::seen::{Amount, Seen, WaySeen};

/// A server for one test.
pub(super) const SERVER_ARGUMENTS: &[&str] = &["serve", "--one-off"];

/// Reads one record.
pub(super) fn parse_client(stdout: &str) -> anyhow::Result<Seen> {
    let document: Value = serde_json::from_str(stdout).context("linerate printed no JSON")?;
    // Several rows are wrapped in a set, one is not.
    let record = document.pointer("/records/0").unwrap_or(&document);
    let mut seen = Seen::default();
    let streams = record["streams"].as_array().context("the record has no streams")?;
    for stream in streams {
        read_stream(stream, &mut seen);
    }
    let directions = record.pointer("/outcome/directions").and_then(Value::as_array);
    for direction in directions.context("the record has no outcome")? {
        let sender = direction["direction"] == "send";
        let way = seen.way_mut(if sender { Way::Up } else { Way::Down });
        let of_way = streams.iter().filter(|stream| stream["sender"] == sender);
        *way = read_direction(direction, of_way.count());
    }
    let ending = &record["outcome"]["ending"];
    seen.doubts = read_doubts(record);
    if ending["state"] != "completed" {
        seen.error = Some(ending.to_string());
    }
    Ok(seen)
}

fn read_doubts(record: &Value) -> Vec<String> {
    let reasons = record.pointer("/judgement/reasons").and_then(Value::as_array);
    let invalid = reasons.into_iter().flatten().filter(|reason| reason["stamp"] == "INVALID");
    invalid.map(|reason| format!("{}: {}", reason["rule"], reason["text"])).collect()
}

fn read_stream(stream: &Value, seen: &mut Seen) {
    for end in ["local", "peer"] {
        let address = stream[end].as_str().and_then(|text| text.parse::<SocketAddr>().ok());
        seen.addresses.extend(address.map(|address| address.ip()));
    }
    seen.mss.extend(stream["mss_bytes"].as_u64());
    seen.lengths.extend(stream["block_bytes"].as_u64());
    seen.buffers.extend(stream["send_buffer_bytes"].as_u64());
    seen.buffers.extend(stream["receive_buffer_bytes"].as_u64());
}

fn read_direction(direction: &Value, streams: usize) -> WaySeen {
    let amount = |key: &str| {
        let part = direction.get(key)?;
        Some(Amount::over(part["bytes"].as_u64()?, part["seconds"].as_f64()?))
    };
    let ledger = &direction["datagrams"];
    WaySeen {
        streams: Some(streams),
        sent: amount("offered"),
        received: amount("delivered"),
        datagrams: ledger["sent"].as_u64(),
        lost: ledger["lost"].as_u64(),
    }
}

/// Reads the last line, for example
/// `10.0.0.1:5000: send 50.28 Mbit/s in 1s, 0 of 95 lost; receive 3 Gbit/s in 1s: done`.
pub(super) fn parse_server(stdout: &str) -> anyhow::Result<Seen> {
    let line = stdout.lines().last().context("the server printed nothing")?;
    let (line, ending) = line.rsplit_once(": ").context("the server's line has no ending")?;
    let (_, parts) = line.split_once(": ").context("the server's line has no result")?;
    let mut seen = Seen::default();
    for part in parts.split("; ") {
        if let Some((way, result)) = read_part(part) {
            *seen.way_mut(way) = result;
        }
    }
    if ending != "done" {
        seen.error = Some(ending.to_owned());
    }
    Ok(seen)
}

fn read_part(part: &str) -> Option<(Way, WaySeen)> {
    let (name, rest) = part.split_once(' ')?;
    let way = match name {
        "send" => Way::Up,
        "receive" => Way::Down,
        _ => return None,
    };
    let (throughput, loss) = rest.split_once(", ").map_or((rest, None), |(a, b)| (a, Some(b)));
    let (rate, span) = throughput.split_once(" in ")?;
    // Whoever sends, the headline is what the receiver got.
    let received = Amount { bytes: None, seconds: seconds(span)?, rate: bits_per_second(rate)? };
    let mut result = WaySeen { received: Some(received), ..WaySeen::default() };
    if let Some((lost, sent)) = loss.and_then(|loss| loss.strip_suffix(" lost")?.split_once(" of "))
    {
        (result.lost, result.datagrams) = (lost.parse().ok(), sent.parse().ok());
    }
    Some((way, result))
}

fn bits_per_second(text: &str) -> Option<f64> {
    let (number, unit) = text.split_once(' ')?;
    let factor = match unit {
        "bit/s" => 1.0,
        "kbit/s" => 1e3,
        "Mbit/s" => 1e6,
        "Gbit/s" => 1e9,
        "Tbit/s" => 1e12,
        _ => return None,
    };
    Some(number.parse::<f64>().ok()? * factor)
}

fn seconds(text: &str) -> Option<f64> {
    let digits = text.trim_end_matches(char::is_alphabetic);
    let factor = match &text[digits.len()..] {
        "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        _ => return None,
    };
    Some(digits.parse::<f64>().ok()? * factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_gives_both_ways() {
        let seen = parse_client(RECORD).expect("parses");
        let up = seen.up.expect("sends");
        assert_eq!(up.sent, Some(Amount::over(1400, 1.0)));
        assert_eq!(up.received, Some(Amount::over(700, 2.0)));
        assert_eq!((up.datagrams, up.lost, up.streams), (Some(2), Some(1), Some(1)));
        assert_eq!(seen.down, None);
        assert_eq!((seen.lengths, seen.buffers), (vec![700], vec![1, 2]));
        assert_eq!(seen.addresses.len(), 2);
        assert_eq!((seen.doubts.len(), seen.error), (1, None));
    }

    #[test]
    fn a_servers_line_gives_rate_span_and_loss() {
        let line = "x\n[fd00::1]:5: send 50.28 Mbit/s in 1.25s, 1 of 95 lost; \
                    receive 2 Gbit/s in 700ms: done\n";
        let seen = parse_server(line).expect("parses");
        let (up, down) = (seen.up.expect("up"), seen.down.expect("down"));
        assert_eq!((up.lost, up.datagrams), (Some(1), Some(95)));
        let rate = |way: &WaySeen| way.received.expect("received").rate;
        assert!((rate(&up) - 50.28e6).abs() < 1.0 && (rate(&down) - 2e9).abs() < 1.0);
        assert!((down.received.expect("received").seconds - 0.7).abs() < 1e-9);
        assert_eq!(seen.error, None);
    }

    #[test]
    fn a_failed_test_of_the_server_is_an_error() {
        let seen = parse_server("10.0.0.1:5: no test: the client went away").expect("parses");
        assert_eq!(seen.error.as_deref(), Some("the client went away"));
    }

    const RECORD: &str = r#"{"streams":[{"id":1,"sender":true,"local":"[fd00::1]:1",
        "peer":"[fd00::2]:2","block_bytes":700,"send_buffer_bytes":1,"receive_buffer_bytes":2}],
        "outcome":{"ending":{"state":"completed"},"directions":[{"direction":"send",
        "offered":{"bytes":1400,"seconds":1.0,"rate_bits_per_second":11200},
        "delivered":{"bytes":700,"seconds":2.0,"rate_bits_per_second":2800},
        "datagrams":{"sent":2,"received":1,"lost":1,"tail":0}}]},
        "judgement":{"reasons":[{"rule":"sender-below-rate","stamp":"INVALID","text":"short"},
            {"rule":"worker-saturated","stamp":"SUSPECT","text":"late"}]}}"#;
}
