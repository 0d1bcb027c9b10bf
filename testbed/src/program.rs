//! The programs: how each is recognized and called, and what it reports. One file each.
//!
//! A new one is a file here and its line in [`PROGRAMS`].

use std::path::{Path, PathBuf, absolute};
use std::process::{self, Command};
use std::str::FromStr;
use std::{env, fs};

use anyhow::{Context, Result};
use lab::Host;
use serde_json::Value;

use crate::figures::Figures;
use crate::workload::{Exchange, Test, Traffic, Workload};

mod iperf2;
mod iperf3;
mod linerate;
mod neper;
mod netperf;
mod plain;
mod sockperf;

pub use iperf2::Iperf2;
pub use iperf3::Iperf3;
pub use linerate::Linerate;
pub use neper::Neper;
pub use netperf::Netperf;
pub use plain::Plain;
pub use sockperf::Sockperf;

/// A kind of program.
pub trait Program: Sync {
    /// Its name where no version stands, e.g. `iperf3`.
    fn kind(&self) -> &'static str;

    /// Whether a program that describes itself so is of this kind.
    fn recognizes(&self, description: &Description) -> bool;

    /// Its name and version, e.g. `iperf 3.12`.
    ///
    /// # Errors
    /// It has to be asked and does not answer.
    fn name(&self, description: &Description) -> Result<String> {
        Ok(description.version.split_whitespace().take(2).collect::<Vec<_>>().join(" "))
    }

    /// Whether a run with this workload is possible, and worth it.
    fn takes(&self, workload: &Workload) -> bool;

    /// Further flags, each a way to do such a workload at less expense.
    fn ways(&self, _workload: &Workload) -> &'static [&'static str] {
        &[]
    }

    /// The server's program, if it is another one than the client's.
    fn server_program(&self) -> Option<&'static str> {
        None
    }

    /// Arguments of a server, separated by blanks.
    fn server(&self, test: &Test) -> String;

    /// Arguments of its client, separated by blanks.
    fn client(&self, test: &Test) -> String;

    /// Whether it is the server alone that prints what it received.
    fn reports_at_server(&self) -> bool {
        false
    }

    /// Reads what both ends printed.
    ///
    /// # Errors
    /// They report an error, or not what a test ends with.
    fn read(&self, test: &Test, printed: &Printed) -> Result<Report>;
}

/// What a program says of itself when it is asked.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Description {
    /// The file.
    pub path: PathBuf,
    /// What it prints for `--version`.
    pub version: String,
    /// What it prints for `--help`.
    pub help: String,
}

/// What both ends printed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Printed {
    /// The client's standard output.
    pub client: String,
    /// The server's, if the program [reports there](Program::reports_at_server).
    pub server: String,
}

/// What a program reports of a run.
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

/// A program at a path, which was asked for its name.
#[derive(Clone)]
pub struct Installed {
    /// Its name and version.
    pub name: String,
    /// Its kind.
    pub program: &'static dyn Program,
    /// What it says of itself.
    pub description: Description,
}

