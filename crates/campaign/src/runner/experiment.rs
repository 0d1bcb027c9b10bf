//! The experiment after a test whose counters leave more than one explanation: things are changed for
//! moments, to see whether the rate follows.

use std::time::Duration;

use linux::entropy;
use linux::event::StopSignals;
use measurement::plan::PlanDraft;
use measurement::{Elasticity, End, Experiment, TestPlan, TestRecord};
use session::Observer;
use session::client::{Request, Watching};

/// Runs the experiment that `record`, of a test as in `request`, leaves open, at `most` so often until it
/// decides, and judges the record by what it showed. One that cannot be run shows nothing.
pub(super) fn ask(
    request: &Request,
    record: &mut TestRecord,
    most: u32,
    interrupts: Option<&StopSignals>,
) {
    let mut shown: Vec<Elasticity> = Vec::new();
    for _ in 0..most {
        let Some(plan) = draw(record).and_then(|experiment| plan(&record.plan, experiment)) else {
            break;
        };
        let mut request = Request { plan, ..request.clone() };
        request.options.watching = Watching::Nothing;
        let Ok(asked) = session::client::run(&request, &mut Unheard, interrupts) else { break };
        shown = together(&shown, analysis::elasticities(&asked));
        if !shown.iter().any(Elasticity::is_open) {
            break;
        }
    }
    if !shown.is_empty() {
        record.trials.elasticities = shown;
        crate::judge(record);
    }
}

/// An experiment in random order.
fn draw(record: &TestRecord) -> Option<Experiment> {
    let mut random = entropy::random::<DRAWS>().ok()?.into_iter().cycle();
    analysis::experiment(record, |below| usize::from(random.next().unwrap_or(0)) % below)
}

/// The elasticities of experiments `before` and of a further one, pooled.
fn together(before: &[Elasticity], further: Vec<Elasticity>) -> Vec<Elasticity> {
    let earlier = |one: &Elasticity| before.iter().find(|other| other.hand == one.hand).copied();
    further.into_iter().map(|one| earlier(&one).map_or(one, |other| other.with(one))).collect()
}

/// The plan of an experiment: that of `test`, as long as its schedule, with a sample in the middle and
/// at the end of each slot.
fn plan(test: &TestPlan, experiment: Experiment) -> Option<TestPlan> {
    let mut draft = PlanDraft::clone(test);
    draft.end = End::Time(experiment.length());
    draft.omit = Duration::ZERO;
    draft.interval = experiment.slot() / 2;
    draft.experiment = Some(Box::new(experiment));
    draft.check().ok()
}

/// Nobody is told of it while it runs.
struct Unheard;

impl Observer for Unheard {}

/// More than an experiment has slots.
const DRAWS: usize = 64;
