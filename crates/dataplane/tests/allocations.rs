//! Between start and close a worker thread allocates nothing.
//!
//! The allocator of this test binary counts per thread. Every engine is wrapped in
//! a [`Probe`], which runs on the worker and notes the count of its thread.

#![deny(unsafe_code)]

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::hint::black_box;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;

use linerate_dataplane::tcp::{MsgTruncSink, SendfileSource};
use linerate_dataplane::{
    Budget, BufferKind, Counters, Goal, Link, Pacer, PayloadPattern, Pool, RequesterConfig,
    RoundTripStatistics, Scratch, Step, Stream, accept_responder, connect_requester, requester,
    responder, tcp, udp,
};
use linux::epoll::Interest;
use linux::payload::SealedPayload;
use linux::tcp::TcpOptions;
use measurement::{BitRate, Exchange, Pacing, Timestamp};
use portable_atomic::AtomicU64;
use protocol::iperf3::CounterWidth;

mod support;

use support::{BLOCK, DATAGRAM, Setup, counters, eventually, tcp_pair, udp_pair};

#[test]
fn tcp_streams_without_a_limit_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let setup = (0..PAIRS).fold(Setup::tcp(), |setup, _| tcp_streams(setup, &allocations, None));
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn paced_tcp_streams_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let pacer = Pacer::for_blocks(RATE, BLOCK as u64);
    let setup =
        (0..PAIRS).fold(Setup::tcp(), |setup, _| tcp_streams(setup, &allocations, Some(pacer)));
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn udp_streams_without_a_limit_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let setup = (0..PAIRS).fold(Setup::udp(), |setup, _| udp_streams(setup, &allocations, None));
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn paced_udp_streams_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let pacer = Pacer::for_datagrams(RATE, DATAGRAM as u64);
    let setup =
        (0..PAIRS).fold(Setup::udp(), |setup, _| udp_streams(setup, &allocations, Some(pacer)));
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn streams_that_spin_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let pacer = Pacer::for_datagrams(RATE, DATAGRAM as u64).with_pacing(Pacing::Even);
    let setup =
        (0..PAIRS).fold(Setup::udp(), |setup, _| udp_streams(setup, &allocations, Some(pacer)));
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn tcp_streams_that_copy_nothing_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let payload = Arc::new(SealedPayload::new(&[7; BLOCK]).expect("kept"));
    let setup = (0..PAIRS).fold(Setup::tcp(), |setup, _| {
        let ((near, far), source) = (tcp_pair(), SendfileSource::new(Arc::clone(&payload)));
        setup
            .sender(|c| allocations.probe(tcp::Sender::with_source(source, near, BLOCK as u64, c)))
            .receiver(|c| allocations.probe(tcp::Receiver::with_sink(MsgTruncSink, far, c)))
    });
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn udp_streams_in_one_piece_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let setup = Setup::with_buffers(BufferKind::Segments, PayloadPattern::Digits);
    let setup = (0..PAIRS).fold(setup, |setup, _| {
        let (near, far) = udp_pair();
        linux::udp::enable_timestamps(&far).expect("stamps");
        linux::udp::enable_gro(&far).expect("coalesces");
        setup
            .sender(|c| allocations.probe(udp::Sender::gso(near, CounterWidth::Bits64, c)))
            .receiver(|c| allocations.probe(udp::Receiver::new(far, CounterWidth::Bits64, c)))
    });
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn bursts_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let pacer = Pacer::for_blocks(RATE, BLOCK as u64).with_burst(5);
    let setup =
        (0..PAIRS).fold(Setup::tcp(), |setup, _| tcp_streams(setup, &allocations, Some(pacer)));
    assert_quiet(setup.start(), &allocations);
}

#[test]
fn streams_on_two_workers_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let setup = (0..PAIRS).fold(Setup::tcp(), |setup, _| tcp_streams(setup, &allocations, None));
    assert_quiet(setup.workers(2).start(), &allocations);
}

