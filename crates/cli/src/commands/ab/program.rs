//! Runs tests of an A/B test by another program, an iperf3 or a linerate, as clients of iperf3 are
//! run, and reads what it prints.

use std::io::{self, Read};
use std::os::fd::AsFd;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::thread;
use std::time::Duration;

use campaign::Delegate;
use linux::clock;
use linux::event::StopSignals;
use linux::poll::{self, PollFd};
use measurement::plan::{PlanDraft, StreamOptions};
use measurement::{BitRate, Direction, End, Foreign, TestPlan, TestRecord, Transport};
use report::import::transcript::Reading;
use session::client::Request;
use session::{Family, SessionError};

/// Runs tests by other programs.
#[derive(Debug)]
pub(super) struct Programs;

/// Kind of a program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Iperf3,
    Linerate,
}

impl Programs {
    /// Checks that a program can test what a plan says.
    ///
    /// # Errors
    /// The reason in one sentence.
    pub(super) fn check(program: &Path, plan: &TestPlan) -> Result<(), String> {
        options(plan)?;
        kind(program).map(drop)
    }
}

impl Delegate for Programs {
    fn run(
        &mut self,
        program: &Path,
        request: &Request,
        interrupts: Option<&StopSignals>,
    ) -> Result<TestRecord, SessionError> {
        let failed = |reason: String| failed(program, reason);
        let mut command = command(program).map_err(failed)?;
        let words = words(request).map_err(failed)?;
        let child = command.args(words).stdin(Stdio::null()).stdout(Stdio::piped());
        let child = child.stderr(Stdio::piped()).spawn();
        let child = child.map_err(|error| failed(session::reason(&error)))?;
        let output = output(child, limit(&request.plan), interrupts)
            .map_err(|error| failed(session::reason(&error)))?
            .ok_or(SessionError::Interrupted)?;
        record(&output, request).map_err(failed)
    }
}

fn failed(program: &Path, reason: String) -> SessionError {
    // What an iperf3 says of a server that has another test, or has just ended one.
    let may_pass = ["busy", "refused"].iter().any(|word| reason.contains(word));
    SessionError::Program { program: program.display().to_string(), reason, may_pass }
}

/// The command that understands the options of iperf3.
fn command(program: &Path) -> Result<Command, String> {
    let mut command = Command::new(program);
    if kind(program)? == Kind::Linerate {
        command.arg("iperf3");
    }
    // Options of this test, and not of its own.
    let names = std::env::vars_os().map(|(name, _)| name);
    for name in names.filter(|name| name.to_string_lossy().starts_with("LINERATE_")) {
        command.env_remove(name);
    }
    Ok(command)
}

fn kind(program: &Path) -> Result<Kind, String> {
    let mut command = Command::new(program);
    command.arg("--version").stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null());
    let output = command.spawn().and_then(|child| output(child, SHORT, None));
    let output = output.map_err(|error| session::reason(&error))?;
    let said = output.map(|output| String::from_utf8_lossy(&output.stdout).into_owned());
    match said.unwrap_or_default() {
        said if said.starts_with("iperf 3") => Ok(Kind::Iperf3),
        said if said.starts_with("linerate ") => Ok(Kind::Linerate),
        _ => Err("it is neither an iperf3 nor a linerate, by what --version prints".to_owned()),
    }
}

/// The options of iperf3(1) for a request.
fn words(request: &Request) -> Result<Vec<String>, String> {
    if !request.cpus.is_empty() || !request.further_binds.is_empty() {
        return Err("it takes no --cpus and one address of -B".to_owned());
    }
    let port = request.port.to_string();
    let mut words = ["-c", &request.host, "-p", &port, "-J"].map(str::to_owned).to_vec();
    match request.family {
        Family::Any => {}
        Family::V4 => words.push("-4".to_owned()),
        Family::V6 => words.push("-6".to_owned()),
    }
    words.extend(request.bind.iter().flat_map(|address| ["-B".to_owned(), address.to_string()]));
    words.extend(options(&request.plan)?);
    Ok(words)
}

