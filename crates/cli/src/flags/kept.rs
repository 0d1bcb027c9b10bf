//! Flags of `show`, `tag` and `export`, which take runs from the history.

use std::path::PathBuf;

use clap::Args;
use report::export::{self, Export, Json};
use store::Tag;

use super::format::{self, FormatFlags};
use super::store::StoreFile;
use crate::mqtt::{Broker, begin_of_topics};

/// Prints a run of the history, or the records of a file, again, in any format.
#[derive(Debug, Args)]
#[command(after_help = SHOW)]
pub(crate) struct ShowFlags {
    /// last, last~1 for the one before, a number of linerate history, a tag, or a file of -o
    #[arg(default_value = "last", value_name = "RUN|FILE")]
    pub(crate) run: String,
    #[command(flatten)]
    pub(crate) format: FormatFlags,
    /// All columns, accounts and notes: short for --format details
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

/// Gives a run of the history a name, under which compare, show and export find it. Several runs may
/// have the same.
#[derive(Debug, Args)]
#[command(after_help = TAG)]
pub(crate) struct TagFlags {
    /// last, last~1 for the one before, or a number of linerate history
    #[arg(value_name = "RUN")]
    pub(crate) run: String,
    /// The name, e.g. before, or name=value
    #[arg(value_name = "NAME", value_parser = Tag::read)]
    pub(crate) tag: Tag,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

/// Writes records of the history, or of files, as files have them, or in a format of others.
#[derive(Debug, Args)]
#[command(after_help = EXPORT)]
pub(crate) struct ExportFlags {
    /// last, last~1 for the one before, numbers of linerate history, tags, or files of -o
    #[arg(default_value = "last", value_name = "RUN|FILE")]
    pub(crate) runs: Vec<String>,
    /// All runs, each on a line of its own
    #[arg(long, conflicts_with_all = ["runs", "format"])]
    pub(crate) all: bool,
    /// Write in this format
    #[arg(long, default_value = "json", hide_default_value = true, value_name = "NAME", value_parser = format::names())]
    format: String,
    /// Write to a file, not to standard output
    #[arg(short, long, value_name = "FILE")]
    pub(crate) output: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) mqtt: MqttFlags,
    #[command(flatten)]
    pub(crate) file: StoreFile,
}

/// A broker of MQTT.
#[derive(Debug, Args)]
pub(crate) struct MqttFlags {
    /// Publish the last result of each row to a broker: mqtt://HOST, or mqtt://USER@HOST:PORT/TOPIC;
    /// the password is LINERATE_MQTT_PASSWORD
    #[arg(long, value_name = "URL", conflicts_with_all = ["all", "format", "output"])]
    pub(crate) mqtt: Option<Broker>,
    /// Announce sensors to Home Assistant under this prefix; none: announce nothing
    #[arg(long, default_value = "homeassistant", requires = "mqtt", value_name = "PREFIX", value_parser = begin_of_topics)]
    pub(crate) discovery: String,
}

impl MqttFlags {
    /// The prefix of discovery; none: nothing is announced.
    pub(crate) fn discovery(&self) -> Option<&str> {
        (self.discovery != "none").then_some(self.discovery.as_str())
    }
}

impl ExportFlags {
    /// The format to write in.
    pub(crate) fn format(&self) -> &'static dyn Export {
        export::by_name(&self.format).unwrap_or(&Json)
    }
}

const SHOW: &str = "\
Examples:
  linerate show                 the last run
  linerate show 17 --json       the records of another

Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID";

const TAG: &str = "\
Examples:
  linerate tag last before
  linerate tag 17 kernel=patched
  linerate compare before kernel=patched";

const EXPORT: &str = "\
Examples:
  linerate export 17 -o a.json           one run, for linerate explain a.json elsewhere
  linerate export before after > both.json
  linerate export --all > all.jsonl      every run on a line
  linerate export --format prometheus -o /var/lib/prometheus/node-exporter/linerate.prom
  linerate export last --format flent -o last.flent.gz
  linerate export a.json --format influx | influx write --bucket network
  linerate export last --mqtt mqtt://10.0.0.9             to a broker, for Home Assistant

docs/exports.md has the names and units of each format.";