#[test]
fn a_stream_that_spends_its_budget_and_one_that_fails_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let ((near, far), (reset, peer)) = (tcp_pair(), tcp_pair());
    let budget = Some(Arc::new(Budget::new(1_000_000)));
    let goal = Arc::new(Goal::new(1_000_000).expect("eventfd"));
    let watched = Some(Arc::clone(&goal));
    let pool = Setup::tcp()
        .sender(|c| allocations.probe(tcp::Sender::new(near, BLOCK as u64, c).with_bytes(budget)))
        .receiver(|c| allocations.probe(tcp::Receiver::new(far, c).with_goal(watched)))
        .receiver(|c| allocations.probe(tcp::Receiver::new(reset, c)))
        .start();
    eventually("all is received", || goal.is_reached());
    assert_eq!(counters(&pool, 2).bytes, 1_000_000);
    linux::tcp::abort_on_close(&peer).expect("will reset");
    drop(peer);
    eventually("the reset is noticed", || pool.stream_error().is_some());
    pool.stop_sending();
    pool.close().expect("closed");
    assert_eq!(allocations.allocations(), 0);
}

#[test]
fn a_stream_that_allocates_is_caught() {
    let allocations = Arc::new(AllocationCounts::default());
    let (near, far) = tcp_pair();
    let pool = Setup::tcp()
        .sender(|c| allocations.probe(Wasteful(tcp::Sender::new(near, BLOCK as u64, c))))
        .receiver(|c| allocations.probe(tcp::Receiver::new(far, c)))
        .start();
    eventually("it takes some steps", || allocations.steps.load(Relaxed) >= 10);
    pool.close().expect("closed");
    assert!(allocations.allocations() >= 1, "an allocation in a step is not seen");
}

/// A sender and its receiver, both probed.
fn tcp_streams(setup: Setup, allocations: &Arc<AllocationCounts>, pacer: Option<Pacer>) -> Setup {
    let (near, far) = tcp_pair();
    setup
        .sender(|c| allocations.probe(tcp::Sender::new(near, BLOCK as u64, c).with_pacer(pacer)))
        .receiver(|c| allocations.probe(tcp::Receiver::new(far, c)))
}

#[test]
fn those_that_ask_and_answer_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let exchange = Exchange { depth: 4, ..Exchange::default() };
    let of = |allocations: &Arc<AllocationCounts>, near, far| {
        let asking = config(exchange);
        let setup = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random);
        setup
            .sender(|c| allocations.probe(Boxed(requester(near, asking(c)).expect("asks"))))
            .receiver(|c| allocations.probe(Boxed(responder(far, exchange, c).expect("answers"))))
    };
    let (near, far) = tcp_pair();
    assert_quiet(of(&allocations, Link::Tcp(near), Link::Tcp(far)).start(), &allocations);
    let (allocations, (near, far)) = (Arc::new(AllocationCounts::default()), udp_pair());
    assert_quiet(of(&allocations, Link::Udp(near), Link::Udp(far)).start(), &allocations);
}

#[test]
fn those_that_call_and_are_called_allocate_nothing() {
    let allocations = Arc::new(AllocationCounts::default());
    let exchange = Exchange::default();
    let any = (std::net::Ipv4Addr::LOCALHOST, 0).into();
    let listener = Arc::new(linux::tcp::listen(any, false).expect("listens"));
    let calls = (listener.local_addr().expect("bound"), TcpOptions::default());
    let (near, far) = tcp_pair();
    let setup = Setup::with_buffers(BufferKind::Blocks, PayloadPattern::Random)
        .sender(|c| allocations.probe(Boxed(connect_requester(calls, near, config(exchange)(c)))))
        .receiver(|c| allocations.probe(Boxed(accept_responder(listener, &far, exchange, c))));
    assert_quiet(setup.start(), &allocations);
}

fn config(exchange: Exchange) -> impl FnOnce(Arc<Counters>) -> RequesterConfig {
    let (statistics, patience) = (Arc::new(RoundTripStatistics::new(0)), Duration::from_secs(1));
    move |counters| RequesterConfig { exchange, counters, statistics, patience, message: None }
}

