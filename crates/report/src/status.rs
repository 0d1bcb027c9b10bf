//! Writes the tests that servers run: a table for people, or JSON.

use std::io::{self, Write};

use measurement::json;
use measurement::server_status::{ServedTest, ServerStatus};
use measurement::units::show_time;
use serde::Serialize;

use crate::columns::{Cell, Columns, Emphasis};
use crate::page::write_wrapped;
use crate::width::Width;

/// Writes a table of the tests of each server. Where the `width` has no room for all columns, those
/// that tell least are left out, and named below.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(servers: &[ServerStatus], width: Width, out: &mut dyn Write) -> io::Result<()> {
    for (number, server) in servers.iter().enumerate() {
        if number > 0 {
            writeln!(out)?;
        }
        let count = server.tests.len();
        let tests = if count == 1 { "1 test".to_owned() } else { format!("{count} tests") };
        writeln!(out, "{}: {tests}", server.address)?;
        if count == 0 {
            continue;
        }
        let mut columns = table(&server.tests);
        let left_out = columns.narrow(2, width, &LEAST_FIRST);
        columns.write(out, 2, width)?;
        if !left_out.is_empty() {
            let text = format!("no room for: {}; --json has all", left_out.join(", "));
            write_wrapped(2, &text, width, out)?;
        }
    }
    Ok(())
}

/// Writes the tests of each server as one JSON object.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_json(servers: &[ServerStatus], out: &mut dyn Write) -> io::Result<()> {
    /// Its keys.
    #[derive(Serialize)]
    struct Object<'a> {
        schema: &'a str,
        servers: &'a [ServerStatus],
    }

    json::write_indented(&Object { schema: "linerate/status/1", servers }, out)
}

fn table(tests: &[ServedTest]) -> Columns {
    let mut columns = Columns::default();
    columns.push(HEAD.iter().map(|name| Cell::new(*name, Emphasis::Faint)).collect());
    for test in tests {
        let text = |value: Option<String>| value.unwrap_or_default();
        let cells = [
            test.client.to_string(),
            test.software.clone(),
            test.test.clone(),
            test.state.name().to_owned(),
            text(test.rate.map(|rate| rate.to_string())),
            text(test.limit.map(|limit| limit.to_string())),
            text(test.ran.map(show_time)),
            text(test.left.map(show_time)),
        ];
        columns.push(cells.into_iter().map(Cell::from).collect());
    }
    columns
}

const HEAD: [&str; 8] =
    ["client", "software", "test", "state", "rate now", "limit", "for", "time left"];
/// Columns that are left out first.
const LEAST_FIRST: [usize; 4] = [1, 6, 3, 5];

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::BitRate;
    use measurement::server_status::ServedState;

    use super::*;

    fn servers() -> Vec<ServerStatus> {
        let running = ServedTest {
            client: "10.0.0.1:40000".parse().expect("an address"),
            software: "iperf3 3.16".to_owned(),
            test: "TCP send, 2 streams".to_owned(),
            state: ServedState::Running,
            ran: Some(Duration::from_millis(2_800)),
            left: Some(Duration::from_millis(7_200)),
            bytes: 329_420_000,
            rate: Some(BitRate::from_bits_per_second(941_200_000)),
            limit: Some(BitRate::from_bits_per_second(1_000_000_000)),
        };
        let waiting = ServedTest {
            client: "[2001:db8::7]:51000".parse().expect("an address"),
            software: "linerate 0.1.0".to_owned(),
            test: "UDP receive".to_owned(),
            state: ServedState::Waiting,
            ran: None,
            left: None,
            bytes: 0,
            rate: None,
            limit: None,
        };
        let address = "[::]:5201".parse().expect("an address");
        let idle = "127.0.0.1:5300".parse().expect("an address");
        vec![
            ServerStatus { address, tests: vec![running, waiting] },
            ServerStatus { address: idle, tests: Vec::new() },
        ]
    }

    fn text(width: Width) -> String {
        let mut out = Vec::new();
        write(&servers(), width, &mut out).expect("written");
        String::from_utf8(out).expect("text")
    }

    #[test]
    fn each_test_has_a_line_below_its_server() {
        insta::assert_snapshot!(text(Width::of(120)));
    }

    #[test]
    fn a_narrow_terminal_keeps_client_rate_and_time() {
        let text = text(Width::of(70));
        // The head has the escape sequences of its emphasis.
        let rows = text.lines().filter(|line| !line.contains('\x1b'));
        assert!(rows.clone().count() > 4 && rows.clone().all(|row| row.chars().count() <= 70));
        assert!(text.contains("no room for: software"), "{text}");
    }

    #[test]
    fn json_can_be_read_again() {
        let mut out = Vec::new();
        write_json(&servers(), &mut out).expect("written");
        let value: serde_json::Value = serde_json::from_slice(&out).expect("JSON");
        let read: Vec<ServerStatus> =
            serde_json::from_value(value["servers"].clone()).expect("servers");
        assert_eq!(read, servers());
    }
}
