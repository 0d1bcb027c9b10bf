//! Which engines are the fastest for one plan on this path: short trials of each.
//!
//! ```text
//!   all that send, to the usual receiver ----> the best sender
//!   all that receive, from that sender ------> the best receiver
//! ```

use std::time::Duration;

use measurement::engine::{EngineName, EngineRole, EngineTrial};
use measurement::outcome::Outcome;
use measurement::{BitRate, End, Engine, TestPlan, TestRecord};
use session::SessionError;
use session::client::Watching;

use super::{Next, PlannedRow, Purpose, Search, Task, Trial};

/// Finds the fastest engines for one plan. An engine that one of the ends cannot use is out, and
/// so are those of a peer that is not a linerate.
#[derive(Clone, Debug)]
pub(super) struct EngineChoice {
    plan: TestPlan,
    senders: Contest,
    receivers: Contest,
    trials: Vec<EngineTrial>,
    /// Whether the last record named what sent, and what received.
    reported: Reported,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Side {
    Send,
    Receive,
}

#[derive(Clone, Copy, Debug)]
struct Reported {
    sender: bool,
    receiver: bool,
}

impl EngineChoice {
    /// A choice among all engines of this build.
    pub(super) fn for_plan(plan: &TestPlan) -> Self {
        let all_for = |role| Engine::all_for(plan.transport, role).collect();
        Self::among(plan, all_for(EngineRole::Sender), all_for(EngineRole::Receiver))
    }

    /// A choice among these, the usual ones first.
    fn among(
        plan: &TestPlan,
        senders: Vec<&'static Engine>,
        receivers: Vec<&'static Engine>,
    ) -> Self {
        Self {
            plan: plan.clone(),
            senders: Contest::new(senders),
            receivers: Contest::new(receivers),
            trials: Vec::new(),
            reported: Reported { sender: true, receiver: true },
        }
    }

    /// The trials so far, in order.
    pub(super) fn trials(&self) -> &[EngineTrial] {
        &self.trials
    }

    /// `plan` by the engines that are the fastest so far.
    pub(super) fn applied_to(&self, plan: &TestPlan) -> TestPlan {
        let mut draft = (**plan).clone();
        let winners = [self.senders.winner(), self.receivers.winner()];
        draft.options.engines = winners.into_iter().flatten().map(EngineName::from).collect();
        draft.check().unwrap_or_else(|_| plan.clone())
    }

    /// The side whose engines are compared; none: both are decided.
    fn side(&self) -> Option<Side> {
        match (self.senders.rival(), self.receivers.rival()) {
            (Some(_), _) => Some(Side::Send),
            (None, Some(_)) => Some(Side::Receive),
            (None, None) => None,
        }
    }

    /// The engines of the next trial: the rival whose turn it is, and the other side's usual or
    /// best one.
    fn pair(&self) -> Option<[&'static Engine; 2]> {
        Some(match self.side()? {
            Side::Send => [self.senders.rival()?, self.receivers.usual()?],
            Side::Receive => [self.senders.winner()?, self.receivers.rival()?],
        })
    }

    /// Takes the result of the trial of [`Self::pair`]; whether the choice can go on, which it
    /// cannot after an error that has nothing to do with engines.
    fn note(&mut self, result: &Result<TestRecord, SessionError>) -> bool {
        let (Some(side), Some(pair)) = (self.side(), self.pair()) else { return true };
        let (delivered, error) = match result {
            Err(SessionError::Engine { reason, .. }) => (None, Some(reason.clone())),
            Err(_) => return false,
            Ok(TestRecord { outcome, .. }) => {
                self.reported = Reported::by(outcome);
                let refusal = refusal(outcome);
                (outcome.rate().filter(|_| refusal.is_none()), refusal)
            }
        };
        self.trials.push(EngineTrial {
            engines: pair.map(EngineName::from).to_vec(),
            delivered,
            error,
        });
        let (contest, is_reported) = match side {
            Side::Send => (&mut self.senders, self.reported.sender),
            Side::Receive => (&mut self.receivers, self.reported.receiver),
        };
        if is_reported {
            contest.score(delivered.map(BitRate::bits_per_second));
        } else {
            // It is the peer's to choose, and that one knows nothing of engines.
            contest.abandon();
        }
        true
    }

