//! What moved the payload at one end, as results carry it (clause 13.17).

use measurement::engine::{EngineUse, Engines, InPlace, Unusable};
use serde::Serialize;

use crate::iperf3::json::{self, Members};

/// [`Engines`] with the names that engines have on the wire.
#[derive(Serialize)]
pub(super) struct WireEngines<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    send: Option<WireUse<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    receive: Option<WireUse<'a>>,
}

#[derive(Serialize)]
struct WireUse<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    instead_of: Option<WireUnusable<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    because: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    in_place: Option<InPlace>,
}

#[derive(Serialize)]
struct WireUnusable<'a> {
    name: &'a str,
    reason: &'a str,
}

impl<'a> From<&'a Engines> for WireEngines<'a> {
    fn from(engines: &'a Engines) -> Self {
        let [send, receive] = [&engines.send, &engines.receive];
        Self {
            send: send.as_ref().map(WireUse::from),
            receive: receive.as_ref().map(WireUse::from),
        }
    }
}

impl<'a> From<&'a EngineUse> for WireUse<'a> {
    fn from(used: &'a EngineUse) -> Self {
        Self {
            name: used.name.on_the_wire(),
            instead_of: used.instead_of.as_ref().map(WireUnusable::from),
            because: used.because.as_deref(),
            in_place: used.in_place,
        }
    }
}

impl<'a> From<&'a Unusable> for WireUnusable<'a> {
    fn from(unusable: &'a Unusable) -> Self {
        Self { name: unusable.name.on_the_wire(), reason: &unusable.reason }
    }
}

/// The engines of a peer, if they are plausible; names of any version are accepted. Another form,
/// as of a newer linerate, is ignored.
pub(super) fn plausible(truth: &Members<'_>) -> Option<Box<Engines>> {
    let text = truth.text("engines").filter(|text| json::most_values(text) <= MOST_VALUES)?;
    let engines: Box<Engines> = measurement::json::read(text).ok()?;
    engines.is_plausible(json::MOST).then_some(engines)
}

const MOST_VALUES: usize = 64;

#[cfg(test)]
mod tests {
    use measurement::engine::{EngineName, GRO, MSG_TRUNC};
    use serde_json::json;

    use super::*;
    use crate::iperf3::Results;

    #[test]
    fn engines_travel_by_their_wire_names_and_are_read_by_any_of_their_names() {
        let other = Unusable { name: (&MSG_TRUNC).into(), reason: "none".to_owned() };
        let receive = EngineUse { instead_of: Some(other), ..EngineUse::from(&GRO) };
        let engines = Engines { send: None, receive: Some(receive) };
        let original =
            Results { engines: Some(Box::new(engines)), ..super::super::tests::results() };
        let mut json = original.to_json();
        let wire = &mut json["linerate"]["engines"]["receive"];
        let expected = json!({
            "name": "coalesce",
            "instead_of": { "name": "truncate", "reason": "none" },
        });
        assert_eq!(*wire, expected);
        let read = |json: &serde_json::Value| Results::from_json(json.to_string().as_bytes());
        assert_eq!(read(&json), Ok(original.clone()));
        json["linerate"]["engines"]["receive"]["name"] = json!("gro");
        assert_eq!(read(&json), Ok(original));
        json["linerate"]["engines"]["receive"]["name"] = json!("af-xdp");
        let engines = read(&json).expect("readable").engines.expect("sent");
        let name = engines.receive.expect("sent").name;
        assert_eq!(name, EngineName::Unknown("af-xdp".to_owned()));
    }
}
