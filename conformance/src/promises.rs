//! What is promised of a test between any two programs, one function per promise.
//!
//! The functions do not know who is who. They are strict: what some program is known
//! to do otherwise stands in [`crate::deviations`].

use std::net::IpAddr;

use testbed::process::{Ended, HowEnded};

use crate::ask::{Ask, Family, Transport, Way, ways};
use crate::seen::{Amount, Seen, WaySeen};

/// A test that has run.
pub(crate) struct Observation<'a> {
    pub(crate) ask: &'a Ask,
    pub(crate) client: &'a Seen,
    pub(crate) server: &'a Seen,
}

/// The name of a promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Promise {
    ClientEnds,
    ServerEnds,
    ResultBelieved,
    StreamCount,
    FamilyUsed,
    EndsAgreeOnBytes,
    EndsAgreeOnRate,
    EndsAgreeOnDatagrams,
    EndsAgreeOnLoss,
    NothingLost,
    AllArrives,
    AmountSent,
    RateKept,
    TimeKept,
    OmittedLeftOut,
    MssInEffect,
    LengthInEffect,
    WindowInEffect,
}

/// A promise that was not kept.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Breach {
    pub(crate) promise: Promise,
    pub(crate) way: Option<Way>,
    pub(crate) expected: f64,
    pub(crate) measured: f64,
    pub(crate) text: String,
}

/// Everything but the way in which the programs ended.
pub(crate) fn check(observed: &Observation<'_>) -> Vec<Breach> {
    let mut breaches = Vec::new();
    for way in ways(observed.ask.direction) {
        for promise in OF_A_WAY {
            breaches.extend(promise(observed, *way));
        }
    }
    for promise in OF_A_TEST {
        breaches.extend(promise(observed));
    }
    breaches
}

/// A client ends by itself, with success.
pub(crate) fn client_ends(ended: &Ended, seen: Option<&Seen>) -> Option<Breach> {
    ends(Promise::ClientEnds, ended, seen)
}

/// A server that was asked for one test ends after it.
pub(crate) fn server_ends(ended: &Ended, seen: Option<&Seen>) -> Option<Breach> {
    ends(Promise::ServerEnds, ended, seen)
}

fn ends(promise: Promise, ended: &Ended, seen: Option<&Seen>) -> Option<Breach> {
    let error = seen.and_then(|seen| seen.error.clone());
    if let (None, Some(seen)) = (&error, seen) {
        match ended.how {
            HowEnded::Code(0) => return None,
            HowEnded::Code(_) if ended.has_measured() => return Some(not_believed(seen)),
            HowEnded::Code(_) | HowEnded::Signal | HowEnded::Killed => {}
        }
    }
    let words = error.unwrap_or_else(|| ended.last_line().to_owned());
    let text = format!("{:?}: {words}", ended.how);
    Some(Breach { promise, way: None, expected: 0.0, measured: 0.0, text })
}

fn not_believed(seen: &Seen) -> Breach {
    let text = seen.doubts.join("; ");
    Breach { promise: Promise::ResultBelieved, way: None, expected: 0.0, measured: 0.0, text }
}

