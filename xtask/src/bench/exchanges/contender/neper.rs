//! neper: a program for each kind of exchange, whose lines are `key=value`.

use anyhow::{Context, Result};

use super::super::figures::Told;
use super::{Dialect, Exchange, PORT, Task};

/// The program for one kind.
pub(super) struct Neper(pub(super) Exchange);

impl Dialect for Neper {
    fn server(&self, task: &Task) -> String {
        let size = task.size;
        format!("--nolog -C {} -P {PORT} -Q {size} -R {size}", PORT - 1)
    }

    fn client(&self, task: &Task) -> String {
        let (address, seconds) = (task.address, task.seconds);
        format!("{} -c -H {address} -l {seconds} -p 50,99", self.server(task))
    }

    fn read(&self, _task: &Task, printed: &str) -> Result<Told> {
        read(printed).context("not what neper prints of exchanges")
    }

    fn takes(&self, exchange: Exchange) -> bool {
        self.0 == exchange
    }
}

fn read(printed: &str) -> Option<Told> {
    let value = |key: &str| -> Option<f64> {
        let mut pairs = printed.lines().filter_map(|line| line.split_once('='));
        pairs.find(|(known, _)| *known == key)?.1.trim().parse().ok()
    };
    let microseconds = |key| value(key).map(|seconds| seconds * 1e6);
    Some(Told {
        count: value("num_transactions")?,
        rate: value("throughput")?,
        mean: microseconds("latency_mean"),
        p50: microseconds("latency_p50"),
        p99: microseconds("latency_p99"),
    })
}

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    #[test]
    fn a_task_is_a_command_line() {
        let server = "--nolog -C 5200 -P 5201 -Q 64 -R 64";
        assert_eq!(Neper(Exchange::Tcp).server(&TASK), server);
        let line = format!("{server} -c -H 127.0.0.1 -l 3 -p 50,99");
        assert_eq!(Neper(Exchange::Tcp).client(&TASK), line);
    }

    #[test]
    fn its_values_are_read() {
        let printed = "num_transactions=75136\nlatency_mean=0.5\nlatency_p50=0.25\n\
                       latency_p99=1\nthroughput=74926.11\nlocal_throughput=74926\n";
        let told = read(printed).expect("complete");
        assert_eq!((told.count, told.rate), (75_136.0, 74_926.11));
        assert_eq!((told.mean, told.p50, told.p99), (Some(5e5), Some(2.5e5), Some(1e6)));
        assert_eq!(read("num_transactions=1\n"), None);
    }
}
