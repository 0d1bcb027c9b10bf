//! A test that never ran: counters that grow evenly, and the other end's word on them.

use std::time::Duration;

use linerate_report::iperf3::{Contact, PeerResults, Role};
use measurement::outcome::CpuUse;
use measurement::plan::PlanDraft;
use measurement::record::PeerStream;
use measurement::{
    BitRate, ByteSize, Course, Direction, Sample, StreamCounters, StreamRecord, StreamSample,
    TcpSample, TestPlan, Timestamp, Transport,
};

/// Two seconds of it count.
pub(crate) struct Scene {
    pub(crate) role: Role,
    pub(crate) plan: TestPlan,
    pub(crate) streams: Vec<StreamRecord>,
    pub(crate) samples: Vec<Sample>,
    base: usize,
    peer_streams: Vec<PeerStream>,
}

impl Scene {
    pub(crate) fn new(role: Role, transport: Transport, direction: Direction) -> Self {
        Self::of(role, PlanDraft { end: two_seconds(), ..PlanDraft::new(transport, direction) })
    }

    pub(crate) fn of(role: Role, draft: PlanDraft) -> Self {
        let plan = draft.check().expect("a plan");
        let senders = senders(role, &plan);
        let streams = senders.iter().zip(0..).map(|(sender, index)| stream(&plan, *sender, index));
        let streams: Vec<_> = streams.collect();
        let omit = plan.omit.as_secs();
        let base = usize::try_from(omit).expect("few");
        let samples: Vec<_> =
            (0..=omit + 2).map(|second| sample(&streams, &plan, second)).collect();
        let omitted = &samples[base];
        let word = |(stream, index)| peer_stream(stream, &plan, omitted, index);
        let peer_streams = streams.iter().zip(0..).map(word).collect();
        Self { role, plan, streams, samples, base, peer_streams }
    }

    /// The same with other settings.
    pub(crate) fn with(self, change: impl FnOnce(&mut PlanDraft)) -> Self {
        let mut draft = PlanDraft::from(self.plan);
        change(&mut draft);
        Self::of(self.role, draft)
    }

    /// The whole test.
    pub(crate) fn course(&self) -> Course<'_> {
        self.course_at(self.samples.len())
    }

    /// The test as far as it has come with so many samples.
    pub(crate) fn course_at(&self, samples: usize) -> Course<'_> {
        let is_over = samples == self.samples.len();
        Course {
            plan: &self.plan,
            streams: &self.streams,
            samples: &self.samples[..samples],
            intervals: &[],
            base: if samples > self.base { self.base } else { samples },
            stopped: self.samples.last().map(|last| last.at).filter(|_| is_over),
            cpu: CpuUse { total: 12.5, user: 0.4, system: 12.1 },
        }
    }

    /// A server prints before it hears its client.
    pub(crate) fn peer_results(&self) -> PeerResults<'_> {
        if self.role == Role::Server {
            return PeerResults::default();
        }
        PeerResults {
            streams: &self.peer_streams,
            cpu: Some(CpuUse { total: 20.5, user: 0.5, system: 20.0 }),
            congestion: Some("cubic"),
        }
    }

    pub(crate) fn contact(&self) -> Contact<'_> {
        let (host, port) = match self.role {
            Role::Client => ("server.example", 5201),
            Role::Server => ("::ffff:192.0.2.1", 40000),
        };
        Contact {
            role: self.role,
            host,
            port,
            cookie: "zqutqs7rxme7k7giwcoky6r4w2ld334tjjue",
            mss_asked: self.plan.options.mss,
            mss_default: Some(1448),
            wall_millis: 1_795_304_723_257,
        }
    }

    pub(crate) fn block(&self) -> ByteSize {
        block(&self.plan)
    }

    /// Nobody opened a stream.
    pub(crate) fn empty(mut self) -> Self {
        (self.streams, self.samples, self.peer_streams) = Default::default();
        self
    }

    /// The other end is too old to tell of the omitted start.
    pub(crate) fn old_peer(mut self) -> Self {
        for stream in &mut self.peer_streams {
            (stream.omitted_datagrams, stream.omitted_lost) = (None, None);
        }
        self
    }
}

pub(crate) fn two_seconds() -> measurement::End {
    measurement::End::Time(Duration::from_secs(2))
}

/// Of each stream whether this end sends on it; the client's go first.
fn senders(role: Role, plan: &TestPlan) -> Vec<bool> {
    let client = [
        vec![true; plan.sending_streams() as usize],
        vec![false; plan.receiving_streams() as usize],
    ];
    client.concat().into_iter().map(|sends| sends == (role == Role::Client)).collect()
}

