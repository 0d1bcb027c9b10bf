//! What a record shows: whether to believe it, where datagrams went, what TCP waited for.

use measurement::judgement::{Drop, Place, TcpAccount, TimeShares};
use measurement::units::{counted, group_thousands};
use measurement::{DirectionAccount, Ledger, Reason, Stamp, TestRecord};

use crate::columns::{Cell, Emphasis};

/// The stamp of a record as a cell of the table; empty if the record was not judged.
pub(crate) fn stamp(record: &TestRecord) -> Cell {
    let Some(judgement) = &record.judgement else { return Cell::default() };
    let emphasis = match judgement.stamp {
        Stamp::Valid => Emphasis::None,
        Stamp::Suspect | Stamp::Invalid => Emphasis::Warning,
    };
    Cell::new(judgement.stamp.to_string(), emphasis)
}

/// Reasons for a stamp of SUSPECT or INVALID, each with its stamp.
pub(crate) fn doubts(record: &TestRecord) -> Vec<(Stamp, String)> {
    let doubts = reasons(record).filter(|reason| reason.stamp != Stamp::Valid);
    doubts.map(|reason| (reason.stamp, reason.text.clone())).collect()
}

/// Reasons that are information only.
pub(crate) fn notes(record: &TestRecord) -> Vec<String> {
    let notes = reasons(record).filter(|reason| reason.stamp == Stamp::Valid);
    notes.map(|reason| reason.text.clone()).collect()
}

/// Checks that could not be made, with the reasons; those with one reason share a line.
pub(crate) fn unchecked(record: &TestRecord) -> Vec<String> {
    let gaps = record.judgement.iter().flat_map(|judgement| &judgement.unchecked);
    let mut reasons: Vec<(&str, Vec<&str>)> = Vec::new();
    for gap in gaps {
        match reasons.iter_mut().find(|(why, _)| *why == gap.why) {
            Some((_, what)) => what.push(&gap.what),
            None => reasons.push((&gap.why, vec![&gap.what])),
        }
    }
    reasons.into_iter().map(|(why, what)| format!("{} ({why})", what.join(", "))).collect()
}

fn reasons(record: &TestRecord) -> impl Iterator<Item = &Reason> {
    record.judgement.iter().flat_map(|judgement| &judgement.reasons)
}

/// Lines on a direction: where its datagrams were dropped, or what its TCP senders waited for.
pub(crate) fn lines(account: &DirectionAccount) -> Vec<(&'static str, String)> {
    let ledger = account.ledger.as_ref().map(|ledger| ("ledger", self::ledger(ledger)));
    let time = account.tcp.as_ref().and_then(tcp).map(|line| ("time", line));
    [ledger, time].into_iter().flatten().collect()
}

fn ledger(ledger: &Ledger) -> String {
    let count = group_thousands;
    let mut parts = vec![format!("{} received", count(ledger.received))];
    parts.extend(ledger.drops.iter().filter(|drop| drop.most > 0).map(drop_in));
    if ledger.late > 0 {
        parts.push(format!("{} too late", count(ledger.late)));
    }
    if ledger.in_flight > 0 {
        parts.push(format!("{} in flight when iperf3 stopped counting", count(ledger.in_flight)));
    }
    parts.push(remainder(ledger));
    let tail = ledger.tail.filter(|tail| *tail > 0);
    let tail = tail.map(|tail| format!("; {} of them lost at the end", count(tail)));
    format!("{} sent = {}{}", count(ledger.sent), parts.join(" + "), tail.unwrap_or_default())
}

fn drop_in(drop: &Drop) -> String {
    let bounds = if drop.least == drop.most {
        String::new()
    } else {
        format!(" (from {} to {})", group_thousands(drop.least), group_thousands(drop.most))
    };
    format!("{} in {}{bounds}", group_thousands(drop.datagrams), place(drop))
}

pub(crate) fn place(drop: &Drop) -> String {
    match drop.place {
        Place::Sender => "the sender's kernel".to_owned(),
        Place::SenderQueue => format!("the sender's queue ({})", drop.counter),
        Place::SenderInterface => "the sender's interface".to_owned(),
        Place::ObservedIngress => {
            format!("the ingress hook of a host on the way ({})", drop.counter)
        }
        Place::ObservedForward => format!("forwarding on the way ({})", drop.counter),
        Place::ObservedQueue => format!("a queue on the way ({})", drop.counter),
        Place::ObservedInterface => format!("a host on the way ({})", drop.counter),
        Place::ReceiverInterface => "the receiver's interface".to_owned(),
        Place::ReceiverBacklog => "the receiver's backlog (softnet)".to_owned(),
        Place::ReceiverIngress => "the receiver's ingress hook (policer)".to_owned(),
        Place::ReceiverFirewall => "the receiver's firewall".to_owned(),
        Place::ReceiverStack => "the receiver's IP layer".to_owned(),
        Place::ReceiverSocket => "the receiver's socket".to_owned(),
    }
}

fn remainder(ledger: &Ledger) -> String {
    let where_ = match (ledger.sender_told, ledger.receiver_told) {
        (true, true) => "on the path",
        (true, false) => "on the path or at the receiver, which reports no drops",
        (false, true) => "on the path or at the sender, which reports no drops",
        (false, false) => "at unknown places: neither end reports drops",
    };
    let bounds = if ledger.remainder_least == ledger.remainder_most {
        String::new()
    } else {
        let (least, most) = (ledger.remainder_least, ledger.remainder_most);
        format!(" (from {} to {})", group_thousands(least), group_thousands(most))
    };
    format!("{} {where_}{bounds}", group_thousands(ledger.remainder))
}

/// What TCP waited for and retransmitted; none if the sender does not report it.
fn tcp(account: &TcpAccount) -> Option<String> {
    let shares = account.shares.as_ref().map(time)?;
    if account.retransmitted_segments == 0 {
        return Some(shares);
    }
    let sent = account.acknowledged.saturating_add(account.retransmitted).max(1);
    let again = format!(
        "{:.3} % of the bytes sent were retransmitted in {}",
        100.0 * account.retransmitted as f64 / sent as f64,
        counted(account.retransmitted_segments, "segment")
    );
    let spurious = match account.spurious_segments {
        0 => String::new(),
        count => format!(", {} of them spuriously", group_thousands(count)),
    };
    Some(format!("{shares}; {again}{spurious}"))
}

fn time(shares: &TimeShares) -> String {
    let all = [
        (shares.congestion_window, "network or CPU"),
        (shares.receive_window, "receive window"),
        (shares.send_buffer, "send buffer"),
        (shares.application, "application"),
    ];
    let shown = all.into_iter().filter(|(share, _)| *share >= LEAST_SHARE);
    shown
        .map(|(share, what)| format!("{:.1} % {what}", 100.0 * share))
        .collect::<Vec<_>>()
        .join(", ")
}

/// A smaller share of the time would be shown as 0.0 %.
const LEAST_SHARE: f64 = 0.000_5;
