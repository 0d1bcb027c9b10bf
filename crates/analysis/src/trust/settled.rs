//! Which disturbances of a host's CPUs cannot have moved the rate.

use measurement::{Reason, RuleId, Stamp};

use crate::accounts::Test;
use crate::steady;

/// Makes notes of what took CPU time from a test whose rate was even, and whose limit `is_elsewhere`: less
/// of it changed nothing.
pub(crate) fn settle(reasons: &mut [Reason], test: &Test<'_>, is_elsewhere: bool) {
    if !is_elsewhere || !is_even(test) {
        return;
    }
    for reason in reasons.iter_mut().filter(|reason| of_cpu_time(reason.rule)) {
        reason.stamp = reason.stamp.min(Stamp::Valid);
        reason.text.push_str("; the rate was even, and a CPU is not its limit");
    }
}

const fn of_cpu_time(rule: RuleId) -> bool {
    matches!(rule, RuleId::OtherProcesses | RuleId::RunDelay | RuleId::CpuSteal)
}

/// Whether about as much moved in most steps, in each direction.
fn is_even(test: &Test<'_>) -> bool {
    let mut directions = test.flows.iter().map(|flow| flow.outcome.direction);
    directions.all(|direction| steady::is_even(test.record, direction))
}

#[cfg(test)]
mod tests {
    use measurement::Role;
    use measurement::host::counter;

    use super::*;
    use crate::test_record;

    /// Stamp of a run from which a hypervisor takes time behind a path that drops, with steps of
    /// payload that differ by so many percent.
    fn stamp(uneven: u64) -> Stamp {
        let mut record = test_record::udp();
        test_record::lose(&mut record, 50_000);
        let host = test_record::host(&mut record, &Role::Here);
        test_record::grow(host, counter::CPU_STEAL.on(1), 900_000_000);
        let steps = record.reported.pulses[0].bytes.iter_mut().step_by(2);
        steps.for_each(|bytes| *bytes += *bytes / 100 * uneven);
        let judgement = crate::judge(&record);
        let stolen = judgement.reasons.iter().find(|reason| reason.rule == RuleId::CpuSteal);
        stolen.expect("it is told").stamp
    }

    #[test]
    fn stolen_time_makes_no_even_rate_of_the_path_suspect() {
        assert_eq!(stamp(0), Stamp::Valid);
        assert_eq!(stamp(8), Stamp::Suspect, "the rate varied");
    }
}
