//! `cpu-steal`: the hypervisor took CPU time away.

use measurement::Role;
use measurement::host::Family;

use super::{Finding, Rule, Test};
use crate::evidence::Host;
use crate::facts::steal;
use crate::words::{self, percent};

pub(super) const RULE: Rule = Rule { page: &steal::PAGE, check };

fn check(evidence: &Test<'_>) -> Vec<Finding> {
    evidence.kernels().filter_map(|host| of(evidence, host)).collect()
}

fn of(evidence: &Test<'_>, host: &Host<'_>) -> Option<Finding> {
    if !host.tells(Family::CPU) {
        let what = format!("CPU steal time of {}", words::host(host.role()));
        return Some(Finding::unchecked(what, "it reports no CPU times"));
    }
    let stolen = steal::stolen(host)?;
    let is_observed = matches!(host.role(), Role::Observed(_));
    let most = if evidence.is_at_ease() && !is_observed {
        steal::HARMLESS
    } else {
        steal::THRESHOLDS.noticeable
    };
    (stolen.share > most).then(|| {
        let text = format!(
            "the hypervisor stole {} of the time of CPU {} of {}; repeat it, or use a machine \
            that is \
             not shared",
            percent(stolen.share),
            stolen.cpu,
            words::host(host.role())
        );
        Finding::suspect(Some(host.role()), text)
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scene;
    use measurement::host::counter;

    #[test]
    fn stolen_time_makes_it_suspect() {
        let mut record = scene::tcp();
        assert_eq!(scene::found(&RULE, &record), []);
        let host = scene::host(&mut record, &Role::Here);
        scene::grow(host, counter::CPU_STEAL.on(1), 90_000_000);
        assert_eq!(scene::found(&RULE, &record), [], "less than a hundredth");
        scene::grow(scene::host(&mut record, &Role::Here), counter::CPU_STEAL.on(1), 250_000_000);
        assert!(scene::suspected(&RULE, &record).contains("stole 2.5 % of the time of CPU 1"));
    }

    #[test]
    fn namespaces_of_one_kernel_are_asked_once() {
        let mut record = scene::tcp();
        scene::in_software(&mut record);
        for role in [Role::Here, Role::Peer] {
            scene::grow(scene::host(&mut record, &role), counter::CPU_STEAL.on(1), 250_000_000);
        }
        assert_eq!(scene::found(&RULE, &record).len(), 1);
    }
}
