//! The programs: how each is recognized and called, and what it reports. One file each.
//!
//! A new one is a file here and its line in [`PROGRAMS`].

use std::path::{Path, PathBuf, absolute};
use std::process::{self, Command};
use std::str::FromStr;
use std::{env, fs};

use anyhow::{Context, Result, bail};
use lab::Host;
use serde_json::Value;

use crate::figures::{Figures, Metric};
use crate::workload::{Test, Workload};

mod iperf2;
mod iperf3;
mod linerate;
mod neper;
mod netperf;
mod plain;
mod sockperf;

pub use iperf3::IPERF3;
pub use linerate::LINERATE;
pub use plain::PLAIN;

/// A kind of network benchmark, e.g. iperf3: how to recognize it, call it and read its results.
pub struct Program {
    /// Its name where no version stands, e.g. `iperf3`.
    kind: &'static str,
    /// Whether a program that describes itself so is of this kind.
    recognizes: fn(&Description) -> bool,
    /// Its name and version, e.g. `iperf 3.12`; an error: it had to be asked and did not answer.
    name: fn(&Description) -> Result<String>,
    /// Whether a run with this workload is possible, and worth it.
    takes: fn(&Description, &Workload) -> bool,
    /// Further flags, each a way to do such a workload at less expense.
    ways: fn(&Workload) -> &'static [&'static str],
    /// The server's file, if it is another one than the client's.
    server_file: Option<&'static str>,
    /// Arguments of a server, separated by blanks.
    server: fn(&Test) -> String,
    /// Arguments of its client, separated by blanks.
    client: fn(&Test) -> String,
    /// Whether it is the server alone that prints what it received.
    pub reports_at_server: bool,
    /// Reads what both ends printed.
    read: fn(&Test, &Printed) -> Result<Report>,
}

/// All kinds of programs that are recognized by their `--version` and `--help`. The first that
/// recognizes a program is its kind.
pub const PROGRAMS: [&Program; 6] =
    [&LINERATE, &IPERF3, &iperf2::IPERF2, &sockperf::SOCKPERF, &netperf::NETPERF, &neper::NEPER];

impl Program {
    /// What holds where a program does not say otherwise.
    const USUAL: Self = Self {
        kind: "",
        recognizes: |_| false,
        name: |description| Ok(words(&description.version, 2)),
        takes: |_, _| true,
        ways: |_| &[],
        server_file: None,
        server: |_| String::new(),
        client: |_| String::new(),
        reports_at_server: false,
        read: |_, _| bail!("nobody knows what it prints"),
    };

    /// Command-line arguments of a server for this test, separated by single spaces.
    pub fn server(&self, test: &Test) -> String {
        words(&(self.server)(test), usize::MAX)
    }

    /// Command-line arguments of a client for this test, separated by single spaces.
    pub fn client(&self, test: &Test) -> String {
        words(&(self.client)(test), usize::MAX)
    }

    /// Parses what client and server printed in this test.
    ///
    /// # Errors
    /// They report an error, or the results of the test are missing.
    pub fn read(&self, test: &Test, printed: &Printed) -> Result<Report> {
        (self.read)(test, printed)
    }
}

/// What an installed program says of itself: its output for `--version` and `--help`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The file.
    pub path: PathBuf,
    /// What it prints for `--version`.
    pub version: String,
    /// What it prints for `--help`.
    pub help: String,
}

/// What client and server printed in a test.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The client's standard output.
    pub client: String,
    /// The server's, if the program [reports there](Program::reports_at_server).
    pub server: String,
}

/// What a program reports of a test: bytes or exchanges, rate, and further figures.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Report {
    /// Payload bytes at the receiver, of both directions; or exchanges that ended.
    pub count: f64,
    /// Bits a second there, of both directions; or exchanges a second.
    pub rate: f64,
    /// What else it reports: how streams share, the times of exchanges.
    pub figures: Figures,
    /// Names of the engines that moved the bytes, as for `--engine` of linerate.
    pub engines: Option<String>,
}

impl Report {
    /// So many exchanges and so many a second; of the seconds that each took the mean, and what
    /// half and what 99 of 100 took at most.
    fn of_exchanges(count: f64, rate: f64, [mean, p50, p99]: [Option<f64>; 3]) -> Self {
        let mut figures = Figures::default();
        figures.push(Metric::Mean, mean);
        figures.push(Metric::P50, p50);
        figures.push(Metric::P99, p99);
        Self { count, rate, figures, engines: None }
    }
}

