//! What iperf (version 2) means by the rows and marks of its streams.

use measurement::Transport;

use super::ends::End;
use super::row::Id;
use super::view::{Connection, View};

/// Whether the end that prints sends a stream of iperf 2. A server sends what it connects itself
/// (`-d`, `-r`), and streams that are marked as reverse; `[ *1]` is the way back of such as `[  1]`.
pub(super) fn sends(view: &View, id: Id, listening: Option<(Transport, Option<u16>)>) -> bool {
    let is_server = view.end == Some(End::Server);
    let Id::Stream { number, back } = id else { return !is_server };
    let of = |back: Option<bool>| {
        let is_its = |one: &&Connection| one.number == number && back.is_none_or(|b| one.back == b);
        view.connections.iter().find(is_its)
    };
    let Some(one) = of(Some(back)).or_else(|| of(None)) else { return is_server == back };
    let port = listening.and_then(|(_, port)| port);
    let is_accepted = port.is_some_and(|port| one.local.port() == port);
    let sends = match (is_server, port) {
        (true, Some(_)) => !is_accepted || one.reverse,
        (true, None) => one.reverse,
        (false, _) => !is_accepted && !one.reverse,
    };
    let is_way_back = back && !one.back && !one.reverse;
    sends != is_way_back
}
