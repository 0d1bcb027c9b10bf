//! neper: a program for each kind of traffic, whose lines are `key=value`.

use anyhow::{Context, Result};

use super::{Dialect, PORT, Printed, Task, Told};
use crate::bench::streams::workload::{Direction, Workload};

/// neper's `tcp_stream`.
pub(super) struct TcpStream;

/// neper's `udp_stream`.
pub(super) struct UdpStream;

impl Dialect for TcpStream {
    fn server(&self, task: &Task, flags: &str) -> String {
        words(&[&ports(), &direction(task.workload.direction), &congestion(task), flags])
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let server = self.server(task, flags);
        words(&[&server, &client(task)])
    }

    fn read(&self, task: &Task, printed: &Printed) -> Result<Told> {
        read(task, &printed.client)
    }

    fn takes(&self, workload: Workload) -> bool {
        workload.length.is_none()
    }
}

impl Dialect for UdpStream {
    fn server(&self, task: &Task, flags: &str) -> String {
        let length = task.workload.length.unwrap_or_default();
        words(&[&ports(), &format!("-B {length}"), flags])
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let server = self.server(task, flags);
        words(&[&server, &client(task)])
    }

    fn read(&self, task: &Task, printed: &Printed) -> Result<Told> {
        read(task, &printed.client)
    }

    fn takes(&self, workload: Workload) -> bool {
        workload.length.is_some() && workload.direction == Direction::Send
    }
}

fn ports() -> String {
    format!("--nolog -C {} -P {PORT}", PORT - 1)
}

/// Both sides are told it.
fn direction(direction: Direction) -> String {
    match direction {
        Direction::Send => "",
        Direction::Reverse => "-M",
        Direction::Both => "-r -w",
    }
    .to_owned()
}

fn congestion(task: &Task) -> String {
    format!("--congestion-control {}", task.congestion)
}

fn client(task: &Task) -> String {
    let Task { address, workload, seconds, .. } = task;
    let streams = workload.streams;
    format!("-c -H {address} -F {streams} -T {} -l {seconds}", streams.min(THREADS))
}

fn words(words: &[&str]) -> String {
    words.iter().filter(|word| !word.is_empty()).copied().collect::<Vec<_>>().join(" ")
}

/// It tells the rate at which either side received, in bits per second.
fn read(task: &Task, printed: &str) -> Result<Told> {
    let rate = value(printed, "local_throughput")? + value(printed, "remote_throughput")?;
    Ok(Told {
        bytes: rate / 8 * u64::from(task.seconds),
        rate: rate as f64,
        fairness: None,
        start_skew: None,
        stop_skew: None,
        engines: None,
    })
}

fn value(printed: &str, key: &str) -> Result<u64> {
    let mut pairs = printed.lines().filter_map(|line| line.split_once('='));
    let (_, value) = pairs.find(|(known, _)| *known == key).with_context(|| format!("no {key}"))?;
    value.trim().parse().with_context(|| format!("{key} is no number: {value}"))
}

/// Enough for both directions on a small machine; its default is one for all streams.
const THREADS: u32 = 2;

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    #[test]
    fn a_task_is_a_command_line() {
        let server = "--nolog -C 5200 -P 5201 --congestion-control cubic";
        assert_eq!(TcpStream.server(&TASK, ""), server);
        let client = format!("{server} -Z -c -H 127.0.0.1 -F 16 -T 2 -l 5");
        assert_eq!(TcpStream.client(&TASK, "-Z"), client);
        let workload = Workload { direction: Direction::Reverse, ..Workload::tcp(1) };
        let reverse = Task { workload, ..TASK };
        let server = "--nolog -C 5200 -P 5201 -M --congestion-control cubic";
        assert_eq!(TcpStream.server(&reverse, ""), server);
        let datagrams = Task { workload: Workload::datagrams(64), ..TASK };
        let client = "--nolog -C 5200 -P 5201 -B 64 -c -H 127.0.0.1 -F 1 -T 1 -l 5";
        assert_eq!(UdpStream.client(&datagrams, ""), client);
    }

    #[test]
    fn what_both_sides_received_is_added_up() {
        let printed = "num_flows=16\nlocal_throughput=8000\nremote_throughput=24000\n";
        let told = read(&TASK, printed).expect("complete");
        assert_eq!((told.bytes, told.rate), (20_000, 32_000.0));
        assert!(read(&TASK, "num_flows=16\n").is_err());
    }
}
