//! iperf, version 2: `--bounceback`.
//!
//! Its `--connect-only` is no exchange: it sends no request and waits for no response.

use anyhow::{Context, Result};

use super::super::figures::Told;
use super::{Dialect, Exchange, PORT, Task};

/// iperf, version 2.
pub(super) struct Iperf2;

impl Dialect for Iperf2 {
    fn server(&self, task: &Task) -> String {
        format!("-s -B {} -p {PORT} -e", task.address)
    }

    /// Without a period, one after another.
    fn client(&self, task: &Task) -> String {
        let Task { address, seconds, size, .. } = task;
        format!(
            "-c {address} -p {PORT} --bounceback --bounceback-period 0 -l {size} -t {seconds} -e"
        )
    }

    fn read(&self, _task: &Task, printed: &str) -> Result<Told> {
        printed.lines().rev().find_map(read).context("not what iperf prints of a bounceback")
    }

    fn takes(&self, exchange: Exchange) -> bool {
        exchange == Exchange::Tcp
    }
}

/// `.. 16378=0.060/0.014/6.336/0.337 ms ..`: number, mean, least, most, deviation.
fn read(line: &str) -> Option<Told> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.contains('=') && word.matches('/').count() == 3)?;
    let (count, times) = words[at].split_once('=')?;
    let interval = words.iter().find(|word| word.starts_with("0.00") && word.contains('-'))?;
    let seconds: f64 = interval.split_once('-')?.1.parse().ok()?;
    let count: f64 = count.parse().ok()?;
    let milliseconds: f64 = times.split('/').next()?.parse().ok()?;
    Some(Told {
        count,
        rate: count / seconds,
        mean: Some(milliseconds * 1e3),
        p50: None,
        p99: None,
    })
}

#[cfg(test)]
mod tests {
    use super::super::TASK;
    use super::*;

    const PRINTED: &str = "\
[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS
[  1] 0.0000-2.0000 sec  2047 KBytes  16745 Kbits/sec    16378=0.060/0.014/6.336/0.337 ms    0  576K/258 us    16588 rps
[  1] 0.0000-2.0000 sec BB8(f)-PDF: bin(w=100us):cnt(16378)=1:16080,2:26 (5.00/95.00/99.7%=1/38/38,Outliers=0,obl/obu=0/0)
";

    #[test]
    fn a_task_is_a_command_line() {
        let line = "-c 127.0.0.1 -p 5201 --bounceback --bounceback-period 0 -l 64 -t 3 -e";
        assert_eq!(Iperf2.client(&TASK), line);
    }

    #[test]
    fn the_last_sum_is_read() {
        let told = Iperf2.read(&TASK, PRINTED).expect("complete");
        assert_eq!((told.count, told.rate, told.p50), (16_378.0, 8_189.0, None));
        assert!(told.mean.is_some_and(|mean| (mean - 60.0).abs() < 1e-9));
        assert!(Iperf2.read(&TASK, "connect failed: Connection refused\n").is_err());
    }
}
