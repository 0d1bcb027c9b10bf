//! Devices of known throughput between two ports: it is found, and whose limit it is.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::{DEVICE_A, DEVICE_B, Device, DeviceKind, PORT_A, PORT_B};
use measurement::dut::{DutRecord, DutRow, Limiter};
use measurement::packets::PacketsRecord;
use measurement::{BitRate, Stamp};
use serde::Deserialize;
use testbed::process::{Ended, Running};

use super::Outcome;
use crate::hosts::UnderTest;

/// Programs that take a set time for each frame, of three sizes, several times; then with a program
/// that takes the CPU of the tester, or of the device. The short form has one of each.
pub(super) fn run(under_test: &UnderTest, runs: u32) -> Result<Vec<Outcome>> {
    let cpus = linux::host::allowed_cpus().context("no CPUs")?;
    let (tester, device) = (cpus[0], cpus.get(1).copied().context("this takes two CPUs")?);
    let bench = Bench { under_test, tester, device };
    let (costs, sizes) =
        if under_test.short { (&COSTS[1..2], &SIZES[..1]) } else { (&COSTS[..], &SIZES[..]) };
    let mut cases = Vec::new();
    for _ in 0..if under_test.short { 1 } else { runs } {
        for cost in costs {
            for size in sizes {
                cases.push(bench.known(*cost, *size)?);
            }
        }
    }
    cases.push(bench.latency()?);
    if !under_test.short {
        cases.push(bench.referred("bridge", DeviceKind::Bridge)?);
        cases.push(bench.referred("router", DeviceKind::Router { rules: 0 })?);
    }
    cases.push(bench.crowded("the tester's CPU", tester, Limiter::Tester)?);
    cases.push(bench.crowded("the device's CPU", device, Limiter::Device)?);
    Ok(cases)
}

struct Bench<'a> {
    under_test: &'a UnderTest,
    tester: usize,
    device: usize,
}

impl Bench<'_> {
    /// A device that takes so many microseconds for a frame.
    fn known(&self, cost: u64, size: u32) -> Result<Outcome> {
        let device = self.create(cost)?;
        prefer_the_device()?;
        let (record, ended) = self.measure_at(&device, size)?;
        let row = record.rows.first().context("no row")?;
        let truth = 1e6 / cost as f64;
        let found = lower(row).map_or(0.0, |load| row.frames_per_second(load));
        let error = found / truth - 1.0;
        let limit = row.limit.as_ref().context("it ended early")?;
        let is_right = error.abs() <= TOLERANCE
            && limit.who == Limiter::Device
            && limit.stamp == Stamp::Valid
            && ended.took <= LONGEST;
        let seen = format!(
            "{found:.0} of {truth:.0} frames/s ({:+.2} %) in {:.1} s; {:?}, {}",
            error * 100.0,
            ended.took.as_secs_f64(),
            limit.who,
            limit.why
        );
        Ok(Outcome::show(format!("{cost} us a frame, {size} bytes"), seen, is_right))
    }

    /// A device of the middle cost, while a program takes a CPU.
    fn crowded(&self, place: &str, cpu: usize, expected: Limiter) -> Result<Outcome> {
        let mut hog = Command::new("taskset");
        hog.args(["-c", &cpu.to_string(), "sh", "-c", "while :; do :; done"]);
        let _hog = Running::start(hog)?;
        let (record, _) = self.measure(COSTS[1], SIZES[0])?;
        let limit = record.rows.first().and_then(|row| row.limit.clone()).context("no row")?;
        let stamp = if expected == Limiter::Tester { Stamp::Invalid } else { Stamp::Valid };
        let is_right = limit.who == expected && limit.stamp == stamp;
        let seen = format!("{:?}, {}: {}", limit.who, limit.stamp, limit.why);
        Ok(Outcome::show(format!("a program on {place}"), seen, is_right))
    }

    /// The latency at half of the throughput; and of the same load once more, beside that of the same
    /// frames between two points in the device: what links, sending and reading take is on top.
    fn latency(&self) -> Result<Outcome> {
        let device = self.create(LATENCY_COST)?;
        let (record, _) = self.measure_at(&device, SIZES[0])?;
        let row = record.rows.first().context("no row")?;
        let half = row.latency.iter().find(|one| (one.share - 0.5).abs() < 0.01);
        let (half, load) =
            half.and_then(|one| Some((one.latency?, one.load))).context("no latency at half")?;
        let half = half.p50_nanos as f64;
        let mut taps = device.device_command("python3");
        taps.args(["-c", TWO_POINTS, DEVICE_A, DEVICE_B, TAP_SECONDS]);
        let mut taps = Running::captured(taps)?;
        taps.await_line(START, |line| line == "ready")?;
        let mut packets = device.command(&self.under_test.program);
        packets.args(["packets", "--from", PORT_A, "--to", PORT_B, "--json", "-q", "-t", "3s"]);
        packets.args(["--cpus", &format!("{cpu},{cpu}", cpu = self.tester)]);
        packets.args(["--pps", &format!("{:.0}", row.frames_per_second(load))]);
        let sent = Running::captured(packets)?.finish(START * 2)?;
        let sent: PacketsRecord =
            serde_json::from_str(&sent.stdout).with_context(|| sent.complaint())?;
        let told = sent.latency.context("no latency")?.p50_nanos as f64;
        let ended = taps.finish(START * 2)?;
        let line = ended.stdout.lines().last().unwrap_or_default();
        let points: TwoPoints = serde_json::from_str(line).with_context(|| ended.complaint())?;
        let between = points.p50_nanos as f64;
        let seen = format!(
            "p50 {:.1} us; once more {:.1} us, and between two points then {:.1} us; {} frames",
            half / 1e3,
            told / 1e3,
            between / 1e3,
            points.frames
        );
        let is_right = (0.0..=ADDED_NANOS).contains(&(told - between)) && points.frames > 1_000;
        Ok(Outcome::show("latency at half of the throughput".to_owned(), seen, is_right))
    }

    /// The throughput of a forwarder of the kernel, beside searches for a minute with longer trials,
    /// before it and after it: its interval has to meet theirs, or what lies between theirs, since the
    /// throughput of a kernel on a virtual CPU differs from minute to minute.
    fn referred(&self, name: &str, kind: DeviceKind) -> Result<Outcome> {
        let device = Device::create(kind, Some(self.device))?;
        prefer_the_device()?;
        let interval = |options: &str| -> Result<(f64, f64)> {
            let gateway = device.gateway().map(|address| format!(" --gateway {address}"));
            let options = format!("{options}{}", gateway.unwrap_or_default());
            let (record, _) = self.measure_with(&device, SIZES[0], &options)?;
            let row = record.rows.first().context("no row")?;
            let goal = row.goals.first().context("no goal")?;
            let bound = |of: Option<BitRate>| of.map(|load| row.frames_per_second(load));
            let lower = bound(goal.lower).unwrap_or_default();
            Ok((lower, bound(goal.upper).unwrap_or(lower)))
        };
        let before = interval(REFERENCE)?;
        let found = interval("-q --loss 0.5%")?;
        let after = interval(REFERENCE)?;
        let show = |(lower, upper): (f64, f64)| format!("{:.0} to {:.0}", lower / 1e3, upper / 1e3);
        let seen = format!(
            "{} k/s with 0.5 % loss, {} k/s in a minute before it and {} k/s after it",
            show(found),
            show(before),
            show(after)
        );
        let (least, most) = (before.0.min(after.0), before.1.max(after.1));
        let is_right = least > 0.0 && found.0 > 0.0 && found.0 <= most && least <= found.1;
        Ok(Outcome::show(format!("{name} beside a reference"), seen, is_right))
    }

    fn create(&self, cost: u64) -> Result<Device> {
        let cost = Duration::from_micros(cost);
        Ok(Device::create(DeviceKind::Slow { cost }, Some(self.device))?)
    }

    fn measure(&self, cost: u64, size: u32) -> Result<(DutRecord, Ended)> {
        self.measure_at(&self.create(cost)?, size)
    }

    fn measure_at(&self, device: &Device, size: u32) -> Result<(DutRecord, Ended)> {
        self.measure_with(device, size, "-q")
    }

    fn measure_with(
        &self,
        device: &Device,
        size: u32,
        options: &str,
    ) -> Result<(DutRecord, Ended)> {
        let mut command = device.command(&self.under_test.program);
        let line = format!(
            "dut --port-a {PORT_A} --port-b {PORT_B} --cpus {cpu},{cpu} --sizes {size} --json {options}",
            cpu = self.tester
        );
        command.args(line.split(' '));
        let ended = Running::captured(command)?.finish(LONGEST * 3)?;
        let record = serde_json::from_str(&ended.stdout)
            .with_context(|| format!("no record: {}", ended.complaint()))?;
        Ok((record, ended))
    }
}

