//! Which views are of one run: the two ends of a stream have the same ports.

use std::collections::HashMap;

use measurement::Direction;

use super::checks;
use super::ends::End;
use super::view::{Place, View};

/// A run, as one or both of its ends printed it.
#[derive(Debug, Default)]
pub(super) struct Pair {
    pub(super) client: Option<View>,
    pub(super) server: Option<View>,
    /// Where the same is printed once more.
    pub(super) copies: Vec<Place>,
}

/// Pairs views that are in the order in which they were printed; the runs are in the order of their
/// first views.
pub(super) fn pairs(views: Vec<View>) -> Vec<Pair> {
    let mut runs: Vec<Pair> = Vec::new();
    let mut known: HashMap<(u16, u16), Vec<usize>> = HashMap::new();
    for view in views {
        let keys: Vec<_> = keys(&view).collect();
        let at = |(client, server)| known.get(&(client, server)).map_or(&[][..], Vec::as_slice);
        let same = keys.iter().flat_map(|key| at(*key).iter().rev().take(MOST_TRIED));
        let turned = keys.iter().flat_map(|key| at((key.1, key.0)).iter().rev().take(MOST_TRIED));
        let mut tried = same.chain(turned).copied();
        let role = tried.find_map(|run| runs[run].role_of(&view).map(|role| (run, role)));
        if let Some((run, role)) = role {
            runs[run].add(view, role);
            continue;
        }
        for key in keys {
            known.entry(key).or_default().push(runs.len());
        }
        let mut run = Pair::default();
        let role = if view.end == Some(End::Server) { Role::Server } else { Role::Client };
        run.add(view, role);
        runs.push(run);
    }
    runs
}

/// What a view is to a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Role {
    Client,
    Server,
    /// The server of a run whose client it was taken for.
    Turned,
    /// The same again.
    Copy,
}

/// Ports of the client and of the server of the first streams.
fn keys(view: &View) -> impl Iterator<Item = (u16, u16)> {
    view.ports().take(MOST_KEYS).map(|(client, server)| (client.port(), server.port()))
}

impl Pair {
    /// What a view is to this run; none: it is of another one.
    fn role_of(&self, view: &View) -> Option<Role> {
        if self.views().any(|known| known.end == view.end && is_copy(known, view)) {
            return Some(Role::Copy);
        }
        let other =
            |known: &Option<View>| known.as_ref().is_some_and(|one| is_other_end(one, view));
        match view.end {
            Some(End::Server) if self.server.is_none() => {
                other(&self.client).then_some(Role::Server)
            }
            Some(End::Server) => None,
            None if self.server.is_none() => other(&self.client).then_some(Role::Turned),
            _ if self.client.is_none() => other(&self.server).then_some(Role::Client),
            _ => None,
        }
    }

    fn add(&mut self, mut view: View, role: Role) {
        match role {
            Role::Client => self.client = Some(view),
            Role::Server => self.server = Some(view),
            Role::Turned => {
                view.end = Some(End::Server);
                view.turn();
                view.connections.iter_mut().for_each(|one| {
                    std::mem::swap(&mut one.local, &mut one.peer);
                });
                self.server = Some(view);
            }
            Role::Copy => self.copies.push(view.place),
        }
    }

    /// The end of which this is printed, the client first.
    pub(super) fn views(&self) -> impl Iterator<Item = &View> {
        self.client.iter().chain(&self.server)
    }

    /// Contradictions in each view, and between both.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems: Vec<_> = self.views().flat_map(checks::view).collect();
        let Some((client, server)) = self.client.as_ref().zip(self.server.as_ref()) else {
            return problems;
        };
        for direction in [Direction::Send, Direction::Receive] {
            let (receiver, sender) =
                if direction == Direction::Send { (server, client) } else { (client, server) };
            let own = receiver.flow(direction).by_receiver.side();
            let reported = sender.flow(direction).by_receiver.side();
            let account = own.zip(reported).and_then(|(own, told)| checks::accounts(&own, &told));
            problems.extend(account);
        }
        problems.dedup();
        problems
    }
}

/// The same text again, e.g. in a quoted mail.
fn is_copy(one: &View, other: &View) -> bool {
    let is_same = |direction| {
        let (one, other) = (one.flow(direction), other.flow(direction));
        one.by_sender.side() == other.by_sender.side()
            && one.by_receiver.side() == other.by_receiver.side()
            && one.intervals.rows == other.intervals.rows
    };
    is_same(Direction::Send) && is_same(Direction::Receive)
}

/// Both ends of one run: an address of the client or of the server is the same at both, and so are
/// transport and time. The other address may be translated (RFC 3022).
fn is_other_end(one: &View, other: &View) -> bool {
    let ips = |view: &View| {
        let ports = view.ports().take(1);
        ports.flat_map(|(a, b)| [a.ip(), b.ip()]).collect::<Vec<_>>()
    };
    let is_near = ips(one).iter().any(|ip| ips(other).contains(ip));
    let transports = one.transport.zip(other.transport);
    let is_alike = transports.is_none_or(|(a, b)| a == b);
    let apart = seconds(one).zip(seconds(other)).map(|(a, b)| (a - b).abs() <= SECONDS + a * SHARE);
    is_near && is_alike && apart.unwrap_or(true)
}

/// How long a run took; none: it has no summary.
fn seconds(view: &View) -> Option<f64> {
    let flows = [&view.sent, &view.received];
    let sides = flows.into_iter().flat_map(|flow| [flow.by_sender.side(), flow.by_receiver.side()]);
    sides.flatten().map(|side| side.seconds.value).reduce(f64::max)
}

/// Runs with the same ports that are tried, the last first.
const MOST_TRIED: usize = 8;
/// Streams by which the run of a view is looked up.
const MOST_KEYS: usize = 16;
/// By which the times of both ends differ, for delays at begin and end.
const SECONDS: f64 = 2.0;
const SHARE: f64 = 0.2;
