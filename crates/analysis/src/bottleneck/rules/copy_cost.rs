//! `copy-cost`: copying limits.

use measurement::remedy::Setting;
use measurement::{Role, engine};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;

const PAGE: Page = Page {
    id: RuleId::CopyCost,
    title: "CPU time for copies",
    what: "A host's CPU was full, and at least a quarter of its busy time went to copies.",
    why: "Each byte is copied from the program to the kernel or back, and some drivers copy it \
          once more. A core copies so many bytes a second and no more; on small in-order cores \
          that is the limit long before the link.",
    evidence: "Samples of the CPUs: `copy_user_generic`, `rep_movs_alternative`, \
               `__arch_copy_to_user`, `__asm_copy_from_user`, `memcpy` and their like; time of \
               the CPUs.",
    remedy: "TCP, sending: engines without copies (`--fastest` finds them, `--engine sendfile` is one). \
             Receiving: `--engine msg-trunc` shows what is left without the copy; a newer kernel has \
             faster copies. A larger MTU and GRO make fewer, longer ones. UDP has no engine without \
             copies: larger datagrams (`-l`), segmentation offload (`--engine gso,gro`).",
    source: "Documentation/networking/msg_zerocopy.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Work, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    let part = |full: &load::Full<'_>| full.share(measurement::Work::is_copy);
    let heavy = load::heavy(case, part, load::usual(LEAST), WORK).into_iter();
    heavy
        .map(|(full, found)| {
            let sends = load::sends(case, &full.role);
            let found = found.remedy(match (case.is_udp(), sends) {
                (true, true) => SENDING_DATAGRAMS,
                (true, false) => RECEIVING_DATAGRAMS,
                (false, true) => SENDING,
                (false, false) => RECEIVING,
            });
            if !case.is_udp() && sends && full.role == Role::Here && is_by_default(case) {
                found.change(Setting::Engine((&engine::SENDFILE).into()))
            } else {
                found
            }
        })
        .collect()
}

/// Whether no engine was asked for.
fn is_by_default(case: &Case<'_>) -> bool {
    case.test.is_some_and(|test| test.record.plan.options.engines.is_empty())
}

const SENDING: &str = "send without copies (--fastest finds the best engine)";
const RECEIVING: &str = "use longer reads (-l), a larger MTU or GRO; --engine msg-trunc shows the \
                         rate without the copy";
const SENDING_DATAGRAMS: &str =
    "use larger datagrams (-l), UDP GSO (--engine gso), or more streams (-P)";
const RECEIVING_DATAGRAMS: &str =
    "use larger datagrams (-l), UDP GRO (--engine gro), or more streams (-P)";
/// What the CPU does, as the finding says it.
const WORK: &str = "copies data";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.25;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| crate::test_record::full_of(record, measurement::Work::CopyUser, 40))
    .silent(|record| crate::test_record::full_of(record, measurement::Work::CopyUser, 12));

#[cfg(test)]
mod tests {
    use super::*;
    use crate::accounts::Test;
    use crate::test_record;

    #[test]
    fn no_engine_of_tcp_is_advised_for_datagrams() {
        let mut record = test_record::udp();
        test_record::send_only(&mut record, 60_000_000);
        test_record::full_of(&mut record, measurement::Work::CopyUser, 40);
        let attributions = test_record::attributions(&record);
        let test = Test::from_record(&record);
        let found = check(&Case::of_test(&test, &attributions));
        assert_eq!(found[0].remedy.sentence, RECEIVING_DATAGRAMS);
    }
}
