//! Records for tests: clean ones, whose judgement is VALID, and what spoils them.

use measurement::host::{Counter, Family, Interface, Irq, Queueing, counter};
use std::time::Duration;

use measurement::outcome::{CpuUse, Ending};
use measurement::plan::PlanDraft;
use measurement::record::{ArrivalClock, Origin, PeerReport, PeerStream, RecordSchema};
use measurement::verdict::{Cost, CpuWork};
use measurement::{
    Attribution, BitRate, ByteSize, ClockOffset, DatagramLedger, Direction, DirectionOutcome,
    Engines, Environment, HostEvidence, MpuUse, Outcome, Pacing, PacingReport, PacingWay, Peer,
    Profile, ProfileRow, Pulse, Quantiles, RateSearch, RateSearchEnd, RateTrial, Role, Runtime,
    Sample, Stamp, StreamCounters, StreamRecord, StreamSample, Task, TcpSample, TestPlan,
    TestRecord, Throughput, Timestamp, Transport, UdpSample, Work,
};

use crate::accounts::Test;
use crate::trust::{Finding, Rule};

/// UDP to the server, at the rate asked; all of it arrived.
pub(crate) fn udp() -> TestRecord {
    let mut record = record(Transport::Udp, Direction::Send);
    record.plan = plan_with(&record.plan, |draft| draft.options.rate = Some(rate()));
    let outcome = &mut record.outcome.directions[0];
    outcome.asked = Some(rate());
    outcome.pacing = Some(pacing());
    outcome.jitter_seconds = Some(20e-6);
    outcome.datagrams = Some(DatagramLedger {
        sent: DATAGRAMS,
        received: DATAGRAMS,
        tail: Some(0),
        reordered: Some(0),
        duplicate: Some(0),
        late: Some(0),
        ..DatagramLedger::default()
    });
    let host_bytes = DATAGRAMS * (BLOCK + 42);
    grow(host(&mut record, &Role::Here), counter::INTERFACE_TX_BYTES.on("eth0"), host_bytes);
    grow(host(&mut record, &Role::Peer), counter::INTERFACE_RX_BYTES.on("eth0"), host_bytes);
    record
}

/// A row at 90 Mbit/s, which a search found since the record of a trial at the rate asked showed
/// what is above it; all of the row arrived.
pub(crate) fn searched(end: RateSearchEnd, spoil: impl FnOnce(&mut TestRecord)) -> TestRecord {
    let mut above = udp();
    spoil(&mut above);
    let outcome = &mut above.outcome.directions[0];
    outcome.asked = None;
    let of = |throughput: Option<Throughput>| throughput.expect("reported").rate;
    let trial = RateTrial {
        asked: rate(),
        sent: of(outcome.offered),
        arrived: of(outcome.delivered),
        loss: outcome.datagrams.expect("reported").loss(),
    };
    let held = BitRate::from_bits_per_second(90_000_000);
    let mut record = udp();
    record.plan = plan_with(&record.plan, |draft| draft.options.rate = Some(held));
    send_only(&mut record, BYTES / 10 * 9);
    record.outcome.directions[0].asked = None;
    let above = Some(Box::new(above));
    record.trials.rate = Some(RateSearch { held, end, floor: None, trials: vec![trial], above });
    record
}

/// The same from the server.
pub(crate) fn udp_received() -> TestRecord {
    let mut record = udp();
    record.plan = plan_with(&record.plan, |draft| draft.direction = Direction::Receive);
    record.outcome.directions[0].direction = Direction::Receive;
    record.streams[0].sender = false;
    record.streams[0].arrivals = Some(ArrivalClock::Kernel);
    record
}

/// TCP to the server, as much as goes.
pub(crate) fn tcp() -> TestRecord {
    let mut record = record(Transport::Tcp, Direction::Send);
    let outcome = &mut record.outcome.directions[0];
    (outcome.acknowledged, outcome.retransmits) = (outcome.offered, Some(0));
    let (segments, acknowledgements) = (BYTES / 1_448, BYTES / 2_896);
    let (bytes, answers) = (BYTES + segments * 66, acknowledgements * 66);
    for (role, out, into) in [(Role::Here, bytes, answers), (Role::Peer, answers, bytes)] {
        grow(host(&mut record, &role), counter::INTERFACE_TX_BYTES.on("eth0"), out);
        grow(host(&mut record, &role), counter::INTERFACE_RX_BYTES.on("eth0"), into);
    }
    record
}

