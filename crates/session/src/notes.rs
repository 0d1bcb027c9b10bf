//! Facts that are in no number of a record. What its numbers show is for `analysis` to say.

use measurement::Way;

use crate::measured::Measured;

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
