//! Hosts, a server on one of them, and a client whose record is read.

pub(crate) mod home;
pub(crate) mod plant;
pub(crate) mod standstill;

use std::net::{Ipv4Addr, SocketAddr};
use std::path::PathBuf;
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::{Host, LinkSpec};
use measurement::judgement::{Drop as Dropped, Place};
use measurement::{Judgement, Ledger, RecordSet, TestRecord};
use testbed::port;
use testbed::process::{Ended, Running};
use testbed::topology::{Path, Topology};
use testbed::workload::PORT;

/// Prepares to make hosts, or says why there can be none; to be called before the first thread
/// starts.
pub(crate) fn prepare() -> Option<String> {
    match lab::prepare() {
        lab::Access::Forbidden { reason } => Some(reason),
        _ => None,
    }
}

/// The linerate that is put to the test.
pub(crate) struct UnderTest {
    pub(crate) program: PathBuf,
    /// Whether runs are to be few and short.
    pub(crate) short: bool,
}

/// Hosts that exist for one case, and the program that runs on them.
pub(crate) struct Testbed<'a> {
    under_test: &'a UnderTest,
    topology: Topology,
}

impl<'a> Testbed<'a> {
    /// Hosts with an unshaped path between them.
    pub(crate) fn new(under_test: &'a UnderTest, path: Path) -> Result<Self> {
        Ok(Self::on(under_test, Topology::cable(path, &LinkSpec::default())?))
    }

    /// Hosts that were made.
    pub(crate) fn on(under_test: &'a UnderTest, topology: Topology) -> Self {
        Self { under_test, topology }
    }

    /// Where the client runs.
    pub(crate) fn near(&self) -> &Host {
        self.topology.client()
    }

    /// Where the server runs.
    pub(crate) fn far(&self) -> &Host {
        self.topology.server()
    }

    /// The router's end towards the client, and that towards the server.
    pub(crate) fn router(&self) -> Result<(&Host, &Host)> {
        self.topology.router_ends()
    }

    /// Where the server listens.
    pub(crate) fn address(&self) -> Ipv4Addr {
        self.topology.address()
    }

    /// A command of the client's host: `linerate test` with these words behind it.
    pub(crate) fn client(&self, words: &str) -> Command {
        self.linerate("test", words)
    }

    /// A command of the client's host: a command of linerate that tests against the server, with
    /// these words behind it.
    pub(crate) fn linerate(&self, name: &str, words: &str) -> Command {
        let mut command = self.near().command(&self.under_test.program);
        command.args([name, &self.address().to_string(), "--json", "--quiet"]);
        command.args(words.split_whitespace());
        clean(&mut command);
        command
    }

    /// A server on the far host, with these words.
    pub(crate) fn serve(&self, words: &str) -> Result<Running> {
        let mut command = self.far().command(&self.under_test.program);
        command.args(["serve", "--quiet"]).args(words.split_whitespace());
        clean(&mut command);
        self.answers(command)
    }

    /// A program of another host, once it answers at `address`.
    pub(crate) fn started(&self, command: Command, address: SocketAddr) -> Result<Running> {
        let server = Running::start(command)?;
        port::await_answer(Some(self.near()), address)?;
        Ok(server)
    }

    /// A program of the far host that answers where a server does.
    pub(crate) fn answers(&self, command: Command) -> Result<Running> {
        self.started(command, SocketAddr::from((self.address(), PORT)))
    }
}

/// Nothing of the caller's settings is meant for these programs.
pub(crate) fn clean(command: &mut Command) {
    for (name, _) in std::env::vars_os() {
        if name.to_string_lossy().starts_with("LINERATE_") {
            command.env_remove(name);
        }
    }
    // Nor is what they measure meant for the caller's history.
    command.env("XDG_STATE_HOME", std::env::temp_dir().join("linerate-xtask"));
}

/// Runs a client that prints one record to its end; an INVALID result is one too.
pub(crate) fn record_of(command: Command) -> Result<TestRecord> {
    let run = run_client(command)?;
    ensure!(matches!(run.code, 0 | 3), "the client ended with {}", run.code);
    Ok(run.record)
}

/// What came of a client.
pub(crate) struct ClientRun {
    pub(crate) record: TestRecord,
    /// What it ended with.
    pub(crate) code: i32,
    /// CPU time that it took.
    pub(crate) cpu: Duration,
}

/// Runs a client of one row to its end; one that fails leaves a record as well.
pub(crate) fn run_client(command: Command) -> Result<ClientRun> {
    let ended = beside(command, || Ok(()))?;
    let record = records(&ended)?.swap_remove(0);
    Ok(ClientRun { record, code: ended.code().unwrap_or(-1), cpu: ended.cpu })
}

/// Runs a client to its end, and does something meanwhile.
pub(crate) fn beside(command: Command, meanwhile: impl FnOnce() -> Result<()>) -> Result<Ended> {
    let client = Running::captured(command)?;
    let done = meanwhile();
    let ended = client.finish(LONGEST)?;
    done?;
    Ok(ended)
}

/// The records that a client printed: of a test that failed, and of many rows, they are a set.
pub(crate) fn records(ended: &Ended) -> Result<Vec<TestRecord>> {
    let text = &ended.stdout;
    let records = match serde_json::from_str::<RecordSet>(text) {
        Ok(set) => set.records,
        Err(_) => vec![serde_json::from_str(text).with_context(|| ended.complaint())?],
    };
    ensure!(!records.is_empty(), "a set without a record: {}", ended.complaint());
    Ok(records)
}

/// What was judged of a record.
pub(crate) fn judgement(record: &TestRecord) -> Result<&Judgement> {
    record.judgement.as_ref().context("nobody judged the record")
}

/// Where the datagrams of its one direction went.
pub(crate) fn ledger(record: &TestRecord) -> Result<&Ledger> {
    let account = judgement(record)?.directions.first().context("no direction")?;
    account.ledger.as_ref().context("no ledger")
}

/// Datagrams lost in one place.
pub(crate) fn lost_in(ledger: &Ledger, place: Place) -> u64 {
    let own = ledger.drops.iter().filter(|dropped| dropped.place == place);
    own.map(|dropped: &Dropped| dropped.datagrams).sum()
}

/// A client that takes longer hangs.
const LONGEST: Duration = Duration::from_secs(300);