fn block(plan: &TestPlan) -> ByteSize {
    let usual = if plan.transport == Transport::Udp { 1448 } else { 131_072 };
    plan.options.block.unwrap_or(ByteSize::from_bytes(usual))
}

fn stream(plan: &TestPlan, sender: bool, index: u16) -> StreamRecord {
    let is_tcp = plan.transport == Transport::Tcp;
    StreamRecord {
        id: u32::from(if index == 0 { 1 } else { index + 2 }),
        sender,
        socket: Some(u32::from(5 + 2 * index)),
        local: Some(format!("[::ffff:192.0.2.1]:{}", 40_001 + index).parse().expect("an address")),
        peer: Some("[2001:db8::1]:5201".parse().expect("an address")),
        block: block(plan),
        send_buffer: Some(ByteSize::from_bytes(16_384)),
        receive_buffer: Some(ByteSize::from_bytes(131_072)),
        mss: is_tcp.then_some(1448),
        congestion: is_tcp.then(|| "bbr".to_owned()),
        arrivals: None,
        engine: Some("made up".into()),
        worker: Some(0),
        cpu: None,
    }
}

/// Clocks are never quite on time.
fn sample(streams: &[StreamRecord], plan: &TestPlan, second: u64) -> Sample {
    let at = Timestamp::from_nanos(7_000_000_000 + second * 1_000_250_000);
    let states = streams.iter().map(|stream| match plan.transport {
        Transport::Tcp => tcp_state(stream, second),
        Transport::Udp => udp_state(stream, second),
    });
    Sample { at, streams: states.collect() }
}

fn tcp_state(stream: &StreamRecord, second: u64) -> StreamSample {
    let bytes = second * (117_440_512 + u64::from(stream.id) * 131_072);
    let tcp = TcpSample {
        retransmits: second * second * u64::from(stream.id),
        congestion_window: 300_000 + 1_000_000 * second,
        rtt_micros: 500 - 100 * u32::try_from(second).expect("few"),
        rtt_variation_micros: 20,
        path_mtu: 1500,
        send_window: 3_000_000,
        reordering: 3,
        ..TcpSample::default()
    };
    let counters = StreamCounters { bytes, blocks: bytes / 131_072, ..StreamCounters::default() };
    StreamSample { id: stream.id, counters, tcp: Some(tcp), udp: None }
}

/// A receiver misses three datagrams in the first second and finds one of them later.
fn udp_state(stream: &StreamRecord, second: u64) -> StreamSample {
    let sequence = second * (800 + u64::from(stream.id));
    let missing = match second {
        _ if stream.sender => 0,
        0 => 0,
        1 => 3,
        2 => 2,
        _ => 8,
    };
    let unique = sequence - missing;
    let counters = StreamCounters {
        bytes: unique * 1448,
        blocks: unique,
        sequence,
        unique: if stream.sender { 0 } else { unique },
        reordered: if stream.sender { 0 } else { second * 2 },
        jitter_nanos: if stream.sender { 0 } else { 12_345 * second },
        ..StreamCounters::default()
    };
    StreamSample { id: stream.id, counters, tcp: None, udp: None }
}

fn peer_stream(stream: &StreamRecord, plan: &TestPlan, base: &Sample, index: u64) -> PeerStream {
    let is_udp = plan.transport == Transport::Udp;
    let omitted = base.streams.iter().find(|state| state.id == stream.id).expect("a state");
    let (missed, sent) = if stream.sender { (1, 0) } else { (0, 4) };
    let omitted = omitted.counters.sequence;
    PeerStream {
        id: stream.id,
        bytes: if is_udp { 2_310_000 } else { 234_000_000 } - 1000 * index,
        seconds: 2.004_5,
        retransmits: (!is_udp && !stream.sender).then_some(7),
        datagrams: if is_udp { omitted + 1602 + 2 * u64::from(stream.id) + sent } else { 0 },
        omitted_datagrams: Some(if is_udp { omitted } else { 0 }),
        lost: if is_udp { 5 * missed } else { 0 },
        omitted_lost: Some(if is_udp && omitted > 0 { missed } else { 0 }),
        jitter_seconds: if is_udp && stream.sender { 0.000_031 } else { 0.0 },
        one_way: None,
        counted: None,
    }
}

/// A rate of each stream.
pub(crate) const TEN_MEGABITS: BitRate = BitRate::from_bits_per_second(10_000_000);