fn options(plan: &TestPlan) -> Result<Vec<String>, String> {
    let PlanDraft { transport, direction, streams, end, omit, .. } = PlanDraft::from(plan.clone());
    let mut words = vec!["-P".to_owned(), streams.to_string()];
    let mut with = |name: &str, value: String| words.extend([name.to_owned(), value]);
    match end {
        End::Time(time) => with("-t", seconds(time)?),
        End::Bytes(size) => with("-n", size.bytes().to_string()),
        End::Blocks(count) => with("-k", count.to_string()),
        End::Open => return Err("it needs an end: type -t, -n or -k".to_owned()),
    }
    if !omit.is_zero() {
        with("-O", seconds(omit)?);
    }
    let options = &plan.options;
    if options.rate.is_some() || transport == Transport::Udp {
        with("-b", options.rate.map_or(0, BitRate::bits_per_second).to_string());
    }
    let sizes = [("-l", options.block), ("-w", options.window)];
    sizes.iter().filter_map(|(name, size)| Some((name, (*size)?))).for_each(|(name, size)| {
        with(name, size.bytes().to_string());
    });
    options.mss.into_iter().for_each(|mss| with("-M", mss.to_string()));
    options.congestion.iter().for_each(|name| with("-C", name.clone()));
    let switches = [
        ("-u", transport == Transport::Udp),
        ("-R", direction == Direction::Receive),
        ("--bidir", direction == Direction::Both),
        ("-N", options.no_delay),
        ("-Z", options.zero_copy),
    ];
    words.extend(switches.iter().filter(|(_, is_on)| *is_on).map(|(name, _)| (*name).to_owned()));
    if is_told(options) && plan.exchange.is_none() {
        return Ok(words);
    }
    Err("it takes -t, -n, -k, -O, -P, -b, -l, -w, -M, -C, -N, -Z, -u, -R and --bidir".to_owned())
}

/// Whether a stream has no other options than those of [`options`].
fn is_told(options: &StreamOptions) -> bool {
    let StreamOptions { block, rate, window, mss, no_delay, zero_copy, .. } = *options;
    let congestion = options.congestion.clone();
    let told = StreamOptions {
        block,
        rate,
        window,
        mss,
        congestion,
        no_delay,
        zero_copy,
        ..StreamOptions::default()
    };
    *options == told
}

/// It takes whole seconds.
fn seconds(time: Duration) -> Result<String, String> {
    if time.subsec_nanos() == 0 {
        return Ok(time.as_secs().to_string());
    }
    Err("it takes whole seconds: type e.g. -t 2s".to_owned())
}

/// Longest time of a test.
fn limit(plan: &TestPlan) -> Duration {
    let time = match plan.end {
        End::Time(time) => time,
        // As long as any test may last.
        End::Bytes(_) | End::Blocks(_) | End::Open => measurement::plan::MAX_TIME,
    };
    time.saturating_add(plan.omit).saturating_add(GRACE)
}

/// Output and exit status of a program; none: a signal of `interrupts` ended it. It
/// is killed after so long.
fn output(
    mut child: Child,
    limit: Duration,
    interrupts: Option<&StopSignals>,
) -> io::Result<Option<Output>> {
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let readers = [stdout.map(reader), stderr.map(reader)];
    let deadline = clock::monotonic() + limit;
    let ended = loop {
        if let Some(status) = child.try_wait()? {
            break Ok(Some(status));
        }
        if is_interrupted(interrupts)? {
            break Ok(None);
        }
        if clock::monotonic() > deadline {
            break Err(io::Error::other("it did not end in time, and was killed"));
        }
    };
    if !matches!(ended, Ok(Some(_))) {
        child.kill()?;
        child.wait()?;
    }
    let [stdout, stderr] = readers.map(|it| it.and_then(|it| it.join().ok()).unwrap_or_default());
    Ok(ended?.map(|status| Output { status, stdout, stderr }))
}

/// Reads all that a program prints, so that it does not wait for room; what is beyond a limit is
/// left out.
fn reader(from: impl Read + Send + 'static) -> thread::JoinHandle<Vec<u8>> {
    thread::spawn(move || {
        let (mut text, mut from) = (Vec::new(), from);
        // Of a program that was killed what was read is of no use.
        _ = from.by_ref().take(MOST_BYTES).read_to_end(&mut text);
        _ = io::copy(&mut from, &mut io::sink());
        text
    })
}

