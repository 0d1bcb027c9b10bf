//! How much TCP streams move at once, unless the plan says it.

use dataplane::Bulk;
use measurement::engine::{EngineName, EngineRole, PayloadHandling};
use measurement::plan::End;
use measurement::{ByteSize, Engine, StreamOptions, TestPlan, Transport};

use crate::blocks::{DEFAULT_BLOCK, hot};

/// The length of the buffer, and how the streams of `plan` with blocks of `block` use it. Blocks of
/// the default length are moved several in a call; a length that was chosen is that of each call.
/// Several senders, and one whose worker `is_on_one_cpu`, let a receiver run on theirs.
pub(crate) fn bulk(
    plan: &TestPlan,
    block: ByteSize,
    cache: Option<usize>,
    is_on_one_cpu: bool,
) -> (usize, Bulk) {
    let length = usize::try_from(block.bytes()).unwrap_or(usize::MAX);
    if plan.transport != Transport::Tcp || plan.exchange.is_some() {
        return (length, Bulk::of_blocks(length));
    }
    let options = &plan.options;
    let streams = plan.streams_in_all();
    let is_autotuned = options.window.is_none();
    let is_unpaced = options.rate.is_none() && options.socket_rate.is_none();
    let is_bulk = block == DEFAULT_BLOCK && is_unpaced && !matches!(plan.end, End::Blocks(_));
    let copies = !sends_in_place(options);
    let shares_cpu = is_unpaced && is_autotuned && copies && (streams > 1 || is_on_one_cpu);
    let (buffer, call) = if is_bulk { (hot(cache), call(streams)) } else { (length, length) };
    let unread = (is_autotuned && copies).then(|| unread(streams)).flatten();
    let unsent = (is_autotuned && FEW_STREAMS.contains(&streams)).then_some(UNSENT);
    (buffer.min(call), Bulk { call, unread, unsent, shares_cpu })
}

/// Whether the sender does not copy. It fills the window sooner than it is read, so that a receiver
/// that waits for more makes it wait.
fn sends_in_place(options: &StreamOptions) -> bool {
    let mut asked = options.engines.iter().filter_map(EngineName::properties);
    let is_in_place = |engine: &Engine| {
        engine.role == EngineRole::Sender && engine.payload == PayloadHandling::ZeroCopy
    };
    options.zero_copy || asked.any(is_in_place)
}

/// Large calls save system calls and wakes; of very many streams each is to have its turn.
fn call(streams: u32) -> usize {
    (ALL_CALLS / streams.max(1) as usize).clamp(LEAST_CALL, MOST_CALL)
}

/// The mark of a receiver: a sixth of the largest receive buffer, so that the window stays open. What
/// gathers in the sockets of several streams is more than the caches hold, and while one is read
/// others arrive: their receiver hardly sleeps.
fn unread(streams: u32) -> Option<u32> {
    let most = MOST_UNREAD.min(linux::limits::largest_receive_buffer()? / 6);
    (streams == 1 && most >= LEAST_UNREAD).then_some(most)
}

/// Up to 256 streams have the largest call, from 1,024 on the least.
const ALL_CALLS: usize = 256 << 20;
const MOST_CALL: usize = 1 << 20;
const LEAST_CALL: usize = 256 << 10;
const MOST_UNREAD: u32 = 1 << 20;
const LEAST_UNREAD: u32 = 128 << 10;
/// Full send buffers hold more than the caches, so that the receiver copies from memory; a wake serves
/// fewer bytes if there are very many streams.
const FEW_STREAMS: std::ops::RangeInclusive<u32> = 1..=128;
const UNSENT: u32 = 512 << 10;

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{BitRate, Direction};

    use super::*;

    fn of(change: fn(&mut PlanDraft), block: u64) -> (usize, Bulk) {
        let mut draft = PlanDraft::new(Transport::Tcp, Direction::Send);
        change(&mut draft);
        let plan = draft.check().expect("a plan");
        bulk(&plan, ByteSize::from_bytes(block), Some(1 << 20), false)
    }

    #[test]
    fn only_blocks_of_the_default_length_are_moved_several_at_once() {
        let default = DEFAULT_BLOCK.bytes();
        let (buffer, usual) = of(|_| (), default);
        assert_eq!((buffer, usual.call, usual.unsent), (MOST_CALL / 4, MOST_CALL, Some(UNSENT)));
        for (change, block) in [
            ((|_| ()) as fn(&mut PlanDraft), 8192),
            (|draft| draft.options.rate = Some(BitRate::from_bits_per_second(1 << 30)), default),
            (|draft| draft.end = End::Blocks(10), default),
        ] {
            let (buffer, chosen) = of(change, block);
            assert_eq!((buffer as u64, chosen.call as u64), (block, block));
        }
    }

    #[test]
    fn many_streams_take_less_each() {
        let calls = [1, 256, 512, 1_024, 10_000].map(|streams| call(streams) >> 10);
        assert_eq!(calls, [1024, 1024, 512, 256, 256]);
        assert_eq!(unread(2), None);
        let few = of(|draft| draft.streams = 4, DEFAULT_BLOCK.bytes()).1;
        assert_eq!(few.unsent, Some(UNSENT));
    }

    #[test]
    fn senders_that_copy_as_fast_as_they_can_share_their_cpu() {
        let shares = |change: fn(&mut PlanDraft)| of(change, DEFAULT_BLOCK.bytes()).1.shares_cpu;
        assert!(shares(|draft| draft.streams = 2) && !shares(|_| ()));
        assert!(!shares(|draft| (draft.streams, draft.options.zero_copy) = (2, true)));
        let rate = |draft: &mut PlanDraft| {
            draft.streams = 2;
            draft.options.rate = Some(BitRate::from_bits_per_second(1 << 30));
        };
        assert!(!shares(rate));
        let window = |draft: &mut PlanDraft| {
            draft.streams = 2;
            draft.options.window = Some(ByteSize::from_bytes(65_536));
        };
        assert!(!shares(window), "such a window is full before the CPU changes hands");
        let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
        assert!(bulk(&plan, DEFAULT_BLOCK, None, true).1.shares_cpu);
    }

    #[test]
    fn buffers_that_were_chosen_and_senders_in_place_have_no_marks() {
        let chosen = |draft: &mut PlanDraft| {
            (draft.streams, draft.options.window) = (4, Some(ByteSize::from_bytes(65_536)));
        };
        let (_, chosen) = of(chosen, DEFAULT_BLOCK.bytes());
        assert_eq!((chosen.unread, chosen.unsent), (None, None));
        let in_place = |draft: &mut PlanDraft| draft.options.zero_copy = true;
        assert_eq!(of(in_place, DEFAULT_BLOCK.bytes()).1.unread, None);
    }
}