/// TCP at the rate asked.
pub(crate) fn tcp_at_a_rate() -> TestRecord {
    let mut record = tcp();
    record.plan = plan_with(&record.plan, |draft| draft.options.rate = Some(rate()));
    record.outcome.directions[0].asked = Some(rate());
    record
}

/// The ends are two namespaces of one kernel, on a pair of virtual interfaces.
pub(crate) fn in_software(record: &mut TestRecord) {
    for host in &mut record.hosts {
        host.inventory.boot = Some("the same".to_owned());
        host.inventory.interfaces[0].kind = Some("veth".to_owned());
    }
}

/// A plan like another.
pub(crate) fn plan_with(plan: &TestPlan, change: impl FnOnce(&mut PlanDraft)) -> TestPlan {
    let mut draft = PlanDraft::from(plan.clone());
    change(&mut draft);
    draft.check().expect("a plan")
}

/// The evidence of a host.
pub(crate) fn host<'a>(record: &'a mut TestRecord, role: &Role) -> &'a mut HostEvidence {
    record.hosts.iter_mut().find(|host| host.role == *role).expect("both are there")
}

/// A counter that grows by so much, evenly, while the test runs.
pub(crate) fn grow(host: &mut HostEvidence, counter: Counter<'_>, by: u64) {
    let steps = host.series.at.len() as u64 - 1;
    let values = (0..=steps).map(|step| by / steps * step + by % steps * step / steps);
    host.series.put(counter, values.collect());
}

/// The interface of a host.
pub(crate) fn interface_of<'a>(record: &'a mut TestRecord, role: &Role) -> &'a mut Interface {
    &mut host(record, role).inventory.interfaces[0]
}

/// One interrupt of the interface of a host, that came to one CPU.
pub(crate) fn interrupt(record: &mut TestRecord, role: &Role, cpu: u32, times: u64) {
    let host = host(record, role);
    let interface = Some("eth0".to_owned());
    let irq = Irq { number: 30, name: "eth0".to_owned(), interface, ..Irq::default() };
    host.inventory.irqs = vec![Irq { effective: vec![cpu], ..irq }];
    grow(host, counter::interrupts(30).on(cpu), times);
}

/// The first CPU of a host has time for nothing but what came from the network.
pub(crate) fn fill_with_interrupts(record: &mut TestRecord, role: &Role) {
    interrupt(record, role, 0, 200_000);
    let host = host(record, role);
    grow(host, counter::CPU_SOFTIRQ.on(0), 9_500_000_000);
    for state in [counter::CPU_USER, counter::CPU_SYSTEM, counter::CPU_IDLE] {
        grow(host, state.on(0), 150_000_000);
    }
}

/// What was handed to the sockets, and what came out of those of the server.
pub(crate) fn offer(record: &mut TestRecord, offered: u64, delivered: u64) {
    let outcome = &mut record.outcome.directions[0];
    outcome.offered = Some(Throughput::over(offered, TIME));
    outcome.acknowledged = outcome.acknowledged.map(|_| Throughput::over(delivered, TIME));
    outcome.delivered = Some(Throughput::over(delivered, TIME));
}

/// Datagrams that the sender could not send: what went is all that interfaces saw.
pub(crate) fn send_only(record: &mut TestRecord, bytes: u64) {
    offer(record, bytes, bytes);
    let datagrams = record.outcome.directions[0].datagrams.as_mut().expect("reported");
    (datagrams.sent, datagrams.received) = (bytes / BLOCK, bytes / BLOCK);
    let host_bytes = bytes / BLOCK * (BLOCK + 42);
    grow(host(record, &Role::Here), counter::INTERFACE_TX_BYTES.on("eth0"), host_bytes);
    grow(host(record, &Role::Peer), counter::INTERFACE_RX_BYTES.on("eth0"), host_bytes);
}