type OfAWay = fn(&Observation<'_>, Way) -> Vec<Breach>;
type OfATest = fn(&Observation<'_>) -> Option<Breach>;

const OF_A_WAY: [OfAWay; 10] = [
    stream_count,
    ends_agree_on_amounts,
    ends_agree_on_datagrams,
    ends_agree_on_loss,
    nothing_lost,
    all_arrives,
    amount_sent,
    rate_kept,
    time_kept,
    datagrams_have_the_length,
];
const OF_A_TEST: [OfATest; 4] = [family_used, mss_in_effect, length_in_effect, window_in_effect];

fn stream_count(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let expected = f64::from(observed.ask.streams);
    both(observed, way, |seen| Some(seen.streams? as f64))
        .filter(|(_, count)| differ(*count, expected))
        .map(|(end, count)| breach(Promise::StreamCount, way, expected, count, end))
        .collect()
}

/// What both ends know of the same thing is the same: to the byte, or to the digits
/// that are shown where only a rate is.
fn ends_agree_on_amounts(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let sent = pair(observed, way, |seen| seen.sent);
    let received = pair(observed, way, |seen| seen.received);
    let parts = [("sent", sent), ("received", received)];
    parts.into_iter().filter_map(|(what, amounts)| compare(way, what, amounts?)).collect()
}

fn compare(way: Way, what: &str, (client, server): (Amount, Amount)) -> Option<Breach> {
    let words = format!("{what} as of client and server");
    if let (Some(client), Some(server)) = (client.bytes, server.bytes) {
        unequal(Promise::EndsAgreeOnBytes, way, (client, server), &words)
    } else {
        let span = client.seconds.min(server.seconds);
        let tolerance = SHOWN_DIGITS + STREAMS_APART_SECONDS / span;
        (!near(client.rate, server.rate, tolerance))
            .then(|| breach(Promise::EndsAgreeOnRate, way, client.rate, server.rate, &words))
    }
}

fn ends_agree_on_datagrams(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    agree(observed, way, Promise::EndsAgreeOnDatagrams, |seen| seen.datagrams)
}

fn ends_agree_on_loss(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    agree(observed, way, Promise::EndsAgreeOnLoss, |seen| seen.lost)
}

fn agree(
    observed: &Observation<'_>,
    way: Way,
    promise: Promise,
    part: fn(&WaySeen) -> Option<u64>,
) -> Vec<Breach> {
    let both = pair(observed, way, part);
    both.and_then(|both| unequal(promise, way, both, "at client and server")).into_iter().collect()
}

/// An unshaped link loses nothing at a moderate rate.
fn nothing_lost(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    both(observed, way, |seen| Some(seen.lost? as f64))
        .filter(|(_, lost)| *lost > 0.0)
        .map(|(end, lost)| breach(Promise::NothingLost, way, 0.0, lost, end))
        .collect()
}

/// Where the amount ends the test, and UDP loses nothing, all that was sent arrives.
fn all_arrives(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let bytes = |amount: Option<Amount>| amount.and_then(|amount| amount.bytes);
    let Some(seen) = observed.client.way(way) else { return Vec::new() };
    let (Some(sent), Some(received)) = (bytes(seen.sent), bytes(seen.received)) else {
        return Vec::new();
    };
    let applies = observed.ask.bytes().is_some() || observed.ask.transport == Transport::Udp;
    let found = unequal(Promise::AllArrives, way, (sent, received), "bytes sent and received");
    found.filter(|_| applies).into_iter().collect()
}

/// A test that ends after so many bytes or blocks sends exactly those.
fn amount_sent(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let Some(expected) = observed.ask.bytes() else { return Vec::new() };
    let expected = expected as f64;
    both(observed, way, |seen| Some(seen.sent?.bytes? as f64))
        .filter(|(_, sent)| differ(*sent, expected))
        .map(|(end, sent)| breach(Promise::AmountSent, way, expected, sent, end))
        .collect()
}

/// A rate asked for is kept, by sender and receiver.
fn rate_kept(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let (Some(rate), Some(_)) = (observed.ask.total_rate(), observed.ask.seconds()) else {
        return Vec::new();
    };
    let expected = rate as f64;
    let promise = |rate| promise_of(observed.ask, rate, expected, Promise::RateKept);
    let part = |seen: &WaySeen| Some(seen.received.or(seen.sent)?.rate);
    both(observed, way, part)
        .filter(|(_, rate)| !near(*rate, expected, RATE_TOLERANCE))
        .map(|(end, rate)| breach(promise(rate), way, expected, rate, end))
        .collect()
}

/// An omitted start that is not left out shows as a rate, or a time, that is too high by its part of the
/// test. What is lower, or a little higher, is what a busy machine makes.
fn promise_of(ask: &Ask, measured: f64, expected: f64, otherwise: Promise) -> Promise {
    let part =
        ask.seconds().map_or(0.0, |seconds| f64::from(ask.omit_seconds) / f64::from(seconds));
    let counts_too_much = part > 0.0 && measured > expected * (1.0 + part / 2.0);
    if counts_too_much { Promise::OmittedLeftOut } else { otherwise }
}

/// A test takes the time that was asked for, without the omitted start.
fn time_kept(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let Some(expected) = observed.ask.seconds().map(f64::from) else { return Vec::new() };
    let promise = |seconds| promise_of(observed.ask, seconds, expected, Promise::TimeKept);
    both(observed, way, |seen| Some(seen.received.or(seen.sent)?.seconds))
        .filter(|(_, seconds)| (seconds - expected).abs() > TIME_TOLERANCE_SECONDS)
        .map(|(end, seconds)| breach(promise(seconds), way, expected, seconds, end))
        .collect()
}

/// Every datagram has the length that was asked for.
fn datagrams_have_the_length(observed: &Observation<'_>, way: Way) -> Vec<Breach> {
    let (Some(length), Transport::Udp) = (observed.ask.length, observed.ask.transport) else {
        return Vec::new();
    };
    let Some(seen) = observed.client.way(way) else { return Vec::new() };
    let (Some(bytes), Some(datagrams)) = (seen.sent.and_then(|sent| sent.bytes), seen.datagrams)
    else {
        return Vec::new();
    };
    let both = (datagrams * u64::from(length), bytes);
    let found = unequal(Promise::LengthInEffect, way, both, "bytes of all datagrams");
    found.into_iter().collect()
}

/// Every stream runs over the network protocol that was asked for.
fn family_used(observed: &Observation<'_>) -> Option<Breach> {
    let is_right = |address: &IpAddr| address.is_ipv6() == (observed.ask.family == Family::Ipv6);
    let mut addresses = observed.client.addresses.iter().chain(&observed.server.addresses);
    let wrong = addresses.find(|address| !is_right(address));
    let text = match (wrong, observed.client.addresses.is_empty()) {
        (Some(address), _) => format!("a stream has the address {address}"),
        (None, true) => "the client tells no address".to_owned(),
        (None, false) => return None,
    };
    Some(Breach { promise: Promise::FamilyUsed, way: None, expected: 0.0, measured: 0.0, text })
}

/// No segment is larger than asked, and the kernel has taken the option.
fn mss_in_effect(observed: &Observation<'_>) -> Option<Breach> {
    let asked = f64::from(observed.ask.mss?);
    let read: Vec<f64> = observed.client.mss.iter().map(|mss| *mss as f64).collect();
    let worst = read.iter().copied().find(|mss| *mss > asked || *mss < asked / 2.0);
    match (worst, read.is_empty()) {
        (None, false) => None,
        (worst, _) => {
            Some(whole(Promise::MssInEffect, asked, worst.unwrap_or_default(), "read back"))
        }
    }
}

/// The block or datagram length in effect is the one asked for, at both ends.
fn length_in_effect(observed: &Observation<'_>) -> Option<Breach> {
    let asked = f64::from(observed.ask.length?);
    let mut lengths = observed.client.lengths.iter().chain(&observed.server.lengths);
    let wrong = lengths.find(|length| differ(**length as f64, asked))?;
    Some(whole(Promise::LengthInEffect, asked, *wrong as f64, "read back"))
}

/// The kernel doubles the buffer that is asked for (socket(7), `SO_SNDBUF`).
fn window_in_effect(observed: &Observation<'_>) -> Option<Breach> {
    let expected = 2.0 * observed.ask.window? as f64;
    let mut buffers = observed.client.buffers.iter().chain(&observed.server.buffers);
    let wrong = buffers.find(|buffer| differ(**buffer as f64, expected));
    match (wrong, observed.client.buffers.is_empty()) {
        (None, false) => None,
        (wrong, _) => {
            let measured = wrong.map_or(0.0, |wrong| *wrong as f64);
            Some(whole(Promise::WindowInEffect, expected, measured, "read back"))
        }
    }
}

/// What each end says, where it says something.
fn both<'a>(
    observed: &'a Observation<'_>,
    way: Way,
    part: impl Fn(&WaySeen) -> Option<f64> + 'a,
) -> impl Iterator<Item = (&'static str, f64)> + 'a {
    [("at the client", observed.client), ("at the server", observed.server)]
        .into_iter()
        .filter_map(move |(end, seen)| Some((end, part(seen.way(way)?)?)))
}

fn pair<T>(
    observed: &Observation<'_>,
    way: Way,
    part: impl Fn(&WaySeen) -> Option<T>,
) -> Option<(T, T)> {
    Some((part(observed.client.way(way)?)?, part(observed.server.way(way)?)?))
}

fn breach(promise: Promise, way: Way, expected: f64, measured: f64, text: &str) -> Breach {
    Breach { promise, way: Some(way), expected, measured, text: text.to_owned() }
}

/// What two numbers that have to be the same come to.
fn unequal(promise: Promise, way: Way, (a, b): (u64, u64), text: &str) -> Option<Breach> {
    (a != b).then(|| breach(promise, way, a as f64, b as f64, text))
}

fn whole(promise: Promise, expected: f64, measured: f64, text: &str) -> Breach {
    Breach { promise, way: None, expected, measured, text: text.to_owned() }
}

/// Whole numbers below 2^53 are exact as f64.
fn differ(a: f64, b: f64) -> bool {
    (a - b).abs() >= 0.5
}

fn near(a: f64, b: f64, tolerance: f64) -> bool {
    (a - b).abs() <= tolerance * a.abs().max(b.abs())
}

/// Four significant digits are rounded to 1 in 2,000 at worst.
const SHOWN_DIGITS: f64 = 0.0006;
/// Streams of one test stop one after the other, and a report takes the span of one.
const STREAMS_APART_SECONDS: f64 = 20e-6;
const RATE_TOLERANCE: f64 = 0.05;
const TIME_TOLERANCE_SECONDS: f64 = 0.1;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Direction, End};

    fn seen(sent: u64, received: u64) -> Seen {
        let amount = |bytes| Some(Amount::over(bytes, 1.0));
        let way = WaySeen {
            streams: Some(1),
            sent: amount(sent),
            received: amount(received),
            ..WaySeen::default()
        };
        Seen { up: Some(way), addresses: vec![[10, 0, 0, 1].into()], ..Seen::default() }
    }

    fn broken(ask: &Ask, client: &Seen, server: &Seen) -> Vec<Promise> {
        let breaches = check(&Observation { ask, client, server });
        breaches.into_iter().map(|breach| breach.promise).collect()
    }

    fn of_bytes() -> Ask {
        Ask { end: End::Bytes(100), ..Ask::new(Transport::Tcp, Direction::Send) }
    }

    #[test]
    fn a_test_that_adds_up_breaks_nothing() {
        assert_eq!(broken(&of_bytes(), &seen(100, 100), &seen(100, 100)), []);
    }

    #[test]
    fn ends_that_disagree_are_seen() {
        let promises = broken(&of_bytes(), &seen(100, 100), &seen(100, 99));
        assert_eq!(promises, [Promise::EndsAgreeOnBytes]);
    }

    #[test]
    fn bytes_that_do_not_arrive_are_seen() {
        let promises = broken(&of_bytes(), &seen(100, 98), &seen(100, 98));
        assert_eq!(promises, [Promise::AllArrives]);
    }

    #[test]
    fn an_address_of_the_other_family_is_seen() {
        let ask = Ask { family: Family::Ipv6, ..of_bytes() };
        let promises = broken(&ask, &seen(100, 100), &seen(100, 100));
        assert_eq!(promises, [Promise::FamilyUsed]);
    }
}