/// A sender and its receiver, both probed.
fn udp_streams(setup: Setup, allocations: &Arc<AllocationCounts>, pacer: Option<Pacer>) -> Setup {
    let (near, far) = udp_pair();
    linux::udp::enable_timestamps(&far).expect("stamps");
    setup
        .sender(|c| {
            allocations.probe(udp::Sender::new(near, CounterWidth::Bits64, c).with_pacer(pacer))
        })
        .receiver(|c| allocations.probe(udp::Receiver::new(far, CounterWidth::Bits64, c)))
}

/// Lets every stream move some blocks and looks what that allocated.
fn assert_quiet(pool: Pool, allocations: &AllocationCounts) {
    eventually("every stream moves blocks", || {
        allocations.steps.load(Relaxed) >= 500
            && pool.read().all(|(_, _, counters)| counters.blocks >= 10)
    });
    pool.stop_sending();
    pool.close().expect("closed");
    assert_eq!(allocations.allocations(), 0);
}

/// What the probes of one pool saw.
#[derive(Debug, Default)]
struct AllocationCounts {
    steps: AtomicU64,
    /// The most that a probe's thread allocated since the probe's first step.
    allocations: AtomicU64,
}

impl AllocationCounts {
    fn probe<S: Stream>(self: &Arc<Self>, inner: S) -> Probe<S> {
        Probe { inner, allocations: Arc::clone(self), before: None }
    }

    fn allocations(&self) -> u64 {
        self.allocations.load(Relaxed)
    }
}

/// Notes the allocations of its thread around the steps of another stream.
struct Probe<S> {
    inner: S,
    allocations: Arc<AllocationCounts>,
    /// Count of the worker thread at the first step.
    before: Option<u64>,
}

impl<S> Probe<S> {
    fn note(&mut self) {
        let now = ALLOCATIONS.get();
        let before = *self.before.get_or_insert(now);
        self.allocations.allocations.fetch_max(now - before, Relaxed);
    }
}

impl<S: Stream> Stream for Probe<S> {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        self.inner.interest()
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.inner.new_descriptor()
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        self.note();
        self.allocations.steps.fetch_add(1, Relaxed);
        let step = self.inner.step(now, scratch);
        self.note();
        step
    }

    fn halt(&mut self) {
        self.inner.halt();
        self.note();
    }
}

/// A stream of a kind that has no name.
struct Boxed(Box<dyn Stream>);

impl Stream for Boxed {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        self.0.interest()
    }

    fn new_descriptor(&self) -> Option<BorrowedFd<'_>> {
        self.0.new_descriptor()
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        self.0.step(now, scratch)
    }

    fn halt(&mut self) {
        self.0.halt();
    }
}

/// A stream that breaks the rule.
struct Wasteful<S>(S);

impl<S: Stream> Stream for Wasteful<S> {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        self.0.interest()
    }

    fn step(&mut self, now: Timestamp, scratch: &mut Scratch) -> Step {
        drop(black_box(Box::new(now)));
        self.0.step(now, scratch)
    }

    fn halt(&mut self) {
        self.0.halt();
    }
}

/// The system's allocator, with a count.
struct Counting;

#[global_allocator]
static ALLOCATOR: Counting = Counting;

thread_local! {
    /// Needs neither an initializer nor a destructor, which might allocate.
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

fn count() {
    ALLOCATIONS.set(ALLOCATIONS.get() + 1);
}

#[expect(unsafe_code, reason = "an allocator cannot be counted from outside")]
// SAFETY: every call goes to the system's allocator with the connect_requester's arguments,
// and counting neither allocates nor unwinds.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the connect_requester keeps the contract of this very function.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        count();
        // SAFETY: the connect_requester keeps the contract of this very function.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn realloc(&self, block: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        count();
        // SAFETY: the connect_requester keeps the contract of this very function.
        unsafe { System.realloc(block, layout, size) }
    }

    unsafe fn dealloc(&self, block: *mut u8, layout: Layout) {
        // SAFETY: the connect_requester keeps the contract of this very function.
        unsafe { System.dealloc(block, layout) }
    }
}

/// Pairs of streams per pool: enough that a worker has some in every place.
const PAIRS: usize = 3;
/// About one block of TCP per millisecond.
const RATE: BitRate = BitRate::from_bits_per_second(128_000_000);
