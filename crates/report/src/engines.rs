//! Notes on the engines that were used.

use measurement::engine::{EngineName, EngineTrial, RECVMMSG, SENDMMSG};
use measurement::{Direction, DirectionOutcome, EngineUse, TestRecord, Transport};

/// Notes on engines: which one replaced a requested engine, and which one was chosen without a
/// request.
pub(crate) fn notes(record: &TestRecord) -> Vec<String> {
    record.outcome.directions.iter().flat_map(|outcome| notes_on(record, outcome)).collect()
}

fn notes_on(record: &TestRecord, outcome: &DirectionOutcome) -> Vec<String> {
    let (send, receive) = (outcome.engines.send.as_ref(), outcome.engines.receive.as_ref());
    let mut notes = Vec::new();
    if !record.plan.options.engines.is_empty() {
        let name = |engine: Option<&EngineUse>| {
            engine.map_or_else(|| "the peer's usual engine".to_owned(), |one| one.name.to_string())
        };
        notes.push(format!("sent by {}, received by {}", name(send), name(receive)));
    }
    notes.extend(choice(&record.trials.engines, &record.plan.options.engines));
    notes.extend(unasked(send, receive));
    if record.plan.transport == Transport::Udp {
        notes.extend(lack_of_jitter(send, receive));
    }
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

/// Note on an engine that was chosen without a request, with the reason and the option that
/// prevents it.
fn unasked(send: Option<&EngineUse>, receive: Option<&EngineUse>) -> Option<String> {
    let chosen = |engine: Option<&EngineUse>, verb| {
        engine.and_then(|one| Some((format!("{verb} by {}", one.name), one.because.clone()?)))
    };
    let both = [chosen(send, "sent"), chosen(receive, "received")];
    let (how, why): (Vec<_>, Vec<_>) = both.into_iter().flatten().unzip();
    let (how, why) = (how.join(" and "), why.first()?);
    let (send, receive) = (SENDMMSG.name, RECVMMSG.name);
    Some(format!(
        "{how} (GSO or GRO), as {why}; --engine {send},{receive} keeps datagrams separate"
    ))
}

/// Reason why there is no jitter.
fn lack_of_jitter(send: Option<&EngineUse>, receive: Option<&EngineUse>) -> Option<String> {
    let why = |engine: Option<&EngineUse>, verb: &str, time: &str| {
        let name = &engine.filter(|engine| engine.name.may_be_batched())?.name;
        Some(match name.properties() {
            Some(_) => {
                format!("datagrams that {name} {verb} as one packet share one time of {time}")
            }
            None => format!("whether {name} gives each datagram its own time is not known"),
        })
    };
    let why = why(receive, "takes", "arrival").or_else(|| why(send, "sends", "sending"));
    why.map(|why| format!("no jitter: {why}"))
}

/// Reason for the `chosen` engines: the rate of their best trial, and that of the first trial.
fn choice(trials: &[EngineTrial], chosen: &[EngineName]) -> Option<String> {
    let reached = |trial: &&EngineTrial| trial.delivered;
    let own = trials.iter().filter(|trial| trial.engines == chosen);
    let best = own.max_by_key(reached).or_else(|| trials.iter().max_by_key(reached))?;
    let usual = trials.first()?;
    let show = |trial: &EngineTrial| {
        let rate = trial.delivered.map_or_else(|| "nothing".to_owned(), |rate| rate.to_string());
        let names: Vec<_> = trial.engines.iter().map(EngineName::as_str).collect();
        format!("{rate} by {}", names.join(" and "))
    };
    let count = trials.len();
    Some(format!(
        "fastest engines of {count} short tests: {}; {} by default",
        show(best),
        show(usual)
    ))
}
