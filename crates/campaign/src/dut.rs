//! A device under test between two ports of this host: the search for its throughput, then latency
//! at shares of it and the longest burst (RFC 2544, RFC 9971). Whose limit that is says
//! `analysis::device`.

use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use analysis::device::dut_limit;
use analysis::search::{SearchLimits, ThroughputSearch, remarks};
use measurement::dut::{DutRow, FrameDirection, LatencyAtLoad};
use measurement::{BitRate, GoalResult, SearchGoal, SearchTrial, TrialPurpose};
use packets::{FrameLayout, FrameSizes, LiveCounts, PacketError, Setup};

mod burst;
mod observed;
mod path;
mod tester;

pub use observed::DeviceWatch;
use path::{Load, Path, Seen};
use tester::Watch;

/// A way of frames through the device.
#[derive(Clone, Debug)]
pub struct Lane {
    /// Ports, engines and CPUs; it has a port that receives.
    pub setup: Setup,
    /// The frames.
    pub layout: FrameLayout,
    /// Frames the other way, after which a device that translates addresses (NAT) lets those of this
    /// lane through; none: it does not.
    pub opener: Option<(Setup, FrameLayout)>,
}

/// A row to measure: frames of one size, or mix of sizes, in one direction or in both.
#[derive(Clone, Debug)]
pub struct DutTask {
    /// Direction of the frames.
    pub direction: FrameDirection,
    /// One way, or two for both directions.
    pub lanes: Vec<Lane>,
    /// Number of the run of this row, from 0.
    pub run: u32,
}

/// How the rows are measured.
#[derive(Clone, Debug)]
pub struct DutPlan {
    /// Losses that a load may have; latency is measured at the throughput of the first one.
    pub goals: Vec<SearchGoal>,
    /// Time for the search of a row.
    pub budget: Duration,
    /// Duration of the test of latency at each share of the throughput.
    pub latency: Duration,
    /// The longest burst that is tried; zero: none is.
    pub burst: Duration,
    /// A linerate on the device that watches it; none: the device is not asked.
    pub watch: Option<DeviceWatch>,
    /// Speed of the slower port; none: not known, as of virtual ones.
    pub link: Option<BitRate>,
}

/// Step of a row, for a display.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DutStep<'a> {
    /// A trial of the search begins: its number from 1, frames in a second, and the bounds so far.
    Trial {
        /// Number from 1.
        number: usize,
        /// Frames in a second.
        rate: f64,
    },
    /// A trial has ended.
    Ended(&'a SearchTrial),
    /// Latency at a share of the throughput is measured.
    Latency {
        /// The share, 0 to 1.
        share: f64,
    },
    /// An overload, while the device watches itself.
    Observed,
    /// A burst is sent.
    Burst {
        /// Its frames.
        frames: u64,
    },
}

/// Measures a row. When `stop` is set it ends early, with what is known.
///
/// # Errors
/// Those of [`packets::FrameTrial`].
pub fn measure(
    task: &DutTask,
    plan: &DutPlan,
    live: &LiveCounts,
    stop: &AtomicBool,
    show: &mut dyn FnMut(DutStep<'_>),
) -> Result<DutRow, PacketError> {
    let start = linux::clock::monotonic();
    let path = Path::open(&task.lanes, live, stop)?;
    let mut run = RowRun { path, plan, trials: Vec::new(), dropped: Vec::new(), show };
    let (send_engine, receive_engine) = run.path.engines();
    run.path.teach()?;
    let watch = Watch::begin(&task.lanes);
    run.search()?;
    let tester = watch.end(std::mem::take(&mut run.dropped));
    let goals = consistent(run.machine().results());
    let is_whole = !stop.load(Relaxed);
    let throughput = goals.first().and_then(|goal| goal.lower);
    let latency = match throughput.filter(|_| is_whole) {
        Some(throughput) => run.latency(throughput)?,
        None => Vec::new(),
    };
    let burst = (is_whole && !plan.burst.is_zero()).then(|| run.burst()).transpose()?.flatten();
    let upper = goals.iter().filter_map(|goal| goal.upper).max();
    let overload = upper.or(throughput).map(|load| bit_rate(load.bits_per_second() as f64 * OVER));
    let device = match (&plan.watch, overload) {
        (Some(watch), Some(load)) if is_whole => Some(run.observe(watch, load)?),
        _ => None,
    };
    let wire = plan.link.map(|link| at_speed(link, run.path.sizes(), task.lanes.len()));
    Ok(DutRow {
        direction: task.direction,
        sizes: run.path.sizes().all().to_vec(),
        run: task.run,
        send_engine,
        receive_engine,
        duplicates: run.path.duplicates,
        reordered: run.path.reordered,
        remarks: remarks(&goals, &run.trials),
        limit: is_whole.then(|| dut_limit(&goals, &run.trials, &tester, wire)),
        goals,
        latency,
        back_to_back: burst,
        device,
        trials: run.trials,
        took: linux::clock::monotonic().saturating_sub(start),
    })
}

/// A row that is being measured.
struct RowRun<'a> {
    path: Path<'a>,
    plan: &'a DutPlan,
    trials: Vec<SearchTrial>,
    /// Frames that the receivers of the tester dropped, of each trial.
    dropped: Vec<u64>,
    show: &'a mut dyn FnMut(DutStep<'_>),
}

