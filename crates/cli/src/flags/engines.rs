//! The value of `--engine`.

use clap::builder::{PossibleValue, PossibleValuesParser};
use measurement::Transport;

/// The names that there are.
pub(crate) fn engine_names() -> PossibleValuesParser {
    let auto = PossibleValue::new(AUTO).help("The fastest ones, which short tests find out");
    let names = session::engines().map(|engine| {
        let way = if engine.sends { "sends" } else { "receives" };
        let help = format!("{} {way}: {}", engine.transport, engine.summary);
        PossibleValue::new(engine.name).help(help)
    });
    PossibleValuesParser::new(std::iter::once(auto).chain(names))
}

/// Stands for the fastest ones.
pub(crate) const AUTO: &str = "auto";

/// Of `names` those that move bytes of `transport`.
pub(crate) fn of(names: &[String], transport: Transport) -> Vec<String> {
    let fits = |name: &&String| {
        session::engines().any(|engine| engine.name == *name && engine.transport == transport)
    };
    names.iter().filter(fits).cloned().collect()
}

/// What is wrong with choosing `names` for rows of `transports`.
pub(crate) fn contradiction(names: &[String], transports: &[Transport]) -> Option<String> {
    if names.len() > 1 && names.iter().any(|name| name == AUTO) {
        return Some(format!("--engine {AUTO} chooses itself: name no others"));
    }
    let chosen: Vec<_> =
        session::engines().filter(|engine| names.iter().any(|name| name == engine.name)).collect();
    let idle = chosen.iter().find(|engine| !transports.contains(&engine.transport));
    if let Some(engine) = idle {
        let (name, transport) = (engine.name, engine.transport);
        return Some(format!("--engine {name} is for {transport}, and no row of this test is"));
    }
    chosen.iter().enumerate().find_map(|(index, one)| {
        let same =
            |other: &&session::Engine| (one.transport, one.sends) == (other.transport, other.sends);
        let other = chosen[index + 1..].iter().find(same)?;
        let way = if one.sends { "send" } else { "receive" };
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
        let all = names("vmsplice,segment,truncate");
        assert_eq!(of(&all, Transport::Tcp), names("vmsplice,truncate"));
        assert_eq!(of(&all, Transport::Udp), names("segment"));
    }

    #[test]
    fn what_no_row_uses_and_what_does_the_same_is_told() {
        let both = [Transport::Tcp, Transport::Udp];
        assert_eq!(contradiction(&names("vmsplice,coalesce"), &both), None);
        let text = contradiction(&names("coalesce"), &[Transport::Tcp]).expect("told");
        assert_eq!(text, "--engine coalesce is for UDP, and no row of this test is");
        let text = contradiction(&names("sendfile,write"), &both).expect("told");
        assert_eq!(text, "--engine: write and sendfile both send TCP: choose one");
        assert!(contradiction(&names("auto"), &both).is_none());
        assert!(contradiction(&names("auto,write"), &both).is_some());
    }
}
