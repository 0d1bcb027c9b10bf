//! Traffic on an interface of the test that was not the test's.

use measurement::{Page, RuleId};

use super::Thresholds;
use crate::evidence::{Evidence, Flowing, Foreign, HostView, Traffic};
use crate::words::share;

/// The fact in words, for the rule of trust and for that of what limits.
pub(crate) const PAGE: Page = Page {
    id: RuleId::ForeignTraffic,
    title: "Cross traffic on the interface",
    what: "More than 2 % of its bytes cannot have been the test's.",
    why: "They took their share of the link, of its queues and of the CPU that receives.",
    evidence: "Bytes of the interface beyond the most that payload, headers, acknowledgements and \
           the control connection can be.",
    remedy: "Stop it, or repeat.",
    source: "",
};

/// What others sent or received on an interface, the way on which it was more; none: nothing
/// to speak of, or it is not known.
pub(crate) fn most(
    evidence: &Evidence<'_>,
    host: &HostView<'_>,
    interface: &str,
) -> Option<(Flowing, Foreign)> {
    let traffic = Traffic::from_record(evidence.record);
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
