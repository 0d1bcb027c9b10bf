//! `send-buffer-limited`: TCP waits for its own send buffer.

use measurement::remedy::Setting;
use measurement::{Bound, ByteSize, Certainty, Role};

use super::{Case, Class, Found, Page, Rule, RuleId, foreign_traffic};
use crate::bottleneck::in_flight::Windows;
use crate::bottleneck::silent::Arrivals;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{self, count, percent};

const PAGE: Page = Page {
    id: RuleId::SendBufferLimited,
    title: "Send buffer limited",
    what: "All that the send buffer holds was in flight, and both windows had room: what was in \
           flight (rate times round trip) fills the buffer and less than 80 % of either window, or \
           the kernel counted a quarter of the time as limited by it, and no other wait is longer. \
           From a tenth on it may be the limit. Of a sender that \
           tells nothing: as much arrives in each round trip, evenly, without loss and without a \
           queue, and less than 60 % of the window that it is offered.",
    why: "What was sent stays in the buffer until it is acknowledged, so that a buffer bounds \
          what is in flight as a window does.",
    evidence: "Rate and `tcpi_rtt` against `tcpi_snd_cwnd`, `tcpi_snd_wnd` and the buffer (`-w`, or \
               the third number of `net.ipv4.tcp_wmem`), which takes in several times as much once \
               segments were sent again; `tcpi_sndbuf_limited` against the time of the result.",
    remedy: "Leave `-w` out, or raise the third number of `net.ipv4.tcp_wmem` above twice the rate \
             times the round trip.",
    source: "tcp(7), Documentation/networking/ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Window, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_all_transfers(case, finding, |case, arrivals| {
        of_silent_sender(arrivals).filter(|_| !foreign_traffic::limits(case))
    })
}

/// A sender that tells nothing sends as much in each round trip, evenly, loses nothing and finds no
/// queue, and the window that it is offered has room: what it may have under way is its own limit,
/// unless cross traffic keeps a queue full all the time.
fn of_silent_sender(arrivals: &Arrivals<'_>) -> Option<Found> {
    let in_flight = arrivals.in_flight().filter(|_| arrivals.is_even())?;
    let loses = arrivals.lost().is_none_or(|lost| lost > LITTLE);
    let has_room = arrivals.window().is_some_and(|window| in_flight < ROOM * f64::from(window));
    if loses || !has_room || arrivals.standing_queue().is_some() {
        return None;
    }
    let sender = arrivals.flow.sender();
    let trip = arrivals.least_round_trip().map(transfer::shown)?;
    let bytes = format!("{in_flight:.0}");
    let bound = Bound::exact(8.0 * arrivals.rate, format!("{bytes} bytes each {trip}"));
    let most = (8.0 * in_flight).max(LEAST);
    let may_be_a_shaper = arrivals.is_as_even_as_shaped();
    let as_found = if may_be_a_shaper { Found::candidate } else { Found::limit };
    let found = as_found(text(&sender));
    Some(
        found
            .at(&sender)
            .going(arrivals.flow.outcome.direction)
            .explaining(1.0)
            .seen(format!(
                "{bytes} bytes of a stream arrive in each round trip, evenly and without loss; \
                 the window offered has room"
            ))
            .allowing(bound)
            .remedy("leave -w out, and raise the kernel's maximum")
            .change(super::sysctl("net.ipv4.tcp_wmem", format!("4096 16384 {most:.0}"))),
    )
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let share = transfer.shares().send_buffer;
    let sender = transfer.sender();
    let found = Found::new(certainty(case, transfer)?, text(&sender));
    let most = transfer.on_the_way().map_or(LEAST, |bytes| (8.0 * bytes).max(LEAST));
    let mut found = found
        .at(&sender)
        .going(transfer.flow.outcome.direction)
        .explaining(share)
        .seen(format!("send-buffer limited for {} of the time", percent(share)))
        .remedy("leave -w out, and raise the kernel's maximum");
    let allowed = case.host(&sender).and_then(|host| host.largest_buffer("net.ipv4.tcp_wmem"));
    let asked = case.test.and_then(|test| test.record.plan.options.window);
    if let Some(asked) = asked {
        found = found.change_from(Setting::Window(ByteSize::from_bytes(0)), Some(asked));
    }
    if asked.is_none() || allowed.is_none_or(|allowed| (allowed as f64) < most) {
        found = found.change(super::sysctl("net.ipv4.tcp_wmem", format!("4096 16384 {most:.0}")));
    }
    found.evidence.extend(buffer(case, transfer));
    Some(match bound(case, transfer) {
        Some(bound) => found.allowing(bound),
        None => found,
    })
}