/// So many datagrams did not arrive.
pub(crate) fn lose(record: &mut TestRecord, lost: u64) {
    offer(record, BYTES, (DATAGRAMS - lost) * BLOCK);
    let datagrams = record.outcome.directions[0].datagrams.as_mut().expect("reported");
    (datagrams.received, datagrams.lost) = (DATAGRAMS - lost, lost);
}

/// So many packets passed the server's interface and did not reach its IP layer.
pub(crate) fn vanish_at_ingress(record: &mut TestRecord, packets: u64) {
    let host = host(record, &Role::Peer);
    grow(host, counter::INTERFACE_RX_PACKETS.on("eth0"), DATAGRAMS);
    grow(host, counter::IP_IN_RECEIVES.v4, DATAGRAMS - packets);
    grow(host, counter::IP_IN_DELIVERS.v4, DATAGRAMS - packets);
}

/// So many packets came into the IP layer of a host and neither reached a socket nor went on.
pub(crate) fn filter(record: &mut TestRecord, role: &Role, packets: u64) {
    let host = host(record, role);
    grow(host, counter::IP_IN_RECEIVES.v4, DATAGRAMS);
    grow(host, counter::IP_IN_DELIVERS.v4, DATAGRAMS - packets);
}

/// The queueing discipline of the sender dropped so many.
pub(crate) fn drop_in_queue(record: &mut TestRecord, packets: u64) {
    let drops = counter::QDISC_DROPS.within("eth0").on("fq_codel@8001:");
    let host = host(record, &Role::Here);
    grow(host, drops, packets);
    let left = (DATAGRAMS - packets) * (BLOCK + 42);
    grow(host, counter::INTERFACE_TX_BYTES.on("eth0"), left);
}

/// A host on the way, with another kernel than the ends.
pub(crate) fn observe<'a>(record: &'a mut TestRecord, name: &str) -> &'a mut HostEvidence {
    let mut host = evidence(Role::Observed(name.to_owned()));
    host.inventory.boot = Some(name.to_owned());
    record.hosts.push(host);
    record.hosts.last_mut().expect("it was pushed")
}

/// What the server's sockets dropped.
pub(crate) fn drop_in_sockets(record: &mut TestRecord, drops: u64) {
    let counted = record.reported.streams[0].counted.as_mut().expect("reported");
    counted.udp = Some(UdpSample { drops, ..UdpSample::default() });
}

/// What the sender's TCP says at the end.
pub(crate) fn sent(record: &mut TestRecord) -> &mut TcpSample {
    let last = record.samples.last_mut().expect("there is one");
    last.streams[0].tcp.as_mut().expect("it is TCP")
}

/// So many segments were sent again, some of which had arrived.
pub(crate) fn send_again(record: &mut TestRecord, segments: u64, spurious: u32) {
    let tcp = sent(record);
    (tcp.retransmits, tcp.bytes_retransmitted) = (segments, segments * 1_448);
    (tcp.duplicates, tcp.segment) = (spurious, 1_448);
}

/// How long the sender waited for room in its socket.
pub(crate) fn block(record: &mut TestRecord, nanos: u64) {
    let last = record.samples.last_mut().expect("there is one");
    last.streams[0].counters.blocked_nanos = nanos;
}

/// How busy the worker of an end was.
pub(crate) fn occupy(record: &mut TestRecord, role: &Role, share: f64) {
    let (run_seconds, idle_seconds) = (10.0 * share, 10.0 * (1.0 - share));
    let worker = MpuUse { run_seconds, idle_seconds, streams: 1, ..MpuUse::default() };
    let runtime = match role {
        Role::Here => &mut record.runtime,
        _ => &mut record.reported.runtime,
    };
    *runtime = Some(Runtime::new([worker]));
}

/// How busy the first CPU of a host was: with linerate, most of it in the kernel.
pub(crate) fn fill(host: &mut HostEvidence, share: f64) {
    let tenths = |part: f64| {
        let nanos = Duration::from_secs_f64(10.0 * part).as_nanos();
        u64::try_from(nanos).expect("a part of ten seconds")
    };
    grow(host, counter::CPU_USER.on(0), tenths(share * 0.1));
    grow(host, counter::CPU_SYSTEM.on(0), tenths(share * 0.3));
    grow(host, counter::CPU_SOFTIRQ.on(0), tenths(share * 0.6));
    grow(host, counter::CPU_IDLE.on(0), tenths(1.0 - share));
    grow(host, counter::PROCESS_USER, tenths(share * 0.1));
    grow(host, counter::PROCESS_SYSTEM, tenths(share * 0.3));
}

