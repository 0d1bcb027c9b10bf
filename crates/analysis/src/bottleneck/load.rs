//! How full the CPUs of the ends are, and what they did, for the rules of CPU time.

use std::collections::BTreeMap;
use std::time::Duration;

use measurement::host::{Family, counter};
use measurement::profile::ProfileSource;
use measurement::{Attribution, IntoMap, Order, ProfileRow, Role, Task, Work};

use super::case::cpu;
use super::experiment::Answers;
use super::{Case, Found};
use crate::evidence::HostView;
use crate::facts::{Severity, Thresholds, others_cpu, software_path, stopped, workers};
use crate::words::{self, percent, share};

/// A CPU of an end that has no time left, and what it did.
pub(super) struct Full<'a> {
    pub(super) role: Role,
    /// Its number, where that is told.
    pub(super) cpu: Option<u32>,
    /// Share of its time in which it was busy.
    pub(super) busy: f64,
    /// Share of the busy time in interrupts and softirqs; none: not told.
    pub(super) interrupts: Option<f64>,
    /// Who says so, in words.
    pub(super) source: String,
    /// What it did, as shares of its busy time; empty: nobody looked.
    pub(super) work: BTreeMap<Work, f64>,
    rows: Vec<&'a ProfileRow>,
}

impl Full<'_> {
    /// Share of the busy time of that CPU, over kinds of work.
    pub(super) fn share(&self, is_of: impl Fn(Work) -> bool) -> f64 {
        self.work.iter().filter(|(work, _)| is_of(**work)).map(|(_, share)| share).sum()
    }

    /// Share of the samples that were not idle, over functions.
    pub(super) fn share_of_rows(&self, is_of: impl Fn(&ProfileRow) -> bool) -> f64 {
        let count = |rows: &mut dyn Iterator<Item = &&ProfileRow>| -> u64 {
            rows.map(|row| row.count).fold(0, u64::saturating_add)
        };
        let of = count(&mut self.rows.iter().filter(|row| is_of(row)));
        share(of, count(&mut self.rows.iter()))
    }

    /// The kind of work that took most, and its share.
    pub(super) fn most(&self) -> Option<(Work, f64)> {
        let busy = self.work.iter().filter(|(work, _)| **work != Work::Idle);
        let most = busy.max_by(|(_, one), (_, other)| one.total_cmp(other));
        most.map(|(work, share)| (*work, *share))
    }

    /// `CPU 1 of the server was 98 % busy (time of the CPUs)`.
    pub(super) fn in_words(&self) -> String {
        let cpu = self.cpu.map_or_else(|| "the CPU".to_owned(), |cpu| format!("CPU {cpu}"));
        let host = words::host(&self.role);
        format!("{cpu} of {host} was {} busy ({})", percent(self.busy), self.source)
    }
}

/// A CPU without time left at each end that has one; of two ends on one kernel at the one whose
/// thread wanted clearly more of a CPU, else at the first, so that two runs of one test name one
/// end.
pub(super) fn full<'a>(case: &Case<'a>) -> Vec<Full<'a>> {
    if case.wanting().next().is_none() {
        return Vec::new();
    }
    let mut ends: Vec<&HostView<'a>> = case.hosts.iter().filter(|host| is_end(host)).collect();
    let most = ends.iter().map(|host| wanted(case, host)).fold(0.0, f64::max);
    ends.order_by_key(|host| wanted(case, host) < ALIKE * most);
    let mut reported: Vec<&HostView<'a>> = Vec::new();
    let mut found = Vec::new();
    for host in ends {
        if reported.iter().all(|other| !other.is_same_kernel(host)) {
            found.extend(full_cpu(case, host));
            reported.push(host);
        }
    }
    found
}

/// For each full CPU that spent a good part of its busy time on one kind of work: a limit, or a
/// note on what the CPU does, as `from` has it. `part` is that share; `work` is the kind in words:
/// `copies data`.
pub(super) fn heavy<'a>(
    case: &Case<'a>,
    part: impl Fn(&Full<'_>) -> f64,
    from: Thresholds,
    work: &str,
) -> Vec<(Full<'a>, Found)> {
    let heavy = full(case).into_iter().filter_map(|full| {
        let share = part(&full);
        let severity = from.grade(share)?;
        Some({
            let (host, share_shown) = (words::host(&full.role), percent(share));
            let text = format!("{host}'s CPU is full: {share_shown} of it {work}");
            let found = match severity {
                Severity::Limiting => Found::limit(text),
                Severity::Noticeable => Found::note(text),
            };
            let found = found.at(&full.role).explaining(share).seen(full.in_words());
            (full, found)
        })
    });
    heavy.collect()
}