impl RowRun<'_> {
    fn machine(&self) -> ThroughputSearch<'_> {
        let per_frame = self.path.bits_per_frame();
        let rate = |frames: f64| bit_rate(frames * per_frame);
        let limits = SearchLimits {
            start: rate(FIRST),
            min: rate(LEAST),
            max: self.most(),
            budget: self.plan.budget,
            datagram_bytes: Some(whole(per_frame / 8.0)),
        };
        ThroughputSearch::new(&self.plan.goals, limits, &self.trials)
    }

    /// The highest load that is tried: that of the links.
    fn most(&self) -> BitRate {
        let link = self.plan.link.unwrap_or(FASTEST);
        at_speed(link, self.path.sizes(), self.path.lanes())
    }

    fn search(&mut self) -> Result<(), PacketError> {
        while let Some(due) = self.machine().next() {
            let rate = due.load.bits_per_second() as f64 / self.path.bits_per_frame();
            (self.show)(DutStep::Trial { number: self.trials.len() + 1, rate });
            let load = Load { rate: Some(rate), duration: due.duration, frames: None };
            let seen = self.path.run(&load)?;
            if self.path.is_stopped() {
                break;
            }
            self.keep(seen.trial(due.purpose, due.load), seen.dropped);
        }
        Ok(())
    }

    fn keep(&mut self, trial: SearchTrial, dropped: u64) {
        (self.show)(DutStep::Ended(&trial));
        self.trials.push(trial);
        self.dropped.push(dropped);
    }

    /// Latency at shares of the throughput.
    fn latency(&mut self, throughput: BitRate) -> Result<Vec<LatencyAtLoad>, PacketError> {
        let mut all = Vec::new();
        for share in SHARES {
            (self.show)(DutStep::Latency { share });
            let load = bit_rate(throughput.bits_per_second() as f64 * share);
            let rate = load.bits_per_second() as f64 / self.path.bits_per_frame();
            let duration = self.plan.latency;
            let seen = self.path.run(&Load { rate: Some(rate), duration, frames: None })?;
            if self.path.is_stopped() {
                break;
            }
            let trial = seen.trial(TrialPurpose::Bound, load);
            let Seen { latency, .. } = seen;
            all.push(LatencyAtLoad { share, load, lost_ratio: trial.lost_ratio, latency });
        }
        Ok(all)
    }
}

/// The results, where a load that keeps a goal keeps each that permits more loss as well.
fn consistent(mut goals: Vec<GoalResult>) -> Vec<GoalResult> {
    for at in 0..goals.len() {
        let goal = goals[at];
        let stricter = goals.iter().filter(|other| other.goal.loss_ratio < goal.goal.loss_ratio);
        let best = stricter.max_by_key(|other| other.lower).copied();
        if let Some(best) = best.filter(|best| best.lower > goal.lower) {
            let (lower, throughput) = (best.lower, best.throughput);
            let upper = goal.upper.filter(|upper| Some(*upper) > lower).or(best.upper);
            goals[at] = GoalResult { lower, upper, throughput, ..goal };
        }
    }
    goals
}

/// The load at the speed of a link, of frames of these sizes, in so many directions.
fn at_speed(link: BitRate, sizes: &FrameSizes, lanes: usize) -> BitRate {
    let share = path::mean(sizes) / sizes.wire_bytes();
    bit_rate(link.bits_per_second() as f64 * share * lanes as f64)
}

fn bit_rate(bits: f64) -> BitRate {
    BitRate::from_bits_per_second(whole(bits))
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn whole(number: f64) -> u64 {
    number.round() as u64
}

/// Shares of the throughput at which latency is measured.
const SHARES: [f64; 4] = [0.1, 0.5, 0.9, 1.0];
/// Factor of the upper bound: an overload that shows the limit.
const OVER: f64 = 1.1;
/// Frames in a second of the first trial.
const FIRST: f64 = 2_000.0;
/// Frames in a second: what is slower has too few to see loss.
const LEAST: f64 = 20.0;
/// Faster than any link.
const FASTEST: BitRate = BitRate::from_bits_per_second(1_600_000_000_000);