/// Waits a moment; whether a signal came meanwhile.
fn is_interrupted(interrupts: Option<&StopSignals>) -> io::Result<bool> {
    let Some(interrupts) = interrupts else {
        thread::sleep(MOMENT);
        return Ok(false);
    };
    let mut ready = [PollFd::readable(interrupts.as_fd())];
    poll::wait(&mut ready, Some(MOMENT))?;
    Ok(ready[0].ready().is_readable())
}

/// The record of what a program printed.
fn record(output: &Output, request: &Request) -> Result<TestRecord, String> {
    let mut reading = Reading::default();
    reading.add(&output.stdout);
    let mut runs = reading.finish().runs;
    match (runs.pop(), runs.is_empty(), output.status.success()) {
        (Some(run), true, true) => {
            let mut record = run.record;
            record.plan = request.plan.clone();
            record.tags.extend(request.tags.clone());
            Ok(record)
        }
        _ => Err(complaint(output)),
    }
}

/// Error message of a program.
fn complaint(output: &Output) -> String {
    let stdout = String::from_utf8_lossy(&output.stdout);
    let error = stdout.lines().find_map(|line| line.trim().strip_prefix("\"error\":"));
    let error =
        error.map(|text| text.trim().trim_matches([',', '"']).trim_start_matches("error - "));
    let stderr = String::from_utf8_lossy(&output.stderr);
    let said = error.or_else(|| stderr.lines().last()).map(str::trim);
    let said = said.filter(|said| !said.is_empty());
    let said = said.map_or_else(|| format!("no result, {}", output.status), str::to_owned);
    Foreign::begin(&said, MOST_OF_COMPLAINT).into_text()
}

const SHORT: Duration = Duration::from_secs(5);
/// For connecting, draining and exchanging results.
const GRACE: Duration = Duration::from_secs(30);
const MOMENT: Duration = Duration::from_millis(20);
/// A document of iperf3 of 128 streams for an hour is shorter.
const MOST_BYTES: u64 = 256 << 20;
const MOST_OF_COMPLAINT: usize = 300;

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(change: impl FnOnce(&mut PlanDraft)) -> TestPlan {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        draft.end = End::Time(Duration::from_secs(2));
        change(&mut draft);
        draft.check().expect("a plan")
    }

    #[test]
    fn a_plan_is_options_of_iperf3() {
        let shown = |plan: &TestPlan| options(plan).map(|words| words.join(" "));
        assert_eq!(shown(&plan(|_| {})), Ok("-P 1 -t 2".to_owned()));
        let udp = plan(|draft| {
            (draft.transport, draft.direction) = (Transport::Udp, Direction::Receive);
            draft.options.rate = Some(BitRate::from_bits_per_second(5_000_000));
            draft.streams = 3;
        });
        assert_eq!(shown(&udp), Ok("-P 3 -t 2 -b 5000000 -u -R".to_owned()));
        let paced = plan(|draft| draft.options.burst = Some(4));
        assert!(shown(&paced).is_err_and(|why| why.starts_with("it takes -t, -n")));
        let half = plan(|draft| draft.end = End::Time(Duration::from_millis(500)));
        assert!(shown(&half).is_err_and(|why| why.contains("whole seconds")));
    }

    #[test]
    fn what_is_no_such_program_is_told() {
        let plan = plan(|_| {});
        let why = Programs::check(Path::new("/bin/true"), &plan);
        assert!(why.is_err_and(|why| why.contains("neither an iperf3 nor a linerate")));
        let why = Programs::check(Path::new("/nowhere/iperf3"), &plan);
        assert_eq!(why, Err("no such file or directory".to_owned()));
    }

    #[test]
    fn a_program_that_does_not_end_is_killed() {
        let mut command = Command::new("sleep");
        let child = command.arg("100").stdout(Stdio::piped()).spawn().expect("sleep(1)");
        let error = output(child, Duration::from_millis(50), None).expect_err("killed");
        assert!(error.to_string().contains("did not end in time"), "{error}");
    }
}
