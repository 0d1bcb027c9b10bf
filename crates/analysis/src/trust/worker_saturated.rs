//! `worker-saturated`: a worker of linerate had no time left.

use measurement::{DirectionOutcome, MpuUse, Role, Stamp};

use super::{Finding, Rule, Test};
use crate::accounts::Flow;
use crate::facts::workers;
use crate::words::{self, is_short};

pub(super) const RULE: Rule = Rule { page: &workers::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    if !test.flows.iter().any(|flow| could_be_more(flow.outcome)) {
        return Vec::new();
    }
    [Role::Here, Role::Peer].iter().filter_map(|role| finding(test, role)).collect()
}

fn finding(test: &Test<'_>, role: &Role) -> Option<Finding> {
    let busy: Vec<_> = workers::all_limiting(test, role).collect();
    // Where workers have several streams each there is one for each CPU.
    let more = if busy.iter().all(|(_, worker)| worker.streams > 1) { "" } else { "-P or " };
    let busy = in_words(&busy, &words::host(role))?;
    let is_asked = test.flows.iter().any(|flow| is_missed(flow, role));
    let sentence = format!(
        "linerate's {busy}: linerate may be the limit, not the network; use {more}--fastest"
    );
    let stamp = if is_asked { Stamp::Suspect } else { Stamp::Valid };
    Some(Finding::Reason { stamp, host: Some(role.clone()), text: sentence })
}

/// A rate was asked, and that host kept it from being sent, or from arriving.
fn is_missed(flow: &Flow<'_>, role: &Role) -> bool {
    let outcome = flow.outcome;
    let (Some(asked), Some(offered)) = (outcome.asked, outcome.offered) else { return false };
    let is_unsent = is_short(offered.rate.bits_per_second(), asked.bits_per_second());
    let is_lost = outcome.delivered.is_some_and(|got| is_short(got.bytes, offered.bytes));
    (flow.sender() == *role && is_unsent) || (flow.receiver() == *role && is_lost)
}

/// No rate was asked, or the one asked did not get through.
fn could_be_more(outcome: &DirectionOutcome) -> bool {
    let (Some(asked), Some(offered)) = (outcome.asked, outcome.offered) else { return true };
    is_short(offered.rate.bits_per_second(), asked.bits_per_second())
        || outcome.delivered.is_some_and(|delivered| is_short(delivered.bytes, offered.bytes))
}

fn in_words(busy: &[(u32, &MpuUse)], host: &str) -> Option<String> {
    let names: Vec<_> = busy.iter().take(MOST_NAMED).map(|(index, _)| index.to_string()).collect();
    let names = match busy.len() - names.len() {
        0 => names.join(", "),
        more => format!("{} and {more} more", names.join(", ")),
    };
    let share = busy.iter().map(|(_, mpu)| mpu.utilisation).sum::<f64>() / busy.len() as f64;
    let percent = 100.0 * share;
    match busy.len() {
        0 => None,
        1 => Some(format!("worker {names} on {host} was busy {percent:.0} % of the time")),
        _ => Some(format!("workers {names} on {host} were busy {percent:.0} % of the time")),
    }
}

/// Workers that are named.
const MOST_NAMED: usize = 4;

#[cfg(test)]
mod tests {
    use measurement::{Runtime, TestRecord};

    use super::*;
    use crate::test_record;

    fn busy(count: usize) -> Runtime {
        let mpu = MpuUse { run_seconds: 0.97, idle_seconds: 0.03, ..MpuUse::default() };
        Runtime::new(vec![mpu; count])
    }

    fn record(asked: bool, offered: u64, delivered: u64) -> TestRecord {
        let mut record = test_record::udp();
        test_record::offer(&mut record, offered, delivered);
        if !asked {
            record.outcome.directions[0].asked = None;
        }
        (record.runtime, record.reported.runtime) = (Some(busy(0)), Some(busy(0)));
        record
    }

    #[test]
    fn busy_workers_are_named_where_more_could_have_gone() {
        let mut free = record(false, 125_000_000, 125_000_000);
        assert_eq!(test_record::found(&RULE, &free), []);
        free.runtime = Some(busy(2));
        let text = test_record::noted(&RULE, &free);
        assert!(text.contains("workers 0, 1 on this host were busy 97 %"), "{text}");
        assert!(text.ends_with("use -P or --fastest"), "{text}");
        free.runtime.as_mut().expect("it tells").mpus.iter_mut().for_each(|mpu| mpu.streams = 2);
        let text = test_record::noted(&RULE, &free);
        assert!(text.ends_with("; use --fastest"), "more streams bring no worker: {text}");
        free.runtime = Some(busy(9));
        let text = test_record::noted(&RULE, &free);
        assert!(text.contains("workers 0, 1, 2, 3 and 5 more on this host were"), "{text}");
        let mut lossy = record(true, 125_000_000, 110_000_000);
        lossy.reported.runtime = Some(busy(1));
        let text = test_record::suspected(&RULE, &lossy);
        assert!(text.starts_with("linerate's worker 0 on the server was busy 97 %"), "{text}");
        let mut kept = record(true, 125_000_000, 125_000_000);
        (kept.runtime, kept.reported.runtime) = (Some(busy(1)), Some(busy(1)));
        assert_eq!(test_record::found(&RULE, &kept), []);
    }

    #[test]
    fn who_sends_as_much_as_goes_and_has_to_wait_is_not_the_limit() {
        let mut sender = busy(1);
        (sender.mpus[0].turns, sender.mpus[0].sleeps) = (20_000, 100);
        let mut free = record(false, 110_000_000, 110_000_000);
        free.runtime = Some(sender.clone());
        assert_eq!(test_record::found(&RULE, &free), [], "the link took no more");
        let mut paced = record(true, 110_000_000, 110_000_000);
        paced.runtime = Some(sender);
        assert!(test_record::suspected(&RULE, &paced).contains("worker 0"), "it sleeps anyway");
    }
}
