//! The points of a sweep: the plans that the settings of its axes make of a row.

use std::net::ToSocketAddrs;
use std::time::Duration;

use campaign::PlannedRow;
use campaign::search::Sweep;
use linux::limits;
use linux::memory::Region;
use measurement::engine::{EngineRole, choosable_engines};
use measurement::plan::PlanDraft;
use measurement::units::show_duration;
use measurement::{BitRate, ByteSize, Direction, End, PayloadPages, TestPlan};
use report::sweep::{Dimension, Setting};

use crate::exit::UsageError;
use crate::flags::sweep_axis::{self, ANY, Axis, BOTH, Over, RECEIVE, SEND, placement};
use crate::flags::{SweepFlags, TestFlags, engines};
use crate::plan;

/// All points of a sweep, in the order in which they are measured.
#[derive(Debug)]
pub(super) struct Points {
    pub(super) axes: Vec<Dimension>,
    pub(super) all: Vec<Point>,
}

/// One point: its settings, one for each axis, and the row that measures it.
#[derive(Clone, Debug)]
pub(super) struct Point {
    pub(super) settings: Vec<Setting>,
    pub(super) row: PlannedRow,
}

impl Points {
    /// The points that the flags ask for. Settings of a second axis take turns, so that a drift hits
    /// all of its curves alike.
    pub(super) fn of(flags: &mut SweepFlags) -> Result<Self, UsageError> {
        check(flags)?;
        settle(flags);
        let base = base(&flags.test)?;
        let axes: Vec<_> =
            flags.over.iter().map(|over| (over.axis, settings(over, &base))).collect();
        let mut combined = vec![Vec::new()];
        for (axis, settings) in &axes {
            let longer = |point: &Vec<(Axis, Setting)>| -> Vec<Vec<(Axis, Setting)>> {
                let with = |setting: &Setting| [&point[..], &[(*axis, setting.clone())]].concat();
                settings.iter().map(with).collect()
            };
            combined = combined.iter().flat_map(longer).collect();
        }
        if combined.len() > MOST_POINTS {
            let count = combined.len();
            return Err(usage(format!(
                "{count} points are too many: choose {MOST_POINTS} or fewer"
            )));
        }
        let end = end(flags, combined.len())?;
        let interface = interface(flags)?;
        let is_open = flags.test.stream.rate.is_none();
        let point = |settings: Vec<(Axis, Setting)>| -> Result<Point, UsageError> {
            let row = row(&base, end, &settings, interface.as_deref())?;
            let probe_every = flags.test.rows.latency.then_some(flags.test.rows.probe_every);
            let row = PlannedRow { probe_every, ..row };
            let row = if is_open { row.at_the_rate_without_loss() } else { row };
            Ok(Point { settings: settings.into_iter().map(|(_, setting)| setting).collect(), row })
        };
        let all = combined.into_iter().map(point).collect::<Result<_, _>>()?;
        Ok(Self { axes: axes.iter().map(|(axis, _)| axis.dimension()).collect(), all })
    }

    /// The plans of all points.
    pub(super) fn plans(&self) -> Vec<TestPlan> {
        self.all.iter().map(|point| point.row.plan.clone()).collect()
    }
}

impl Point {
    /// `rate 10.00 Mbit/s, streams 4`.
    pub(super) fn title(&self, axes: &[Dimension]) -> String {
        let each = axes.iter().zip(&self.settings);
        let each = each.map(|(axis, setting)| format!("{} {}", axis.title, axis.show(setting)));
        each.collect::<Vec<_>>().join(", ")
    }
}

/// Refuses axes that contradict each other or the options of the row.
fn check(flags: &SweepFlags) -> Result<(), UsageError> {
    let axes: Vec<_> = flags.over.iter().map(|over| over.axis).collect();
    let has = |axis: Axis| axes.contains(&axis);
    let (rows, stream) = (&flags.test.rows, &flags.test.stream);
    let tcp_only = TCP_ONLY.into_iter().find(|axis| has(*axis));
    let text = if axes.len() > 2 {
        "--over can be given twice: choose two axes".to_owned()
    } else if axes.len() == 2 && axes[0] == axes[1] {
        format!("--over {0} twice: type all values in one list, {0}=A,B", axes[0])
    } else if let (true, Some(axis)) = (rows.udp || has(Axis::Size), tcp_only) {
        format!("--over {axis} is for TCP: leave UDP out")
    } else if has(Axis::Size) && rows.tcp {
        "--over size is of datagrams: type --udp, or --over write".to_owned()
    } else if rows.repeat > 1 {
        "a sweep measures each point once: leave --repeat out".to_owned()
    } else if flags.test.unit.is_some() {
        "a sweep shows each rate with its own prefix: leave --unit out".to_owned()
    } else if stream.wants_the_fastest() {
        "a sweep does not try engines: type --over engine in place of auto".to_owned()
    } else {
        return Ok(());
    };
    Err(usage(text))
}

