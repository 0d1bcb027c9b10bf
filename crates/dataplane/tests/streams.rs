//! Streams over real sockets, driven by a pool as a session drives them.

#![forbid(unsafe_code)]
use std::io::{ErrorKind, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use linerate_dataplane::{
    Budget, Goal, Pacer, Pool, Scratch, Step, Stream, pacing_report, tcp, udp,
};
use linux::epoll::Interest;
use linux::event::EventFd;
use linux::poll::{PollFd, wait};
use measurement::{BitRate, Pacing, PacingWay, Timestamp};
use protocol::iperf3::CounterWidth;

mod support;

use support::{BLOCK, DATAGRAM, Setup, counters, eventually, tcp_pair, udp_pair};

#[test]
fn streams_that_share_a_budget_deliver_exactly_its_bytes() {
    let budget = Some(Arc::new(Budget::new(BYTES)));
    let mut setup = Setup::tcp().workers(2);
    for _ in 0..3 {
        let (near, far) = tcp_pair();
        let budget = budget.clone();
        setup = setup
            .sender(|c| tcp::Sender::new(near, BLOCK as u64, c).with_bytes(budget))
            .receiver(|c| tcp::Receiver::new(far, c));
    }
    let pool = setup.start();
    eventually("all is sent", || pool.senders_finished());
    eventually("all is received", || bytes(&pool, Role::Receivers) >= BYTES);
    assert!(is_readable(pool.done()));
    let moved = (bytes(&pool, Role::Senders), bytes(&pool, Role::Receivers));
    assert_eq!(moved, (BYTES, BYTES));
}

#[test]
fn a_goal_becomes_readable_when_its_bytes_have_come() {
    let (near, far) = tcp_pair();
    let goal = Arc::new(Goal::new(1_000).expect("eventfd"));
    let credited = Some(Arc::clone(&goal));
    let pool = Setup::tcp().receiver(|c| tcp::Receiver::new(far, c).with_goal(credited)).start();
    (&*near).write_all(&[0; 999]).expect("written");
    eventually("the first bytes come", || counters(&pool, 1).bytes == 999);
    assert!(!goal.is_reached() && !is_readable(&*goal));
    (&*near).write_all(&[0; 2]).expect("written");
    eventually("the goal is reached", || is_readable(&*goal));
    assert!(goal.is_reached());
}

#[test]
fn a_paced_tcp_stream_keeps_its_rate() {
    assert_keeps_rate(BLOCK, |pacer| {
        let (near, far) = tcp_pair();
        Setup::tcp()
            .sender(|c| tcp::Sender::new(near, BLOCK as u64, c).with_pacer(Some(pacer)))
            .receiver(|c| tcp::Receiver::new(far, c))
    });
}

#[test]
fn a_paced_udp_stream_keeps_its_rate() {
    assert_keeps_rate(DATAGRAM, |pacer| {
        let (near, far) = udp_pair();
        Setup::udp()
            .sender(|c| udp::Sender::new(near, WIDTH, c).with_pacer(Some(pacer)))
            .receiver(|c| udp::Receiver::new(far, WIDTH, c))
    });
}

#[test]
fn an_evenly_paced_udp_stream_keeps_its_rate() {
    assert_keeps_rate(DATAGRAM, |pacer| {
        let (near, far) = udp_pair();
        let pacer = pacer.with_pacing(Pacing::Even);
        Setup::udp()
            .sender(|c| udp::Sender::new(near, WIDTH, c).with_pacer(Some(pacer)))
            .receiver(|c| udp::Receiver::new(far, WIDTH, c))
    });
}

#[test]
fn a_worker_tells_how_its_senders_kept_their_rate() {
    let rate = BitRate::from_bits_per_second(16_000_000);
    let pacer = Pacer::for_datagrams(rate, DATAGRAM as u64).with_pacing(Pacing::Even);
    let setup = (0..2).fold(Setup::udp(), |setup, _| {
        let (near, far) = udp_pair();
        setup
            .sender(|c| udp::Sender::new(near, WIDTH, c).with_pacer(Some(pacer)))
            .receiver(|c| udp::Receiver::new(far, WIDTH, c))
    });
    let pool = setup.start();
    eventually("both send", || [1, 3].iter().all(|id| counters(&pool, *id).blocks >= 500));
    pool.stop_sending();
    let tallies: Vec<_> = pool.pacing().collect();
    let manner = (Pacing::Even, PacingWay::TimerAndSpin);
    let report = pacing_report(&tallies, 2, rate, manner).expect("they sent");
    assert_eq!((report.asked, report.batches.max), (rate.times(2), 1));
    let most = report.asked.bits_per_second() * 107 / 100;
    assert!((1..=most).contains(&report.achieved.bits_per_second()), "{report:?}");
    assert!(report.lateness.iter().sum::<u64>() >= 1_000 && report.spin_share > 0.0, "{report:?}");
}

#[test]
fn every_datagram_of_a_shared_budget_arrives_once() {
    let budget = Some(Arc::new(Budget::new(DATAGRAMS)));
    let pacer =
        Some(Pacer::for_datagrams(BitRate::from_bits_per_second(16_000_000), DATAGRAM as u64));
    let mut setup = Setup::udp().workers(2);
    for _ in 0..2 {
        let (near, far) = udp_pair();
        let budget = budget.clone();
        setup = setup
            .sender(|c| udp::Sender::new(near, WIDTH, c).with_datagrams(budget).with_pacer(pacer))
            .receiver(|c| udp::Receiver::new(far, WIDTH, c));
    }
    let pool = setup.start();
    eventually("all is sent", || pool.senders_finished());
    let expected = DATAGRAMS * DATAGRAM as u64;
    eventually("all is received", || bytes(&pool, Role::Receivers) == expected);
    for (sender, receiver) in [(1, 2), (3, 4)] {
        let (sent, received) = (counters(&pool, sender), counters(&pool, receiver));
        assert_eq!((received.unique, received.sequence), (sent.sequence, sent.sequence));
        assert_eq!((received.blocks, received.bytes), (sent.blocks, sent.bytes));
        assert_eq!((received.duplicate, received.late, received.malformed), (0, 0, 0));
    }
}

#[test]
fn receivers_go_on_when_sending_is_stopped() {
    let (near, far) = tcp_pair();
    let socket = Arc::clone(&near);
    let pool = Setup::tcp()
        .workers(2)
        .sender(|c| tcp::Sender::new(near, BLOCK as u64, c))
        .receiver(|c| tcp::Receiver::new(far, c))
        .start();
    eventually("bytes move", || bytes(&pool, Role::Receivers) > BYTES);
    pool.stop_sending();
    eventually("the sender ends", || pool.senders_finished());
    let sent = bytes(&pool, Role::Senders);
    eventually("the rest arrives", || bytes(&pool, Role::Receivers) == sent);
    (&*socket).write_all(b"more").expect("written");
    eventually("more arrives", || bytes(&pool, Role::Receivers) == sent + 4);
    assert_eq!(bytes(&pool, Role::Senders), sent);
}

#[test]
fn sending_stops_whatever_a_sender_waits_for() {
    let ((stuck, _silent), (near, _far)) = (tcp_pair(), tcp_pair());
    let pool = Setup::tcp()
        .sender(|c| tcp::Sender::new(stuck, BLOCK as u64, c))
        .sender(|c| tcp::Sender::new(near, BLOCK as u64, c).with_pacer(Some(one_block_a_day())))
        .start();
    eventually("the first blocks go", || pool.read().all(|(_, _, c)| c.blocks > 0));
    pool.stop_sending();
    eventually("both end", || pool.senders_finished());
    assert!(pool.stream_error().is_none());
}

#[test]
fn a_pool_of_idle_streams_closes_at_once() {
    let ((stuck, _silent), (near, far), (_peer, quiet)) = (tcp_pair(), tcp_pair(), tcp_pair());
    let pool = Setup::tcp()
        .workers(2)
        .sender(|c| tcp::Sender::new(stuck, BLOCK as u64, c))
        .sender(|c| tcp::Sender::new(near, BLOCK as u64, c).with_pacer(Some(one_block_a_day())))
        .receiver(|c| tcp::Receiver::new(far, c))
        .receiver(|c| tcp::Receiver::new(quiet, c))
        .start();
    eventually("the first block goes", || counters(&pool, 3).bytes == BLOCK as u64);
    assert!(ends_soon(move || pool.close().expect("closed")));
}

#[test]
fn a_pool_closes_before_it_was_started() {
    let (_near, far) = udp_pair();
    let pool = Setup::udp().receiver(|c| udp::Receiver::new(far, WIDTH, c)).prepare();
    assert!(ends_soon(move || pool.close().expect("closed")));
}

#[test]
fn a_pool_that_is_dropped_takes_its_threads_along() {
    let (_near, far) = tcp_pair();
    let socket = Arc::clone(&far);
    drop(Setup::tcp().receiver(|c| tcp::Receiver::new(far, c)).prepare());
    eventually("its stream is gone", || Arc::strong_count(&socket) == 1);
}

#[test]
fn a_reset_ends_a_receiver_with_its_error() {
    let (near, far) = tcp_pair();
    let pool = Setup::tcp().receiver(|c| tcp::Receiver::new(far, c)).start();
    linux::tcp::abort_on_close(&near).expect("will reset");
    drop(near);
    assert_reset(&pool, 1);
}

#[test]
fn a_reset_ends_a_sender_with_its_error() {
    let ((healthy, _silent), (near, far)) = (tcp_pair(), tcp_pair());
    let pool = Setup::tcp()
        .sender(|c| tcp::Sender::new(healthy, BLOCK as u64, c))
        .sender(|c| tcp::Sender::new(near, BLOCK as u64, c))
        .start();
    eventually("the first block goes", || counters(&pool, 2).blocks > 0);
    linux::tcp::abort_on_close(&far).expect("will reset");
    drop(far);
    assert_reset(&pool, 2);
    assert!(!pool.senders_finished(), "the other stream goes on");
}

/// Both come as one event, and no second one for the end (epoll(7)).
#[test]
fn an_end_that_comes_along_with_data_is_noticed() {
    let ((near, far), wake) = (tcp_pair(), Arc::new(EventFd::new().expect("eventfd")));
    let ((holding, held), (resume, release)) = (mpsc::channel(), mpsc::channel());
    let hog = Hog { wake: Arc::clone(&wake), woken: false, holding, release };
    let pool = Setup::tcp().receiver(|c| tcp::Receiver::new(far, c)).receiver(|_| hog).start();
    held.recv().expect("the first step");
    wake.notify();
    held.recv().expect("the worker is busy");
    (&*near).write_all(b"last words").expect("written");
    drop(near);
    resume.send(()).expect("the worker goes on");
    eventually("the end is noticed", || is_readable(pool.done()));
    assert_eq!(counters(&pool, 1).bytes, 10);
}

#[test]
fn a_stream_that_never_waits_does_not_starve_the_other_one() {
    let (near, far) = tcp_pair();
    let steps = Arc::default();
    let restless = Restless(EventFd::new().expect("eventfd"), Arc::clone(&steps));
    let pool = Setup::tcp().receiver(|c| tcp::Receiver::new(far, c)).receiver(|_| restless).start();
    // By then the receiver found nothing, and waits.
    eventually("the other steps on", || steps.load(Relaxed) > 1_000);
    (&*near).write_all(b"hello?").expect("written");
    eventually("it is read", || counters(&pool, 1).bytes == 6);
}

#[test]
fn many_streams_on_two_workers_share_them_fairly() {
    let mut setup = Setup::tcp().workers(2);
    for _ in 0..200 {
        let (near, far) = tcp_pair();
        setup = setup
            .sender(|c| tcp::Sender::new(near, BLOCK as u64, c))
            .receiver(|c| tcp::Receiver::new(far, c));
    }
    let pool = setup.start();
    eventually("the last has a twentieth of the first", || {
        let received = || pool.read().filter(|(_, sends, _)| !sends).map(|(_, _, c)| c.bytes);
        let (least, most) = (received().min().expect("some"), received().max().expect("some"));
        most >= BYTES && least * 20 >= most
    });
    assert!(pool.stream_error().is_none());
}

#[test]
fn streams_are_dealt_out_in_turn() {
    let setup = (0..5).fold(Setup::udp().workers(2), |setup, _| {
        let (_, far) = udp_pair();
        setup.receiver(|c| udp::Receiver::new(far, WIDTH, c))
    });
    let pool = setup.prepare();
    assert_eq!([0, 1, 2, 3, 4].map(|index| pool.mpu_of(index)), [0, 1, 0, 1, 0]);
}

/// Which streams of a pool are meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Senders,
    Receivers,
}