/// Gives the threads that forward real-time priority: a device has its CPU for itself, and what is
/// known of it holds only then.
fn prefer_the_device() -> Result<()> {
    let forwards = |name: &str| FORWARDERS.iter().any(|one| name.starts_with(one));
    for thread in linux::process::thread_uses().into_iter().filter(|one| forwards(&one.name)) {
        let mut chrt = Command::new("chrt");
        chrt.args(["--fifo", "--pid", "1", &thread.thread.to_string()]);
        ensure!(chrt.status().context("cannot run chrt")?.success(), "chrt failed");
    }
    Ok(())
}

/// Transit times of a device, as `two_points.py` prints them.
#[derive(Debug, Deserialize)]
struct TwoPoints {
    frames: u64,
    p50_nanos: u64,
}

/// The throughput without loss.
fn lower(row: &DutRow) -> Option<BitRate> {
    row.goals.first().and_then(|goal| goal.lower)
}

/// Microseconds for a frame.
const COSTS: [u64; 3] = [10, 30, 100];
/// Bytes with the frame check sequence.
const SIZES: [u32; 3] = [64, 512, 1518];
/// Share of the known throughput by which the one found may differ.
const TOLERANCE: f64 = 0.03;
/// The longest time that a row may take.
const LONGEST: Duration = Duration::from_secs(60);
/// Microseconds for a frame where its latency is measured.
const LATENCY_COST: u64 = 100;
/// Nanoseconds by which a latency may exceed the transit time of the device: sending, links, reading.
const ADDED_NANOS: f64 = 50_000.0;
const REFERENCE: &str = "-q --loss 0.5% --final-trial 5s --budget 60s --burst 0s";
/// Names of threads of the lab and of the kernel that forward.
const FORWARDERS: [&str; 2] = ["slow device", "napi/device-"];
const TWO_POINTS: &str = include_str!("dut/two_points.py");
/// Longer than frames are sent.
const TAP_SECONDS: &str = "5";
const START: Duration = Duration::from_secs(20);
