//! The plan of a test, and the parts of it that this end runs, from the header of a client's connections.

use std::time::Duration;

use measurement::plan::{PlanDraft, PlanError};
use measurement::{BitRate, ByteSize, Direction, End, Exchange, Pacing, TestPlan, Transport};
use protocol::iperf2::{Asks, Back, BackWay, HeaderAmount, Settings};
use protocol::iperf3::CounterWidth;

use crate::blocks::DEFAULT_BLOCK;
use crate::server::limits::RateLimit;
use crate::spec::RunSpec;

/// The plan of a test whose end is the client's affair.
///
/// # Errors
/// It has more connections than a test may have.
pub(crate) fn plan(transport: Transport, settings: &Settings) -> Result<TestPlan, PlanError> {
    let mut draft = PlanDraft::new(transport, direction(&settings.asks));
    (draft.streams, draft.end) = (settings.connections, End::Open);
    // Random bytes in a datagram could ask another server for something (clause 4.9).
    draft.options.repeating_payload = transport == Transport::Udp;
    if let Asks::Answers(bounce) = settings.asks {
        let length = ByteSize::from_bytes(bounce.length() as u64);
        draft.exchange =
            Some(Exchange { request: length, response: length, ..Exchange::default() });
    }
    draft.check()
}

const fn direction(asks: &Asks) -> Direction {
    match asks {
        Asks::Back(Back { way: BackWay::Reverse, .. }) => Direction::Receive,
        Asks::Back(_) => Direction::Both,
        Asks::Nothing | Asks::Answers(_) | Asks::Refused => Direction::Send,
    }
}

/// What this end runs to receive, or to answer.
pub(crate) fn receiving(plan: &TestPlan) -> RunSpec {
    let mut draft = PlanDraft::clone(plan);
    draft.direction = Direction::Send;
    run_spec(draft, plan, DEFAULT_BLOCK)
}

/// What this end runs in the `direction` as a client asked `back` for it, at the rate of `asked` bit/s
/// on each connection, and at no more than `limit` on all of the `plan` together.
pub(super) fn sending(
    plan: &TestPlan,
    direction: Direction,
    back: &Back,
    (asked, limit): (Option<u64>, Option<RateLimit>),
) -> RunSpec {
    let mut draft = PlanDraft::clone(plan);
    draft.direction = direction;
    draft.end = match back.amount {
        HeaderAmount::Centiseconds(time) => End::Time((UNIT * time).max(UNIT)),
        HeaderAmount::Bytes(bytes) => {
            let all = bytes.saturating_mul(u64::from(plan.streams));
            End::Bytes(ByteSize::from_bytes(all.max(1)))
        }
    };
    let most = limit.map(|limit| limit.most.bits_per_second() / u64::from(plan.streams_in_all()));
    let rate = asked.into_iter().chain(most).min().filter(|rate| *rate > 0);
    draft.options.rate = rate.map(BitRate::from_bits_per_second);
    if rate.is_some() && plan.transport == Transport::Udp {
        // As iperf2 does it.
        draft.options.pacing = Pacing::Average;
    }
    let block = back.length.map_or(DEFAULT_BLOCK, |length| {
        ByteSize::from_bytes(u64::from(length).clamp(1, LONGEST_BLOCK))
    });
    // A client that has gone is noticed by the next write, which is due within a second.
    let second = rate.map_or(block, |rate| ByteSize::from_bytes((rate / 8).max(1)));
    run_spec(draft, plan, block.min(second))
}

fn run_spec(draft: PlanDraft, plan: &TestPlan, block: ByteSize) -> RunSpec {
    // A time or an amount beyond those of a plan has no end of its own.
    let plan = draft.check().unwrap_or_else(|_| plan.clone());
    RunSpec { plan, block, header: CounterWidth::Bits32.into() }
}

/// Unit of a time on the wire (docs/protocol/iperf2.md, clause 3.3).
const UNIT: Duration = Duration::from_millis(10);
const LONGEST_BLOCK: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(amount: HeaderAmount, length: Option<u32>, most: Option<u64>) -> RunSpec {
        let back = Back { way: BackWay::Reverse, length, amount, is_timed: false, rest: 0 };
        let settings = Settings { connections: 2, asks: Asks::Back(back) };
        let plan = plan(Transport::Tcp, &settings).expect("a plan");
        assert_eq!((plan.direction, plan.streams, plan.end), (Direction::Receive, 2, End::Open));
        let window = Duration::from_secs(1);
        let limit = |most| RateLimit { most: BitRate::from_bits_per_second(2 * most), window };
        sending(&plan, Direction::Receive, &back, (None, most.map(limit)))
    }

    #[test]
    fn an_amount_is_that_of_each_connection_and_a_time_that_of_all() {
        let bytes = spec(HeaderAmount::Bytes(2_500), Some(1_000), None);
        assert_eq!(bytes.plan.end, End::Bytes(ByteSize::from_bytes(5_000)));
        assert_eq!((bytes.block.bytes(), bytes.plan.options.rate), (1_000, None));
        let time = spec(HeaderAmount::Centiseconds(50), None, None);
        assert_eq!(time.plan.end, End::Time(Duration::from_millis(500)));
        assert_eq!(time.block, DEFAULT_BLOCK);
        let least = spec(HeaderAmount::Centiseconds(0), Some(0), None);
        assert_eq!(least.plan.end, End::Time(Duration::from_millis(10)));
        assert_eq!(spec(HeaderAmount::Centiseconds(u32::MAX), None, None).plan.end, End::Open);
    }

    #[test]
    fn a_low_rate_has_short_writes() {
        let slow = spec(HeaderAmount::Centiseconds(100), None, Some(100_000));
        assert_eq!(slow.block.bytes(), 12_500);
        assert_eq!(slow.plan.options.rate, Some(BitRate::from_bits_per_second(100_000)));
    }
}
