//! Traffic on an interface of the test that was not the test's.

use super::Thresholds;
use crate::evidence::{Evidence, Flowing, Foreign, Host, Traffic};
use crate::words::share;

/// What others sent or received on an interface, the way on which it was more; none: nothing
/// to speak of, or it is not known.
pub(crate) fn most(
    evidence: &Evidence<'_>,
    host: &Host<'_>,
    interface: &str,
) -> Option<(Flowing, Foreign)> {
    let traffic = Traffic::of(evidence.record);
    let ways = [Flowing::Out, Flowing::In].into_iter();
    let foreign = ways.filter_map(|way| Some((way, traffic.foreign(host, interface, way)?)));
    let much = foreign.filter(|(_, foreign)| THRESHOLDS.grade(part(foreign)).is_some());
    much.max_by_key(|(_, foreign)| foreign.least)
}

/// Share of the interface's bytes that cannot have been the test's.
pub(crate) fn part(foreign: &Foreign) -> f64 {
    share(foreign.least, foreign.total)
}

/// Of the interface's bytes: less than the first could be headers and chance; the second takes
/// from the test where the path is what it waited for. To be calibrated.
pub(crate) const THRESHOLDS: Thresholds = Thresholds { noticeable: 0.02, limiting: 0.10 };
