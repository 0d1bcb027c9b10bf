//! `receive-window-limited`: TCP waits for the receiver's window.

use measurement::host::counter;
use measurement::outcome::{Ending, Throughput};
use measurement::remedy::{Change, Remedy, Setting};
use measurement::{Bound, ByteSize, Role};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::silent::Arrivals;
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{self, count, counted, percent, share};

const PAGE: Page = Page {
    id: RuleId::ReceiveWindowLimited,
    title: "Receive window limited",
    what: "For at least a tenth of the time the sender had data, and the receiver's window had no \
           room for it; it is the limit from a quarter on, where no other wait is longer, or from \
           that tenth on where the kernel of the other end took all data and its program sends no \
           result.",
    why: "A sender may have no more in flight than the receiver offers. A window is small since \
          its buffer is, which costs rate in proportion to the round trip, or since the program \
          behind it reads too slowly, whatever its buffer.",
    evidence: "`tcpi_rwnd_limited` against the time of the result; of a sender that reports \
               nothing, what arrives in a round trip against `tcpi_rcv_ssthresh`, or in two where \
               segments come out of order (`TCPOFOQueue`). The window and \
               the minimum round trip tell a small buffer, whose window is all in flight in each \
               round trip, from a slow reader, whose window closes (`TCPToZeroWindowAdv`, \
               `TCPWantZeroWindowAdv`), or that read nothing for whole steps of 100 ms.",
    remedy: "A small buffer: leave `-w` out, or raise the third number of `net.ipv4.tcp_rmem` \
    above \
             twice the rate times the round trip. A slow reader: a CPU of its own, fewer programs \
             beside it, `--engine msg-trunc` to see what reading costs.",
    source: "tcp(7), Documentation/networking/ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Window, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_all_transfers(case, finding, of_silent_sender)
}

/// A sender that tells nothing fills the window that this host advertises, each round trip.
fn of_silent_sender(case: &Case<'_>, arrivals: &Arrivals<'_>) -> Option<Found> {
    let window = arrivals.window()?;
    let bound = arrivals.bound_by_window(window)?;
    let filled = 8.0 * arrivals.rate / bound.to.bits_per_second() as f64;
    let has_gaps = arrivals.have_gaps(case);
    let least = if has_gaps { FULL_WITH_GAPS } else { FULL_LEAST };
    let bound = if has_gaps { with_gaps(&bound) } else { bound };
    (least..=FULL_MOST).contains(&filled).then(|| {
        let enough = (8.0 * f64::from(window)).max(LEAST_BUFFER);
        let larger = super::sysctl("net.ipv4.tcp_rmem", format!("4096 131072 {enough:.0}"));
        Found::limit(Cause::Buffer.in_words(&words::host(&Role::Here)))
            .at(&Role::Here)
            .going(arrivals.flow.outcome.direction)
            .explaining(filled.min(1.0))
            .seen(format!("{} of the window arrived in each round trip", percent(filled)))
            .allowing(bound)
            .remedy("leave -w out, and raise the kernel's maximum")
            .change(larger)
    })
}

/// Bound by a window that moves on once a gap is filled, which takes another round trip.
fn with_gaps(bound: &Bound) -> Bound {
    let most = bound.to.bits_per_second() as f64;
    let arithmetic = format!("{}, or two where a segment is late", bound.arithmetic);
    Bound::between(most / 2.0, most, arithmetic)
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let shares = transfer.shares();
    let share = shares.receive_window;
    let others = shares.application.max(shares.send_buffer);
    let reason = reason(case, transfer);
    let receiver = transfer.receiver();
    let text = reason.in_words(&words::host(&receiver));
    let is_late = is_program_late(case, transfer);
    let found = match share {
        _ if share < NOTICED => return None,
        _ if is_late => Found::limit(text),
        _ if share < DECIDES || share < others => Found::candidate(text),
        _ => Found::limit(text),
    };
    let mut found = found
        .at(&receiver)
        .going(transfer.flow.outcome.direction)
        .explaining(share)
        .seen(format!("receive-window limited for {} of the time", percent(share)))
        .remedy(reason.remedy(case, transfer));
    for evidence in reason.evidence() {
        found = found.seen(evidence);
    }
    if is_late {
        found = found.seen(format!(
            "{} took all that was sent and accepts connections, and its program sent no result",
            words::host(&receiver)
        ));
    }
    Some(match bound(transfer) {
        Some(bound) if matches!(reason, Cause::Buffer) => found.allowing(bound),
        _ => found,
    })
}

