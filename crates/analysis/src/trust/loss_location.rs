//! `loss-location`: where lost datagrams were lost.

use std::cmp::Reverse;

use measurement::judgement::{Drop, Place};
use measurement::{Ledger, Order, Role};

use super::{Finding, Page, Rule, RuleId, Test};
use crate::accounts::Flow;
use crate::words::{self, count, counted, percent, share};

pub(crate) const PAGE: Page = Page {
    id: RuleId::LossLocation,
    title: "Where datagrams were lost",
    what: "Datagrams are missing, and this is where they went.",
    why: "A loss in the receiver's own socket is no loss of the network's, though it looks the \
           same from outside.",
    evidence: "The ledger of the direction.",
    remedy: "That of the place with most of them.",
    source: "",
};

pub(super) const RULE: Rule = Rule { page: &PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    let of = |flow| {
        let sentence = format!("{}{}", test.prefix(flow), in_words(test, flow)?);
        Some(Finding::note(None, sentence))
    };
    test.flows.iter().filter_map(of).collect()
}

fn in_words(test: &Test<'_>, flow: &Flow<'_>) -> Option<String> {
    let ledger = flow.account.ledger.as_ref().filter(|ledger| ledger.lost() > 0)?;
    let mut drops: Vec<&Drop> = ledger.drops.iter().filter(|drop| drop.datagrams > 0).collect();
    drops.order_by_key(|drop| Reverse(drop.datagrams));
    let mut parts: Vec<_> =
        drops.iter().map(|drop| (drop.datagrams, place(test, flow, drop))).collect();
    if ledger.remainder > 0 {
        parts.push((ledger.remainder, remainder(ledger)));
    }
    let lost = ledger.lost();
    let amount =
        format!("{} ({})", counted(lost, "lost datagram"), percent(share(lost, ledger.sent)));
    let where_to = match parts.as_slice() {
        [(_, only)] => format!("all of {amount} {only}"),
        several => {
            let each: Vec<_> =
                several.iter().map(|(share, place)| format!("{} {place}", count(*share))).collect();
            format!("of {amount} {}", each.join(", "))
        }
    };
    let greatest = drops.first().filter(|drop| drop.datagrams >= ledger.remainder);
    let remedy = remedy(greatest.map(|drop| drop.place), ledger);
    Some(format!("{where_to}; {remedy}"))
}

fn place(test: &Test<'_>, flow: &Flow<'_>, drop: &Drop) -> String {
    let (sender, receiver) = (words::host(&flow.sender()), words::host(&flow.receiver()));
    let counter = &drop.counter;
    let place = match drop.place {
        Place::Sender => format!("dropped by the kernel of {sender} ({counter})"),
        Place::SenderQueue => format!("dropped by {counter} on {sender}"),
        Place::SenderInterface => format!("dropped by an interface of {sender} ({counter})"),
        Place::ObservedIngress => {
            format!("dropped at an ingress hook on the way, before the IP layer ({counter})")
        }
        Place::ObservedForward => format!("not forwarded on the way ({counter})"),
        Place::ObservedQueue => format!("dropped by {counter}"),
        Place::ObservedInterface => format!("dropped on the way ({counter})"),
        Place::ReceiverInterface => format!("dropped by an interface of {receiver} ({counter})"),
        Place::ReceiverBacklog => {
            format!("dropped in the softnet backlog of {receiver} ({counter})")
        }
        Place::ReceiverIngress => {
            format!("dropped at the ingress hook of {receiver}, before its IP layer ({counter})")
        }
        Place::ReceiverFirewall => format!("dropped by the firewall of {receiver} ({counter})"),
        Place::ReceiverStack => format!("discarded by the IP layer of {receiver} ({counter})"),
        Place::ReceiverSocket => {
            format!("dropped in the receive buffer on {receiver}{}", buffer(test, flow))
        }
    };
    if drop.least == drop.most {
        return format!("were {place}");
    }
    format!("were probably {place}: {} to {}", count(drop.least), count(drop.most))
}

