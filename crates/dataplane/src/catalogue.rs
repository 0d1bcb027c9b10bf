//! All engines that users can choose, by name.

use measurement::Transport;

use crate::tcp;
use crate::udp;

/// An engine as users choose it.
#[derive(Clone, Copy, Debug)]
pub struct Entry {
    /// Its name, which no other one has.
    pub name: &'static str,
    /// How it moves bytes, in a few words.
    pub summary: &'static str,
    /// Whose bytes.
    pub transport: Transport,
    /// Whether it sends; else it receives.
    pub sends: bool,
}

/// All of them; of each transport and way the usual one first.
pub fn catalogue() -> impl Iterator<Item = Entry> {
    let tcp_senders = tcp::SENDERS.iter().map(|engine| (engine.name, engine.summary, true));
    let tcp_receivers = tcp::RECEIVERS.iter().map(|engine| (engine.name, engine.summary, false));
    let udp_senders = udp::SENDERS.iter().map(|engine| (engine.name, engine.summary, true));
    let udp_receivers = udp::RECEIVERS.iter().map(|engine| (engine.name, engine.summary, false));
    let tcp = tcp_senders.chain(tcp_receivers).map(entry(Transport::Tcp));
    tcp.chain(udp_senders.chain(udp_receivers).map(entry(Transport::Udp)))
}

/// Opens what engines need and what a process that gives up its rights to files cannot open
/// later. An engine for which that fails says so when it is made.
pub fn open_ahead() {
    _ = linux::splice::dev_null();
}

fn entry(transport: Transport) -> impl Fn((&'static str, &'static str, bool)) -> Entry {
    move |(name, summary, sends)| Entry { name, summary, transport, sends }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_engines_have_one_name() {
        let mut names: Vec<_> = catalogue().map(|entry| entry.name).collect();
        let count = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), count);
    }
}