/// The interface whose settings are varied: that of `--interface`, or the one towards the server. None: no
/// axis is one of this host.
fn interface(flags: &SweepFlags) -> Result<Option<String>, UsageError> {
    if !flags.over.iter().any(|over| over.axis.is_of_host()) {
        return Ok(None);
    }
    if let Some(name) = &flags.interface {
        return Ok(Some(name.clone()));
    }
    let (host, port) = flags.test.server.target.host_and_port();
    let address = (host, port).to_socket_addrs().ok().and_then(|mut found| found.next());
    let name = address.and_then(|server| host::interfaces_towards(server.ip()).into_iter().next());
    let none = || usage("no interface leads to the server: type --interface".to_owned());
    name.map(Some).ok_or_else(none)
}

/// Makes one row of the four of a test.
fn settle(flags: &mut SweepFlags) {
    let axes: Vec<_> = flags.over.iter().map(|over| over.axis).collect();
    let is_of_tcp = |axis: &Axis| TCP_ONLY.contains(axis);
    let of_datagrams =
        axes.contains(&Axis::Size) || (axes.contains(&Axis::Rate) && !axes.iter().any(is_of_tcp));
    let rows = &mut flags.test.rows;
    rows.udp |= of_datagrams && !rows.tcp;
    rows.tcp |= !rows.udp;
    rows.send |= !rows.receive && !rows.bidir;
    if axes.contains(&Axis::Rate) {
        // Each point has its own.
        flags.test.stream.rate = Some(BitRate::from_bits_per_second(1_000_000));
    }
}

/// The row of which each point is a variant.
fn base(flags: &TestFlags) -> Result<TestPlan, UsageError> {
    let none = || usage("a sweep varies one row: type --send, --receive or --bidir".to_owned());
    plan::plans(flags)?.into_iter().next().ok_or_else(none)
}

/// The settings that were typed, or the usual ones of an axis.
fn settings(over: &Over, base: &TestPlan) -> Vec<Setting> {
    if let Some(settings) = &over.settings {
        return settings.clone();
    }
    let numbers = |numbers: &[u64]| numbers.iter().copied().map(Setting::Number).collect();
    let doubled = |from: u64, to: u64| {
        let powers = std::iter::successors(Some(from), |value| Some(value * 2));
        powers.take_while(|value| *value <= to).map(Setting::Number).collect()
    };
    let names = |names: Vec<String>| names.into_iter().map(Setting::Name).collect();
    match over.axis {
        Axis::Rate => {
            numbers(&[1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_000].map(|rate| rate * 1_000_000))
        }
        Axis::Size => numbers(&[64, 128, 256, 512, 1_024, 1_280, 1_448]),
        Axis::Streams => doubled(1, 64),
        Axis::Buffer => doubled(64 << 10, 16 << 20),
        Axis::Write => doubled(1 << 10, 1 << 20),
        Axis::Mss => numbers(&[536, 764, 992, 1_220, 1_448]),
        Axis::Pages => names(PayloadPages::ALL.map(|pages| pages.to_string()).to_vec()),
        Axis::Congestion => names(limits::allowed_congestion_controls()),
        Axis::Engine => names(usual_engines(base)),
        Axis::Placement => {
            let cpus = linux::host::allowed_cpus().unwrap_or_default();
            let each = cpus.into_iter().take(MOST_CPUS).map(|cpu| cpu.to_string());
            names(std::iter::once(ANY.to_owned()).chain(each).collect())
        }
        Axis::Direction => names([SEND, RECEIVE, BOTH].map(str::to_owned).to_vec()),
        Axis::Mtu => numbers(&[1_280, 1_500, 4_000, 9_000]),
        Axis::Offload => names(sweep_axis::OFFLOADS.map(str::to_owned).to_vec()),
        Axis::Ring => doubled(256, 4_096),
        Axis::Qdisc => names(["pfifo_fast", "fq", "fq_codel"].map(str::to_owned).to_vec()),
    }
}

/// All engines of the sender.
fn usual_engines(base: &TestPlan) -> Vec<String> {
    let engines = choosable_engines()
        .filter(|engine| engine.transport == base.transport && engine.role == EngineRole::Sender);
    engines.map(|engine| engine.name.to_owned()).collect()
}