/// The buffer that was too small, if it is one of ours.
fn buffer(test: &Test<'_>, flow: &Flow<'_>) -> String {
    let own = test.record.streams.iter().find(|stream| !stream.sender);
    let own = own.filter(|_| flow.receiver() == Role::Here);
    let buffer = own.and_then(|stream| stream.receive_buffer);
    buffer.map_or_else(String::new, |buffer| format!(" (SO_RCVBUF {buffer})"))
}

fn remainder(ledger: &Ledger) -> String {
    let unknown = match (ledger.sender_told, ledger.receiver_told) {
        (true, true) => "on the path: no counter of either host has them",
        (true, false) => "on the path or at the receiver, whose counters are not known",
        (false, true) => "on the path or at the sender, whose counters are not known",
        (false, false) => "somewhere: no host reports drops",
    };
    let (least, most) = (ledger.remainder_least, ledger.remainder_most);
    if least == most {
        return format!("were lost {unknown}");
    }
    format!("were probably lost {unknown}: {} to {}", count(least), count(most))
}

fn remedy(place: Option<Place>, ledger: &Ledger) -> &'static str {
    match place {
        Some(Place::ObservedForward | Place::ReceiverFirewall) => {
            "see what its rules count (iptables -L -v -n, nft list ruleset)"
        }
        Some(Place::ObservedIngress | Place::ReceiverIngress) => {
            "look for a policer (tc -s filter show dev IF ingress, nft list hooks)"
        }
        Some(Place::Sender | Place::SenderQueue) => {
            "ask for less (-b), or give that queue more room (tc qdisc)"
        }
        Some(Place::SenderInterface) => "see what its driver counts (ethtool -S)",
        Some(Place::ObservedQueue) => "that queue is the bottleneck: ask for less (-b)",
        Some(Place::ObservedInterface) => "see what that host's driver counts (ethtool -S)",
        Some(Place::ReceiverInterface) => {
            "give it more buffers (ethtool -G), or spread its interrupts over CPUs"
        }
        Some(Place::ReceiverBacklog) => {
            "spread receiving over more CPUs (RPS), or raise net.core.netdev_max_backlog"
        }
        Some(Place::ReceiverStack) => "check lengths against the path's MTU (-l), and for damage",
        Some(Place::ReceiverSocket) => {
            "use a larger buffer (-w, and net.core.rmem_max), or a reader that is faster \
             (--engine gro, --cpus)"
        }
        None if ledger.receiver_told && ledger.sender_told => {
            "look at the links and the hosts between"
        }
        None => "run linerate at both ends, which reports what each dropped",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;
    use measurement::host::counter;

    #[test]
    fn a_socket_that_was_too_small_is_not_the_network() {
        let mut record = test_record::udp();
        assert_eq!(test_record::found(&RULE, &record), []);
        test_record::lose(&mut record, 12_345);
        test_record::drop_in_sockets(&mut record, 12_345);
        let text = test_record::noted(&RULE, &record);
        let begin = "all of 12,345 lost datagrams (12 %) were dropped in the receive buffer on";
        assert!(text.starts_with(begin), "{text}");
        assert!(text.contains("; use a larger buffer (-w"), "{text}");
    }

    #[test]
    fn what_no_counter_has_was_lost_on_the_path() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 1_020);
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains("1,020 lost datagrams (1.0 %) were lost on the path"), "{text}");
        test_record::drop_in_sockets(&mut record, 1_000);
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains(" 1,000 were dropped in the receive buffer on"), "{text}");
        assert!(text.contains(", 20 were lost on the path"), "{text}");
    }

    #[test]
    fn a_queue_is_named() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 500);
        test_record::grow(
            test_record::host(&mut record, &Role::Here),
            counter::QDISC_DROPS.within("eth0").on("tbf@8001:"),
            500,
        );
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains("were dropped by qdisc tbf 8001: of eth0 on this host"), "{text}");
    }

    #[test]
    fn a_peer_that_tells_nothing_is_not_called_a_path() {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 500);
        record.hosts.truncate(1);
        record.reported.streams[0].counted = None;
        let text = test_record::noted(&RULE, &record);
        assert!(text.contains("or at the receiver, whose counters are not known"), "{text}");
    }
}
