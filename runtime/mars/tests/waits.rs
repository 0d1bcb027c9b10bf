//! Stalled workloads go on when what they wait for has come: not before, and always.

use std::io::{ErrorKind, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Arc;
use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use linerate_mars::{
    Clearing, Ending, EventFlag, Handle, Masking, Mpu, Next, Placement, Priority, Queue, Semaphore,
    Time, Wait, Workload,
};
use linux::epoll::Interest;
use linux::event::EventFd;

mod support;

use support::{calls, context, ended, eventually};

/// Sends back what it reads until its peer hangs up.
struct Echo {
    socket: UnixStream,
    is_watched: bool,
}

impl Workload for Echo {
    type Module = ();

    fn run(&mut self, mpu: &mut Mpu<'_, ()>) -> Next {
        if !std::mem::replace(&mut self.is_watched, true) {
            mpu.watch(&self.socket, Interest::Readable).expect("watches");
        }
        let mut bytes = [0; 64];
        loop {
            match self.socket.read(&mut bytes) {
                Ok(0) => {
                    self.is_watched = false;
                    return Next::Finished;
                }
                Ok(count) => self.socket.write_all(&bytes[..count]).expect("room"),
                Err(error) if error.kind() == ErrorKind::WouldBlock => {
                    return Next::Stalled(Wait::for_readiness());
                }
                Err(error) => panic!("{error}"),
            }
        }
    }
}

fn echo() -> (Echo, UnixStream) {
    let (socket, peer) = UnixStream::pair().expect("pair");
    socket.set_nonblocking(true).expect("set");
    peer.set_read_timeout(Some(support::PATIENCE)).expect("set");
    (Echo { socket, is_watched: false }, peer)
}

#[test]
fn readiness_is_never_missed() {
    let context = context(2);
    let (mut handles, mut peers): (Vec<_>, Vec<_>) = (0..100)
        .map(|_| {
            let (echo, peer) = echo();
            let mut handle = context.add(echo);
            handle.schedule(Priority::NORMAL);
            (handle, peer)
        })
        .unzip();
    for round in 0..100_u8 {
        for peer in &mut peers {
            peer.write_all(&[round]).expect("writes");
        }
        for peer in &mut peers {
            let mut byte = [0];
            peer.read_exact(&mut byte).expect("an answer");
            assert_eq!(byte, [round]);
        }
    }
    drop(peers);
    assert!(handles.iter_mut().all(|handle| ended(handle) == Ending::Finished));
}

/// The descriptor stays open and is watched again, here or on the other MPU.
#[test]
fn a_descriptor_is_watched_again_when_its_workload_is_scheduled_again() {
    let context = context(2);
    let wake = Arc::new(EventFd::new().expect("eventfd"));
    let (known, woken) = (Arc::clone(&wake), Arc::new(AtomicU64::new(0)));
    let (counted, mut is_begun) = (Arc::clone(&woken), false);
    let mut handle = context.add(calls(move |mpu| {
        if std::mem::replace(&mut is_begun, true) {
            known.clear();
            counted.fetch_add(1, SeqCst);
            is_begun = false;
            return Next::Finished;
        }
        mpu.watch(&*known, Interest::Readable).expect("watches");
        Next::Stalled(Wait::for_readiness())
    }));
    for round in 0..200 {
        handle.schedule_at(Priority::NORMAL, Placement::Mpu(round / 3 % 2));
        wake.notify();
        assert_eq!(ended(&handle), Ending::Finished);
    }
    assert_eq!(woken.load(SeqCst), 200);
}

#[test]
fn readiness_has_a_deadline_too() {
    let context = context(1);
    let (echo, mut peer) = echo();
    let mut handle = context.add(echo);
    handle.schedule(Priority::NORMAL);
    let (socket, _silent) = UnixStream::pair().expect("pair");
    let mut deadline = None;
    let mut timed = context.add(calls(move |mpu| {
        let now = mpu.now();
        let Some(at) = deadline else {
            mpu.watch(&socket, Interest::Readable).expect("watches");
            deadline = Some(now.after(Duration::from_millis(5)));
            return Next::Stalled(
                Wait::for_readiness().or_until(now.after(Duration::from_millis(5))),
            );
        };
        assert!(now >= at, "early");
        Next::Finished
    }));
    timed.schedule(Priority::NORMAL);
    assert_eq!(ended(&timed), Ending::Finished);
    peer.write_all(b"x").expect("writes");
    peer.read_exact(&mut [0]).expect("an answer");
}

fn sleepers(exactly: bool, placement: Placement) {
    let context = context(2);
    let mut handles = Vec::new();
    for number in 0..200_u64 {
        let (mut deadline, mut left) = (None::<Time>, 20);
        let mut handle = context.add(calls(move |mpu| {
            let now = mpu.clock();
            assert!(deadline.is_none_or(|at| now >= at), "early");
            if left == 0 {
                return Next::Finished;
            }
            left -= 1;
            // One in eight has passed already.
            let span = Duration::from_micros(number % 8 * (37 + 11 * left));
            let at = now.after(span);
            deadline = Some(at);
            Next::Stalled(if exactly { Wait::exactly_until(at) } else { Wait::until(at) })
        }));
        handle.schedule_at(Priority::NORMAL, placement);
        handles.push(handle);
    }
    assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
}

#[test]
fn deadlines_are_never_early_and_never_forgotten() {
    sleepers(false, Placement::Anywhere);
    sleepers(true, Placement::Anywhere);
    sleepers(false, Placement::Mpu(1));
}

#[test]
fn twenty_thousand_meet_one_deadline() {
    let context = context(1);
    let at = Time::now().after(Duration::from_millis(50));
    let mut handles: Vec<Handle<_>> = Vec::new();
    for _ in 0..20_000 {
        let mut handle = context.add(calls(move |mpu| {
            if mpu.now() < at { Next::Stalled(Wait::until(at)) } else { Next::Finished }
        }));
        handle.schedule(Priority::NORMAL);
        handles.push(handle);
    }
    assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
}

/// Releases meet waits that end by their deadlines: no token gets lost.
#[test]
fn tokens_are_kept_when_waits_time_out() {
    let context = context(2);
    let semaphore = Arc::new(Semaphore::new(&context, 2));
    let mut handles = Vec::new();
    for number in 0..12_u64 {
        let semaphore = Arc::clone(&semaphore);
        let (mut left, mut holds) = (2_000, false);
        let mut handle = context.add(calls(move |mpu| {
            if std::mem::take(&mut holds) {
                semaphore.release();
                left -= 1;
            }
            if left == 0 {
                return Next::Finished;
            }
            match semaphore.acquire(mpu) {
                Ok(()) => {
                    holds = true;
                    Next::Yield
                }
                Err(wait) => {
                    let soon = mpu.clock().after(Duration::from_nanos(200 * number));
                    Next::Stalled(wait.or_until(soon))
                }
            }
        }));
        handle.schedule(Priority::NORMAL);
        handles.push(handle);
    }
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for _ in 0..2_000 {
                assert!(semaphore.acquire_on_host(Some(support::PATIENCE)));
                semaphore.release();
            }
        });
        assert!(handles.iter().all(|handle| ended(handle) == Ending::Finished));
    });
    assert_eq!(semaphore.tokens(), 2);
}

