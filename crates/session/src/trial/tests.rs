//! A trial on real sockets, with a clock that stands where a test puts it.

use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::time::Duration;

use dataplane::SequenceWidth;
use measurement::plan::PlanDraft;
use measurement::{ByteSize, Direction, End, Timestamp, Transport};

use super::Trial;
use crate::clock::{Clock, ScriptedClock};
use crate::error::SessionError;
use crate::measured::Side;
use crate::setting::{Amounts, FallbackPolicy, Iperf2Parts, Setting};
use crate::sockets::{Opened, StreamSocket};
use crate::spec::RunSpec;

/// A trial of one TCP stream, and the other end of that.
struct Bench {
    trial: Trial,
    clock: ScriptedClock,
    began: Timestamp,
    _peer: TcpStream,
}

fn setting() -> Setting {
    Setting {
        side: Side::Client,
        pinned: Vec::new(),
        rtt: Duration::from_micros(50),
        amounts: Amounts::Any,
        fallback: FallbackPolicy::Fail,
        watched: true,
        file: None,
        calls: None,
        sampled: None,
        perf: None,
        iperf2: Iperf2Parts::default(),
    }
}

/// A stream at the client's end of a connection over loopback.
fn stream(sender: bool) -> (Opened, TcpStream) {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).expect("bound");
    let own = TcpStream::connect(listener.local_addr().expect("bound")).expect("connected");
    own.set_nonblocking(true).expect("set");
    let (peer, _) = listener.accept().expect("accepted");
    (Opened { id: 1, sender, socket: StreamSocket::tcp(own, 0) }, peer)
}

fn prepared(draft: PlanDraft, setting: Setting) -> Result<(Trial, TcpStream), SessionError> {
    let sender = draft.direction == Direction::Send;
    let plan = draft.check().expect("a plan");
    let block = ByteSize::from_bytes(1_000);
    let spec = RunSpec { plan, block, header: SequenceWidth::Bits64.into() };
    let (opened, peer) = stream(sender);
    Trial::prepare(spec, vec![opened], setting, &mut || true).map(|trial| (trial, peer))
}

fn running(draft: PlanDraft) -> Bench {
    let (mut trial, peer) = prepared(draft, setting()).expect("prepared");
    let began = dataplane::now();
    let clock = ScriptedClock::at(began);
    trial.start(&clock);
    Bench { trial, clock, began, _peer: peer }
}

impl Bench {
    /// The instant `millis` after the start.
    fn at(&self, millis: u64) -> Timestamp {
        self.began.after(Duration::from_millis(millis))
    }
}

/// What a test of `direction` asks for that lasts three seconds after one that is omitted.
fn three_seconds(direction: Direction) -> PlanDraft {
    let mut draft = PlanDraft::new(Transport::Tcp, direction);
    draft.end = End::Time(Duration::from_secs(3));
    draft.omit = Duration::from_secs(1);
    draft.interval = Duration::from_secs(1);
    draft
}

#[test]
fn a_trial_that_has_not_begun_has_nothing_due() {
    let (trial, _peer) = prepared(three_seconds(Direction::Receive), setting()).expect("prepared");
    assert_eq!((trial.began(), trial.next_tick(), trial.time_is_up_at()), (None, None, None));
    assert_eq!((trial.received_last(), trial.stopped_at()), (None, None));
    assert!(trial.counted().is_none());
}

#[test]
fn samples_are_due_at_intervals_and_the_last_sliver_joins_the_one_before() {
    let Bench { mut trial, began, .. } = running(three_seconds(Direction::Receive));
    let at = |millis| began.after(Duration::from_millis(millis));
    assert_eq!((trial.next_tick(), trial.time_is_up_at()), (Some(at(1_000)), Some(at(4_000))));
    assert!(!trial.tick(at(999)), "too early");
    assert_eq!(trial.course().base, 1, "all there is belongs to the omitted start");
    assert!(trial.tick(at(1_000)));
    assert_eq!(trial.course().base, 1, "from the second sample on it counts");
    assert_eq!(trial.next_tick(), Some(at(2_000)));
    assert!(trial.tick(at(2_010)) && !trial.tick(at(2_010)));
    assert_eq!(trial.next_tick(), Some(at(3_010)));
    assert!(trial.tick(at(3_010)));
    assert_eq!(trial.next_tick(), None, "the end comes first");
}

/// How many intervals a test of `seconds` has whose clock wakes it at each, `late` after its time.
fn intervals(seconds: u64, interval: Duration, late: Duration) -> usize {
    let mut draft = three_seconds(Direction::Receive);
    draft.end = End::Time(Duration::from_secs(seconds));
    (draft.omit, draft.interval) = (Duration::ZERO, interval);
    let Bench { mut trial, clock, .. } = running(draft);
    while let Some(next) = trial.next_tick() {
        clock.advance(next.since(clock.now()) + late);
        if !trial.tick(clock.now()) {
            break;
        }
    }
    let end = trial.time_is_up_at().expect("a time");
    clock.advance(end.since(clock.now()));
    trial.finish(None, &clock);
    trial.close().samples.len() - 1
}

#[test]
fn intervals_are_as_long_as_asked_and_one_that_is_late_takes_the_time_of_the_next() {
    let [fifth, second] = [200, 1_000].map(Duration::from_millis);
    assert_eq!(intervals(1, fifth, Duration::ZERO), 5);
    assert_eq!(intervals(2, second, Duration::ZERO), 2);
    assert_eq!(intervals(2, Duration::ZERO, Duration::ZERO), 1);
    assert_eq!(intervals(1, fifth, fifth), 3, "two of two fifths, and the last");
    assert_eq!(intervals(2, second, Duration::from_millis(960)), 1, "a sliver is none");
}