/// How a point ends: as typed, else so that all of them fit the budget.
fn end(flags: &SweepFlags, count: usize) -> Result<Option<End>, UsageError> {
    let amount = &flags.test.amount;
    if amount.bytes.is_some() || amount.blocks.is_some() {
        return Ok(None);
    }
    let count = u32::try_from(count).unwrap_or(u32::MAX).max(1);
    let Some(budget) = flags.budget else {
        return Ok(Some(End::Time(amount.time.unwrap_or(USUAL_TIME))));
    };
    let around = Sweep::AROUND + amount.omit;
    let least = amount.time.unwrap_or(SHORTEST);
    if (least + around) * count > budget {
        let seconds = ((least + around) * count).as_millis().div_ceil(1_000);
        let least = show_duration(least);
        return Err(usage(format!(
            "{count} points of {least} do not fit --budget: choose {seconds}s or fewer points"
        )));
    }
    let each = amount.time.unwrap_or_else(|| {
        (budget / count * 19 / 20).saturating_sub(around).clamp(SHORTEST, LONGEST)
    });
    Ok(Some(End::Time(Duration::from_millis(u64::try_from(each.as_millis()).unwrap_or(0)))))
}

/// The row of a point.
fn row(
    base: &TestPlan,
    end: Option<End>,
    settings: &[(Axis, Setting)],
    interface: Option<&str>,
) -> Result<PlannedRow, UsageError> {
    let mut draft = PlanDraft::from(base.clone());
    draft.end = end.unwrap_or(draft.end);
    let (mut cpus, mut of_host) = (None, Vec::new());
    for (axis, setting) in settings {
        of_host.extend(interface.map(|name| axis.of_host(name, setting)).unwrap_or_default());
        match setting {
            Setting::Number(number) => set_number(&mut draft, *axis, *number)?,
            Setting::Name(name) if *axis == Axis::Placement => {
                cpus = Some(placement(name).map_err(usage)?);
            }
            Setting::Name(name) => set_name(&mut draft, *axis, name)?,
        }
    }
    let plan = draft.check().map_err(|error| usage(error.to_string()))?;
    Ok(PlannedRow { cpus, settings: of_host, ..PlannedRow::of_plan(plan) })
}

fn set_number(draft: &mut PlanDraft, axis: Axis, number: u64) -> Result<(), UsageError> {
    let small = u32::try_from(number);
    let small = small.map_err(|_| usage(format!("{axis} cannot be {number}: choose less")));
    let options = &mut draft.options;
    match axis {
        Axis::Rate => {
            options.rate = (number > 0).then(|| BitRate::from_bits_per_second(number));
        }
        Axis::Size | Axis::Write => options.block = Some(ByteSize::from_bytes(number)),
        Axis::Buffer => options.window = Some(ByteSize::from_bytes(number)),
        Axis::Mss => options.mss = Some(small?),
        Axis::Streams => draft.streams = small?,
        _ => {}
    }
    Ok(())
}

fn set_name(draft: &mut PlanDraft, axis: Axis, name: &str) -> Result<(), UsageError> {
    match axis {
        Axis::Pages => {
            draft.options.pages = PayloadPages::named(name);
            check_pages(draft.options.pages)?;
        }
        Axis::Congestion => {
            plan::check_congestion(name)?;
            draft.options.congestion = Some(name.to_owned());
        }
        Axis::Engine => {
            let names: Vec<_> = name.split('+').map(str::to_owned).collect();
            if let Some(text) = engines::contradiction(&names, &[draft.transport]) {
                return Err(usage(text));
            }
            draft.options.engines = engines::for_transport(&names, draft.transport);
        }
        Axis::Direction => {
            draft.direction = match name {
                sweep_axis::RECEIVE => Direction::Receive,
                sweep_axis::BOTH => Direction::Both,
                _ => Direction::Send,
            };
        }
        _ => {}
    }
    Ok(())
}

fn usage(text: String) -> UsageError {
    UsageError(text)
}

/// Axes that datagrams do not have.
const TCP_ONLY: [Axis; 4] = [Axis::Write, Axis::Mss, Axis::Pages, Axis::Congestion];
/// Points of one sweep.
const MOST_POINTS: usize = 1_000;
/// CPUs of which each is a placement by itself.
const MOST_CPUS: usize = 8;
const USUAL_TIME: Duration = Duration::from_secs(2);
/// Below it a test of TCP is mostly its start.
const SHORTEST: Duration = Duration::from_millis(500);
/// However much a budget leaves.
const LONGEST: Duration = Duration::from_secs(10);

/// Says before a server is asked whether the kernel grants pages for the payload.
fn check_pages(pages: Option<PayloadPages>) -> Result<(), UsageError> {
    if pages != Some(PayloadPages::Huge) || Region::on_huge_pages(1).is_ok() {
        return Ok(());
    }
    let text = "the kernel grants no huge pages: echo madvise > \
                /sys/kernel/mm/transparent_hugepage/enabled, or leave huge out";
    Err(UsageError(text.to_owned()))
}