/// Samples of a host: for each kind of work a row whose function has the name of the work.
pub(crate) fn profile(host: &mut HostEvidence, work: &[(Work, u64)]) {
    let rows = work.iter().map(|(work, count)| ProfileRow {
        cpu: Some(0),
        task: Task::Own,
        symbol: work.to_string(),
        count: *count,
        ..ProfileRow::default()
    });
    host.profile = Some(Profile { rows: rows.collect(), ..Profile::default() });
}

/// The server's first CPU was full, and did that.
pub(crate) fn full_with(record: &mut TestRecord, work: &[(Work, u64)]) {
    let host = host(record, &Role::Peer);
    fill(host, 0.98);
    profile(host, work);
}

/// The server's first CPU was full, with so many in a hundred of its samples in one kind of work.
pub(crate) fn full_of(record: &mut TestRecord, work: Work, percent: u64) {
    full_with(record, &[(Work::User, 100 - percent), (work, percent)]);
}

/// The same in one function.
pub(crate) fn full_in(record: &mut TestRecord, symbol: &str, percent: u64) {
    full_of(record, Work::Other, percent);
    let profile = host(record, &Role::Peer).profile.as_mut().expect("it is sampled");
    profile.rows[1].symbol = symbol.to_owned();
}

/// Where CPU time went by the rows that [`profile`] made: tables of functions have tests of
/// their own.
pub(crate) fn attributions(record: &TestRecord) -> Vec<Attribution> {
    let sampled = record.hosts.iter().filter_map(|host| Some((host, host.profile.as_ref()?)));
    sampled.map(|(host, profile)| attribution(host.role.clone(), profile)).collect()
}

fn attribution(role: Role, profile: &Profile) -> Attribution {
    let samples = profile.rows.iter().map(|row| row.count).sum::<u64>();
    let named = |row: &ProfileRow| WORK.into_iter().find(|work| work.to_string() == row.symbol);
    let mut work = std::collections::BTreeMap::<Work, f64>::new();
    for row in &profile.rows {
        let share = row.count as f64 / samples as f64;
        *work.entry(named(row).unwrap_or(Work::Other)).or_default() += share;
    }
    let cost = |share: &f64| Cost { share: *share, nanos_per_kib: None };
    Attribution {
        host: role,
        source: profile.source.clone(),
        samples,
        labelled: 1.0,
        work: work.iter().map(|(work, share)| (*work, cost(share))).collect(),
        cpus: vec![CpuWork { cpu: 0, busy: 0.98, work }],
        what_if: Vec::new(),
    }
}

/// What one rule finds.
pub(crate) fn found(rule: &Rule, record: &TestRecord) -> Vec<Finding> {
    rule.found(&Test::from_record(record))
}

/// The text of the only note.
pub(crate) fn noted(rule: &Rule, record: &TestRecord) -> String {
    only(rule, record, Stamp::Valid)
}

/// The text of the only reason for a doubt.
pub(crate) fn suspected(rule: &Rule, record: &TestRecord) -> String {
    only(rule, record, Stamp::Suspect)
}

/// The text of the only reason why it does not tell what was asked.
pub(crate) fn refuted(rule: &Rule, record: &TestRecord) -> String {
    only(rule, record, Stamp::Invalid)
}

/// The only thing that could not be checked.
pub(crate) fn unchecked(rule: &Rule, record: &TestRecord) -> String {
    match found(rule, record).as_slice() {
        [Finding::Unchecked(gap)] => gap.what.clone(),
        other => panic!("one gap is due: {other:?}"),
    }
}

fn only(rule: &Rule, record: &TestRecord, due: Stamp) -> String {
    match found(rule, record).as_slice() {
        [Finding::Reason { stamp, text, .. }] if *stamp == due => text.clone(),
        other => panic!("one reason that is {due} is due: {other:?}"),
    }
}

