//! `sender-below-rate`: the sender did not send the rate that was asked.

use measurement::host::counter;
use measurement::{Role, Stamp};

use super::{Finding, Rule, Test};
use crate::accounts::Flow;
use crate::facts::{run_delay, send_blocked, workers};
use crate::words::{self, percent, share};

pub(super) const RULE: Rule = Rule { page: &send_blocked::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.flows.iter().filter_map(|flow| finding(test, flow)).collect()
}

fn finding(test: &Test<'_>, flow: &Flow<'_>) -> Option<Finding> {
    let (asked, offered) = flow.outcome.asked.zip(flow.outcome.offered)?;
    let kept = share(offered.rate.bits_per_second(), asked.bits_per_second());
    if kept >= send_blocked::KEPT || send_blocked::is_by_a_block(test.record, flow.outcome) {
        return None;
    }
    let role = flow.sender();
    let cause = cause(test, flow, &role, 1.0 - kept);
    let stamp = match (test.is_udp(), &cause) {
        (true, _) if kept < ANOTHER_LOAD => Stamp::Invalid,
        (true, _) | (false, Cause::Worker(_)) => Stamp::Suspect,
        (false, _) => Stamp::Valid,
    };
    let sentence = format!(
        "{}{} sent {} of the requested {asked} ({}): {}",
        test.prefix(flow),
        words::host(&role),
        offered.rate,
        percent(kept),
        cause.in_words(test.is_udp())
    );
    Some(Finding::Reason { stamp, host: Some(role), text: sentence })
}

/// What kept the sender from its rate, as far as it shows.
enum Cause {
    /// A worker was busy for this share of the time.
    Worker(f64),
    /// The sender waited for a CPU, for this share of the time.
    Cpu(f64),
    /// The batches of the sender were late, for this share of the time.
    Stalls(f64),
    /// A stream ended before its time.
    Broken,
    /// The socket, and so the queue or the link behind it, took no more.
    Link,
    /// The same of a socket whose buffer somebody chose.
    Buffer,
    Hidden,
}

/// What explains that this share of the rate is `missing`.
fn cause(test: &Test<'_>, flow: &Flow<'_>, role: &Role, missing: f64) -> Cause {
    if test.record.outcome.broken.is_some() {
        return Cause::Broken;
    }
    if send_blocked::share(test, flow.outcome.direction) > missing * MOST_OF_IT {
        let chosen = test.record.plan.options.window.is_some();
        return if chosen { Cause::Buffer } else { Cause::Link };
    }
    if let Some((_, worker)) = workers::at_its_limit(test, role) {
        return Cause::Worker(worker.utilisation);
    }
    let host = test.host(role);
    let waited = host.and_then(|host| run_delay::share(test, host));
    if let Some(waited) = waited.filter(|waited| *waited > LONG_WAIT.max(missing * MOST_OF_IT)) {
        return Cause::Cpu(waited);
    }
    let Some(pacing) = flow.outcome.pacing.as_ref() else { return Cause::Hidden };
    let sending = pacing.sending.as_secs_f64().max(f64::MIN_POSITIVE);
    let stalled = pacing.stalled.as_secs_f64() / sending;
    let refused = host.and_then(|host| host.growth(counter::UDP_SNDBUF_ERRORS.v4)).unwrap_or(0);
    match stalled {
        _ if refused > 0 || !pacing.forgone.is_zero() => Cause::Link,
        _ if stalled > LONG_WAIT => Cause::Stalls(stalled),
        _ => Cause::Hidden,
    }
}

impl Cause {
    fn in_words(&self, is_udp: bool) -> String {
        match self {
            Self::Worker(busy) => format!(
                "its worker was busy {:.0} % of the time; use more streams (-P), or longer blocks \
                or \
                 datagrams (-l)",
                100.0 * busy
            ),
            Self::Cpu(waited) => format!(
                "its worker waited {} of the time for a CPU; stop other processes there, or pin \
                 it (--cpus)",
                percent(*waited)
            ),
            Self::Stalls(stalled) => format!(
                "it stalled for {} of the time; stop other processes there, or use --pacing average",
                percent(*stalled)
            ),
            Self::Broken => "one of its streams failed; repeat the test".to_owned(),
            Self::Buffer => {
                "its send buffer (-w) is too small, or the link takes no more; use a larger one, \
                or ask for less (-b)"
                    .to_owned()
            }
            Self::Link if is_udp => "the link takes no more; ask for less (-b)".to_owned(),
            Self::Link | Self::Hidden if !is_udp => {
                "the network or the receiver took no more; see what limits TCP: --format \
                 diagnosis"
                    .to_owned()
            }
            Self::Link | Self::Hidden => {
                "the cause is not visible; ask for less (-b), or use more streams (-P)".to_owned()
            }
        }
    }
}

/// Below this it was another load.
const ANOTHER_LOAD: f64 = 0.90;
/// What explains less than this part of the loss is not the cause.
const MOST_OF_IT: f64 = 0.5;
/// Share of the time that explains a rate which was not kept.
const LONG_WAIT: f64 = 0.01;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use measurement::TestRecord;

    use super::*;
    use crate::test_record;

    fn slow(mut record: TestRecord, percent: u64) -> TestRecord {
        let offered = record.outcome.directions[0].offered.expect("reported");
        let bytes = offered.bytes / 100 * percent;
        test_record::offer(&mut record, bytes, bytes);
        record
    }

    #[test]
    fn a_rate_that_is_kept_is_silent() {
        assert_eq!(test_record::found(&RULE, &test_record::udp()), []);
        assert_eq!(test_record::found(&RULE, &slow(test_record::udp(), 99)), []);
    }

    #[test]
    fn datagrams_that_were_not_sent_make_it_another_test() {
        let text = test_record::suspected(&RULE, &slow(test_record::udp(), 95));
        assert!(
            text.starts_with("this host sent 95.00 Mbit/s of the requested 100.0 Mbit/s"),
            "{text}"
        );
        assert!(test_record::refuted(&RULE, &slow(test_record::udp(), 80)).contains("(80 %)"));
    }

    #[test]
    fn tcp_may_be_held_back_unless_it_was_the_worker() {
        let mut record = slow(test_record::tcp_at_a_rate(), 80);
        assert!(
            test_record::noted(&RULE, &record).contains("the network or the receiver took no more")
        );
        record.runtime.as_mut().expect("reported").mpus[0].utilisation = 0.99;
        assert!(test_record::suspected(&RULE, &record).contains("its worker was busy 99 %"));
    }

    #[test]
    fn the_cause_is_told_where_it_shows() {
        let mut record = slow(test_record::udp(), 95);
        let pacing = record.outcome.directions[0].pacing.as_mut().expect("reported");
        pacing.stalled = Duration::from_millis(480);
        assert!(
            test_record::suspected(&RULE, &record).contains("it stalled for 4.8 % of the time")
        );
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::UDP_SNDBUF_ERRORS.v4, 900);
        assert!(test_record::suspected(&RULE, &record).contains("the link takes no more"));
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::TASK_WAIT.on(77), 400_000_000);
        assert!(
            test_record::suspected(&RULE, &record).contains("waited 4.0 % of the time for a CPU")
        );
        for stream in &mut record.samples.last_mut().expect("samples").streams {
            stream.counters.blocked_nanos = 500_000_000;
        }
        assert!(test_record::suspected(&RULE, &record).contains("the link takes no more"));
    }
}
