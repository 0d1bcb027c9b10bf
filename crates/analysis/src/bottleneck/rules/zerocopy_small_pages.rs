//! `zerocopy-small-pages`: sends without a copy account for many small pages.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::ZerocopySmallPages,
    title: "MSG_ZEROCOPY over small pages",
    what: "A host's CPU was full, and at least 5 % of its busy time went to pinning and unpinning \
           pages of a program.",
    why: "What is sent without a copy stays in the program's memory, which the kernel locks page \
          by page: 16 times for 64 KiB of 4 KiB pages, once on a huge page.",
    evidence: "Samples of `get_user_pages_fast`, `pin_user_pages`, `gup_fast_…`, \
               `unpin_user_page` and their like; `vm.nr_hugepages`.",
    remedy: "Huge pages (`sysctl -w vm.nr_hugepages=64`, or `echo madvise > \
             /sys/kernel/mm/transparent_hugepage/enabled`); copying where blocks are small.",
    source: "Documentation/networking/msg_zerocopy.rst, Documentation/admin-guide/mm/hugetlbpage.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if !case.is_tcp() {
        return Vec::new();
    }
    let part = |full: &load::Full<'_>| full.share_of_rows(|row| locks_pages(&row.symbol));
    let heavy = load::heavy(case, part, load::unusual(LEAST), WORK).into_iter();
    let huge = |full: &load::Full<'_>| case.host(&full.role)?.setting("vm.nr_hugepages");
    let reported = heavy.map(|(full, found)| match huge(&full) {
        Some(pages) => found.seen(format!("vm.nr_hugepages is {pages}")),
        None => found,
    });
    reported.map(|found| found.remedy(REMEDY)).collect()
}

fn locks_pages(symbol: &str) -> bool {
    SYMBOLS.iter().any(|known| symbol.contains(known))
}

/// Of `mm/gup.c` and `net/core/skbuff.c`.
const SYMBOLS: [&str; 5] =
    ["get_user_pages", "pin_user_page", "gup_", "internal_get_user_pages", "mm_account_pinned"];
const REMEDY: &str = "allocate huge pages (sysctl -w vm.nr_hugepages=64), or copy (--engine \
                      write)";
/// What the CPU does, as the finding says it.
const WORK: &str = "pins pages for MSG_ZEROCOPY";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.05;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_in(record, "internal_get_user_pages_fast", 12))
    .silent(|record| crate::test_record::full_in(record, "internal_get_user_pages_fast", 1));