    /// The plan for a short while, by these engines.
    fn task(&self, engines: [&'static Engine; 2]) -> Task {
        let mut draft = (*self.plan).clone();
        draft.end = End::Time(TRIAL);
        draft.omit = Duration::ZERO;
        draft.options.engines = engines.map(EngineName::from).to_vec();
        let plan = draft.check().unwrap_or_else(|_| self.plan.clone());
        let purpose = Purpose::Trial { what: "trying engines", watching: Watching::Nothing };
        Task { row: PlannedRow::of_plan(plan), purpose }
    }
}

impl Search for EngineChoice {
    fn next(&mut self, done: &[Trial]) -> Next {
        for trial in &done[self.trials.len()..] {
            if !self.note(&trial.result) {
                return Next::Stop;
            }
        }
        self.pair().map_or(Next::Done, |engines| Next::Run(self.task(engines)))
    }
}

impl Reported {
    fn by(outcome: &Outcome) -> Self {
        let engines = || outcome.directions.iter().map(|direction| &direction.engines);
        Self {
            sender: engines().any(|used| used.send.is_some()),
            receiver: engines().any(|used| used.receive.is_some()),
        }
    }
}

/// Why other engines ran than those asked for.
fn refusal(outcome: &Outcome) -> Option<String> {
    let engines = outcome.directions.iter().map(|direction| &direction.engines);
    let mut used = engines.flat_map(|engines| engines.send.iter().chain(&engines.receive));
    used.find_map(|engine| engine.instead_of.as_ref()).map(|other| other.reason.clone())
}

/// The engines of one side, which are tried in turns, so that whatever else the machine does hits
/// them alike.
#[derive(Clone, Debug)]
struct Contest {
    /// The usual one first.
    rivals: Vec<&'static Engine>,
    /// The best rate of each in bit/s; none: it cannot be used.
    scores: Vec<Option<u64>>,
    /// Turns that are over, in all rounds.
    turns: usize,
}

impl Contest {
    fn new(rivals: Vec<&'static Engine>) -> Self {
        Self { scores: vec![Some(0); rivals.len()], rivals, turns: 0 }
    }

    /// The next turn of one that can be used; none: all rounds are over.
    fn turn(&self) -> Option<usize> {
        let count = self.rivals.len();
        (self.turns..count * ROUNDS).find(|turn| self.scores[turn % count].is_some())
    }

    /// Whose turn it is.
    fn rival(&self) -> Option<&'static Engine> {
        self.turn().map(|turn| self.rivals[turn % self.rivals.len()])
    }

    /// Ends the turn of [`Self::rival`] with a rate in bit/s; none: it cannot be used.
    fn score(&mut self, rate: Option<u64>) {
        let Some(turn) = self.turn() else { return };
        let score = &mut self.scores[turn % self.rivals.len()];
        *score = rate.zip(*score).map(|(rate, best)| rate.max(best));
        self.turns = turn + 1;
    }

    /// Ends all rounds without a decision: the usual one stays.
    fn abandon(&mut self) {
        *self = Self { turns: self.rivals.len() * ROUNDS, ..Self::new(self.rivals.clone()) };
    }

    fn usual(&self) -> Option<&'static Engine> {
        self.rivals.first().copied()
    }

    fn winner(&self) -> Option<&'static Engine> {
        self.rivals.get(winner(&self.scores)).copied()
    }
}

/// The one with the highest score, but the first one if that is about as good.
fn winner(scores: &[Option<u64>]) -> usize {
    let score = |index: usize| scores.get(index).copied().flatten().unwrap_or(0);
    let best = (0..scores.len()).max_by_key(|index| (score(*index), std::cmp::Reverse(*index)));
    let best = best.unwrap_or(0);
    let is_worth = u128::from(score(best)) * 100 > u128::from(score(0)) * WORTH_PERCENT;
    if is_worth { best } else { 0 }
}

/// Long enough for a connection to reach its rate on a short path.
const TRIAL: Duration = Duration::from_millis(250);
const ROUNDS: usize = 2;
/// The usual engine is left only for one that is better by more than noise.
const WORTH_PERCENT: u128 = 105;

#[cfg(test)]
mod tests {
    use measurement::Transport;
    use measurement::engine::{EngineUse, READ, SENDFILE, SPLICE, Unusable, VMSPLICE, WRITE};

