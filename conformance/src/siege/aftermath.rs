//! What every siege has to leave behind: a server as it was before.

use std::time::Duration;

use super::client::{Good, LIMIT};
use super::footprint::{Footprint, await_return};
use super::limits::{Limit, LimitTable, Unit};
use super::server::{LOCAL, Programs, Server};

/// The server as it was before a siege, after it has served somebody.
pub(super) fn warm_up(
    server: &Server,
    programs: &Programs,
    clients: &[Good],
) -> anyhow::Result<Footprint> {
    let local = LOCAL.ip().to_string();
    for client in clients {
        client.run(programs, server.host(), &local)?;
    }
    std::thread::sleep(SETTLING);
    server.footprint()
}

/// Holds a server that is left alone against what it was.
pub(super) fn judge(
    limits: &mut LimitTable,
    server: &mut Server,
    before: Footprint,
    patience: Duration,
) -> anyhow::Result<()> {
    if !server.is_alive() {
        limits.fail("the server lives", &server.complaints());
        return Ok(());
    }
    let (returned, _) = await_return(server.usage(), before, patience)?;
    std::thread::sleep(SETTLING);
    let after = server.footprint()?;
    let (figure, limit) = (returned.unwrap_or(patience), Limit::AtMost(patience.as_secs_f64()));
    if returned.is_some() {
        limits.add(
            "until threads and descriptors are back",
            figure.as_secs_f64(),
            Unit::Seconds,
            limit,
        );
    }
    for (what, was, is) in [
        ("threads afterwards", before.threads, after.threads),
        ("descriptors afterwards", before.descriptors, after.descriptors),
    ] {
        limits.add(what, is as f64, Unit::Count, Limit::AtMost(was as f64));
    }
    let grown = after.mebibytes() - before.mebibytes();
    limits.add("resident memory, grown by", grown, Unit::Mebibytes, Limit::AtMost(MOST_GROWN));
    let panics = server.complaints().matches("panicked").count();
    limits.add("panics", panics as f64, Unit::Count, Limit::Exactly(0.0));
    Ok(())
}

/// Runs a good client on the server's own host, and holds it to its limit.
pub(super) fn try_client(
    limits: &mut LimitTable,
    server: &Server,
    programs: &Programs,
    client: &Good,
    when: &str,
) -> anyhow::Result<()> {
    let tried = client.run(programs, server.host(), &LOCAL.ip().to_string())?;
    let what = format!("{} of 1 s, {when}", client.name);
    if tried.is_well() {
        let limit = if client.is_timed { Limit::AtMost(LIMIT) } else { Limit::None };
        limits.add(&what, tried.seconds, Unit::Seconds, limit);
    } else {
        limits.fail(&what, &tried.words());
    }
    Ok(())
}

/// MiB.
const MOST_GROWN: f64 = 8.0;
/// How long a server has no tests before its memory is looked at: it gives back what it
/// does not use when it has rested for a second.
const SETTLING: Duration = Duration::from_secs(2);
