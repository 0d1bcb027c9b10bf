//! Which views are of one run: the two ends of a stream have the same ports.

use std::collections::HashMap;
use std::net::SocketAddr;

use measurement::Direction;

use super::checks;
use super::view::{End, Place, View};

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
    for mut view in views {
        let key = key(&view);
        let same = key.and_then(|key| known.get(&key)).map_or(&[][..], Vec::as_slice);
        let recent = same.iter().rev().take(MOST_TRIED);
        let taken = recent.copied().find(|run| runs[*run].accepts(&view));
        if let Some(run) = taken {
            runs[run].add(view);
            continue;
        }
        let turned = key.and_then(|(client, server)| known.get(&(server, client)));
        let other = turned.and_then(|runs| runs.last()).copied();
        if let Some(run) = other.filter(|_| view.end.is_none()) {
            // Neither port is a usual one: what the other end is tells what this one is.
            view.end = Some(End::Server);
            if runs[run].accepts(&view) {
                runs[run].add(view);
                continue;
            }
            view.end = None;
        }
        if let Some(key) = key {
            known.entry(key).or_default().push(runs.len());
        }
        runs.push(Pair::default());
        if let Some(run) = runs.last_mut() {
            run.add(view);
        }
    }
    runs
}

/// Ports of the client and of the server, of the first stream.
fn key(view: &View) -> Option<(u16, u16)> {
    let least = view.ports().min_by_key(|(client, _)| client.port());
    least.map(|(client, server)| (client.port(), server.port()))
}

impl Pair {
    /// Whether a view is of this run: the other end of it, or the same again.
    fn accepts(&self, view: &View) -> bool {
        let (same, other) = match view.end {
            Some(End::Server) => (&self.server, &self.client),
            _ => (&self.client, &self.server),
        };
        if let Some(same) = same {
            return is_copy(same, view);
        }
        other.as_ref().is_some_and(|other| is_other_end(other, view))
    }

    fn add(&mut self, view: View) {
        let own = match view.end {
            Some(End::Server) => &mut self.server,
            _ => &mut self.client,
        };
        match own {
            Some(_) => self.copies.push(view.place),
            None => *own = Some(view),
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
    };
    is_same(Direction::Send) && is_same(Direction::Receive)
}

/// Both ends of one run: an address of the client or of the server is the same at both, and so are
/// transport and time. The other address may be translated (RFC 3022).
fn is_other_end(one: &View, other: &View) -> bool {
    let is_same = |a: SocketAddr, b: SocketAddr| a.ip() == b.ip();
    let mut ports = one.ports().zip(other.ports());
    let is_near = ports.any(|(a, b)| is_same(a.0, b.0) || is_same(a.1, b.1));
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
/// By which the times of both ends differ, for delays at begin and end.
const SECONDS: f64 = 2.0;
const SHARE: f64 = 0.2;
