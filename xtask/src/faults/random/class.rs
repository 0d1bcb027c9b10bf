//! Whether a verdict names a fault.

use measurement::Conclusion;

use super::super::expected::Expected;
use super::super::said::Said;

/// From best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(in crate::faults) enum Class {
    /// The headline names it, and where it is.
    Right,
    /// It is named, but not first; or it is left open, with the measurement that decides.
    Near,
    Wrong,
}

impl Class {
    /// Of a verdict where each of these would be right.
    pub(in crate::faults) fn of(said: &Said, expected: &[Expected]) -> Self {
        expected.iter().map(|one| Self::of_one(said, one)).min().unwrap_or(Self::Wrong)
    }

    fn of_one(said: &Said, expected: &Expected) -> Self {
        let Expected::Cause { open, .. } = expected else {
            return if said.is_right(expected) { Self::Right } else { Self::Wrong };
        };
        let is_named = said.leads_with(expected) || said.mentions(expected);
        let asks = |word: &String| said.would_decide().contains(word.as_str());
        match said.conclusion {
            Some(Conclusion::Limited) if said.leads_with(expected) => Self::Right,
            Some(Conclusion::Limited) if said.mentions(expected) => Self::Near,
            Some(Conclusion::Undecided) if open.as_ref().is_some_and(asks) => Self::Near,
            Some(Conclusion::Undecided) if is_named && !said.would_decide().is_empty() => {
                Self::Near
            }
            _ => Self::Wrong,
        }
    }

    pub(in crate::faults) const fn word(self) -> &'static str {
        match self {
            Self::Right => "ok",
            Self::Near => "near",
            Self::Wrong => "WRONG",
        }
    }
}

#[cfg(test)]
mod tests {
    use measurement::RuleId;
    use measurement::host::Role;

    use super::super::super::said::tests::{expected, finding, followed_by, said};
    use super::*;

    fn class(said: &Said) -> Class {
        let quota = "expect = { cause = { rules = ['cgroup-cpu-quota'], on = ['server'], open = 'run linerate' } }";
        Class::of(said, &[expected(quota)])
    }

    #[test]
    fn a_headline_is_right_and_a_later_finding_near() {
        let quota = || finding(RuleId::CgroupCpuQuota, Some(Role::Peer));
        let delay = || finding(RuleId::RunDelay, Some(Role::Peer));
        let limited = |first| said(Conclusion::Limited, Some(first), "");
        assert_eq!(class(&limited(quota())), Class::Right);
        assert_eq!(class(&limited(delay())), Class::Wrong);
        assert_eq!(class(&followed_by(limited(delay()), quota())), Class::Near);
        let elsewhere = finding(RuleId::CgroupCpuQuota, Some(Role::Here));
        assert_eq!(class(&limited(elsewhere)), Class::Wrong);
    }

    #[test]
    fn leaving_it_open_is_near_where_the_measurement_decides() {
        let quota = finding(RuleId::CgroupCpuQuota, Some(Role::Peer));
        let undecided = |first, asks| said(Conclusion::Undecided, first, asks);
        assert_eq!(class(&undecided(None, "run linerate on the server too")), Class::Near);
        assert_eq!(class(&undecided(Some(quota.clone()), "the same for longer")), Class::Near);
        assert_eq!(class(&undecided(Some(quota), "")), Class::Wrong);
        assert_eq!(class(&undecided(None, "the same for longer")), Class::Wrong);
    }

    #[test]
    fn of_two_causes_either_is_right() {
        let quota = said(Conclusion::Limited, Some(finding(RuleId::CgroupCpuQuota, None)), "");
        let both = ["receive-window-limited", "cgroup-cpu-quota"]
            .map(|rule| expected(&format!("expect = {{ cause = {{ rules = ['{rule}'] }} }}")));
        assert_eq!(Class::of(&quota, &both), Class::Right);
        assert_eq!(Class::of(&quota, &both[..1]), Class::Wrong);
    }
}
