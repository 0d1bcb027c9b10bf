//! The programs: how each is recognized and called, and what it reports. One file each.
//!
//! A new one is a file here and its line in [`PROGRAMS`].

use std::path::{Path, PathBuf, absolute};
use std::process::{self, Command};
use std::{env, fs};

use anyhow::{Context, Result, ensure};
use lab::Host;
use serde_json::Value;

use crate::figures::Figures;
use crate::workload::{Test, Workload};

mod iperf3;
mod linerate;

pub use iperf3::Iperf3;
pub use linerate::Linerate;

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

    /// Whether it is linerate.
    pub fn is_linerate(&self) -> bool {
        self.program.kind() == Linerate.kind()
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

/// Makes sure that something arrived.
///
/// # Errors
/// Nothing did.
pub fn not_empty(report: Report) -> Result<Report> {
    ensure!(report.count > 0.0, "nothing arrived");
    Ok(report)
}

/// All kinds; the first that recognizes a program has it.
pub const PROGRAMS: [&dyn Program; 2] = [&Linerate, &Iperf3];

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
