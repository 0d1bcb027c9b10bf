//! What a reader must know of the engines.

use measurement::engine::EngineTrial;
use measurement::{Direction, DirectionOutcome, EngineUse, TestRecord};

/// Which ran where others had been asked for.
pub(crate) fn notes(record: &TestRecord) -> Vec<String> {
    record.outcome.directions.iter().flat_map(|outcome| notes_on(record, outcome)).collect()
}

fn notes_on(record: &TestRecord, outcome: &DirectionOutcome) -> Vec<String> {
    let (send, receive) = (outcome.engines.send.as_ref(), outcome.engines.receive.as_ref());
    let mut notes = Vec::new();
    if !record.plan.options.engines.is_empty() {
        let name = |engine: Option<&EngineUse>| {
            engine.map_or_else(|| "the peer's usual engine".to_owned(), |one| one.name.clone())
        };
        notes.push(format!("sent by {}, received by {}", name(send), name(receive)));
    }
    notes.extend(choice(&record.engine_trials, &record.plan.options.engines));
    notes.extend(unasked(send, receive));
    notes.extend(lack_of_jitter(send, receive).map(str::to_owned));
    for engine in [send, receive].into_iter().flatten() {
        if let Some(other) = &engine.instead_of {
            let (used, wanted, why) = (&engine.name, &other.name, &other.reason);
            notes.push(format!("{wanted} cannot be used, {used} was: {why}"));
        }
    }
    if record.plan.direction == Direction::Both {
        for note in &mut notes {
            *note = format!("{}: {note}", outcome.direction);
        }
    }
    notes
}

/// What ran though nobody asked for it, why, and what to say against it.
fn unasked(send: Option<&EngineUse>, receive: Option<&EngineUse>) -> Option<String> {
    let chosen = |engine: Option<&EngineUse>, verb| {
        engine.and_then(|one| Some((format!("{verb} by {}", one.name), one.because.clone()?)))
    };
    let both = [chosen(send, "sent"), chosen(receive, "received")];
    let (how, why): (Vec<_>, Vec<_>) = both.into_iter().flatten().unzip();
    let (how, why) = (how.join(" and "), why.first()?);
    Some(format!(
        "{how}, many datagrams in one piece, as {why}; \
         --engine sendmmsg,recvmmsg has each on its own"
    ))
}

/// Why jitter is not available.
fn lack_of_jitter(send: Option<&EngineUse>, receive: Option<&EngineUse>) -> Option<&'static str> {
    let is = |engine: Option<&EngineUse>, name| engine.is_some_and(|engine| engine.name == name);
    if is(receive, "coalesce") {
        Some("no jitter: datagrams that coalesce takes in one piece have one time of arrival")
    } else if is(send, "segment") {
        Some("no jitter: datagrams that segment sends in one piece have one time of sending")
    } else {
        None
    }
}

/// Why the `chosen` engines ran: what their best trial reached, and what the first one did.
fn choice(trials: &[EngineTrial], chosen: &[String]) -> Option<String> {
    let reached = |trial: &&EngineTrial| trial.delivered;
    let own = trials.iter().filter(|trial| trial.engines == chosen);
    let best = own.max_by_key(reached).or_else(|| trials.iter().max_by_key(reached))?;
    let usual = trials.first()?;
    let show = |trial: &EngineTrial| {
        let rate = trial.delivered.map_or_else(|| "nothing".to_owned(), |rate| rate.to_string());
        format!("{rate} by {}", trial.engines.join(" and "))
    };
    let count = trials.len();
    Some(format!(
        "of {count} short tests {}, clearly more than others or no less; {} at first",
        show(best),
        show(usual)
    ))
}