/// Whether the kernel of the other end has all data and answers, but its program does not: then what
/// holds the window is that program, and not the path.
fn is_program_late(case: &Case<'_>, transfer: &Transfer<'_>) -> bool {
    let Some(outcome) = case.test.map(|test| &test.record.outcome) else { return false };
    let is_broken =
        matches!(outcome.ending, Ending::Failed { .. }) && outcome.peer_accepts == Some(true);
    let flow = transfer.flow.outcome;
    let bytes = |through: Option<Throughput>| through.map_or(0, |one| one.bytes);
    let arrived = share(bytes(flow.acknowledged), bytes(flow.offered));
    is_broken && transfer.receiver() == Role::Peer && flow.delivered.is_none() && arrived >= ALL
}

/// What the window lets through, each round trip: with and without the queues of the path.
fn bound(transfer: &Transfer<'_>) -> Option<Bound> {
    let window = transfer.senders.iter().map(|tcp| tcp.send_window).max().filter(|w| *w > 0)?;
    let (trip, least) = transfer.typical_round_trip().zip(transfer.least_round_trip())?;
    let bits = 8.0 * window as f64 * transfer.senders.len().max(1) as f64;
    let arithmetic = format!("a window of {} bytes each {}", count(window), transfer::shown(least));
    Some(Bound::between(bits / trip.as_secs_f64(), bits / least.as_secs_f64(), arithmetic))
}

/// Why a window is small.
enum Cause {
    /// Its buffer is.
    Buffer,
    /// The program reads too slowly: how often the window closed, and in how many steps of the
    /// whole nothing was read.
    Reader { closed: u64, still: u64, steps: u64 },
    /// It does not show.
    Either,
}

fn reason(case: &Case<'_>, transfer: &Transfer<'_>) -> Cause {
    let receiver = transfer.receiver();
    let names = [counter::TCP_TO_ZERO_WINDOW_ADV, counter::TCP_WANT_ZERO_WINDOW_ADV];
    let closed = transfer::grown(case.host(&receiver), &names);
    let closed = closed.iter().map(|(_, times)| *times).fold(0, u64::saturating_add);
    let (still, steps) = stillness(case, &receiver);
    let fills = transfer.on_the_way().and_then(|on_the_way| {
        let window = transfer.senders.iter().map(|tcp| tcp.send_window).max()?;
        (window > 0).then_some(window as f64 <= FILLED * on_the_way)
    });
    match fills {
        _ if still * STILL_STEPS > steps => Cause::Reader { closed, still, steps },
        Some(true) if closed <= FEW => Cause::Buffer,
        // A buffer that somebody chose may close after each block, however fast it is read.
        _ if closed > 0 && !is_chosen(case) => Cause::Reader { closed, still, steps },
        Some(true) => Cause::Buffer,
        _ => Cause::Either,
    }
}

/// Whether the size of the buffers was asked.
fn is_chosen(case: &Case<'_>) -> bool {
    case.test.is_some_and(|test| test.record.plan.options.window.is_some())
}

/// In how many steps the receiver read nothing, between the first and the last in which it
/// did; and how many those are.
fn stillness(case: &Case<'_>, receiver: &Role) -> (u64, u64) {
    let Some(test) = case.test else { return (0, 0) };
    let pulses = match receiver {
        Role::Here => &test.record.pulses,
        _ => &test.record.reported.pulses,
    };
    let Some(pulse) = pulses.iter().find(|pulse| !pulse.sender) else { return (0, 0) };
    let moved = |bytes: &u64| *bytes > 0;
    let first = pulse.bytes.iter().position(moved).unwrap_or(0);
    let last = pulse.bytes.iter().rposition(moved).map_or(first, |last| last + 1);
    let steps = &pulse.bytes[first..last];
    (steps.iter().filter(|bytes| !moved(bytes)).count() as u64, steps.len() as u64)
}

