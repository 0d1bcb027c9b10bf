//! What moved in an interval, in words.

use measurement::{Interval, TestPlan};
use report::rates::{UnitFormat, show};

/// The rate of an interval, in words.
pub(crate) fn interval(
    plan: &TestPlan,
    sender: bool,
    interval: &Interval,
    unit: UnitFormat,
) -> String {
    if plan.exchange.is_some() {
        let span = (interval.to.saturating_sub(interval.from)).as_secs_f64().max(1e-9);
        return format!("{:.0} responses/s", interval.blocks as f64 / span);
    }
    let way = if sender { "sent" } else { "received" };
    format!("{way} {}", show(unit, interval.rate))
}