    use super::*;
    use crate::search::tests::{failed, plan, rate, run};

    fn choice() -> EngineChoice {
        let senders = vec![&WRITE, &SENDFILE, &VMSPLICE];
        EngineChoice::among(&plan(Transport::Tcp), senders, vec![&READ, &SPLICE])
    }

    fn names(engines: &[EngineName]) -> Vec<&str> {
        engines.iter().map(EngineName::as_str).collect()
    }

    fn chosen(choice: &EngineChoice) -> String {
        names(&choice.applied_to(&choice.plan).options.engines).join("+")
    }

    /// The record on a path where each of the `fast` engines doubles the rate.
    fn favouring(task: &Task, fast: &[&str]) -> TestRecord {
        let engines = &task.row.plan.options.engines;
        let count = engines.iter().filter(|engine| fast.contains(&engine.as_str())).count();
        rate(1_000 << count)
    }

    #[test]
    fn the_best_sender_is_found_first_and_then_the_best_receiver_with_it() {
        let mut choice = choice();
        let (done, end) = run(&mut choice, |task| Ok(favouring(task, &["vmsplice", "splice"])));
        assert_eq!(end, Next::Done);
        let pairs: Vec<_> = done
            .iter()
            .map(|trial| names(&trial.task.row.plan.options.engines).join("+"))
            .collect();
        let senders = ["write+read", "sendfile+read", "vmsplice+read"];
        let receivers = ["vmsplice+read", "vmsplice+splice"];
        assert_eq!(pairs, [&senders[..], &senders, &receivers, &receivers].concat());
        assert_eq!(chosen(&choice), "vmsplice+splice");
        assert_eq!(choice.trials().len(), 10);
    }

    #[test]
    fn an_engine_that_cannot_be_used_gets_no_second_turn() {
        let mut choice = choice();
        let refused =
            |name: &str| SessionError::Engine { name: name.into(), reason: "not here".to_owned() };
        run(&mut choice, |task| match task.row.plan.options.engines[0].as_str() {
            "sendfile" => Err(refused("sendfile")),
            _ => Ok(rate(1_000)),
        });
        let of_it = choice.trials().iter().filter(|trial| trial.engines[0].is(&SENDFILE));
        let errors: Vec<_> = of_it.map(|trial| trial.error.as_deref()).collect();
        assert_eq!(errors, [Some("not here")]);
        assert_eq!(chosen(&choice), "write+read");
    }

    #[test]
    fn an_engine_that_the_peer_replaced_is_out() {
        let mut choice = choice();
        run(&mut choice, |task| {
            let mut record = favouring(task, &["splice"]);
            let instead_of = Unusable { name: "splice".into(), reason: "old".to_owned() };
            if task.row.plan.options.engines[1].is(&SPLICE) {
                let used = EngineUse { instead_of: Some(instead_of), ..EngineUse::default() };
                record.outcome.directions[0].engines.receive = Some(used);
            }
            Ok(record)
        });
        assert_eq!(chosen(&choice), "write+read");
        let errors: Vec<_> =
            choice.trials().iter().filter_map(|trial| trial.error.as_deref()).collect();
        assert_eq!(errors, ["old"]);
    }

    #[test]
    fn a_peer_that_names_no_engines_keeps_its_own() {
        let mut choice = choice();
        let (done, end) = run(&mut choice, |task| {
            let mut record = favouring(task, &["vmsplice", "splice"]);
            record.outcome.directions[0].engines.receive = None;
            Ok(record)
        });
        assert_eq!((done.len(), end), (7, Next::Done));
        assert_eq!(chosen(&choice), "vmsplice+read");
    }

    #[test]
    fn an_error_of_the_network_ends_the_choice() {
        assert_eq!(run(&mut choice(), |_| failed()).1, Next::Stop);
    }

    #[test]
    fn the_usual_one_stays_unless_another_is_clearly_better() {
        assert_eq!(winner(&[Some(100), Some(105), Some(90)]), 0);
        assert_eq!(winner(&[Some(100), Some(106), Some(120)]), 2);
        assert_eq!(winner(&[Some(100), None, Some(120), Some(120)]), 2);
        assert_eq!(winner(&[Some(0), None]), 0);
    }
}
