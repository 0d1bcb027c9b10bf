//! iperf, version 2: its lines of comma-separated values.
//!
//! The server's line is the receiver's word. It can neither be asked for by the client nor
//! are both directions in one line, so that each side's lines are taken for what it received.

use anyhow::{Result, ensure};

use super::{Dialect, PORT, Printed, Task, Told};
use crate::bench::streams::fairness::Fairness;
use crate::bench::streams::workload::{Direction, Workload};

/// iperf, version 2.
pub(super) struct Iperf2;

impl Dialect for Iperf2 {
    /// With `-R` the client must not name a congestion control, and it is the server that sends.
    fn server(&self, task: &Task, _flags: &str) -> String {
        let Task { address, workload, congestion, .. } = task;
        let what = match workload.length {
            None => format!("-Z {congestion}"),
            Some(length) => format!("-u -l {length}"),
        };
        format!("-s -B {address} -p {PORT} -y C {what}")
    }

    fn client(&self, task: &Task, flags: &str) -> String {
        let Task { address, workload, seconds, congestion } = task;
        let what = match (workload.length, workload.direction) {
            (None, Direction::Reverse) => "-R".to_owned(),
            (None, Direction::Send) => format!("-Z {congestion}"),
            (None, Direction::Both) => format!("-Z {congestion} --full-duplex"),
            (Some(length), Direction::Reverse) => format!("-u -b {UNLIMITED} -l {length} -R"),
            (Some(length), _) => format!("-u -b {UNLIMITED} -l {length}"),
        };
        let streams = workload.streams;
        let line = format!("-c {address} -p {PORT} {what} -P {streams} -t {seconds} -y C {flags}");
        line.trim_end().to_owned()
    }

    fn read(&self, task: &Task, printed: &Printed) -> Result<Told> {
        let lines = match task.workload.direction {
            Direction::Send => lines(&printed.server),
            // With both, what this side sent, which over TCP is what the other received but for
            // what was in flight at the end.
            Direction::Reverse | Direction::Both => lines(&printed.client),
        };
        ensure!(!lines.is_empty(), "the receiver printed no line of values");
        let bytes: Vec<u64> = lines.iter().map(|line| line.bytes).collect();
        Ok(Told {
            bytes: bytes.iter().sum(),
            rate: lines.iter().map(|line| line.rate).sum(),
            fairness: Fairness::of(&bytes),
            start_skew: None,
            stop_skew: None,
            engines: None,
        })
    }

    /// A thread for each stream; of datagrams both ways it tells only what each side sent.
    fn takes(&self, workload: Workload) -> bool {
        let is_told = workload.length.is_none() || workload.direction != Direction::Both;
        workload.streams <= 128 && is_told
    }

    fn reports(&self) -> bool {
        true
    }
}

/// What is told of one stream in one direction.
#[derive(Debug, PartialEq)]
struct Line {
    bytes: u64,
    /// In bits per second.
    rate: f64,
}

/// Date, address and port here and there, number, seconds, bytes, bits per second; of
/// datagrams jitter, lost ones and more.
fn lines(printed: &str) -> Vec<Line> {
    let line = |line: &str| {
        let fields: Vec<&str> = line.split(',').map(str::trim).collect();
        let number: i64 = fields.get(5)?.parse().ok()?;
        let line = Line { bytes: fields.get(7)?.parse().ok()?, rate: fields.get(8)?.parse().ok()? };
        // A sum of the others has number -1.
        (number >= 0).then_some(line)
    };
    printed.lines().filter_map(line).collect()
}

/// More than any path takes; 0 is no rate at all to some versions.
const UNLIMITED: &str = "100G";

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    const SERVER: &str = "\
19700101000000,127.0.0.1,50658,127.0.0.1,5201,3,0.0-1.0,202240764,1603915906
19700101000000,127.0.0.1,50666,127.0.0.1,5201,4,0.0-1.0,215220284,1725779887
19700101000000,127.0.0.1,50666,127.0.0.1,5201,-1,0.0-1.0,417461048,3329695793
";

    fn at(workload: Workload) -> Task<'static> {
        Task { workload, ..TASK }
    }

    #[test]
    fn a_task_is_a_command_line() {
        assert_eq!(Iperf2.server(&TASK, ""), "-s -B 127.0.0.1 -p 5201 -y C -Z cubic");
        assert_eq!(Iperf2.client(&TASK, ""), "-c 127.0.0.1 -p 5201 -Z cubic -P 16 -t 5 -y C");
        let reverse = at(Workload { direction: Direction::Reverse, ..Workload::tcp(1) });
        assert_eq!(Iperf2.client(&reverse, ""), "-c 127.0.0.1 -p 5201 -R -P 1 -t 5 -y C");
        let datagrams = at(Workload::datagrams(64));
        assert_eq!(Iperf2.server(&datagrams, ""), "-s -B 127.0.0.1 -p 5201 -y C -u -l 64");
        let line = "-c 127.0.0.1 -p 5201 -u -b 100G -l 64 -P 1 -t 5 -y C";
        assert_eq!(Iperf2.client(&datagrams, ""), line);
    }

    #[test]
    fn the_receivers_lines_are_added_up_without_their_sum() {
        let printed = Printed { client: String::new(), server: SERVER.to_owned() };
        let told = Iperf2.read(&TASK, &printed).expect("complete");
        assert_eq!((told.bytes, told.rate), (417_461_048, 3_329_695_793.0));
        let reverse = at(Workload { direction: Direction::Reverse, ..Workload::tcp(1) });
        assert!(Iperf2.read(&reverse, &printed).is_err());
    }

    #[test]
    fn lines_of_datagrams_have_more_fields() {
        let line = "19700101000000,127.0.0.1,59166,127.0.0.1,22902,1,0.0-1.0,178470400,\
                    1378101919,0.003,223461,345701,64.640,0\n";
        let expected = Line { bytes: 178_470_400, rate: 1_378_101_919.0 };
        assert_eq!(lines(line), [expected]);
        assert_eq!(lines("WARNING: option -u, not valid\n"), []);
    }
}
