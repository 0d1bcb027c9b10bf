//! Which engines are the fastest on this path: short trials of each.
//!
//! ```text
//!   all that send, to the usual receiver ----> the best sender
//!   all that receive, from that sender ------> the best receiver
//! ```

use std::time::Duration;

use measurement::engine::{EngineName, EngineRole, EngineTrial};
use measurement::{BitRate, End, Engine, TestPlan, TestRecord};
use session::SessionError;

/// What the trials came to.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Choice {
    /// The engines to use.
    pub engines: Vec<EngineName>,
    /// What was tried, in order.
    pub trials: Vec<EngineTrial>,
}

impl Choice {
    /// `plan` by these engines.
    pub fn applied_to(&self, plan: &TestPlan) -> TestPlan {
        let mut draft = (**plan).clone();
        draft.options.engines.clone_from(&self.engines);
        draft.check().unwrap_or_else(|_| plan.clone())
    }
}

/// Finds the fastest engines for `plan`; `run` runs one plan. An engine that one of the ends
/// cannot use is out, and so are those of a peer that is not a linerate.
///
/// # Errors
/// The error of a run that has nothing to do with its engines.
pub fn choose_engines(
    plan: &TestPlan,
    run: impl FnMut(&TestPlan) -> Result<TestRecord, SessionError>,
) -> Result<Choice, SessionError> {
    let all_for = |role| -> Vec<_> { Engine::all_for(plan.transport, role).collect() };
    let mut probe = Probe { plan, run, trials: Vec::new(), is_told: [true; 2] };
    let (senders, receivers) = (all_for(EngineRole::Sender), all_for(EngineRole::Receiver));
    let sender = probe.best(&senders, receivers[0])?;
    let receiver = probe.best(&receivers, sender)?;
    let engines = [sender, receiver].map(EngineName::from).to_vec();
    Ok(Choice { engines, trials: probe.trials })
}

struct Probe<'a, R> {
    plan: &'a TestPlan,
    run: R,
    trials: Vec<EngineTrial>,
    /// Whether the last record told what received, and what sent.
    is_told: [bool; 2],
}

impl<R: FnMut(&TestPlan) -> Result<TestRecord, SessionError>> Probe<'_, R> {
    /// The best of `rivals`, the usual one first, together with `partner`.
    fn best(
        &mut self,
        rivals: &[&'static Engine],
        partner: &'static Engine,
    ) -> Result<&'static Engine, SessionError> {
        let mut scores = vec![Some(0); rivals.len()];
        // In turns, so that whatever else the machine does hits them alike.
        for _ in 0..ROUNDS {
            for (rival, score) in rivals.iter().zip(&mut scores) {
                let Some(best) = *score else { continue };
                let rate = self.try_out(rival, partner)?;
                if !self.is_told[usize::from(rival.role == EngineRole::Sender)] {
                    // It is the peer's to choose, and that one knows nothing of engines.
                    return Ok(rivals[0]);
                }
                *score = rate.map(|rate| best.max(rate.bits_per_second()));
            }
        }
        Ok(rivals[winner(&scores)])
    }

    /// The rate with these engines; none: they cannot be used.
    fn try_out(
        &mut self,
        one: &'static Engine,
        other: &'static Engine,
    ) -> Result<Option<BitRate>, SessionError> {
        let (sender, receiver) =
            if one.role == EngineRole::Sender { (one, other) } else { (other, one) };
        let engines = [sender, receiver].map(EngineName::from).to_vec();
        let (rate, error) = match (self.run)(&short(self.plan, &engines)) {
            Err(SessionError::Engine { reason, .. }) => (None, Some(reason)),
            Err(error) => return Err(error),
            Ok(record) => {
                self.is_told = [false, true].map(|sends| is_told(&record, sends));
                match refusal(&record) {
                    Some(reason) => (None, Some(reason)),
                    None => (record.outcome.rate(), None),
                }
            }
        };
        self.trials.push(EngineTrial { engines, delivered: rate, error });
        Ok(rate)
    }
}

/// The one with the highest score, but the first one if that is about as good.
fn winner(scores: &[Option<u64>]) -> usize {
    let score = |index: usize| scores[index].unwrap_or(0);
    let best = (0..scores.len()).max_by_key(|index| (score(*index), std::cmp::Reverse(*index)));
    let best = best.unwrap_or(0);
    let is_worth = u128::from(score(best)) * 100 > u128::from(score(0)) * WORTH_PERCENT;
    if is_worth { best } else { 0 }
}

/// `plan` for a short while, by `engines`.
fn short(plan: &TestPlan, engines: &[EngineName]) -> TestPlan {
    let mut draft = (**plan).clone();
    draft.end = End::Time(TRIAL);
    draft.omit = Duration::ZERO;
    draft.options.engines = engines.to_vec();
    draft.check().unwrap_or_else(|_| plan.clone())
}

/// Whether the record tells what sent, or what received.
fn is_told(record: &TestRecord, sends: bool) -> bool {
    let mut engines = record.outcome.directions.iter().map(|outcome| &outcome.engines);
    engines.any(|used| if sends { used.send.is_some() } else { used.receive.is_some() })
}

/// Why other engines ran than those asked for.
fn refusal(record: &TestRecord) -> Option<String> {
    let engines = record.outcome.directions.iter().map(|outcome| &outcome.engines);
    let mut used = engines.flat_map(|engines| engines.send.iter().chain(&engines.receive));
    used.find_map(|engine| engine.instead_of.as_ref()).map(|other| other.reason.clone())
}

/// Long enough for a connection to reach its rate on a short path.
const TRIAL: Duration = Duration::from_millis(250);
const ROUNDS: u32 = 2;
/// The usual engine is left only for one that is better by more than noise.
const WORTH_PERCENT: u128 = 105;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_one_stays_unless_another_is_clearly_better() {
        assert_eq!(winner(&[Some(100), Some(105), Some(90)]), 0);
        assert_eq!(winner(&[Some(100), Some(106), Some(120)]), 2);
        assert_eq!(winner(&[Some(100), None, Some(120), Some(120)]), 2);
        assert_eq!(winner(&[Some(0), None]), 0);
    }
}
