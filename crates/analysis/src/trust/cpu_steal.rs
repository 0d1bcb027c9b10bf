//! `cpu-steal`: the hypervisor took CPU time away.

use measurement::Role;
use measurement::host::Family;

use super::{Finding, Rule, Test};
use crate::evidence::HostView;
use crate::facts::steal;
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &steal::PAGE, check };

fn check(test: &Test<'_>) -> Vec<Finding> {
    test.kernels().filter_map(|host| finding(test, host)).collect()
}

fn finding(test: &Test<'_>, host: &HostView<'_>) -> Option<Finding> {
    if !host.reports(Family::CPU) {
        let what = format!("CPU steal time of {}", words::host(host.role()));
        return Some(Finding::unchecked(what, "it reports no CPU times"));
    }
    let stolen = steal::stolen(host)?;
    let is_observed = matches!(host.role(), Role::Observed(_));
    let most = if test.is_at_ease() && !is_observed {
        steal::HARMLESS
    } else {
        steal::THRESHOLDS.noticeable
    };
    (stolen.share > most).then(|| {
        let sentence = format!(
            "the hypervisor stole {} of the time of CPU {} of {}; test again, or use a host with \
             CPUs of its own",
            percent(stolen.share),
            stolen.cpu,
            words::host(host.role())
        );
        Finding::suspect(Some(host.role()), sentence)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_record;
    use measurement::host::counter;

    #[test]
    fn stolen_time_makes_it_suspect() {
        let mut record = test_record::tcp();
        assert_eq!(test_record::found(&RULE, &record), []);
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CPU_STEAL.on(1), 90_000_000);
        assert_eq!(test_record::found(&RULE, &record), [], "less than a hundredth");
        test_record::grow(
            test_record::host(&mut record, &Role::Here),
            counter::CPU_STEAL.on(1),
            250_000_000,
        );
        assert!(
            test_record::suspected(&RULE, &record).contains("stole 2.5 % of the time of CPU 1")
        );
    }

    #[test]
    fn namespaces_of_one_kernel_are_asked_once() {
        let mut record = test_record::tcp();
        test_record::in_software(&mut record);
        for role in [Role::Here, Role::Peer] {
            test_record::grow(
                test_record::host(&mut record, &role),
                counter::CPU_STEAL.on(1),
                250_000_000,
            );
        }
        assert_eq!(test_record::found(&RULE, &record).len(), 1);
    }
}
