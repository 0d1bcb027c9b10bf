//! iperf, version 2: its lines of comma-separated values, and `--bounceback`.
//!
//! Of streams the receiver's lines count. They can neither be asked for by the client nor are both
//! directions in one line, so that each end's lines are taken for what it received. Its
//! `--connect-only` is no exchange: it sends no request and waits for no response.

use anyhow::{Context, Result, ensure};

use super::{Printed, Program, Report, file_and_version, option};
use crate::figures::Figures;
use crate::workload::{Direction, Exchange, Test, Traffic, Workload};

pub(super) const IPERF2: Program = Program {
    kind: "iperf",
    recognizes: |description| description.version.starts_with("iperf version 2"),
    // `iperf version 2.1.8 (..)`
    name: |description| Ok(file_and_version(description)),
    // A thread for each stream; of datagrams both ways it reports only what each end sent.
    takes: |_, workload| match workload.traffic {
        Traffic::Exchange(exchange) => exchange == Exchange::Tcp,
        Traffic::Tcp => workload.streams <= 128,
        Traffic::Udp => workload.streams <= 128 && workload.direction != Direction::Both,
    },
    // With `-R` the client must not name a congestion control, and it is the server that sends.
    server: |test| {
        let what = match test.workload.traffic {
            Traffic::Exchange(_) => "-e".to_owned(),
            Traffic::Tcp => format!("-y C {}", option("-Z", test.congestion.as_ref())),
            Traffic::Udp => format!("-y C -u {}", option("-l", test.workload.length)),
        };
        format!("-s -B {} -p {} {what}", test.address, test.port)
    },
    client,
    reports_at_server: true,
    read,
    ..Program::USUAL
};

fn client(test: &Test) -> String {
    let Test { address, port, flags, .. } = test;
    let Workload { traffic, direction, streams, length, .. } = test.workload;
    let length = option("-l", length);
    let what = match traffic {
        // Without a period, one after another.
        Traffic::Exchange(_) => format!("--bounceback --bounceback-period 0 {length}"),
        Traffic::Tcp => {
            let congestion = option("-Z", test.congestion.as_ref());
            let full_duplex = format!("{congestion} --full-duplex");
            format!("{} -P {streams}", direction.one_of([&congestion, "-R", &full_duplex]))
        }
        Traffic::Udp => {
            let way = direction.one_of(["", "-R", ""]);
            format!("-u -b {UNLIMITED} {length} {way} -P {streams}")
        }
    };
    let form = if matches!(traffic, Traffic::Exchange(_)) { "-e" } else { "-y C" };
    format!("-c {address} -p {port} {what} -t {} {form} {flags}", test.seconds())
}

fn read(test: &Test, printed: &Printed) -> Result<Report> {
    match (test.workload.traffic, test.workload.direction) {
        (Traffic::Exchange(_), _) => {
            let line = printed.client.lines().rev().find_map(bounceback);
            line.context("not what iperf prints of a bounceback")
        }
        (_, Direction::Send) => streams(&printed.server),
        // With both, what this end sent, which over TCP is what the other received but for what
        // was in flight at the end.
        (_, Direction::Reverse | Direction::Both) => streams(&printed.client),
    }
}

fn streams(printed: &str) -> Result<Report> {
    let lines: Vec<(u64, f64)> = printed.lines().filter_map(stream).collect();
    ensure!(!lines.is_empty(), "the receiver printed no line of values");
    let bytes: Vec<u64> = lines.iter().map(|(bytes, _)| *bytes).collect();
    let rate = lines.iter().map(|(_, rate)| rate).sum();
    let (count, figures) = (bytes.iter().sum::<u64>() as f64, Figures::of_streams(&bytes, rate));
    Ok(Report { count, rate, figures, engines: None })
}

/// Bytes and bits a second of a stream in one direction. Date, address and port here and there,
/// number, seconds, bytes, bits a second; of datagrams jitter, lost ones and more.
fn stream(line: &str) -> Option<(u64, f64)> {
    let fields: Vec<&str> = line.split(',').map(str::trim).collect();
    let number: i64 = fields.get(5)?.parse().ok()?;
    let stream = (fields.get(7)?.parse().ok()?, fields.get(8)?.parse().ok()?);
    // A sum of the others has number -1.
    (number >= 0).then_some(stream)
}