/// A benchmark program that is installed on this machine: its path, name, version and kind.
#[derive(Clone)]
pub struct Installed {
    /// Its name and version.
    pub name: String,
    /// Its kind.
    pub program: &'static Program,
    /// What it says of itself.
    pub description: Description,
}

impl Installed {
    /// Asks a program for its name and version. `path` is its path, or a name to be found in
    /// `PATH`. An unknown program is taken for one with iperf3's options and JSON.
    ///
    /// # Errors
    /// The program cannot be run.
    pub fn find(path: impl AsRef<Path>) -> Result<Self> {
        let description = Description::ask(path.as_ref())?;
        let known = PROGRAMS.iter().find(|program| (program.recognizes)(&description));
        // riperf3 and others take iperf3's options and print its JSON.
        let program = known.copied().unwrap_or(&IPERF3);
        Ok(Self { name: (program.name)(&description)?, program, description })
    }

    /// A program of a known kind at `path`. It is not run to ask for its name.
    pub fn known(program: &'static Program, path: PathBuf) -> Self {
        let description = Description { path, ..Description::default() };
        Self { name: program.kind.to_owned(), program, description }
    }

    /// Whether the program can run this workload, and a run is worth it.
    pub fn takes(&self, workload: &Workload) -> bool {
        (self.program.takes)(&self.description, workload)
    }

    /// Sets of flags with which the program does a workload at less CPU cost, e.g. `-Z` of iperf3,
    /// as far as its `--help` has them.
    pub fn ways(&self, workload: &Workload) -> Vec<&'static str> {
        let is_known = |way: &&&str| {
            let mut options = way.split_whitespace().filter(|word| word.starts_with('-'));
            options.all(|option| self.description.has_option(option))
        };
        (self.program.ways)(workload).iter().filter(is_known).copied().collect()
    }

    /// The command of a server for this test, on `host` (`None`: on this host).
    pub fn server(&self, host: Option<&Host>, test: &Test) -> Command {
        let path = &self.description.path;
        // Beside the client, or wherever the search path has both.
        let other = self.program.server_file.map(|name| path.with_file_name(name));
        command(host, other.as_ref().unwrap_or(path), &self.program.server(test))
    }

    /// The command of a client for this test, on `host` (`None`: on this host).
    pub fn client(&self, host: Option<&Host>, test: &Test) -> Command {
        command(host, &self.description.path, &self.program.client(test))
    }
}

fn command(host: Option<&Host>, path: &Path, arguments: &str) -> Command {
    let mut command = host.map_or_else(|| Command::new(path), |host| host.command(path));
    command.args(arguments.split_whitespace());
    command
}

impl Description {
    fn ask(path: &Path) -> Result<Self> {
        let (version, help) = (printed(path, "--version")?, printed(path, "--help")?);
        Ok(Self { path: path.to_owned(), version, help })
    }

