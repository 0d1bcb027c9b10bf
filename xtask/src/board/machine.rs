//! The emulated board: its console, and the namespace with the other end of its link.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use linux::namespace::NetworkNamespace;
use measurement::RecordSet;
use testbed::markdown::{Align, Table};

use crate::{command, hosts};

/// A board that runs; it ends with this value.
pub(super) struct Board {
    qemu: Child,
    keyboard: ChildStdin,
    lines: Receiver<String>,
    console: String,
    release: String,
    namespace: NetworkNamespace,
    /// The linerate of this machine.
    peer: PathBuf,
    /// Of the four rows, once they ran.
    pub(super) records: Option<RecordSet>,
}

impl Board {
    /// Returns when its shell reads commands.
    pub(super) fn boot(kernel: &Path, image: &Path, peer: PathBuf) -> Result<Self> {
        let namespace = NetworkNamespace::create()
            .context("cannot make a network namespace; run this task as root")?;
        for words in TAP {
            let mut ip = Command::new("ip");
            namespace.apply_to(ip.args(words.split(' ')));
            command::run(&mut ip)?;
        }
        let mut qemu = Command::new("qemu-system-riscv64");
        qemu.args(MACHINE.split_whitespace()).arg("-kernel").arg(kernel).arg("-initrd").arg(image);
        qemu.args(["-append", "console=ttyS0 quiet loglevel=3"]);
        namespace.apply_to(qemu.stdin(Stdio::piped()).stdout(Stdio::piped()));
        let mut qemu = qemu.spawn().context("cannot start qemu-system-riscv64")?;
        let keyboard = qemu.stdin.take().context("a pipe")?;
        let output = BufReader::new(qemu.stdout.take().context("a pipe")?);
        let (sender, lines) = mpsc::channel();
        thread::spawn(move || {
            let lines = output.split(b'\n').map_while(Result::ok);
            let texts = lines.map(|line| String::from_utf8_lossy(&line).trim_end().to_owned());
            // Nobody listens once the board has ended.
            texts.map_while(|text| sender.send(text).ok()).for_each(drop);
        });
        let (console, release, records) = (String::new(), String::new(), None);
        let mut board = Self { qemu, keyboard, lines, console, release, namespace, peer, records };
        board.answer().context("the board does not boot")?;
        let release = board.run("uname -r")?;
        release.trim().clone_into(&mut board.release);
        Ok(board)
    }

    /// What a command prints on the board; fails unless it succeeds.
    pub(super) fn run(&mut self, words: &str) -> Result<String> {
        let (code, text) = self.ask(words)?;
        let end = text.lines().rev().take(5).collect::<Vec<_>>().join(" / ");
        ensure!(code == 0, "`{words}` ended with {code}: {end}");
        Ok(text)
    }

    /// What linerate prints there as JSON. Exit code 3: it ran, and does not trust the result, as
    /// an emulator has good cause for.
    pub(super) fn linerate(&mut self, words: &str) -> Result<String> {
        let (code, text) = self.ask(&format!("linerate {words}"))?;
        let end = text.lines().rev().take(5).collect::<Vec<_>>().join(" / ");
        ensure!(matches!(code, 0 | 3), "`linerate {words}` ended with {code}: {end}");
        let start = text.find('{').context("it printed no JSON")?;
        Ok(text[start..].to_owned())
    }

    fn ask(&mut self, words: &str) -> Result<(i32, String)> {
        self.console.extend(["# ", words, "\n"]);
        writeln!(self.keyboard, "{words}; code=$?; echo; echo {MARK}$code")
            .context("the board has ended")?;
        self.answer().with_context(|| format!("`{words}` on the board"))
    }

    fn answer(&mut self) -> Result<(i32, String)> {
        let (deadline, mut text) = (Instant::now() + PATIENCE, String::new());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            let Ok(line) = self.lines.recv_timeout(left) else {
                bail!(
                    "no answer in {} s; the last of its console: {}",
                    PATIENCE.as_secs(),
                    tail(&self.console)
                );
            };
            if let Some(code) = line.strip_prefix(MARK).and_then(|code| code.parse().ok()) {
                return Ok((code, text));
            }
            self.console.extend([&line, "\n"]);
            text.extend([&line, "\n"]);
        }
    }

    /// A command of this machine, at the other end of the link.
    pub(super) fn beside(&self, program: impl AsRef<Path>, words: &str) -> Command {
        let mut command = Command::new(program.as_ref());
        command.args(words.split_whitespace());
        hosts::clean(&mut command);
        self.namespace.apply_to(&mut command);
        command
    }

    /// The same for linerate.
    pub(super) fn peer(&self, words: &str) -> Command {
        self.beside(&self.peer, words)
    }

    /// Runs work at the other end of the link.
    pub(super) fn run_beside<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T> {
        self.namespace.run(work).context("cannot enter the namespace")
    }

    /// All that it printed.
    pub(super) fn console(&self) -> &str {
        &self.console
    }

    /// Of its kernel.
    pub(super) fn release(&self) -> &str {
        &self.release
    }

    /// The four rows as a table.
    pub(super) fn rows(&self) -> Result<Table> {
        let records = self.records.as_ref().context("the four rows did not run")?;
        let mut table = Table::new([("row", Align::Left), ("Mbit/s", Align::Right)]);
        for record in &records.records {
            let rate = record.outcome.rate().context("a row has no rate")?;
            let megabits = format!("{:.0}", rate.bits_per_second() as f64 / 1e6);
            table.push([record.plan.row(), megabits]);
        }
        Ok(table)
    }
}

impl Drop for Board {
    fn drop(&mut self) {
        _ = self.qemu.kill();
        _ = self.qemu.wait();
    }
}

fn tail(console: &str) -> String {
    let mut lines: Vec<_> = console.lines().rev().take(3).collect();
    lines.reverse();
    lines.join(" / ")
}

/// For one command; the slowest takes a quarter of it.
const PATIENCE: Duration = Duration::from_secs(60);
/// Before the exit code of a command.
const MARK: &str = "@@";
const TAP: [&str; 4] = [
    "link set lo up",
    "tuntap add tap0 mode tap",
    "address add 10.99.0.1/24 dev tap0",
    "link set tap0 up",
];
const MACHINE: &str = "-machine virt -cpu rv64 -smp 2 -m 512 -display none -monitor none -serial \
                       stdio -no-reboot -netdev tap,id=net,ifname=tap0,script=no,downscript=no \
                       -device virtio-net-pci,netdev=net,romfile=";
