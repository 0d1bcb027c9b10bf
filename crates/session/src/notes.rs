//! Facts that are in no number of a record. What its numbers show is for `analysis` to say.

use measurement::units::show_time;
use measurement::{BitRate, End, TestPlan, Way};

use crate::measured::Measured;

/// The server's limits made `run` of the plan that was `asked` for; none: they changed nothing.
pub(crate) fn on_limits(asked: &TestPlan, run: &TestPlan) -> Option<String> {
    let in_all = |rate: BitRate| rate.times(u64::from(run.streams_in_all()));
    let rate = (asked.options.rate != run.options.rate).then_some(run.options.rate).flatten();
    let rate = rate.map(|rate| format!("{}, all streams together", in_all(rate)));
    let time = match run.end {
        End::Time(time) if asked.end != run.end => Some(show_time(run.omit + time)),
        _ => None,
    };
    let limits: Vec<_> = [rate, time].into_iter().flatten().collect();
    let limits = (!limits.is_empty()).then(|| limits.join(", and "))?;
    Some(format!("the server allows at most {limits}: the test keeps to that"))
}

/// Not one request was answered, though the server named an extra `port` for them.
pub(crate) fn on_calls(measured: &Measured, port: Option<u16>) -> Option<String> {
    let trips = measured.round_trips.as_ref().filter(|trips| trips.count == 0)?;
    let calls = measured.plan.exchange.is_some_and(|exchange| exchange.way == Way::Connection);
    let lost = trips.lost;
    let Some(port) = port.filter(|_| calls) else {
        return Some(format!("nothing was answered ({lost} given up): is the server overloaded?"));
    };
    Some(format!(
        "port {port} of the server did not answer ({lost} failed); does a firewall block it?"
    ))
}