/// What all streams of `role` moved.
fn bytes(pool: &Pool, role: Role) -> u64 {
    let meant = pool.read().filter(|(_, sends, _)| *sends == (role == Role::Senders));
    meant.map(|(_, _, counters)| counters.bytes).sum()
}

/// Never more than the rate allows, and all of it in the end. How much of it a busy machine lets
/// through in a while is a measurement: `cargo xtask bench pacing`.
fn assert_keeps_rate(block: usize, build: impl Fn(Pacer) -> Setup) {
    // A datagram each 160 µs.
    let rate = BitRate::from_bits_per_second(10_000_000);
    let pacer = Pacer::for_datagrams(rate, block as u64).with_burst(BURST);
    let pool = build(pacer).prepare();
    let began = linerate_dataplane::now();
    pool.start();
    let ahead = (block * BURST) as u64;
    eventually("a third of a second goes through", || {
        let sent = bytes(&pool, Role::Senders);
        let passed = linerate_dataplane::now().since(began);
        assert!(rate.time_for(sent.saturating_sub(ahead)) <= passed, "{sent} in {passed:?}");
        sent >= 400_000
    });
    pool.stop_sending();
    eventually("the sender ends", || pool.senders_finished());
    let sent = bytes(&pool, Role::Senders);
    eventually("all of it arrives", || bytes(&pool, Role::Receivers) == sent);
    let tallies: Vec<_> = pool.pacing().collect();
    let report = pacing_report(&tallies, 1, rate, (Pacing::Smooth, PacingWay::Timer));
    let report = report.expect("it sent");
    assert_eq!(report.asked, rate);
    assert!((1..=BURST as u64).contains(&report.batches.max), "{report:?}");
}