/// Whether a host sends in this test; who does both counts as a sender.
pub(super) fn sends(case: &Case<'_>, role: &Role) -> bool {
    case.flows().iter().any(|flow| flow.sender() == *role)
}

/// How busy the busiest CPU of a host was, from 0 to 1; none: it does not tell.
pub(super) fn busiest(case: &Case<'_>, host: &HostView<'_>) -> Option<f64> {
    load(case, host).map(|load| load.busy)
}

/// How much of the time that it has an end used for the test, 0 to 1: its busiest CPU, its worker
/// without time left, or the thread of it that ran or waited for a CPU most; none: it does not
/// tell.
pub(super) fn level(case: &Case<'_>, host: &HostView<'_>) -> Option<f64> {
    let level = busiest(case, host).unwrap_or(0.0).max(wanted(case, host));
    (level > 0.0).then_some(level.min(1.0))
}

/// Share of the time of the result for which an end wanted a CPU: that of its worker without time
/// left, or of its thread that ran or waited for a CPU most; 0: it is not known.
pub(super) fn wanted(case: &Case<'_>, host: &HostView<'_>) -> f64 {
    let worker = case.test.and_then(|test| workers::limiting(test, host.role()));
    let worker = worker.map_or(0.0, |(_, worker)| worker.utilisation);
    let most = |each| host.each(each).iter().map(|(_, nanos)| *nanos).max().unwrap_or(0);
    let unseen = case.test.map_or(Duration::ZERO, |test| stopped::waiting(test, host));
    let wanted = most(counter::TASK_RUN).saturating_add(most(counter::TASK_WAIT)) as f64;
    let wanted = wanted + unseen.as_nanos() as f64;
    let span = case.result_span().map_or(f64::MAX, |span| span.as_nanos() as f64);
    worker.max(wanted / span.max(1.0))
}

/// Whether an end had CPU time left for the test; none: it does not tell. CPUs that others keep
/// busy are left if no thread of the test wanted much of one.
pub(super) fn has_time(case: &Case<'_>, role: &Role) -> Option<bool> {
    let host = case.host(role)?;
    let busy = busiest(case, host)?;
    let others = case.test.and_then(|test| others_cpu::taken(test, host)).unwrap_or(0.0);
    let is_others = others >= CROWDED && wanted(case, host) < BUSY;
    Some(busy < AT_EASE || is_others)
}

/// Whether an end reports no CPU times, and nobody stated what its CPUs did.
pub(super) fn is_untold(case: &Case<'_>, role: &Role) -> bool {
    case.host(role).is_none_or(|host| {
        let profile = host.evidence.profile.as_ref();
        let is_stated = profile.is_some_and(|one| matches!(one.source, ProfileSource::Stated(_)));
        !host.reports(Family::CPU) && !is_stated
    })
}

/// CPU time of the program of an end, as it reports itself, as a share of one CPU; none: it does
/// not.
pub(super) fn of_process(case: &Case<'_>, role: &Role) -> Option<f64> {
    let outcome = &case.test?.record.outcome;
    let used = match role {
        Role::Here => outcome.cpu,
        Role::Peer => outcome.peer_cpu,
        Role::Observed(_) => None,
    };
    used.map(|used| used.total / 100.0).filter(|used| *used > 0.0)
}

/// Whether all that an end does in a test is to send, and its program, which tells of its CPU no
/// more than that, used less than half of one.
pub(super) fn sends_at_ease(case: &Case<'_>, role: &Role) -> bool {
    let used = of_process(case, role).filter(|_| is_untold(case, role));
    case.flows().iter().all(|flow| flow.sender() == *role) && used.is_some_and(|it| it < EASE)
}

/// CPU time of a program that sends and is not limited by its CPU, as a share of one.
const EASE: f64 = 0.5;
/// CPUs that others took from which on a full CPU may be theirs.
const CROWDED: f64 = 0.30;
/// Share of the time of one thread.
const BUSY: f64 = 0.5;
/// A CPU with so much left did not make a queue. To be calibrated.
const AT_EASE: f64 = 0.80;

