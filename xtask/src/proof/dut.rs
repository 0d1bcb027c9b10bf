//! Devices of known throughput between two ports: it is found, and whose limit it is.

use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result};
use lab::{Device, DeviceKind, PORT_A, PORT_B};
use measurement::dut::{DutRecord, DutRow, Limiter};
use measurement::{BitRate, Stamp};
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
        let (record, ended) = self.measure(cost, size)?;
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

    fn measure(&self, cost: u64, size: u32) -> Result<(DutRecord, Ended)> {
        let cost = Duration::from_micros(cost);
        let device = Device::create(DeviceKind::Slow { cost }, Some(self.device))?;
        let mut command = device.command(&self.under_test.program);
        let line = format!(
            "dut --port-a {PORT_A} --port-b {PORT_B} --cpus {cpu},{cpu} --sizes {size} --json -q",
            cpu = self.tester
        );
        command.args(line.split(' '));
        let ended = Running::captured(command)?.finish(LONGEST * 3)?;
        let record = serde_json::from_str(&ended.stdout)
            .with_context(|| format!("no record: {}", ended.complaint()))?;
        Ok((record, ended))
    }
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