    /// File name of the program, without its directory.
    pub fn file(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether the program's `--help` contains `option` as a whole word.
    pub fn has_option(&self, option: &str) -> bool {
        let is_end = |letter: char| !(letter.is_alphanumeric() || letter == '-');
        self.help.split(is_end).any(|word| word == option)
    }
}

/// What a program prints, on whichever output and with whichever exit code: iperf prints its
/// version on standard error and fails.
fn printed(path: &Path, option: &str) -> Result<String> {
    // neper's write a log into the current folder.
    let folder = env::temp_dir().join(format!("linerate-testbed-{}", process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let output = Command::new(found(path)).arg(option).current_dir(&folder).output();
    // A folder that stays disturbs nobody.
    _ = fs::remove_dir_all(&folder);
    let output = output.with_context(|| format!("cannot run {}", path.display()))?;
    let text = |bytes| String::from_utf8_lossy(bytes);
    Ok(format!("{}{}", text(&output.stdout), text(&output.stderr)))
}

/// A path that holds in another folder too; a bare name is for the search path.
fn found(path: &Path) -> PathBuf {
    let is_bare = path.components().count() == 1;
    if is_bare { path.to_owned() } else { absolute(path).unwrap_or_else(|_| path.to_owned()) }
}

/// The JSON that a client printed.
fn document(printed: &Printed) -> Result<Value> {
    serde_json::from_str(&printed.client).ok().context("it printed no JSON")
}

/// The first so many words of a line, with single blanks between them.
fn words(line: &str, most: usize) -> String {
    line.split_whitespace().take(most).collect::<Vec<_>>().join(" ")
}

/// An option with its value, or nothing.
fn option(name: &str, value: Option<impl std::fmt::Display>) -> String {
    value.map_or_else(String::new, |value| format!("{name} {value}"))
}

/// The value behind `key=` at the start of a line.
fn pair<T: FromStr>(printed: &str, key: &str) -> Option<T> {
    let mut pairs = printed.lines().filter_map(|line| line.split_once('='));
    pairs.find(|(known, _)| *known == key)?.1.trim().parse().ok()
}

/// The name of the file, and the word behind `version`.
fn file_and_version(description: &Description) -> String {
    let mut words = description.version.split_whitespace().skip_while(|word| *word != "version");
    let version = words.nth(1).unwrap_or_default();
    format!("{} {version}", description.file()).trim_end().to_owned()
}

#[cfg(test)]
fn test(workload: Workload) -> Test {
    let test = Test::new(std::net::Ipv4Addr::LOCALHOST, workload, crate::workload::End::Seconds(5));
    Test { congestion: Some("cubic".to_owned()), ..test }
}

/// What a client printed, read as of such a test.
#[cfg(test)]
fn read(program: &Program, workload: Workload, client: &impl ToString) -> Result<Report> {
    let printed = Printed { client: client.to_string(), ..Printed::default() };
    program.read(&test(workload), &printed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::workload::Exchange;

    fn installed(file: &str, version: &str, help: &str) -> Installed {
        let (version, help) = (version.to_owned(), help.to_owned());
        let description = Description { path: file.into(), version, help };
        let known = PROGRAMS.iter().find(|program| (program.recognizes)(&description));
        let program = known.copied().unwrap_or(&PLAIN);
        let name = (program.name)(&description).expect("it is not asked");
        Installed { name, program, description }
    }

    #[test]
    fn programs_are_recognized_and_named_by_what_they_say() {
        for (file, version, kind, name) in [
            ("linerate", "linerate 0.1.0\n", "linerate", "linerate 0.1.0"),
            ("iperf3", "iperf 3.12 (cJSON 1.7.15)\n", "iperf3", "iperf 3.12"),
            ("iperf", "iperf version 2.1.8 (12 August 2022)\n", "iperf", "iperf 2.1.8"),
            ("sockperf", "sockperf, version 3.7-no.git\n", "sockperf", "sockperf 3.7-no.git"),
            // It has no kind of its own and is called as iperf3 is.
            ("riperf3", "riperf3 0.9.0\n", PLAIN.kind, "riperf3 0.9.0"),
        ] {
            let installed = installed(file, version, "--zerocopy");
            assert_eq!((installed.program.kind, installed.name.as_str()), (kind, name));
        }
    }

    #[test]
    fn programs_of_neper_differ_in_options_and_names() {
        let options = "--control-port --num-flows";
        let tcp = format!("{options} --congestion-control");
        let exchanges = format!("{tcp} --request-size");
        let workloads = [Exchange::Tcp, Exchange::Udp, Exchange::Connect]
            .map(|one| Workload::exchange(one, 64));
        let [request, datagram, connect] = workloads;
        let (stream, datagrams) = (Workload::tcp(1), Workload::datagrams(64));
        let all = [stream, datagrams, request, datagram, connect];
        for (file, help, its_own) in [
            ("tcp_stream", tcp.as_str(), stream),
            ("udp_stream", options, datagrams),
            ("tcp_rr", &exchanges, request),
            ("udp_rr", &exchanges, datagram),
            ("tcp_crr", &exchanges, connect),
        ] {
            let neper = installed(file, "1.1.0\n", help);
            assert_eq!(neper.name, format!("neper {file} 1.1.0"));
            let taken: Vec<_> = all.into_iter().filter(|workload| neper.takes(workload)).collect();
            assert_eq!(taken, [its_own], "{file}");
        }
    }

    #[test]
    fn a_way_is_taken_if_the_program_knows_it() {
        let (tcp, udp) = (Workload::tcp(1), Workload::datagrams(64));
        let iperf3 = |help| installed("iperf3", "iperf 3.12", help);
        let old = iperf3("  -Z, --zerocopy  use a zero copy method\n");
        let new = iperf3("  -Z, --zerocopy\n  --skip-rx-copy   ignore\n  --gsro\n");
        assert_eq!((old.ways(&tcp), old.ways(&udp)), (vec!["-Z"], vec![]));
        assert_eq!(new.ways(&tcp), ["-Z", "-Z --skip-rx-copy"]);
        assert_eq!(new.ways(&udp), ["--gsro"]);
        assert_eq!(iperf3("-Z --skip-rx-copying").ways(&tcp), ["-Z"]);
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = Installed::find("/no/such/program").err().expect("not there");
        assert_eq!(error.to_string(), "cannot run /no/such/program");
    }
}