/// CPUs that had less than half of their time to do, besides the busiest.
pub(super) fn idle_ones(case: &Case<'_>, host: &HostView<'_>) -> usize {
    cpu::Load::each(host).iter().filter(|cpu| busy_share(case, host, cpu) < 0.5).count()
}

fn is_end(host: &HostView<'_>) -> bool {
    !matches!(host.role(), Role::Observed(_))
}

fn full_cpu<'a>(case: &Case<'a>, host: &HostView<'a>) -> Option<Full<'a>> {
    let least = fullness(case, host);
    let is_full = |load: &Load| load.busy >= least && is_of_the_test(case, host, load);
    let load = load(case, host).filter(is_full)?;
    let attribution = attribution(case, host);
    let rows = host.evidence.profile.as_ref().map_or(&[][..], |profile| &profile.rows);
    let is_its = |row: &&ProfileRow| load.cpu.is_none() || row.cpu.is_none() || row.cpu == load.cpu;
    Some(Full {
        role: host.role().clone(),
        work: attribution.map(|one| work(one, load.cpu)).unwrap_or_default(),
        rows: rows.iter().filter(is_its).filter(|row| row.task != Task::Idle).collect(),
        cpu: load.cpu,
        busy: load.busy,
        interrupts: load.interrupts,
        source: load.source + why_full(case, host, load.busy),
    })
}

/// Threads of two ends that want a CPU for so much of each other's time are alike.
const ALIKE: f64 = 0.8;

/// Why so much is enough, in words.
fn why_full(case: &Case<'_>, host: &HostView<'_>, busy: f64) -> &'static str {
    match () {
        () if busy >= FULL => "",
        () if never_pauses(case, host) => ", and a thread of linerate never paused",
        () => ", as all CPUs that hand packets to each other",
    }
}

/// From which share of its time on the busiest CPU is full: where a thread never paused less is
/// enough, since that changes its CPU as often as the scheduler likes.
fn fullness(case: &Case<'_>, host: &HostView<'_>) -> f64 {
    match () {
        () if never_pauses(case, host) => NEARLY_FULL,
        () if is_handed_on(case, host) => HANDED_ON,
        () => FULL,
    }
}

/// Whether all CPUs of the host work on a path in software, on which they hand packets to each
/// other and wait for each other meanwhile: then none is ever full.
fn is_handed_on(case: &Case<'_>, host: &HostView<'_>) -> bool {
    let is_software = case.test.is_some_and(|test| software_path::kind(test).is_some());
    let cpus = cpu::Load::each(host);
    let are_busy = cpus.iter().all(|cpu| busy_share(case, host, cpu) >= HANDED_ON);
    is_software && !cpus.is_empty() && are_busy
}

/// A worker of an end had no time left, or its thread ran or waited for a CPU nearly all the
/// time, and no experiment shows that it has time.
fn never_pauses(case: &Case<'_>, host: &HostView<'_>) -> bool {
    let has_time = Answers::of(case).is_some_and(|answers| answers.has_time(host.role()));
    wanted(case, host) >= RESTLESS && !has_time
}

/// What a host, or another namespace of its kernel, was seen to do.
fn attribution<'a>(case: &Case<'a>, host: &HostView<'_>) -> Option<&'a Attribution> {
    let same = case.hosts.iter().filter(|other| other.is_same_kernel(host));
    let roles = std::iter::once(host.role()).chain(same.map(HostView::role));
    roles.into_iter().find_map(|role| case.attribution(role))
}

fn work(attribution: &Attribution, cpu: Option<u32>) -> BTreeMap<Work, f64> {
    let own = attribution.cpus.iter().find(|one| Some(one.cpu) == cpu);
    own.map_or_else(
        || attribution.work.iter().map(|(work, cost)| (*work, cost.share)).into_map(),
        |own| own.work.clone(),
    )
}

/// How busy one CPU was.
struct Load {
    cpu: Option<u32>,
    busy: f64,
    interrupts: Option<f64>,
    source: String,
}

/// Of its busiest CPU: what the kernel counted, else what samples show, else what somebody
/// wrote. Samples tell shares of busy time; idle CPUs that sleep deeply have none.
fn load(case: &Case<'_>, host: &HostView<'_>) -> Option<Load> {
    counted(case, host).or_else(|| sampled(case, host)).or_else(|| stated(host))
}

