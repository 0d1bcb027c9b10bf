//! `send-buffer-limited`: TCP waits for its own send buffer.

use super::{Case, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::{self, Transfer};
use crate::words::{self, count, percent};

const PAGE: Page = Page {
    id: RuleId::SendBufferLimited,
    title: "Send buffer limited",
    what: "For at least a tenth of the time both windows had room, and all that the send buffer \
           holds was under way; it is the limit from a quarter on, where no other wait is longer.",
    why: "What was sent stays in the buffer until it is acknowledged, so that a buffer bounds \
          what is under way as a window does.",
    evidence: "`tcpi_sndbuf_limited` against the time of the result; the buffer, the round trip.",
    remedy: "Leave `-w` out, or raise the third number of `net.ipv4.tcp_wmem` above twice the rate \
             times the round trip.",
    source: "tcp(7), Documentation/networking/ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(case: &Case<'_>) -> Vec<Found> {
    transfer::wanting(case).iter().filter_map(|transfer| finding(case, transfer)).collect()
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let shares = transfer.shares();
    let share = shares.send_buffer;
    let others = shares.application.max(shares.receive_window);
    let sender = transfer.sender();
    let text = format!("the send buffer of {} is too small for this path", words::host(&sender));
    let found = match share {
        _ if share < NOTICED => return None,
        _ if share < DECIDES || share < others => Found::candidate(text),
        _ => Found::limit(text),
    };
    let most = transfer.on_the_way().map_or(LEAST, |bytes| (8.0 * bytes).max(LEAST));
    let found = found
        .at(&sender)
        .going(transfer.flow.outcome.direction)
        .explaining(share)
        .seen(format!("send-buffer limited for {} of the time", percent(share)))
        .remedy("leave -w out, and raise the kernel's maximum")
        .change(super::sysctl("net.ipv4.tcp_wmem", format!("4096 16384 {most:.0}")));
    Some(match buffer(case, transfer) {
        Some(evidence) => found.seen(evidence),
        None => found,
    })
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