fn record(transport: Transport, direction: Direction) -> TestRecord {
    let plan = PlanDraft::new(transport, direction).check().expect("a plan");
    TestRecord {
        schema: RecordSchema::V1,
        origin: Origin { linerate: "0.1.0".to_owned(), ..Origin::default() },
        tags: std::collections::BTreeMap::default(),
        environment: Some(environment()),
        peer: Some(Peer {
            software: "linerate 0.1.0".to_owned(),
            address: "192.0.2.2:5201".parse().expect("an address"),
            local_address: "192.0.2.1:40000".parse().expect("an address"),
        }),
        plan,
        streams: vec![stream(transport)],
        start: Some(at(0)),
        samples: (0..=10).map(|second| sample(transport, second)).collect(),
        base: 0,
        stopped: Some(at(10)),
        intervals: Vec::new(),
        reported: PeerReport {
            streams: vec![peer_stream(transport)],
            runtime: Some(runtime()),
            pulses: vec![pulse(false)],
            ..PeerReport::default()
        },
        runtime: Some(runtime()),
        trials: measurement::record::Trials::default(),
        probes: Vec::new(),
        pulses: vec![pulse(true)],
        hosts: vec![evidence(Role::Here), evidence(Role::Peer)],
        outcome: Outcome {
            ending: Ending::Completed,
            directions: vec![outcome(direction)],
            round_trips: None,
            latency: None,
            cpu: Some(CpuUse::default()),
            peer_cpu: None,
            broken: None,
            peer_accepts: None,
            notes: Vec::new(),
            contradictions: Vec::new(),
        },
        judgement: None,
    }
}

fn environment() -> Environment {
    Environment {
        host: "near".to_owned(),
        kernel: "6.18.0".to_owned(),
        architecture: "x86_64".to_owned(),
        cpus: 2,
        started_at: "2026-11-22T00:00:00Z".to_owned(),
    }
}

fn stream(transport: Transport) -> StreamRecord {
    StreamRecord {
        id: 1,
        sender: true,
        socket: Some(9),
        local: Some("192.0.2.1:40001".parse().expect("an address")),
        peer: Some("192.0.2.2:5201".parse().expect("an address")),
        block: ByteSize::from_bytes(BLOCK),
        send_buffer: Some(ByteSize::from_bytes(425_984)),
        receive_buffer: Some(ByteSize::from_bytes(425_984)),
        mss: (transport == Transport::Tcp).then_some(1_448),
        congestion: None,
        arrivals: None,
        engine: Some("any".into()),
        worker: Some(0),
        cpu: None,
    }
}

fn sample(transport: Transport, second: u64) -> Sample {
    let bytes = BYTES / 10 * second;
    let datagrams = bytes / BLOCK;
    let counters = StreamCounters {
        bytes,
        blocks: datagrams,
        sequence: datagrams,
        unique: datagrams,
        ..StreamCounters::default()
    };
    let tcp = TcpSample {
        acknowledged: bytes,
        busy_micros: 1_000_000 * second,
        bytes_sent: bytes,
        ..TcpSample::default()
    };
    let is_tcp = transport == Transport::Tcp;
    let tcp = is_tcp.then_some(tcp);
    let udp = (!is_tcp).then(UdpSample::default);
    Sample { at: at(second), streams: vec![StreamSample { id: 1, counters, tcp, udp }] }
}

fn peer_stream(transport: Transport) -> PeerStream {
    let datagrams = if transport == Transport::Udp { DATAGRAMS } else { 0 };
    PeerStream {
        id: 1,
        bytes: BYTES,
        seconds: 10.0,
        datagrams,
        omitted_datagrams: Some(0),
        omitted_lost: Some(0),
        counted: sample(transport, 10).streams.pop(),
        ..PeerStream::default()
    }
}

fn outcome(direction: Direction) -> DirectionOutcome {
    DirectionOutcome {
        direction,
        asked: None,
        offered: Some(Throughput::over(BYTES, TIME)),
        acknowledged: None,
        delivered: Some(Throughput::over(BYTES, TIME)),
        retransmits: None,
        datagrams: None,
        jitter_seconds: None,
        ipdv: None,
        fairness: None,
        pacing: None,
        engines: Engines::default(),
    }
}