/// `.. 16378=0.060/0.014/6.336/0.337 ms ..`: number, mean, least, most, deviation.
fn bounceback(line: &str) -> Option<Report> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let at = words.iter().position(|word| word.contains('=') && word.matches('/').count() == 3)?;
    let (count, times) = words[at].split_once('=')?;
    let interval = words.iter().find(|word| word.starts_with("0.00") && word.contains('-'))?;
    let seconds: f64 = interval.split_once('-')?.1.parse().ok()?;
    let count: f64 = count.parse().ok()?;
    let milliseconds: f64 = times.split('/').next()?.parse().ok()?;
    Some(Report::of_exchanges(count, count / seconds, [Some(milliseconds / 1e3), None, None]))
}

/// More than any path takes; 0 is no rate at all to some versions.
const UNLIMITED: &str = "100G";

#[cfg(test)]
mod tests {
    use super::super::{read, test};
    use super::*;

    const SERVER: &str = "\
19700101000000,127.0.0.1,50658,127.0.0.1,5201,3,0.0-1.0,202240764,1603915906
19700101000000,127.0.0.1,50666,127.0.0.1,5201,4,0.0-1.0,215220284,1725779887
19700101000000,127.0.0.1,50666,127.0.0.1,5201,-1,0.0-1.0,417461048,3329695793
";
    const BOUNCEBACK: &str = "\
[ ID] Interval            Transfer    Bandwidth         BB cnt=avg/min/max/stdev         Rtry  Cwnd/RTT    RPS
[  1] 0.0000-2.0000 sec  2047 KBytes  16745 Kbits/sec    16378=0.060/0.014/6.336/0.337 ms    0  576K/258 us    16588 rps
[  1] 0.0000-2.0000 sec BB8(f)-PDF: bin(w=100us):cnt(16378)=1:16080,2:26 (5.00/95.00/99.7%=1/38/38,Outliers=0,obl/obu=0/0)
";

    #[test]
    fn a_test_is_a_command_line() {
        let tcp = test(Workload::tcp(16));
        assert_eq!(IPERF2.server(&tcp), "-s -B 127.0.0.1 -p 5201 -y C -Z cubic");
        assert_eq!(IPERF2.client(&tcp), "-c 127.0.0.1 -p 5201 -Z cubic -P 16 -t 5 -y C");
        let reverse = test(Workload::tcp(1).towards(Direction::Reverse));
        assert_eq!(IPERF2.client(&reverse), "-c 127.0.0.1 -p 5201 -R -P 1 -t 5 -y C");
        let datagrams = test(Workload::datagrams(64));
        assert_eq!(IPERF2.server(&datagrams), "-s -B 127.0.0.1 -p 5201 -y C -u -l 64");
        let line = "-c 127.0.0.1 -p 5201 -u -b 100G -l 64 -P 1 -t 5 -y C";
        assert_eq!(IPERF2.client(&datagrams), line);
        let exchange = test(Workload::exchange(Exchange::Tcp, 64));
        assert_eq!(IPERF2.server(&exchange), "-s -B 127.0.0.1 -p 5201 -e");
        let line = "-c 127.0.0.1 -p 5201 --bounceback --bounceback-period 0 -l 64 -t 5 -e";
        assert_eq!(IPERF2.client(&exchange), line);
    }

    #[test]
    fn the_receivers_lines_are_added_up_without_their_sum() {
        let printed = Printed { client: String::new(), server: SERVER.to_owned() };
        let report = IPERF2.read(&test(Workload::tcp(2)), &printed).expect("complete");
        assert_eq!((report.count, report.rate), (417_461_048.0, 3_329_695_793.0));
        let reverse = test(Workload::tcp(1).towards(Direction::Reverse));
        assert!(IPERF2.read(&reverse, &printed).is_err());
    }

    #[test]
    fn lines_of_datagrams_have_more_fields() {
        let line = "19700101000000,127.0.0.1,59166,127.0.0.1,22902,1,0.0-1.0,178470400,\
                    1378101919,0.003,223461,345701,64.640,0\n";
        assert_eq!(stream(line), Some((178_470_400, 1_378_101_919.0)));
        assert_eq!(stream("WARNING: option -u, not valid\n"), None);
    }

    #[test]
    fn the_last_sum_of_a_bounceback_is_read() {
        let workload = Workload::exchange(Exchange::Tcp, 64);
        let report = read(&IPERF2, workload, &BOUNCEBACK).expect("complete");
        assert_eq!(
            report,
            Report::of_exchanges(16_378.0, 8_189.0, [Some(0.060 / 1e3), None, None])
        );
        assert!(read(&IPERF2, workload, &"connect failed").is_err());
    }
}