impl Cause {
    fn in_words(&self, host: &str) -> String {
        match self {
            Self::Buffer => format!("the receive window of {host} is too small for this path"),
            Self::Reader { .. } => format!("the program that receives on {host} reads too slowly"),
            Self::Either => {
                format!("limited by the receive window of {host}: small buffer or slow reader")
            }
        }
    }

    fn evidence(&self) -> Vec<String> {
        let mut all = Vec::new();
        if let Self::Reader { closed, still, steps } = self {
            if *closed > 0 {
                all.push(format!("its window closed {}", counted(*closed, "time")));
            }
            if *still > 0 {
                all.push(format!("it read nothing in {still} of {steps} steps"));
            }
        }
        all
    }

    fn remedy(&self, case: &Case<'_>, transfer: &Transfer<'_>) -> Remedy {
        let reader = "give that program a CPU of its own (--cpus), and see what else runs there";
        // Twice what is under way, and room for a rate that is several times as high.
        let most =
            transfer.on_the_way().map_or(LEAST_BUFFER, |bytes| (8.0 * bytes).max(LEAST_BUFFER));
        let allowed = case
            .host(&transfer.receiver())
            .and_then(|host| host.largest_buffer("net.ipv4.tcp_rmem"));
        let is_enough = allowed.is_some_and(|allowed| allowed as f64 >= most);
        let buffer = if is_enough {
            "leave -w out: the kernel's own buffer may be large enough"
        } else {
            "leave -w out, and raise the kernel's maximum"
        };
        let remedy = match self {
            Self::Buffer => Remedy::from(buffer),
            Self::Reader { .. } => return Remedy::from(reader),
            Self::Either => Remedy::from(format!("{buffer}; if that changes nothing, {reader}")),
        };
        let larger = super::sysctl("net.ipv4.tcp_rmem", format!("4096 131072 {most:.0}"));
        let receiver = transfer.receiver();
        let remedy = if is_enough { remedy } else { remedy.with(Change::new(&receiver, larger)) };
        adjusted(case, &receiver, remedy)
    }
}

/// A remedy with the changes that let the kernel adjust the receive buffer, where something keeps
/// it from that.
fn adjusted(case: &Case<'_>, receiver: &Role, remedy: Remedy) -> Remedy {
    let asked = case.test.and_then(|test| test.record.plan.options.window);
    let remedy = match asked {
        Some(asked) => {
            let none = Setting::Window(ByteSize::from_bytes(0));
            remedy.with(Change::new(&Role::Here, none).replacing(asked))
        }
        None => remedy,
    };
    let is_fixed = case.host(receiver).and_then(|host| host.setting(MODERATED)) == Some(0);
    if !is_fixed {
        return remedy;
    }
    remedy.with(Change::new(receiver, super::sysctl(MODERATED, 1)).replacing(0))
}

