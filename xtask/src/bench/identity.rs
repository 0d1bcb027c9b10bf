//! What a program that was named on the command line is.

use std::path::{Path, PathBuf, absolute};
use std::process::{self, Command};
use std::{env, fs};

use anyhow::{Context, Result};

use super::program;

/// What a program says of itself.
#[derive(Clone, Debug)]
pub(super) struct Identity {
    /// Its name and version, e.g. `iperf 3.12`.
    pub(super) name: String,
    /// How it is spoken to.
    pub(super) kind: Kind,
    help: String,
}

/// The programs that are known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// linerate.
    Linerate,
    /// iperf3, and whatever takes its options and prints its JSON.
    Iperf3,
    /// iperf, version 2.
    Iperf2,
    /// neper's `tcp_stream`.
    NeperTcpStream,
    /// neper's `udp_stream`.
    NeperUdpStream,
    /// neper's `tcp_rr`.
    NeperTcpRr,
    /// neper's `tcp_crr`.
    NeperTcpCrr,
    /// neper's `udp_rr`.
    NeperUdpRr,
    /// netperf, with netserver beside it.
    Netperf,
    /// sockperf.
    Sockperf,
}

impl Identity {
    /// Asks a program.
    pub(super) fn of(path: &Path) -> Result<Self> {
        let version = printed(path, "--version")?;
        let help = printed(path, "--help")?;
        let kind = kind(&file_name(path), &version, &help);
        let version = if kind == Kind::Netperf { printed(path, "-V")? } else { version };
        Ok(Self { name: name(kind, &file_name(path), &version), kind, help })
    }

    #[cfg(test)]
    pub(super) fn just(kind: Kind, help: &str) -> Self {
        Self { name: String::new(), kind, help: help.to_owned() }
    }

    /// Whether its help has this option.
    pub(super) fn knows(&self, option: &str) -> bool {
        self.help
            .split(|letter: char| !(letter.is_alphanumeric() || letter == '-'))
            .any(|word| word == option)
    }
}

/// What a program prints, on whichever output and with whichever exit code: iperf tells its
/// version on standard error and fails.
fn printed(path: &Path, option: &str) -> Result<String> {
    // neper's write a log into the current folder.
    let folder = env::temp_dir().join(format!("linerate-bench-{}", process::id()));
    fs::create_dir_all(&folder).with_context(|| format!("cannot make {}", folder.display()))?;
    let output = Command::new(found(path)).arg(option).current_dir(&folder).output();
    // A folder that stays disturbs nobody.
    _ = fs::remove_dir_all(&folder);
    let output = output.with_context(|| format!("cannot run {}", path.display()))?;
    Ok(format!(
        "{}{}",
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    ))
}

/// A path that holds in another folder too; a bare name is for the search path.
fn found(path: &Path) -> PathBuf {
    let is_bare = path.components().count() == 1;
    if is_bare { path.to_owned() } else { absolute(path).unwrap_or_else(|_| path.to_owned()) }
}

/// neper tells a bare number: its programs differ in their options, and those of exchanges in
/// their names alone.
fn kind(file: &str, version: &str, help: &str) -> Kind {
    let has = |option: &str| help.contains(option);
    if version.starts_with("linerate") {
        Kind::Linerate
    } else if version.starts_with("iperf version 2") {
        Kind::Iperf2
    } else if version.starts_with("sockperf") {
        Kind::Sockperf
    } else if has("Usage: netperf") {
        Kind::Netperf
    } else if has("--num-flows") && has("--request-size") {
        match file {
            file if file.contains("crr") => Kind::NeperTcpCrr,
            file if file.contains("udp") => Kind::NeperUdpRr,
            _ => Kind::NeperTcpRr,
        }
    } else if has("--control-port") && has("--congestion-control") {
        Kind::NeperTcpStream
    } else if has("--control-port") {
        Kind::NeperUdpStream
    } else {
        Kind::Iperf3
    }
}

fn name(kind: Kind, file: &str, version: &str) -> String {
    match kind {
        Kind::Linerate | Kind::Iperf3 => program::name(version),
        // `iperf version 2.1.8 (..)`, `sockperf, version 3.7-..`, `Netperf version 2.7.1`
        Kind::Iperf2 | Kind::Netperf | Kind::Sockperf => {
            let mut words = version.split_whitespace().skip_while(|word| *word != "version");
            format!("{file} {}", words.nth(1).unwrap_or_default()).trim_end().to_owned()
        }
        _ => format!("neper {file} {}", version.trim()),
    }
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn programs_are_told_apart_by_what_they_say() {
        assert_eq!(kind("linerate", "linerate 0.1.0\n", ""), Kind::Linerate);
        assert_eq!(kind("iperf3", "iperf 3.12 (cJSON 1.7.15)\n", ""), Kind::Iperf3);
        assert_eq!(kind("iperf", "iperf version 2.1.8 (12 August 2022)\n", ""), Kind::Iperf2);
        let options = "--control-port --num-flows";
        assert_eq!(kind("udp_stream", "1.1.0\n", options), Kind::NeperUdpStream);
        let options = format!("{options} --congestion-control");
        assert_eq!(kind("tcp_stream", "1.1.0\n", &options), Kind::NeperTcpStream);
        let options = format!("{options} --request-size");
        assert_eq!(kind("udp_rr", "1.1.0\n", &options), Kind::NeperUdpRr);
        assert_eq!(kind("tcp_crr", "1.1.0\n", &options), Kind::NeperTcpCrr);
        assert_eq!(kind("riperf3", "riperf3 0.9.0\n", "--zerocopy"), Kind::Iperf3);
    }

    #[test]
    fn a_name_has_the_version() {
        assert_eq!(name(Kind::Iperf2, "iperf", "iperf version 2.1.8 (x)\n"), "iperf 2.1.8");
        assert_eq!(
            name(Kind::Sockperf, "sockperf", "sockperf, version 3.7-no.git\n"),
            "sockperf 3.7-no.git"
        );
        assert_eq!(name(Kind::NeperTcpStream, "tcp_stream", "1.1.0\n"), "neper tcp_stream 1.1.0");
        assert_eq!(name(Kind::Iperf3, "iperf3", "iperf 3.12 (cJSON 1.7.15)\n"), "iperf 3.12");
    }

    #[test]
    fn options_are_whole_words() {
        let help = "  --skip-rx-copy            ignore\n  -Z, --zerocopy\n";
        let identity = Identity::just(Kind::Iperf3, help);
        assert!(identity.knows("--skip-rx-copy") && identity.knows("-Z"));
        assert!(!identity.knows("--skip-rx") && !identity.knows("--gsro"));
    }
}
