//! A plan as the command that runs it.

use std::fmt::Write;
use std::net::SocketAddr;

use measurement::units::show_duration;
use measurement::{BitRate, Direction, End, TestPlan, TestRecord, Transport};

/// `linerate test 10.0.0.2 --udp --send -b 40000000 -t 2s`, with the server of a record.
pub(super) fn of_plan(record: &TestRecord, plan: &TestPlan) -> String {
    let transport = if plan.transport == Transport::Udp { "--udp" } else { "--tcp" };
    let mut command = format!("linerate test {} {transport}{}", server(record), way(plan));
    for (flag, value) in values(plan) {
        // A string takes all.
        _ = write!(command, " {flag} {value}");
    }
    command
}

/// Its address, and its port where that is not the usual one.
fn server(record: &TestRecord) -> String {
    let address = record.peer.as_ref().map(|peer| peer.address);
    // A link-local address has no meaning without its interface, which the address does not name.
    match address.filter(|address| !matches!(address, SocketAddr::V6(six) if six.scope_id() != 0)) {
        None => "HOST".to_owned(),
        Some(address) if address.port() == USUAL_PORT => address.ip().to_string(),
        Some(address) => format!("{} --port {}", address.ip(), address.port()),
    }
}

fn way(plan: &TestPlan) -> &'static str {
    match plan.direction {
        Direction::Send => " --send",
        Direction::Receive => " --receive",
        Direction::Both => " --bidir",
    }
}

/// The flags that have a value.
fn values(plan: &TestPlan) -> Vec<(&'static str, String)> {
    let options = &plan.options;
    let streams = Some(plan.streams).filter(|streams| *streams > 1);
    let time = if let End::Time(time) = plan.end { Some(show_duration(time)) } else { None };
    let all = [
        ("-P", streams.map(|streams| streams.to_string())),
        ("-b", options.rate.map(BitRate::bits_per_second).map(in_thousands)),
        ("-l", options.block.map(|size| size.bytes().to_string())),
        ("-w", options.window.map(|size| size.bytes().to_string())),
        ("-M", options.mss.map(|bytes| bytes.to_string())),
        ("-C", options.congestion.clone()),
        ("-t", time),
    ];
    all.into_iter().filter_map(|(flag, value)| Some((flag, value?))).collect()
}

/// `40M`, `1500K`, `999`.
fn in_thousands(number: u64) -> String {
    let prefixes = [(1_000_000_000, "G"), (1_000_000, "M"), (1_000, "K")];
    let fitting =
        prefixes.iter().find(|(factor, _)| number >= *factor && number.is_multiple_of(*factor));
    fitting
        .map_or_else(|| number.to_string(), |(factor, name)| format!("{}{name}", number / factor))
}

/// Of iperf3 (docs/protocol/iperf3.md).
const USUAL_PORT: u16 = 5_201;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    #[test]
    fn a_plan_is_a_command_against_the_same_server() {
        let mut record = test_record::udp();
        let plan = test_record::plan_with(&record.plan, |draft| {
            draft.end = End::Time(std::time::Duration::from_secs(2));
        });
        let command = of_plan(&record, &plan);
        assert_eq!(command, "linerate test 192.0.2.2 --udp --send -b 100M -t 2s");
        record.peer = None;
        assert!(of_plan(&record, &plan).starts_with("linerate test HOST --udp"));
    }
}
