//! What moved the payload at one end, as results carry it (clause 13.17).

use measurement::Engines;

use crate::iperf3::json::{self, Members};

/// The engines of a peer, if they are plausible. Another form, as of a newer linerate, is ignored.
pub(super) fn plausible(truth: &Members<'_>) -> Option<Box<Engines>> {
    let text = truth.text("engines").filter(|text| json::most_values(text) <= MOST_VALUES)?;
    let engines: Box<Engines> = measurement::json::read(text).ok()?;
    engines.is_plausible(json::MOST).then_some(engines)
}

const MOST_VALUES: usize = 64;

#[cfg(test)]
mod tests {
    use measurement::engine::{EngineName, EngineUse, GRO, MSG_TRUNC, Unusable};
    use serde_json::json;

    use super::*;
    use crate::iperf3::Results;

    #[test]
    fn engines_travel_by_their_names_and_an_unknown_one_is_kept() {
        let other = Unusable { name: (&MSG_TRUNC).into(), reason: "none".to_owned() };
        let receive = EngineUse { instead_of: Some(other), ..EngineUse::from(&GRO) };
        let engines = Engines { send: None, receive: Some(receive) };
        let original =
            Results { engines: Some(Box::new(engines)), ..super::super::tests::results() };
        let mut json = original.to_json();
        let wire = &mut json["linerate"]["engines"]["receive"];
        let expected = json!({
            "name": "gro",
            "instead_of": { "name": "msg-trunc", "reason": "none" },
        });
        assert_eq!(*wire, expected);
        let read = |json: &serde_json::Value| Results::from_json(json.to_string().as_bytes());
        assert_eq!(read(&json), Ok(original));
        json["linerate"]["engines"]["receive"]["name"] = json!("af-xdp");
        let engines = read(&json).expect("readable").engines.expect("sent");
        let name = engines.receive.expect("sent").name;
        assert_eq!(name, EngineName::Unknown("af-xdp".to_owned()));
    }
}