impl Installed {
    /// Asks a program, named by its path or to be found on the search path.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn find(path: impl AsRef<Path>) -> Result<Self> {
        let description = Description::ask(path.as_ref())?;
        let known = PROGRAMS.iter().find(|program| program.recognizes(&description));
        // riperf3 and others take iperf3's options and print its JSON.
        let program = known.copied().unwrap_or(&Iperf3);
        Ok(Self { name: program.name(&description)?, program, description })
    }

    /// A program that needs not be asked.
    pub fn known(program: &'static dyn Program, path: PathBuf) -> Self {
        let description = Description { path, ..Description::default() };
        Self { name: program.kind().to_owned(), program, description }
    }

    /// The ways to do a workload at less expense whose options are in its help.
    pub fn ways(&self, workload: &Workload) -> Vec<&'static str> {
        let is_known = |way: &&&str| {
            let mut options = way.split_whitespace().filter(|word| word.starts_with('-'));
            options.all(|option| self.description.has_option(option))
        };
        self.program.ways(workload).iter().filter(is_known).copied().collect()
    }

    /// A server, on a host or on this one.
    pub fn server(&self, host: Option<&Host>, test: &Test) -> Command {
        let path = &self.description.path;
        let path = match self.program.server_program() {
            // Beside the client, or wherever the search path has both.
            Some(name) => path.with_file_name(name),
            None => path.clone(),
        };
        command(host, &path, &self.program.server(test))
    }

    /// A client, on a host or on this one.
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

    /// The name of the file.
    pub fn file(&self) -> String {
        self.path.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Whether its help has this option, as a whole word.
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

/// Arguments with single blanks between them.
fn words(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
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
fn file_and_version(description: &Description, version: &str) -> String {
    let mut words = version.split_whitespace().skip_while(|word| *word != "version");
    let version = words.nth(1).unwrap_or_default();
    format!("{} {version}", description.file()).trim_end().to_owned()
}

/// All kinds that are found by asking; the first that recognizes a program has it.
pub const PROGRAMS: [&dyn Program; 10] = [
    &Linerate,
    &Iperf3,
    &Iperf2,
    &Sockperf,
    &Netperf,
    &Neper(Traffic::Tcp),
    &Neper(Traffic::Udp),
    &Neper(Traffic::Exchange(Exchange::Tcp)),
    &Neper(Traffic::Exchange(Exchange::Udp)),
    &Neper(Traffic::Exchange(Exchange::Connect)),
];

#[cfg(test)]
fn test(workload: Workload) -> Test {
    let test = Test::new(std::net::Ipv4Addr::LOCALHOST, workload, crate::workload::End::Seconds(5));
    Test { congestion: Some("cubic".to_owned()), ..test }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(file: &str, version: &str, help: &str) -> Description {
        let (version, help) = (version.to_owned(), help.to_owned());
        Description { path: file.into(), version, help }
    }

    fn kind(file: &str, version: &str, help: &str) -> Option<&'static str> {
        let description = described(file, version, help);
        let known = PROGRAMS.iter().find(|program| program.recognizes(&description));
        known.map(|program| program.kind())
    }

    #[test]
    fn programs_are_recognized_by_what_they_say() {
        assert_eq!(kind("linerate", "linerate 0.1.0\n", ""), Some("linerate"));
        assert_eq!(kind("iperf3", "iperf 3.12 (cJSON 1.7.15)\n", ""), Some("iperf3"));
        assert_eq!(kind("iperf", "iperf version 2.1.8 (12 August 2022)\n", ""), Some("iperf"));
        assert_eq!(kind("sockperf", "sockperf, version 3.7-no.git\n", ""), Some("sockperf"));
        // It has no kind of its own and is called as iperf3 is.
        assert_eq!(kind("riperf3", "riperf3 0.9.0\n", "--zerocopy"), None);
    }

    #[test]
    fn programs_of_neper_differ_in_options_and_names() {
        let recognized = |file: &str, help: &str| {
            let description = described(file, "1.1.0\n", help);
            let program = PROGRAMS.iter().find(|program| program.recognizes(&description));
            program.map(|program| (program.kind(), program.takes(&Workload::tcp(1))))
        };
        let options = "--control-port --num-flows";
        assert_eq!(recognized("udp_stream", options), Some(("neper", false)));
        let tcp = format!("{options} --congestion-control");
        assert_eq!(recognized("tcp_stream", &tcp), Some(("neper", true)));
        let takes = |file: &str, exchange| {
            let description = described(file, "1.1.0\n", &format!("{tcp} --request-size"));
            let program = PROGRAMS.iter().find(|program| program.recognizes(&description));
            program.is_some_and(|program| program.takes(&Workload::exchange(exchange, 64)))
        };
        assert!(takes("udp_rr", Exchange::Udp) && !takes("udp_rr", Exchange::Tcp));
        assert!(takes("tcp_crr", Exchange::Connect) && takes("tcp_rr", Exchange::Tcp));
    }

    #[test]
    fn a_name_has_the_version() {
        let name = |program: &dyn Program, file: &str, version: &str| {
            program.name(&described(file, version, "")).expect("it is not asked")
        };
        assert_eq!(name(&Iperf2, "iperf", "iperf version 2.1.8 (x)\n"), "iperf 2.1.8");
        let version = "sockperf, version 3.7-no.git\n";
        assert_eq!(name(&Sockperf, "sockperf", version), "sockperf 3.7-no.git");
        let neper = Neper(Traffic::Tcp);
        assert_eq!(name(&neper, "tcp_stream", "1.1.0\n"), "neper tcp_stream 1.1.0");
        assert_eq!(name(&Iperf3, "iperf3", "iperf 3.12 (cJSON 1.7.15)\n"), "iperf 3.12");
    }

    #[test]
    fn a_way_is_taken_if_the_program_knows_it() {
        let installed = |program: &'static dyn Program, help: &str| Installed {
            name: String::new(),
            program,
            description: described("x", "", help),
        };
        let (tcp, udp) = (Workload::tcp(1), Workload::datagrams(64));
        let old = installed(&Iperf3, "  -Z, --zerocopy  use a zero copy method\n");
        let new = installed(&Iperf3, "  -Z, --zerocopy\n  --skip-rx-copy\n  --gsro\n");
        assert_eq!(old.ways(&tcp), ["-Z"]);
        assert_eq!(new.ways(&tcp), ["-Z", "-Z --skip-rx-copy"]);
        assert_eq!((old.ways(&udp).len(), new.ways(&udp)), (0, vec!["--gsro"]));
        assert!(installed(&Iperf2, "  -Z, --tcp-congestion <algo>\n").ways(&tcp).is_empty());
    }

    #[test]
    fn options_are_whole_words() {
        let help = "  --skip-rx-copy            ignore\n  -Z, --zerocopy\n";
        let description = described("x", "", help);
        assert!(description.has_option("--skip-rx-copy") && description.has_option("-Z"));
        assert!(!description.has_option("--skip-rx") && !description.has_option("--gsro"));
    }

    #[test]
    fn a_program_that_is_not_there_is_an_error() {
        let error = Installed::find("/no/such/program").err().expect("not there");
        assert_eq!(error.to_string(), "cannot run /no/such/program");
    }
}
