//! `socket-buffer-below-bdp`: a socket buffer that was asked for, and what it does to TCP.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::transfer::Transfer;
use crate::words::count;

const PAGE: Page = Page {
    id: RuleId::SocketBufferBelowBdp,
    title: "Requested socket buffer below the bandwidth-delay product",
    what: "`-w` was given, and it is less than twice the rate times the minimum round trip.",
    why: "A requested buffer turns autotuning off, which would make it as large as the path \
          needs.",
    evidence: "`-w` against rate and round trip.",
    remedy: "Leave `-w` out, or ask for more.",
    source: "socket(7), tcp(7)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Window, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    super::in_transfers(case, finding)
}

fn finding(case: &Case<'_>, transfer: &Transfer<'_>) -> Option<Found> {
    let asked = case.test?.record.plan.options.window?.bytes();
    let on_the_way = transfer.on_the_way()?;
    (asked as f64 <= 2.0 * on_the_way).then(|| {
        Found::candidate("the requested socket buffer (-w) is below the bandwidth-delay product")
            .going(transfer.flow.outcome.direction)
            .explaining(PART)
            .seen(format!(
                "{} bytes requested, bandwidth-delay product {on_the_way:.0} bytes for each stream",
                count(asked)
            ))
            .remedy("leave -w out: the kernel chooses a buffer that fits")
    })
}

/// Assumed part of the shortfall: no counter measures it.
const PART: f64 = 0.5;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| ask(record, 64 << 10))
    .silent(|record| ask(record, 4 << 20));

#[cfg(test)]
fn ask(record: &mut measurement::TestRecord, bytes: u64) {
    crate::test_record::sent(record).min_rtt_micros = 10_000;
    record.plan = crate::test_record::plan_with(&record.plan, |draft| {
        draft.options.window = Some(measurement::ByteSize::from_bytes(bytes));
    });
}
