//! Two machines of one kind side by side, and what must be true of them.
//!
//! One gets what comes in as it comes, the other byte by byte; nobody may be able to tell
//! them apart.

use std::fmt::{Debug, Display};
use std::time::Duration;

use measurement::Timestamp;

use crate::script::{Step, steps};

/// A machine with a host that does what the machine says.
pub(crate) trait Hosted {
    /// What the machine has to say.
    type Event: Debug + PartialEq;

    fn bytes(&mut self, bytes: &[u8], now: Timestamp);
    fn close(&mut self, reset: bool);
    fn timeout(&mut self, now: Timestamp);
    fn terminate(&mut self);
    fn event(&mut self) -> Option<Self::Event>;
    fn output(&mut self) -> Vec<u8>;
    fn deadline(&self) -> Option<Timestamp>;
    /// The place of its phase in the order of phases.
    fn rank(&self) -> usize;
    fn is_over(&self) -> bool;
    /// What the host does about an event.
    fn answer(&mut self, event: &Self::Event, no: bool, now: Timestamp);
    /// Whether nothing comes after an event.
    fn is_last(event: &Self::Event) -> bool;
    /// The error that an event tells of.
    fn error(event: &Self::Event) -> Option<&dyn Display>;
}

/// Plays an input to two machines.
pub(crate) fn play<M: Hosted>(input: &[u8], begin: impl Fn(Timestamp) -> M) {
    let mut pair = Pair::new(begin);
    steps(input).for_each(|step| pair.take(step));
    assert!(
        pair.sent <= SAID_UNASKED + SAID_PER_BYTE * input.len(),
        "{} bytes made it say {}",
        input.len(),
        pair.sent
    );
}

struct Pair<M: Hosted> {
    whole: M,
    bytewise: M,
    now: Timestamp,
    /// What the host did not answer yet.
    owed: Vec<M::Event>,
    waits: bool,
    refuses: bool,
    has_ended: bool,
    rank: usize,
    sent: usize,
}

impl<M: Hosted> Pair<M> {
    fn new(begin: impl Fn(Timestamp) -> M) -> Self {
        let now = START;
        let mut pair = Self {
            whole: begin(now),
            bytewise: begin(now),
            now,
            owed: Vec::new(),
            waits: false,
            refuses: false,
            has_ended: false,
            rank: 0,
            sent: 0,
        };
        pair.settle();
        pair
    }

    fn take(&mut self, step: Step<'_>) {
        match step {
            Step::Bytes(bytes) => self.bytes(bytes),
            Step::Second => self.wait(Duration::from_secs(1)),
            Step::Deadline => self.expire(),
            Step::Close => self.both(|machine| machine.close(false)),
            Step::Reset => self.both(|machine| machine.close(true)),
            Step::Wait => self.waits = true,
            Step::Answer => self.waits = false,
            Step::Refuse => self.refuses = true,
            Step::Terminate => self.both(M::terminate),
            Step::Cut => {}
        }
        self.settle();
    }

    fn both(&mut self, act: impl Fn(&mut M)) {
        act(&mut self.whole);
        act(&mut self.bytewise);
    }

    fn bytes(&mut self, bytes: &[u8]) {
        self.whole.bytes(bytes, self.now);
        for byte in bytes {
            self.bytewise.bytes(&[*byte], self.now);
        }
    }

    fn wait(&mut self, span: Duration) {
        self.now = self.now.after(span);
        let now = self.now;
        self.both(|machine| machine.timeout(now));
    }

    /// A deadline ends the test, and nothing before it does.
    fn expire(&mut self) {
        let Some(deadline) = self.whole.deadline() else { return };
        assert!(deadline > self.now, "it has a deadline in the past");
        assert!(!self.whole.is_over(), "what is over waits for nothing");
        self.now = deadline;
        self.both(|machine| machine.timeout(deadline));
        assert!(self.whole.is_over(), "it outlives its deadline");
    }

    /// Compares both machines, and lets the host answer until there is nothing to answer.
    fn settle(&mut self) {
        loop {
            self.compare();
            if self.waits || self.owed.is_empty() {
                return;
            }
            let (now, no) = (self.now, self.refuses);
            for event in std::mem::take(&mut self.owed) {
                self.both(|machine| machine.answer(&event, no, now));
            }
        }
    }

    fn compare(&mut self) {
        let output = self.whole.output();
        assert_eq!(output, self.bytewise.output(), "it depends on how its bytes are cut");
        assert!(output.is_empty() || !self.has_ended, "it speaks after the end");
        self.sent += output.len();
        self.hear();
        assert_eq!(self.whole.deadline(), self.bytewise.deadline());
        assert_eq!(self.whole.is_over(), self.has_ended, "it ends with its last event");
        assert!(!self.has_ended || self.whole.deadline().is_none(), "the end has a deadline");
        let rank = self.whole.rank();
        assert_eq!(rank, self.bytewise.rank());
        assert!(rank >= self.rank, "it goes back from phase {} to {rank}", self.rank);
        self.rank = rank;
    }

    fn hear(&mut self) {
        while let Some(event) = self.whole.event() {
            assert_eq!(Some(&event), self.bytewise.event().as_ref());
            assert!(!self.has_ended, "it goes on after the end: {event:?}");
            self.has_ended = M::is_last(&event);
            M::error(&event).into_iter().for_each(assert_printable);
            self.owed.push(event);
        }
        assert_eq!(self.bytewise.event(), None);
    }
}

/// An error is one line that a terminal can show, however long what the peer sent.
fn assert_printable(error: &dyn Display) {
    let text = error.to_string();
    assert!(!text.contains(char::is_control), "{text:?}");
    assert!(text.len() < LONGEST_ERROR, "{text}");
}

const START: Timestamp = Timestamp::from_nanos(1_000_000_000_000);
/// The parameters, results and states of an end that is asked for them.
const SAID_UNASKED: usize = 16 * 1024;
/// A host that returns what it got writes short numbers such as `1e15` in full.
const SAID_PER_BYTE: usize = 16;
const LONGEST_ERROR: usize = 512;
