//! Writes where the CPU time of an imported CPU profile went, without a test to judge: a sentence
//! ([`sentence`]), then a table by kind of work.

use std::io::{self, Write};

use measurement::{Attribution, Work};

use crate::page::write_wrapped;
use crate::verdict::write_attribution;
use crate::width::Width;

/// Writes a sentence on the kind of work that limits, and then a table of the CPU time by kind of
/// work.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(attribution: &Attribution, width: Width, out: &mut dyn Write) -> io::Result<()> {
    write_wrapped(0, &sentence(attribution), width, out)?;
    write_attribution(attribution, width, out)
}

/// Summary of a profile in a sentence: the kind of work with the most CPU time, and the next one
/// if there is one, e.g. `copying limits: 73 % of the busy time (if the CPU was full)`. The
/// condition is there because a profile does not show whether the CPU was fully used.
pub fn sentence(attribution: &Attribution) -> String {
    let Some(first) = Group::largest(attribution) else {
        return "no limit found: linerate knows no function of this profile".to_owned();
    };
    let share = 100.0 * first.share(attribution);
    let (name, gone) = (first.name(), first.to_improve(attribution));
    let limits = format!("{name} limits: {share:.0} % of the busy time");
    let after = next(attribution, gone).map(|(work, share)| {
        format!("; without {}: {work}, {:.0} % of the rest", gone.name(), 100.0 * share)
    });
    format!("{limits}{} (if the CPU was full)", after.unwrap_or_default())
}

/// Kinds of work that one sentence names together.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Group {
    Copies,
    CopiesOfProcesses,
    One(Work),
}

impl Group {
    fn largest(attribution: &Attribution) -> Option<Self> {
        let known = attribution.work.keys().filter(|work| is_known(**work));
        let groups = known.map(|work| if work.is_copy() { Self::Copies } else { Self::One(*work) });
        groups.max_by(|a, b| a.share(attribution).total_cmp(&b.share(attribution)))
    }

    /// The part that can be improved first: copies to and from processes, before those within
    /// drivers and protocols.
    fn to_improve(self, attribution: &Attribution) -> Self {
        let of_processes = Self::CopiesOfProcesses;
        let has_some = self == Self::Copies && of_processes.share(attribution) > 0.0;
        if has_some { of_processes } else { self }
    }

    fn has(self, work: Work) -> bool {
        match self {
            Self::Copies => work.is_copy(),
            Self::CopiesOfProcesses => matches!(work, Work::CopyUser | Work::CopyIterator),
            Self::One(one) => one == work,
        }
    }

    /// From 0 to 1.
    fn share(self, attribution: &Attribution) -> f64 {
        let own = attribution.work.iter().filter(|(work, _)| self.has(**work));
        own.map(|(_, cost)| cost.share).sum()
    }

    fn name(self) -> String {
        match self {
            Self::Copies => "copying".to_owned(),
            Self::CopiesOfProcesses => "copies to and from processes".to_owned(),
            Self::One(work) => work.to_string(),
        }
    }
}

/// The largest kind of work that remains without a group, and its share of the remaining time.
fn next(attribution: &Attribution, gone: Group) -> Option<(Work, f64)> {
    let rest = 1.0 - gone.share(attribution);
    let others = attribution.work.iter().filter(|(work, _)| is_known(**work) && !gone.has(**work));
    let (work, cost) = others.max_by(|(_, a), (_, b)| a.share.total_cmp(&b.share))?;
    (rest > 0.0).then(|| (*work, cost.share / rest))
}

const fn is_known(work: Work) -> bool {
    !matches!(work, Work::Other | Work::Idle)
}

#[cfg(test)]
mod tests {
    use measurement::verdict::Cost;
    use measurement::{ProfileSource, Role};

    use super::*;

    fn sentence_for(work: &[(Work, f64)]) -> String {
        let cost = |share| Cost { share, nanos_per_kib: None };
        sentence(&Attribution {
            host: Role::Here,
            source: ProfileSource::Imported("perf report".to_owned()),
            samples: 100,
            labelled: 1.0,
            work: work.iter().map(|(work, share)| (*work, cost(*share))).collect(),
            cpus: Vec::new(),
            what_if: Vec::new(),
        })
    }

    #[test]
    fn copies_count_together_and_those_of_processes_go_first() {
        let work = [(Work::CopyUser, 0.33), (Work::CopyMemory, 0.40), (Work::Other, 0.27)];
        assert_eq!(
            sentence_for(&work),
            "copying limits: 73 % of the busy time; without copies to and from processes: copy \
             within the kernel, 60 % of the rest (if the CPU was full)"
        );
    }

    #[test]
    fn what_is_not_known_is_no_headline() {
        let work = [(Work::Other, 0.6), (Work::Driver, 0.3), (Work::Receive, 0.1)];
        let sentence = sentence_for(&work);
        assert!(sentence.starts_with("driver limits: 30 % of the busy time; without driver: "));
        assert!(sentence_for(&[(Work::Other, 1.0)]).contains("no limit found"), "{sentence}");
    }
}
