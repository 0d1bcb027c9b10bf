//! Shares a loss among the counters that may explain it, the most certain first.

use measurement::judgement::{Drop, Place};

use measurement::Order;

use super::known::Known;

/// A counter that may explain a part of the loss.
#[derive(Clone, Debug)]
pub(super) struct Candidate {
    pub(super) place: Place,
    /// Its name, in the kernel's words.
    pub(super) counter: String,
    /// What it counted.
    pub(super) counted: u64,
    /// Datagrams of the test that it stands for at least.
    pub(super) least: u64,
    /// What it stands for if nothing else tells more.
    pub(super) likely: u64,
    /// At most.
    pub(super) most: u64,
    pub(super) scope: CounterScope,
}

/// Traffic that a counter includes, in the order in which counters are trusted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CounterScope {
    /// Drops of the datagrams of this test only.
    Test,
    /// Drops of all traffic of the host, which had no other traffic.
    IdleHost,
    /// Drops of all traffic of the host.
    Host,
}

/// How a loss was shared.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Allotment {
    /// In the order of the way.
    pub(super) drops: Vec<Drop>,
    /// What no counter explains.
    pub(super) remainder: u64,
    pub(super) least: u64,
    pub(super) most: u64,
}

/// Shares `lost` datagrams. First every counter gets what it stands for at least, then what
/// is likely, while there is something left.
pub(super) fn allot(lost: u64, mut candidates: Vec<Candidate>) -> Allotment {
    candidates.retain(|candidate| candidate.counted > 0);
    candidates.order_by_key(|candidate| candidate.scope);
    let mut left = lost;
    let mut drops: Vec<_> = candidates.iter().map(|one| certain(one, lost, &mut left)).collect();
    let most = left;
    for (drop, candidate) in drops.iter_mut().zip(&candidates) {
        let more = candidate.likely.min(drop.most).saturating_sub(drop.datagrams).min(left);
        drop.datagrams += more;
        left -= more;
    }
    let explained = drops.iter().map(|drop| drop.most).fold(0, u64::saturating_add);
    drops.order_by_key(|drop| drop.place);
    Allotment { drops, remainder: left, least: lost.saturating_sub(explained), most }
}

/// Narrows the bounds of those candidates whose places are in a part of the way, of which it is
/// known how much was lost there. Where their counters cannot explain that much they keep theirs.
pub(super) fn keep_within(
    known: Known,
    lost: u64,
    candidates: &mut [Candidate],
    is_in_part: fn(Place) -> bool,
) {
    let known = Known { least: known.least.min(lost), most: known.most.min(lost) };
    let part = candidates.iter().filter(|one| is_in_part(one.place));
    let sum = |of: fn(&Candidate) -> u64| part.clone().map(of).fold(0, u64::saturating_add);
    let (least, most) = (sum(|one| one.least.min(one.most)), sum(|one| one.most));
    if most < known.least || least > known.most {
        return;
    }
    let is_only_one = part.clone().filter(|one| one.most > 0).count() == 1;
    for one in candidates {
        if is_in_part(one.place) {
            let others_least = least - one.least.min(one.most);
            let others_most = most - one.most;
            one.most = one.most.min(known.most - others_least);
            one.least = one.least.max(known.least.saturating_sub(others_most)).min(one.most);
            one.likely = if is_only_one { one.most } else { one.likely };
        } else {
            one.most = one.most.min(lost - known.least);
            one.least = one.least.min(one.most);
        }
        one.likely = one.likely.clamp(one.least, one.most);
    }
}

/// What a candidate stands for without doubt. What more certain ones have is no longer
/// there to be explained.
fn certain(candidate: &Candidate, lost: u64, left: &mut u64) -> Drop {
    let least = candidate.least.min(candidate.most).min(*left);
    *left -= least;
    Drop {
        place: candidate.place,
        counter: candidate.counter.clone(),
        counted: candidate.counted,
        least,
        most: candidate.most.min(lost),
        datagrams: least,
    }
}