#[test]
fn followers_that_time_out_are_forgotten() {
    let context = context(1);
    let mut leader = context.add(calls(|_| Next::Stalled(Wait::until(Time::from_nanos(u64::MAX)))));
    leader.schedule(Priority::NORMAL);
    let leader = Arc::new(leader);
    let (known, mut left) = (Arc::clone(&leader), 5_000);
    let mut follower = context.add(calls(move |mpu| match known.wait_on(mpu) {
        Err(wait) if left > 0 => {
            left -= 1;
            Next::Stalled(wait.or_until(mpu.now().after(Duration::from_micros(1))))
        }
        Err(wait) => Next::Stalled(wait),
        Ok(_) => Next::Finished,
    }));
    follower.schedule(Priority::NORMAL);
    std::thread::sleep(Duration::from_millis(20));
    leader.unschedule();
    assert_eq!(ended(&follower), Ending::Finished);
}

#[test]
fn three_signals_before_a_wait_are_one() {
    let context = context(1);
    let (begun, heard) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let (known, counted) = (Arc::clone(&begun), Arc::clone(&heard));
    let mut handle = context.add(calls(move |mpu| {
        if known.load(SeqCst) == 0 {
            known.store(1, SeqCst);
            while known.load(SeqCst) == 1 {
                std::hint::spin_loop();
            }
        }
        loop {
            match mpu.wait_for_signal() {
                Ok(()) => counted.fetch_add(1, SeqCst),
                Err(wait) => return Next::Stalled(wait),
            };
        }
    }));
    handle.schedule(Priority::NORMAL);
    eventually("it runs", || begun.load(SeqCst) == 1);
    (0..3).for_each(|_| handle.signal());
    begun.store(2, SeqCst);
    eventually("it hears", || heard.load(SeqCst) == 1);
    std::thread::sleep(Duration::from_millis(2));
    assert_eq!(heard.load(SeqCst), 1);
    handle.signal();
    eventually("it hears again", || heard.load(SeqCst) == 2);
}

#[test]
fn hosts_wait_no_longer_than_they_want() {
    let context = context(1);
    let short = Some(Duration::from_millis(2));
    let flag = EventFlag::new(&context, Clearing::Automatic);
    assert_eq!(flag.wait_on_host(1, Masking::Any, short), None);
    let queue = Queue::new(&context, 1);
    assert_eq!(queue.pop_on_host(short), None);
    assert_eq!(queue.push_on_host(1, short), Ok(()));
    assert_eq!(queue.push_on_host(2, short), Err(2));
    assert_eq!(queue.pop_on_host(short), Some(1));
    assert!(!Semaphore::new(&context, 0).acquire_on_host(short));
}

#[test]
fn a_bit_that_comes_after_the_deadline_is_not_taken() {
    let context = context(1);
    let flag = Arc::new(EventFlag::new(&context, Clearing::Automatic));
    let (known, mut has_waited) = (Arc::clone(&flag), false);
    let mut handle = context.add(calls(move |mpu| match known.wait(mpu, 1, Masking::All) {
        Err(wait) if !has_waited => {
            has_waited = true;
            Next::Stalled(wait.or_until(mpu.now().after(Duration::from_millis(1))))
        }
        _ => Next::Finished,
    }));
    handle.schedule(Priority::NORMAL);
    assert_eq!(ended(&handle), Ending::Finished);
    flag.set(1);
    assert_eq!(flag.bits(), 1);
}