fn assert_reset(pool: &Pool, id: u32) {
    eventually("the reset is noticed", || pool.stream_error().is_some());
    let (failed, error) = pool.stream_error().expect("noticed");
    assert_eq!((failed, error.kind()), (id, ErrorKind::ConnectionReset));
    eventually("the owner is told", || is_readable(pool.done()));
}

fn one_block_a_day() -> Pacer {
    Pacer::for_datagrams(BitRate::from_bits_per_second(1), BLOCK as u64)
}

/// Whether `action` ends, and does not hang.
fn ends_soon(action: impl FnOnce() + Send + 'static) -> bool {
    let (ended, end) = mpsc::channel();
    std::thread::spawn(move || {
        action();
        _ = ended.send(());
    });
    end.recv_timeout(Duration::from_secs(5)).is_ok()
}

fn is_readable(fd: &impl AsFd) -> bool {
    let mut watches = [PollFd::readable(fd.as_fd())];
    wait(&mut watches, Some(Duration::ZERO)).expect("polls");
    watches[0].ready().is_readable()
}

/// A stream that can go on all the time.
struct Restless(EventFd, Arc<AtomicU64>);

impl Stream for Restless {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.0.as_fd(), Interest::Readable)
    }

    fn step(&mut self, _: Timestamp, _: &mut Scratch) -> Step {
        self.1.fetch_add(1, Relaxed);
        Step::Again
    }

    fn halt(&mut self) {}
}

/// A stream that keeps its worker from everything else when it is woken.
struct Hog {
    wake: Arc<EventFd>,
    woken: bool,
    holding: mpsc::Sender<()>,
    release: mpsc::Receiver<()>,
}

impl Stream for Hog {
    fn interest(&self) -> (BorrowedFd<'_>, Interest) {
        (self.wake.as_fd(), Interest::Readable)
    }

    fn step(&mut self, _: Timestamp, _: &mut Scratch) -> Step {
        _ = self.holding.send(());
        // The first step is that of the start.
        if self.woken {
            _ = self.release.recv();
        }
        self.woken = true;
        Step::Readable
    }

    fn halt(&mut self) {}
}

const WIDTH: CounterWidth = CounterWidth::Bits64;
/// Not a multiple of the block.
const BYTES: u64 = 3_000_001;
/// So few that a receive buffer of the usual default size holds them all.
const DATAGRAMS: u64 = 301;
/// Blocks that go at once, so that a thread that is woken late is late for fewer of them.
const BURST: usize = 4;
