//! The row of commands that repeat one test, such as an A/B test.

use std::time::Duration;

use campaign::PlannedRow;
use measurement::plan::PlanDraft;
use measurement::{End, TestPlan, Transport};

use crate::exit::UsageError;
use crate::flags::TestFlags;
use crate::plan;

/// The row of what has one, by the flags of a test; `name` is what it is.
pub(crate) fn one_row(test: &TestFlags, name: &str) -> Result<PlannedRow, UsageError> {
    let wrong = |text: String| Err(UsageError(text));
    if test.stream.wants_the_fastest() {
        return wrong(format!("{name} does not try engines: name one"));
    }
    if test.rows.repeat > 1 {
        return wrong("--repeat has no meaning here: type --pairs".to_owned());
    }
    let plans = plan::plans(test)?;
    let [plan] = &plans[..] else {
        return wrong(format!("{name} has one row: type --send, --receive or --bidir"));
    };
    if plan.transport == Transport::Udp && plan.options.rate.is_none() {
        return wrong("UDP needs a rate: type -b 100M, or -b 0 for as fast as possible".to_owned());
    }
    let row =
        PlannedRow { probe_every: probe_every(test), ..PlannedRow::of_plan(short(test, plan)?) };
    Ok(PlannedRow { cpus: test.stream.cpus.as_ref().map(|cpus| cpus.0.clone()), ..row })
}

fn probe_every(test: &TestFlags) -> Option<Duration> {
    test.rows.latency.then_some(test.rows.probe_every)
}

/// The plan, whose tests are short unless their length was typed.
fn short(test: &TestFlags, plan: &TestPlan) -> Result<TestPlan, UsageError> {
    let amount = &test.amount;
    if amount.time.is_some() || amount.bytes.is_some() || amount.blocks.is_some() {
        return Ok(plan.clone());
    }
    let mut draft = PlanDraft::from(plan.clone());
    draft.end = End::Time(USUAL_TIME);
    draft.check().map_err(|error| UsageError(error.to_string()))
}

/// Long enough for TCP to reach its rate on most paths.
const USUAL_TIME: Duration = Duration::from_secs(2);