pub(crate) fn pacing() -> PacingReport {
    PacingReport {
        pacing: Pacing::Smooth,
        way: PacingWay::Timer,
        asked: rate(),
        achieved: rate(),
        achieved_outside_stalls: rate(),
        sending: TIME,
        stalled: Duration::ZERO,
        stalls: 0,
        forgone: Duration::ZERO,
        batches: Quantiles { p50: 4, p99: 4, max: 4 },
        gap_error_nanos: Quantiles::default(),
        lateness: Vec::new(),
        spin_share: 0.0,
    }
}

fn runtime() -> Runtime {
    let run_seconds = 3.0;
    Runtime::new([MpuUse { run_seconds, idle_seconds: 7.0, streams: 1, ..MpuUse::default() }])
}

fn pulse(sender: bool) -> Pulse {
    Pulse { sender, every: Duration::from_millis(100), bytes: vec![BYTES / 100; 100] }
}

/// Two CPUs that have little else to do.
fn evidence(role: Role) -> HostEvidence {
    let boot = Some(format!("start of {role:?}"));
    let mut host = HostEvidence { role, ..HostEvidence::default() };
    host.interfaces = vec!["eth0".to_owned()];
    host.inventory.boot = boot;
    host.inventory.interfaces = vec![interface()];
    for name in ["net.core.rmem_max", "net.core.wmem_max"] {
        host.inventory.settings.insert(name.to_owned(), "8388608".to_owned());
    }
    host.series.at = (0..=10).map(at).collect();
    for family in FAMILIES {
        host.series.note_read(family);
    }
    let counters = [
        (counter::CPU_USER.on(0), 400_000_000),
        (counter::CPU_SYSTEM.on(0), 1_700_000_000),
        (counter::CPU_SOFTIRQ.on(0), 600_000_000),
        (counter::CPU_IDLE.on(0), 7_300_000_000),
        (counter::CPU_IDLE.on(1), 9_800_000_000),
        (counter::PROCESS_USER, 400_000_000),
        (counter::PROCESS_SYSTEM, 1_600_000_000),
        (counter::TASK_WAIT.on(77), 40_000_000),
        (counter::PRESSURE_CPU.some, 100_000),
    ];
    for (counter, by) in counters {
        grow(&mut host, counter, by);
    }
    host.series.put_gauge(counter::FREQUENCY_KHZ.on(0), vec![1_800_000]);
    if host.role == Role::Peer {
        host.clock = Some(ClockOffset { add_nanos: 0, error_nanos: 20_000 });
    }
    host
}

fn interface() -> Interface {
    let queue = Queueing {
        handle: "0:".to_owned(),
        parent: "root".to_owned(),
        kind: "fq_codel".to_owned(),
        ..Queueing::default()
    };
    Interface { name: "eth0".to_owned(), mtu: 1_500, queueing: vec![queue], ..Interface::default() }
}

fn rate() -> BitRate {
    BitRate::from_bits_per_second(100_000_000)
}

fn at(second: u64) -> Timestamp {
    Timestamp::from_nanos((100 + second) * 1_000_000_000)
}

const TIME: Duration = Duration::from_secs(10);
const BLOCK: u64 = 1_250;
pub(crate) const DATAGRAMS: u64 = 100_000;
const BYTES: u64 = BLOCK * DATAGRAMS;
const WORK: [Work; 8] = [
    Work::CopyUser,
    Work::Checksum,
    Work::Allocation,
    Work::SystemCall,
    Work::Receive,
    Work::Locking,
    Work::User,
    Work::Other,
];
const FAMILIES: [Family; 14] = [
    Family::CPU,
    Family::SOFTNET,
    Family::INTERRUPTS,
    Family::SNMP,
    Family::SNMP6,
    Family::NETSTAT,
    Family::INTERFACE,
    Family::QDISC,
    Family::TASK,
    Family::PROCESS,
    Family::PRESSURE,
    Family::COOLING,
    Family::THROTTLE,
    Family::CGROUP,
];
