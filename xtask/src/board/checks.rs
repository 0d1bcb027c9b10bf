//! What linerate has to do on the board.

use std::collections::BTreeMap;
use std::fs;
use std::net::SocketAddr;
use std::process::{Command, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use measurement::copies::{CliffCause, CopyRecord, KernelPath};
use measurement::profile::Mode;
use measurement::{HostEvidence, Inventory, RecordSet, TestRecord};
use serde::Deserialize;
use serde_json::Value;
use testbed::port;
use testbed::process::{self, Running};

use super::attack::attack;
use super::machine::Board;
use crate::command;

/// A check and what it does on the board; what it tells is a few words.
pub(super) struct Check {
    pub(super) name: &'static str,
    pub(super) run: fn(&mut Board) -> Result<String>,
}

/// A check that passed.
pub(super) struct Told {
    pub(super) name: &'static str,
    pub(super) text: String,
    pub(super) took: Duration,
}

/// In this order: the server starts after the clients have run.
pub(super) const CHECKS: [Check; 10] = [
    Check { name: "client of iperf3", run: client_of_iperf3 },
    Check { name: "test", run: rows },
    Check { name: "attribution", run: attribution },
    Check { name: "latency", run: latency },
    Check { name: "host", run: host },
    Check { name: "copy", run: copy },
    Check { name: "diagnose", run: diagnose },
    Check { name: "capture", run: capture },
    Check { name: "server of iperf3", run: server_of_iperf3 },
    Check { name: "server under attack", run: under_attack },
];

fn client_of_iperf3(board: &mut Board) -> Result<String> {
    let _server = listening(board, board.beside("iperf3", "-s -p 5201"), 5201)?;
    let forward = rate(&board.linerate(&format!("iperf3 -c {THIS} -p 5201 -t 1 -J"))?)?;
    let reverse = rate(&board.linerate(&format!("iperf3 -c {THIS} -p 5201 -t 1 -R -J"))?)?;
    Ok(format!("{forward:.0} and {reverse:.0} Mbit/s"))
}

fn server_of_iperf3(board: &mut Board) -> Result<String> {
    serve(board)?;
    let ask = |words: &str| -> Result<f64> {
        rate(&printed(board.beside("iperf3", &format!("-c {BOARD} -t 1 -J {words}")))?)
    };
    let (forward, reverse, udp) = (ask("")?, ask("-R")?, ask("-u -b 10M")?);
    Ok(format!("{forward:.0} and {reverse:.0} Mbit/s, UDP {udp:.0}"))
}

/// Of the output of iperf3 as JSON, in Mbit/s: what arrived.
fn rate(text: &str) -> Result<f64> {
    let output: Value = serde_json::from_str(text).context("no JSON of iperf3")?;
    let end = &output["end"];
    let sum = end.get("sum_received").or_else(|| end.get("sum"));
    let rate = sum.and_then(|sum| sum["bits_per_second"].as_f64());
    let rate = rate.with_context(|| format!("no rate in {}", output["error"]))?;
    ensure!(rate > 0.0, "nothing arrived");
    Ok(rate / 1e6)
}

fn rows(board: &mut Board) -> Result<String> {
    let _server = peer(board)?;
    let records = records(&board.linerate(&format!("test {THIS} -p {PORT} -t 2 --quiet --json"))?)?;
    ensure!(records.records.len() == 4, "{} rows in place of four", records.records.len());
    let rates = records.records.iter().map(|record| record.outcome.rate());
    let rates: Option<Vec<_>> = rates.collect();
    let rates = rates.context("a row without a rate")?;
    let shown = rates.iter().map(|rate| format!("{:.0}", rate.bits_per_second() as f64 / 1e6));
    let text = format!("{} Mbit/s", shown.collect::<Vec<_>>().join(", "));
    board.records = Some(records);
    Ok(text)
}

/// Of the rows of `test`: symbols of the kernel are those that the board's kernel has.
fn attribution(board: &mut Board) -> Result<String> {
    let records = board.records.take().context("it reads what `test` recorded")?;
    let hosts = records.records.iter().filter_map(own);
    let rows = hosts.filter_map(|host| host.profile.as_ref()).flat_map(|profile| &profile.rows);
    let rows = rows.filter(|row| row.mode == Mode::Kernel && !row.symbol.is_empty());
    let mut samples = BTreeMap::<String, u64>::new();
    rows.for_each(|row| *samples.entry(row.symbol.clone()).or_default() += row.count);
    board.records = Some(records);
    let mut symbols: Vec<_> = samples.into_iter().map(|(symbol, count)| (count, symbol)).collect();
    symbols.sort();
    ensure!(symbols.len() >= 5, "the profiles have {} symbols of the kernel", symbols.len());
    let most = symbols.len().min(20);
    let wanted = symbols.iter().rev().take(most).map(|(_, symbol)| format!("-e '{symbol}'"));
    let wanted = wanted.collect::<Vec<_>>().join(" ");
    let search = "awk '{print $3}' /proc/kallsyms | grep -x -F";
    let known = board.run(&format!("{search} {wanted} | sort -u"))?;
    let is_known = |symbol: &str| known.lines().any(|line| line == symbol);
    let missing = symbols.iter().rev().take(most).map(|(_, symbol)| &**symbol);
    let missing: Vec<_> = missing.filter(|symbol| !is_known(symbol)).collect();
    ensure!(missing.len() * 10 <= most, "not symbols of the kernel: {}", missing.join(", "));
    let (_, first) = &symbols[symbols.len() - 1];
    Ok(format!("{} of {most} symbols are the kernel's, first {first}", most - missing.len()))
}

/// The board's own evidence in a record that it wrote.
fn own(record: &TestRecord) -> Option<&HostEvidence> {
    record.hosts.iter().find(|host| host.inventory.architecture == ARCHITECTURE)
}

fn latency(board: &mut Board) -> Result<String> {
    let _server = peer(board)?;
    let words = format!("latency {THIS} -p {PORT} -t 1 --quiet --json");
    let records = records(&board.linerate(&words)?)?;
    let exchanges =
        records.records.iter().filter_map(|record| record.outcome.round_trips.as_ref()).count();
    ensure!(exchanges > 0, "no row has round trips");
    Ok(format!("{} rows, {exchanges} of them with round trips", records.records.len()))
}

/// What `host --json` prints.
#[derive(Deserialize)]
struct HostObject {
    inventory: Inventory,
}

fn host(board: &mut Board) -> Result<String> {
    let HostObject { inventory } = serde_json::from_str(&board.linerate("host --json")?)?;
    ensure!(inventory.architecture == ARCHITECTURE, "it is a {}", inventory.architecture);
    ensure!(inventory.kernel == board.release(), "its kernel is {}", inventory.kernel);
    let interface = inventory.interfaces.iter().find(|one| one.name == "eth0");
    let interface = interface.context("eth0 is not listed")?;
    ensure!(interface.addresses.iter().any(|one| one.starts_with(BOARD)), "no address");
    Ok(format!("{}, {} CPUs, eth0", inventory.architecture, inventory.cpus.len()))
}

/// Speeds of copies; the emulator does misaligned accesses itself, so that none traps.
fn copy(board: &mut Board) -> Result<String> {
    let text = board.linerate("copy --quick --fresh --json")?;
    let record: CopyRecord = measurement::json::read(&text).context("no record of copies")?;
    let core = record.cores.first().context("no core was measured")?;
    for routine in ["libc", "byte", "word-x8", "shift-x8"] {
        let is_measured = core.routines.iter().any(|one| one.routine == routine);
        ensure!(is_measured, "{routine} was not measured");
    }
    let read = core.path(KernelPath::PageCacheRead).context("reads were not measured")?;
    let choice = core.choice.as_ref().context("no routine was chosen")?;
    let traps = core.cliffs.iter().any(|cliff| cliff.cause == CliffCause::Trap);
    let traps = if traps { "misaligned accesses trap" } else { "no access traps in the emulator" };
    Ok(format!("{} is chosen, reads of the page cache {read}, {traps}", choice.routine))
}

fn diagnose(board: &mut Board) -> Result<String> {
    let text = board.linerate("diagnose --json")?;
    let object: Value = serde_json::from_str(&text).context("no JSON of diagnose")?;
    let findings = object["findings"].as_array().context("it lists no findings")?;
    Ok(format!("findings: {}", findings.len()))
}

/// What this machine reads in a capture of the board is what the board says.
fn capture(board: &mut Board) -> Result<String> {
    board.run("linerate capture -o /tmp/board.tar")?;
    let text = board.run("base64 /tmp/board.tar")?;
    let (folder, HostObject { inventory: there }) =
        (folder_of_files()?, serde_json::from_str(&board.linerate("host --json")?)?);
    let (encoded, archive) = (folder.join("board.tar.base64"), folder.join("board.tar"));
    fs::write(&encoded, text)?;
    let mut decode = Command::new("base64");
    decode.arg("--decode").arg(&encoded).stdout(fs::File::create(&archive)?);
    command::run(&mut decode)?;
    let bytes = fs::metadata(&archive)?.len();
    let read = printed(board.peer(&format!("host --json --root {}", archive.display())));
    fs::remove_dir_all(&folder)?;
    let HostObject { inventory: here } = serde_json::from_str(&read?)?;
    ensure!(here.kernel == there.kernel && here.architecture == ARCHITECTURE, "another kernel");
    ensure!(here.cpus == there.cpus, "other CPUs");
    let names =
        |one: &Inventory| one.interfaces.iter().map(|one| one.name.clone()).collect::<Vec<_>>();
    ensure!(names(&here) == names(&there), "other interfaces");
    Ok(format!("{bytes} bytes, read on this machine"))
}

fn folder_of_files() -> Result<std::path::PathBuf> {
    let folder = std::env::temp_dir().join(format!("linerate-board-{}", std::process::id()));
    fs::create_dir_all(&folder).context("cannot make a folder")?;
    Ok(folder)
}

fn under_attack(board: &mut Board) -> Result<String> {
    serve(board)?;
    let server: SocketAddr = format!("{BOARD}:5201").parse()?;
    let accepted = board.run_beside(|| attack(server, ATTACK))?;
    ensure!(accepted > 0, "nobody was accepted");
    let test = board.peer(&format!("test {BOARD} --tcp --send -t 1 --quiet --json"));
    let records = records(&printed(test).context("after the attack")?)?;
    let rate = records.records[0].outcome.rate().context("nothing arrived after the attack")?;
    let memory = board.run("grep VmHWM /proc/$(cat /tmp/serve.pid)/status")?;
    let memory = memory.split_whitespace().nth(1).and_then(|kib| kib.parse::<u64>().ok());
    let memory = memory.context("no VmHWM of the server")? / 1024;
    ensure!(memory <= MOST_MEMORY, "the server took {memory} MiB");
    let megabits = rate.bits_per_second() as f64 / 1e6;
    Ok(format!("{accepted} connections, at most {memory} MiB, {megabits:.0} Mbit/s after them"))
}

/// Starts the board's server, unless it runs.
fn serve(board: &mut Board) -> Result<()> {
    board.run(
        "test -e serve.pid || { linerate serve --quiet > serve.log 2>&1 & echo $! > serve.pid; }",
    )?;
    let address = format!("{BOARD}:5201").parse()?;
    board.run_beside(|| port::await_answer(None, address))?
}

/// A linerate beside the board.
fn peer(board: &Board) -> Result<Running> {
    listening(board, board.peer(&format!("serve --quiet --port {PORT}")), PORT)
}

fn listening(board: &Board, command: Command, port: u16) -> Result<Running> {
    let mut command = command;
    command.stdout(Stdio::null()).stderr(Stdio::piped());
    let server = Running::start(command)?;
    let address = format!("{THIS}:{port}").parse()?;
    board.run_beside(|| port::await_answer(None, address))??;
    Ok(server)
}

fn printed(command: Command) -> Result<String> {
    let ended = process::finish(command, LIMIT)?;
    ensure!(ended.has_measured(), "{}", ended.complaint());
    Ok(ended.stdout)
}

fn records(text: &str) -> Result<RecordSet> {
    report::import::record::read(text.as_bytes()).context("what it printed is no record")
}

const ARCHITECTURE: &str = "riscv64";
const THIS: &str = "10.99.0.1";
const BOARD: &str = "10.99.0.2";
/// Of the linerate beside the board.
const PORT: u16 = 5301;
const ATTACK: Duration = Duration::from_secs(10);
const LIMIT: Duration = Duration::from_secs(30);
/// In MiB.
const MOST_MEMORY: u64 = 64;
