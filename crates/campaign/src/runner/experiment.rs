//! The experiment after a test whose counters leave more than one explanation: things are changed for
//! moments, to see whether the rate follows.

use std::time::Duration;

use linux::entropy;
use linux::event::StopSignals;
use measurement::plan::PlanDraft;
use measurement::{End, Experiment, TestPlan, TestRecord};
use session::Observer;
use session::client::{Request, Watching};

/// Runs the experiment that `record`, of a test as in `request`, leaves open, and judges the record by
/// what it showed. One that cannot be run shows nothing.
pub(super) fn ask(request: &Request, record: &mut TestRecord, interrupts: Option<&StopSignals>) {
    let Ok(random) = entropy::random::<DRAWS>() else { return };
    let mut random = random.into_iter().cycle();
    let draw = |below| usize::from(random.next().unwrap_or(0)) % below;
    let experiment = analysis::experiment(record, draw);
    let plan = experiment.and_then(|experiment| plan(&record.plan, experiment));
    let Some(plan) = plan else { return };
    let mut request = Request { plan, ..request.clone() };
    request.options.watching = Watching::Nothing;
    if let Ok(asked) = session::client::run(&request, &mut Unheard, interrupts) {
        record.trials.elasticities = analysis::elasticities(&asked);
        crate::judge(record);
    }
}

/// The plan of an experiment: that of `test`, as long as its schedule, with a sample at the end of each
/// slot.
fn plan(test: &TestPlan, experiment: Experiment) -> Option<TestPlan> {
    let mut draft = PlanDraft::clone(test);
    draft.end = End::Time(experiment.length());
    draft.omit = Duration::ZERO;
    draft.interval = experiment.slot();
    draft.experiment = Some(Box::new(experiment));
    draft.check().ok()
}

/// Nobody is told of it while it runs.
struct Unheard;

impl Observer for Unheard {}

/// More than an experiment has slots.
const DRAWS: usize = 64;