fn text(sender: &Role) -> String {
    format!("the send buffer of {} is too small for this path", words::host(sender))
}

/// By the kernel's own times, or since what was in flight fills the buffer and no window.
fn certainty(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Certainty> {
    let shares = transfer.shares();
    let others = shares.application.max(shares.receive_window);
    let fills = Windows::of_transfer(case, transfer).is_some_and(|all| all.fills_send_buffer());
    // What was lost stays in the buffer until it is acknowledged.
    let lost = transfer.sent_again() * (1.0 - transfer.spurious());
    let is_of_loss = lost >= LOST
        && shares.congestion_window > DECIDES.max(shares.send_buffer)
        && !transfer.refutes_its_loss(case);
    match shares.send_buffer {
        _ if fills && !is_of_loss => Some(Certainty::Limit),
        share if share < NOTICED => None,
        share if share < DECIDES || share < others => Some(Certainty::Candidate),
        _ => Some(Certainty::Limit),
    }
}

/// What the buffer holds of payload, each round trip.
fn bound(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Bound> {
    let windows = Windows::of_transfer(case, transfer)?;
    let (buffer, (least, most)) = (windows.send_buffer?, windows.payload());
    let trip = transfer.least_round_trip()?;
    let streams = transfer.senders.len().max(1) as f64;
    let rate = |payload: f64| 8.0 * payload * buffer * streams / trip.as_secs_f64();
    let arithmetic = format!("a buffer of {buffer:.0} bytes each {}", transfer::shown(trip));
    Some(Bound::between(rate(least), rate(most), arithmetic))
}

/// The buffer and the round trip, of an end that tells its buffer.
fn buffer(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<String> {
    let streams = &case.test?.record.streams;
    let stream = streams.iter().find(|stream| stream.sender)?;
    let trip = transfer.least_round_trip()?;
    Some(format!(
        "a buffer of {} bytes, a round trip of {}",
        count(stream.send_buffer?.bytes()),
        transfer::shown(trip)
    ))
}

/// Share of the segments retransmitted up to which a transfer counts as free of loss.
const LITTLE: f64 = 0.000_1;
/// Share of the bytes lost, and not late, from which on loss fills the buffer.
const LOST: f64 = 0.01;
/// Share of the offered window above which the window may be the limit instead.
const ROOM: f64 = 0.6;
/// Share of the time from which on it is told. To be calibrated.
const NOTICED: f64 = 0.10;
/// From which on it limits. To be calibrated.
const DECIDES: f64 = 0.25;
/// The kernel's own default for the most that a buffer may have (tcp(7)).
const LEAST: f64 = 4_194_304.0;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let tcp = crate::test_record::sent(record);
        (tcp.send_buffer_limited_micros, tcp.min_rtt_micros) = (8_000_000, 20_000);
    })
    .silent(|record| crate::test_record::sent(record).send_buffer_limited_micros = 400_000);

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    /// At 20 ms with Reno: 250 kB are in flight, and windows let through far more.
    fn certainty(buffer: u64, again: u64) -> Option<Certainty> {
        let mut record = test_record::tcp();
        record.streams[0].congestion = Some("reno".to_owned());
        test_record::send_again(&mut record, again, 0);
        let tcp = test_record::sent(&mut record);
        (tcp.rtt_micros, tcp.min_rtt_micros) = (20_400, 20_000);
        (tcp.congestion_window, tcp.send_window) = (700_000, 3_000_000);
        let host = test_record::host(&mut record, &Role::Here);
        let value = format!("4096 16384 {buffer}");
        host.inventory.settings.insert("net.ipv4.tcp_wmem".to_owned(), value);
        let test = Test::from_record(&record);
        check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
    }

    #[test]
    fn loss_that_came_at_once_does_not_hide_a_small_buffer() {
        assert_eq!(certainty(262_144, 0), Some(Certainty::Limit));
        // 3 % of loss: Reno would reach 4 Mbit/s, and 100 Mbit/s arrived.
        assert_eq!(certainty(262_144, 2_600), Some(Certainty::Limit));
    }

    #[test]
    fn a_buffer_takes_in_more_once_segments_were_sent_again() {
        assert_eq!(certainty(65_536, 0), None);
        assert_eq!(certainty(65_536, 400), Some(Certainty::Limit));
        assert_eq!(certainty(16_384, 400), None, "more is in flight than it can have taken in");
    }
}
