//! `udp-socket-lock`: CPUs wait for the lock of one UDP socket.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load::{self, Full};
use crate::words::{self, percent};
use measurement::ProfileRow;

const PAGE: Page = Page {
    id: RuleId::UdpSocketLock,
    title: "UDP socket lock contention",
    what: "A CPU was full, and at least 5 % of its busy time was to wait for the lock under which \
           datagrams enter a socket.",
    why: "Several CPUs that receive for one socket take turns at its lock, and so does the reader.",
    evidence: "Samples of spin locks within `__udp_enqueue_schedule_skb` and its neighbours.",
    remedy: "A socket for each thread (`-P`), each fed by one CPU.",
    source: "udp(7), socket(7) (SO_REUSEPORT)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_udp() {
        return Vec::new();
    }
    load::full(case).iter().filter_map(finding).collect()
}

fn finding(full: &Full<'_>) -> Option<Found> {
    let share = full.share_of_rows(is_waiting);
    (share >= NOTICED).then(|| {
        Found::limit(format!("lock contention on one UDP socket of {}", words::host(&full.role)))
            .at(&full.role)
            .explaining(share)
            .seen(full.in_words())
            .seen(format!("{} of its time waited for that lock", percent(share)))
            .remedy("use more streams (-P): a socket each")
    })
}

fn is_waiting(row: &ProfileRow) -> bool {
    let is_of_udp = |name: &str| WITHIN.iter().any(|within| name.contains(within));
    row.symbol.contains("spin_lock") && row.within.as_deref().is_some_and(is_of_udp)
}

/// Of `net/ipv4/udp.c`.
const WITHIN: [&str; 3] = ["udp_enqueue_schedule_skb", "udp_queue_rcv", "udp_recvmsg"];
/// Share of the busy time.
const NOTICED: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::udp)
    .fires(|record| lock(record, "__udp_enqueue_schedule_skb"))
    .silent(|record| lock(record, "futex_wait_setup"));

#[cfg(test)]
fn lock(record: &mut measurement::TestRecord, within: &str) {
    crate::test_record::send_only(record, 60_000_000);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    crate::test_record::fill(host, 0.99);
    crate::test_record::profile(
        host,
        &[(measurement::Work::Receive, 88), (measurement::Work::Locking, 12)],
    );
    let rows = &mut host.profile.as_mut().expect("sampled").rows;
    rows[1].symbol = "native_queued_spin_lock_slowpath".to_owned();
    rows[1].within = Some(within.to_owned());
}