/// Whether the kernel adjusts receive buffers (tcp(7)).
const MODERATED: &str = "net.ipv4.tcp_moderate_rcvbuf";
/// Of the window that this host advertises, what arrives in a round trip where it is filled: the
/// least round trip is shorter than the usual one, and the window may have grown.
const FULL_LEAST: f64 = 0.6;
const FULL_MOST: f64 = 1.5;
/// The least where segments come out of order.
const FULL_WITH_GAPS: f64 = 0.4;
/// Share of the time from which on it is told. To be calibrated.
const NOTICED: f64 = 0.10;
/// From which on it limits. To be calibrated.
const DECIDES: f64 = 0.25;
/// Least share of the bytes sent that the kernel of the other end has acknowledged: it took all.
const ALL: f64 = 0.9;
/// Windows, against what was under way, that were used up in each round trip.
const FILLED: f64 = 3.0;
/// A reader is slow if it read nothing in more than one of so many steps. To be calibrated.
const STILL_STEPS: u64 = 20;
/// Times that a window may close at the start of a connection.
const FEW: u64 = 2;
/// The kernel's own default for the most that a buffer may have (tcp(7)).
const LEAST_BUFFER: f64 = 6_291_456.0;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let tcp = crate::test_record::sent(record);
        (tcp.receive_window_limited_micros, tcp.min_rtt_micros) = (9_000_000, 20_000);
        (tcp.rtt_micros, tcp.send_window) = (20_200, 250_000);
    })
    .silent(|record| {
        let tcp = crate::test_record::sent(record);
        (tcp.receive_window_limited_micros, tcp.min_rtt_micros) = (500_000, 20_000);
    });

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;

    fn text(spoil: impl FnOnce(&mut measurement::TestRecord)) -> String {
        let mut record = test_record::tcp();
        (FIXTURE.fires)(&mut record);
        spoil(&mut record);
        let judgement = crate::judge(&record);
        judgement.verdict.expect("measured").findings[0].text.clone()
    }

    #[test]
    fn a_small_buffer_is_told_from_a_slow_reader() {
        assert!(text(|_| ()).contains("window of the server is too small"));
        let closed = text(|record| {
            test_record::sent(record).min_rtt_micros = 50;
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TCP_TO_ZERO_WINDOW_ADV, 4_000);
        });
        assert!(closed.contains("on the server reads too slowly"), "{closed}");
        let chosen = text(|record| {
            test_record::sent(record).min_rtt_micros = 50;
            let window = Some(measurement::ByteSize::from_bytes(4_096));
            record.plan =
                test_record::plan_with(&record.plan, |draft| draft.options.window = window);
            let host = test_record::host(record, &Role::Peer);
            test_record::grow(host, counter::TCP_TO_ZERO_WINDOW_ADV, 4_000);
        });
        assert!(chosen.contains("small buffer or slow reader"), "{chosen}");
        let still = text(|record| record.reported.pulses[0].bytes[20..50].fill(0));
        assert!(still.contains("on the server reads too slowly"), "{still}");
        let unknown = text(|record| test_record::sent(record).min_rtt_micros = 50);
        assert!(unknown.contains("small buffer or slow reader"), "{unknown}");
    }

    #[test]
    fn a_program_that_sends_no_result_of_what_its_kernel_took_reads_too_slowly() {
        let certainty = |accepts| {
            let mut record = test_record::tcp();
            test_record::sent(&mut record).receive_window_limited_micros = 1_800_000;
            let error = "no answer from the other end while exchanging results".to_owned();
            record.outcome.ending = Ending::Failed { error };
            record.outcome.peer_accepts = Some(accepts);
            let flow = &mut record.outcome.directions[0];
            (flow.acknowledged, flow.delivered) = (flow.offered, None);
            record.reported = measurement::record::PeerReport::default();
            record.hosts.truncate(1);
            let test = crate::accounts::Test::from_record(&record);
            check(&Case::of_test(&test, &[])).first().map(|found| found.certainty)
        };
        assert_eq!(certainty(true), Some(measurement::Certainty::Limit));
        assert_eq!(certainty(false), Some(measurement::Certainty::Candidate), "its host is gone");
    }

    #[test]
    fn gaps_of_late_segments_keep_the_window_of_a_silent_sender_from_moving_on() {
        let bound = |early| {
            let mut record = crate::bottleneck::fixture::tcp_from_iperf3(7);
            // 100 Mbit/s are 48 % of what this window allows each 20 ms.
            let tcp = test_record::sent(&mut record);
            (tcp.receive_window, tcp.segments_in) = (520_000, 86_000);
            let host = test_record::host(&mut record, &Role::Here);
            test_record::grow(host, counter::TCP_OFO_QUEUE, early);
            let test = crate::accounts::Test::from_record(&record);
            let found = check(&Case::of_test(&test, &[]));
            found.first().map(|found| found.effect.bound().expect("known").from.to_string())
        };
        assert_eq!(bound(50_000).as_deref(), Some("104.0 Mbit/s"));
        assert_eq!(bound(2_000), None, "seven lost segments explain as many");
    }
}
