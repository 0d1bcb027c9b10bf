//! The value of `--engine`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use measurement::Transport;
use measurement::engine::{Engine, EngineName, EngineRole, choosable_engines};

/// The names that there are.
pub(crate) fn engine_names() -> PossibleValuesParser {
    let auto = PossibleValue::new(AUTO).help("The fastest ones, which short tests find out");
    let names = choosable_engines().map(|engine| {
        let way = verb(engine.role);
        let help = format!("{} {way}s: {}", engine.transport, engine.summary);
        PossibleValue::new(engine.name).help(help)
    });
    PossibleValuesParser::new(std::iter::once(auto).chain(names))
}

/// Stands for the fastest ones.
pub(crate) const AUTO: &str = "auto";

const fn verb(role: EngineRole) -> &'static str {
    match role {
        EngineRole::Sender => "send",
        EngineRole::Receiver => "receive",
    }
}

/// Those of `names` that move bytes of `transport`.
pub(crate) fn for_transport(names: &[String], transport: Transport) -> Vec<EngineName> {
    let known = names.iter().filter_map(|name| Engine::named(name));
    known.filter(|engine| engine.transport == transport).map(EngineName::from).collect()
}

/// Whether an engine moves bytes of one of these transports.
pub(super) fn is_for(name: &str, transports: &[Transport]) -> bool {
    Engine::named(name).is_none_or(|engine| transports.contains(&engine.transport))
}

/// Why `names` cannot be chosen for rows of `transports`; none: they can.
pub(crate) fn contradiction(names: &[String], transports: &[Transport]) -> Option<String> {
    if names.len() > 1 && names.iter().any(|name| name == AUTO) {
        return Some(format!("--engine {AUTO} chooses itself: name no others"));
    }
    let is_named = |engine: &&Engine| names.iter().any(|name| Engine::named(name) == Some(engine));
    let chosen: Vec<_> = choosable_engines().filter(is_named).collect();
    let idle = chosen.iter().find(|engine| !transports.contains(&engine.transport));
    if let Some(engine) = idle {
        let (name, transport) = (engine.name, engine.transport);
        let other = if engine.transport == Transport::Tcp { "--udp" } else { "--tcp" };
        return Some(format!("--engine {name} is for {transport}: leave {other} out"));
    }
    chosen.iter().enumerate().find_map(|(index, one)| {
        let same = |other: &&&Engine| (one.transport, one.role) == (other.transport, other.role);
        let other = chosen[index + 1..].iter().find(same)?;
        let way = verb(one.role);
        let (name, other, transport) = (one.name, other.name, one.transport);
        Some(format!("--engine: {name} and {other} both {way} {transport}: choose one"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(text: &str) -> Vec<String> {
        text.split(',').map(str::to_owned).collect()
    }

    #[test]
    fn a_name_is_for_one_transport() {
        let all = names("vmsplice,gso,msg-trunc");
        let of = |names: &[String], transport| {
            let found = for_transport(names, transport);
            found.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        assert_eq!(of(&all, Transport::Tcp), names("vmsplice,msg-trunc"));
        assert_eq!(of(&all, Transport::Udp), names("gso"));
    }

    #[test]
    fn what_no_row_uses_and_what_does_the_same_is_told() {
        let both = [Transport::Tcp, Transport::Udp];
        assert_eq!(contradiction(&names("vmsplice,gro"), &both), None);
        let text = contradiction(&names("gro"), &[Transport::Tcp]).expect("told");
        assert_eq!(text, "--engine gro is for UDP: leave --tcp out");
        let text = contradiction(&names("sendfile,write"), &both).expect("told");
        assert_eq!(text, "--engine: write and sendfile both send TCP: choose one");
        assert!(contradiction(&names("auto"), &both).is_none());
        assert!(contradiction(&names("auto,write"), &both).is_some());
    }
}