#[test]
fn the_omitted_start_ends_however_little_follows_it() {
    let mut draft = three_seconds(Direction::Receive);
    draft.end = End::Time(Duration::from_millis(40));
    let Bench { mut trial, began, .. } = running(draft);
    assert_eq!(trial.next_tick(), Some(began.after(Duration::from_secs(1))));
    assert!(trial.tick(began.after(Duration::from_millis(1_001))));
    assert_eq!((trial.course().base, trial.next_tick()), (1, None));
    assert_eq!(trial.close().samples.len(), 2);
}

#[test]
fn nothing_is_due_after_the_stop() {
    let mut bench = running(three_seconds(Direction::Receive));
    bench.clock.advance(Duration::from_millis(1_500));
    bench.trial.stop(&bench.clock);
    assert_eq!(bench.trial.stopped_at(), Some(bench.at(1_500)));
    bench.clock.advance(Duration::from_millis(100));
    bench.trial.stop(&bench.clock);
    assert_eq!(bench.trial.stopped_at(), Some(bench.at(1_500)), "the first stop counts");
    assert_eq!((bench.trial.next_tick(), bench.trial.received_last()), (None, None));
    assert!(!bench.trial.tick(bench.at(9_000)));
}

#[test]
fn a_test_that_receives_nothing_is_known_by_the_clock() {
    let Bench { trial, began, .. } = running(three_seconds(Direction::Receive));
    assert_eq!(trial.received_last(), Some(began));
    let later = began.after(Duration::from_secs(7));
    assert_eq!(trial.received_nothing_for(later), Duration::from_secs(7));
    let Bench { trial, .. } = running(three_seconds(Direction::Send));
    assert_eq!(trial.received_nothing_for(later), Duration::ZERO, "a sender receives nothing");
}

#[test]
fn an_amount_that_does_not_move_breaks_down_after_two_minutes() {
    let mut draft = PlanDraft::new(Transport::Tcp, Direction::Receive);
    draft.end = End::Bytes(ByteSize::from_bytes(1_000_000));
    let bench = running(draft);
    assert_eq!(bench.trial.time_is_up_at(), None, "an amount decides the end");
    assert!(!bench.trial.has_moved_all(bench.at(1)) && bench.trial.awaits_the_last());
    assert_eq!(bench.trial.breakdown(bench.at(119_999)), None);
    assert_eq!(bench.trial.breakdown(bench.at(120_000)), Some("nothing moved for two minutes"));
    let grace = Duration::from_secs(40);
    assert_eq!(bench.trial.give_up_at(grace), Some(bench.at(120_000)), "no time was asked");
}

#[test]
fn a_test_of_given_time_is_given_up_after_its_grace() {
    let bench = running(three_seconds(Direction::Receive));
    let grace = Duration::from_secs(40);
    assert_eq!(bench.trial.give_up_at(grace), Some(bench.at(44_000)));
    assert_eq!(bench.trial.breakdown(bench.at(500_000)), None, "no amount was asked");
    assert!(!bench.trial.has_moved_all(bench.at(500_000)));
}

#[test]
fn what_was_counted_is_told_from_the_end_of_the_omitted_start_to_the_stop() {
    let mut bench = running(three_seconds(Direction::Send));
    let omitted = bench.at(1_000);
    assert!(bench.trial.tick(omitted));
    bench.clock.advance(Duration::from_secs(4));
    bench.trial.finish(None, &bench.clock);
    let counted = bench.trial.counted().expect("it began");
    assert_eq!(counted.transport, Transport::Tcp);
    let [stream] = counted.streams.as_slice() else { panic!("one stream") };
    assert!(stream.sender && stream.last.counters.bytes >= stream.base.counters.bytes);
    assert_eq!(stream.span, Duration::from_secs(3));
    assert!(counted.host.is_none(), "this host was not sampled");
    let sent = bench.trial.sent();
    assert_eq!((sent.len(), sent[0].id), (1, 1));
    let measured = bench.trial.close();
    assert_eq!((measured.base, measured.stopped), (1, Some(bench.clock.now())));
    assert_eq!(measured.directions(&[]).len(), 1);
}

#[test]
fn a_trial_that_nobody_wants_any_more_is_interrupted() {
    let plan = three_seconds(Direction::Send).check().expect("a plan");
    let block = ByteSize::from_bytes(1_000);
    let spec = RunSpec { plan, block, header: SequenceWidth::Bits64.into() };
    let (opened, _peer) = stream(true);
    let error = Trial::prepare(spec, vec![opened], setting(), &mut || false).err();
    // Workers that are ready before anybody asks need no answer.
    assert!(matches!(error, None | Some(SessionError::Interrupted)), "{error:?}");
}

#[test]
fn an_engine_that_was_asked_for_by_name_and_does_not_exist_is_reported() {
    let mut draft = three_seconds(Direction::Send);
    draft.options.engines = vec!["teleport".into()];
    let (trial, _peer) = prepared(draft, setting()).expect("another one runs");
    let counted = trial.streams();
    assert!(counted[0].engine.as_ref().is_some_and(|engine| engine.properties().is_some()));
}

#[test]
fn a_buffer_that_the_kernel_made_smaller_is_noticed() {
    let mut draft = three_seconds(Direction::Send);
    draft.options.window = Some(ByteSize::from_bytes(1 << 29));
    let (trial, _peer) = prepared(draft, setting()).expect("prepared");
    let (asked, got) = trial.clamped_window().expect("no kernel gives so much unasked");
    assert!(got < asked);
}
