//! What TCP senders waited for, and what they sent again.

use std::time::Duration;

use measurement::judgement::{TcpAccount, TimeShares};
use measurement::{Direction, Order, Role, TcpSample, TestRecord, Transport};

use crate::evidence::{sender, senders};

/// The account of a direction; none: it is not TCP, or its sender does not tell.
pub(crate) fn transfer_account(record: &TestRecord, direction: Direction) -> Option<TcpAccount> {
    if record.plan.transport != Transport::Tcp {
        return None;
    }
    let senders = senders(record, direction).into_iter();
    let streams: Vec<_> = senders.filter_map(|(one, span)| Some((one.tcp?, span))).collect();
    (!streams.is_empty()).then(|| account(record, direction, &streams))
}

/// One sender during the result, and how long that was.
type Stream = (TcpSample, Duration);

/// The least round trip; none: not told.
fn least(streams: &[Stream]) -> Option<u32> {
    streams.iter().map(|(tcp, _)| tcp.min_rtt_micros).filter(|micros| *micros > 0).min()
}

/// The median of the smoothed round trips that senders here saw during the result; of those at the
/// other end what they said at the end. None: not told.
fn typical(record: &TestRecord, direction: Direction, streams: &[Stream]) -> Option<u32> {
    let mut told: Vec<_> = if sender(direction) == Role::Here {
        let samples = record.samples.get(record.base + 1..).unwrap_or_default();
        let each = samples.iter().flat_map(|sample| sample.streams.iter().zip(&record.streams));
        let own = each.filter(|(_, stream)| stream.sender);
        own.filter_map(|(one, _)| one.tcp).map(|tcp| tcp.rtt_micros).collect()
    } else {
        streams.iter().map(|(tcp, _)| tcp.rtt_micros).collect()
    };
    told.retain(|micros| *micros > 0);
    told.order();
    told.get(told.len() / 2).copied()
}

fn account(record: &TestRecord, direction: Direction, streams: &[Stream]) -> TcpAccount {
    let sum = |of: fn(&TcpSample) -> u64| {
        streams.iter().map(|(tcp, _)| of(tcp)).fold(0, u64::saturating_add)
    };
    let again = sum(|tcp| tcp.retransmits);
    let twice = sum(|tcp| tcp.duplicates.into());
    TcpAccount {
        acknowledged: sum(|tcp| tcp.acknowledged),
        retransmitted: sum(|tcp| tcp.bytes_retransmitted),
        spurious_segments: if path_duplicates(again, twice) { 0 } else { twice.min(again) },
        retransmitted_segments: again,
        reorderings: sum(|tcp| tcp.reorderings.into()),
        rtt_micros: typical(record, direction, streams),
        min_rtt_micros: least(streams),
        shares: mean(&streams.iter().filter_map(shares).collect::<Vec<_>>()),
    }
}

/// Whether more segments arrived twice than were sent twice: then the path duplicates, and which
/// were sent again without need is not known.
const fn path_duplicates(again: u64, twice: u64) -> bool {
    twice > again.saturating_mul(2)
}

/// None of a kernel that does not keep the times (before Linux 4.10): it sent, was never busy, and
/// does not tell how much it sent either (4.19). One that does counts in ticks, and may have seen
/// none of them.
fn shares((tcp, span): &Stream) -> Option<TimeShares> {
    let busy = tcp.busy_micros;
    // What was under way at the end keeps the sender busy beyond it.
    let whole = u64::try_from(span.as_micros()).unwrap_or(u64::MAX).max(busy);
    if whole == 0 || (busy == 0 && tcp.acknowledged > 0 && tcp.bytes_sent == 0) {
        return None;
    }
    let receive = tcp.receive_window_limited_micros.min(busy);
    let send = tcp.send_buffer_limited_micros.min(busy - receive);
    let share = |micros: u64| micros as f64 / whole as f64;
    Some(TimeShares {
        application: share(whole - busy),
        receive_window: share(receive),
        send_buffer: share(send),
        congestion_window: share(busy - receive - send),
    })
}

fn mean(all: &[TimeShares]) -> Option<TimeShares> {
    let of = |part: fn(&TimeShares) -> f64| all.iter().map(part).sum::<f64>() / all.len() as f64;
    (!all.is_empty()).then(|| TimeShares {
        application: of(|shares| shares.application),
        receive_window: of(|shares| shares.receive_window),
        send_buffer: of(|shares| shares.send_buffer),
        congestion_window: of(|shares| shares.congestion_window),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    fn sums_to_one(shares: TimeShares) -> bool {
        let TimeShares { application, receive_window, send_buffer, congestion_window } = shares;
        (application + receive_window + send_buffer + congestion_window - 1.0).abs() < 1e-9
    }

    #[test]
    fn shares_of_the_time_add_up_to_one() {
        let mut record = test_record::tcp();
        let tcp = test_record::sent(&mut record);
        (tcp.busy_micros, tcp.receive_window_limited_micros) = (8_000_000, 6_000_000);
        tcp.send_buffer_limited_micros = 1_000_000;
        (tcp.retransmits, tcp.duplicates) = (9, 7);
        let account = transfer_account(&record, Direction::Send).expect("a sender");
        let shares = account.shares.expect("it tells");
        assert!(sums_to_one(shares), "{shares:?}");
        assert!((shares.receive_window - 0.6).abs() < 1e-9, "{shares:?}");
        assert!((shares.application - 0.2).abs() < 1e-9, "{shares:?}");
        assert_eq!(account.spurious_segments, 7);
    }

    #[test]
    fn a_path_that_duplicates_tells_nothing_of_what_was_sent_again() {
        let mut record = test_record::tcp();
        let tcp = test_record::sent(&mut record);
        (tcp.retransmits, tcp.duplicates) = (6, 357);
        let account = transfer_account(&record, Direction::Send).expect("a sender");
        assert_eq!((account.retransmitted_segments, account.spurious_segments), (6, 0));
    }

    #[test]
    fn who_is_busy_beyond_the_end_was_busy_all_the_time() {
        let mut record = test_record::tcp();
        let tcp = test_record::sent(&mut record);
        (tcp.busy_micros, tcp.receive_window_limited_micros) = (10_400_000, 99_000_000);
        let shares =
            transfer_account(&record, Direction::Send).expect("a sender").shares.expect("it tells");
        assert!(sums_to_one(shares), "{shares:?}");
        assert!((shares.receive_window - 1.0).abs() < 1e-9, "{shares:?}");
    }

    #[test]
    fn a_kernel_without_these_times_has_no_shares() {
        let mut record = test_record::tcp();
        let tcp = test_record::sent(&mut record);
        (tcp.busy_micros, tcp.bytes_sent) = (0, 0);
        assert_eq!(transfer_account(&record, Direction::Send).expect("a sender").shares, None);
        assert_eq!(transfer_account(&test_record::udp(), Direction::Send), None);
        record.reported.streams.clear();
        assert_eq!(transfer_account(&record, Direction::Receive), None, "the server does not tell");
    }
}