fn counted(case: &Case<'_>, host: &HostView<'_>) -> Option<Load> {
    let all = cpu::Load::each(host).into_iter();
    let all = all.map(|cpu| (busy_share(case, host, &cpu), cpu));
    let (busy, cpu) = all.max_by(|(one, _), (other, _)| one.total_cmp(other))?;
    Some(Load {
        cpu: Some(cpu.cpu),
        busy,
        interrupts: Some(cpu.interrupted_of_active()),
        source: "time of the CPUs".to_owned(),
    })
}

fn sampled(case: &Case<'_>, host: &HostView<'_>) -> Option<Load> {
    let attribution = attribution(case, host)?;
    let cpu = attribution.cpus.iter().max_by(|one, other| one.busy.total_cmp(&other.busy))?;
    let source = "profile of the CPUs".to_owned();
    Some(Load { cpu: Some(cpu.cpu), busy: cpu.busy, interrupts: None, source })
}

/// What somebody wrote of a CPU, who measured by other means.
fn stated(host: &HostView<'_>) -> Option<Load> {
    let profile = host.evidence.profile.as_ref()?;
    let ProfileSource::Stated(source) = &profile.source else { return None };
    let count = |is_of: fn(&&ProfileRow) -> bool| -> u64 {
        profile.rows.iter().filter(is_of).map(|row| row.count).fold(0, u64::saturating_add)
    };
    let busy = share(count(|row| row.task != Task::Idle), count(|_| true));
    Some(Load { cpu: None, busy, interrupts: None, source: format!("stated, {source}") })
}

/// A CPU that others keep busy, or that spins until a datagram is due, does not limit; of more full
/// CPUs than others can keep busy one does.
fn is_of_the_test(case: &Case<'_>, host: &HostView<'_>, load: &Load) -> bool {
    let Some(test) = case.test else { return false };
    if workers::limiting(test, host.role()).is_some() {
        return true;
    }
    let spun = test
        .runtime(host.role())
        .map_or(0.0, |runtime| runtime.mpus.iter().map(|mpu| mpu.spun_seconds).fold(0.0, f64::max));
    let spun = spun / host.span().as_secs_f64().max(f64::MIN_POSITIVE);
    let others = others_cpu::taken(test, host).unwrap_or(0.0);
    let cpus = cpu::Load::each(host);
    // Of a short result a little work fills the time, as it did before and after.
    let is_full =
        |cpu: &&cpu::Load| busy_share(case, host, cpu) >= FULL && cpu.busy() >= FULL / 2.0;
    let full = cpus.iter().filter(is_full).count();
    let others = if full as f64 >= 1.0 + others.ceil() { 0.0 } else { others };
    load.busy - spun - others.min(load.busy) >= FULL / 2.0 && spun < 1.0 - FULL
}

/// Share of its time in which a CPU was busy. Readings begin before the result and end after it,
/// and then there was nothing to do.
fn busy_share(case: &Case<'_>, host: &HostView<'_>, cpu: &cpu::Load) -> f64 {
    let span = host.span();
    let outside = case.result_span().map_or(Duration::ZERO, |result| span.saturating_sub(result));
    // What does not change is left out: a CPU of which little is told was idle.
    let whole = cpu.all().max(span).saturating_sub(outside).max(cpu.active());
    cpu.active().as_secs_f64() / whole.as_secs_f64().max(f64::MIN_POSITIVE)
}

/// Shares of the busy time for work that every test has: it is the limit where it is most of it,
/// else a part of the usual mixture.
pub(super) const fn usual(noticeable: f64) -> Thresholds {
    Thresholds { noticeable, limiting: 0.5 }
}

/// Shares of the busy time for work that should not be: it is the limit as soon as it tells.
pub(super) const fn unusual(least: f64) -> Thresholds {
    Thresholds { noticeable: least, limiting: least }
}

/// A CPU with so little left does not keep up. To be calibrated.
const FULL: f64 = 0.90;
/// Of one CPU, where a thread never paused: with a thread that moves between two it may be half,
/// and of one that a quota stops it is less. By 120 planted faults on two CPUs.
const NEARLY_FULL: f64 = 0.55;
/// Of each CPU, where packets go from CPU to CPU within one host.
const HANDED_ON: f64 = 0.6;
/// A thread that ran, or could have, for so much of the time never paused. By the same: 0.89 to
/// 0.98 where CPU time was the limit, and at most 0.75 elsewhere.
const RESTLESS: f64 = 0.85;
