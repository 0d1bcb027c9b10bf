//! What a fault is planted into: what joins the hosts, the test, and who runs it.

use std::time::Duration;

use fastrand::Rng;
use measurement::units::show_duration;

use super::super::expected::On;
use super::super::scenario::{Need, Peer, TopologyKind};
use super::super::step::{At, Cable, End, Step, Way};

/// Hosts and a test, drawn at random.
#[derive(Clone, Debug)]
pub(super) struct Scene {
    pub(super) joint: Joint,
    pub(super) transport: Transport,
    /// Who sends the data.
    pub(super) sender: End,
    pub(super) streams: u64,
    /// Mbit/s that are asked of each stream; none: as fast as it goes.
    pub(super) asked: Option<u64>,
    pub(super) peer: Peer,
    user: User,
    pub(super) view: View,
}

/// What joins the hosts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Joint {
    Cable,
    Router(Watch),
    /// One-way delay and rate of each direction.
    Relay {
        delay_ms: u64,
        mbps: u64,
    },
}

/// Whether a router reports what it counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Watch {
    Observed,
    Unseen,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Transport {
    /// With this congestion control.
    Tcp(&'static str),
    Udp,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum User {
    Root,
    Nobody,
}

/// Whether programs see their control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum View {
    Groups,
    NoGroups,
}

impl Scene {
    pub(super) fn draw(rng: &mut Rng) -> Self {
        let joint = Joint::draw(rng);
        let transport = Transport::draw(rng);
        let streams = if rng.u8(0..4) == 0 { 4 } else { 1 };
        Self {
            joint,
            transport,
            sender: if rng.bool() { End::Client } else { End::Server },
            streams,
            asked: asked(rng, joint, transport).map(|mbps| (mbps / streams).max(1)),
            peer: if rng.u8(0..4) == 0 { Peer::Iperf3 } else { Peer::Linerate },
            user: if rng.u8(0..4) == 0 { User::Nobody } else { User::Root },
            view: if rng.u8(0..4) == 0 { View::NoGroups } else { View::Groups },
        }
    }

    /// The same at a rate well below what everything there can carry.
    pub(super) fn paced(mut self, rng: &mut Rng) -> Self {
        self.asked = Some((rng.u64(5..=40) / self.streams).max(1));
        self
    }

    pub(super) fn is_tcp(&self) -> bool {
        self.transport != Transport::Udp
    }

    pub(super) fn receiver(&self) -> End {
        other(self.sender)
    }

    /// Whether an end reports nothing but its results.
    pub(super) fn is_silent(&self, end: End) -> bool {
        end == End::Server && self.peer == Peer::Iperf3
    }

    /// Mbit/s that can arrive at most; none: what the machine can do.
    pub(super) fn ceiling(&self) -> Option<u64> {
        let path = match self.joint {
            Joint::Relay { mbps, .. } => Some(mbps),
            Joint::Cable | Joint::Router(_) => None,
        };
        let asked = self.asked.map(|each| each * self.streams);
        path.into_iter().chain(asked).min()
    }

    /// One-way delay of a relay.
    pub(super) fn delay_ms(&self) -> u64 {
        match self.joint {
            Joint::Relay { delay_ms, .. } => delay_ms,
            Joint::Cable | Joint::Router(_) => 0,
        }
    }

    pub(super) fn router(&self) -> Option<Watch> {
        match self.joint {
            Joint::Router(watch) => Some(watch),
            Joint::Cable | Joint::Relay { .. } => None,
        }
    }

    /// What the relay does to frames without a fault, with the data's way for one.
    pub(super) fn cable(&self) -> Option<Cable> {
        let Joint::Relay { delay_ms, mbps } = self.joint else { return None };
        let way = match self.sender {
            End::Client => Way::There,
            End::Server => Way::Back,
        };
        let queue_ms = QUEUE_MS.max(2 * delay_ms);
        Some(Cable { delay_ms, rate_mbps: Some(mbps), queue_ms, way, ..Cable::default() })
    }

    pub(super) fn topology(&self) -> TopologyKind {
        match self.joint {
            Joint::Cable => TopologyKind::Cable,
            Joint::Router(_) => TopologyKind::Router,
            Joint::Relay { .. } => TopologyKind::Relay,
        }
    }

    /// Words of `linerate test`.
    pub(super) fn words(&self) -> String {
        self.words_for(self.time())
    }

    /// How long a test is. Slow start takes its time where round trips are long.
    pub(super) fn time(&self) -> Duration {
        Duration::from_secs(if self.delay_ms() > 5 { 3 } else { 2 })
    }

    /// Words of a test that is so long.
    pub(super) fn words_for(&self, time: Duration) -> String {
        let transport = match self.transport {
            Transport::Tcp(control) => format!("--tcp -C {control}"),
            Transport::Udp => "--udp".to_owned(),
        };
        let direction = match self.sender {
            End::Client => "--send",
            End::Server => "--receive",
        };
        let streams =
            if self.streams > 1 { format!(" -P {}", self.streams) } else { String::new() };
        let rate = self.asked.map_or_else(String::new, |mbps| format!(" -b {mbps}M"));
        let time = show_duration(time);
        format!("{transport} {direction}{streams}{rate} -t {time}")
    }

    /// What is there without a fault too.
    pub(super) fn steps(&self) -> Vec<Step> {
        let relay = self.cable().map(Step::Relay);
        let observe = (self.router() == Some(Watch::Observed)).then_some(Step::Observe {});
        let user = (self.user == User::Nobody).then_some(BOTH.map(|at| Step::Unprivileged { at }));
        let view = (self.view == View::NoGroups).then_some(BOTH.map(|at| Step::IpNetns { at }));
        let ends = user.into_iter().chain(view).flatten();
        relay.into_iter().chain(observe).chain(ends).collect()
    }

    /// What the kernel must permit for it.
    pub(super) fn needs(&self) -> Vec<Need> {
        match (self.transport, self.user) {
            (Transport::Udp, _) => Vec::new(),
            (Transport::Tcp(name), User::Root) => vec![Need::Congestion(name.to_owned())],
            (Transport::Tcp(name), User::Nobody) => vec![Need::AllowedCongestion(name.to_owned())],
        }
    }

    pub(super) fn is_unprivileged(&self) -> bool {
        self.user == User::Nobody
    }

    /// The router's interface through which data leave, and that of acknowledgements.
    pub(super) fn router_ways(&self) -> (At, At) {
        match self.sender {
            End::Client => (At::Router, At::RouterNear),
            End::Server => (At::RouterNear, At::Router),
        }
    }

    /// Where the router's limits are seen.
    pub(super) fn on_router(&self) -> On {
        if self.router() == Some(Watch::Observed) { On::Router } else { On::Path }
    }
}

impl Joint {
    fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..10) {
            0..3 => Self::Cable,
            3..5 => Self::Router(Watch::Observed),
            5..7 => Self::Router(Watch::Unseen),
            _ => {
                let delay_ms = if rng.u8(0..4) == 0 { 0 } else { rng.u64(1..=25) };
                Self::Relay { delay_ms, mbps: pick(rng, &RELAY_MBPS) }
            }
        }
    }
}

impl Transport {
    fn draw(rng: &mut Rng) -> Self {
        match rng.u8(0..10) {
            0..3 => Self::Udp,
            _ => Self::Tcp(pick(rng, &["cubic", "reno", "bbr"])),
        }
    }
}

/// Mbit/s of all streams together. A relay has no sender's queue before it: datagrams that it
/// cannot carry would hide whatever else drops them.
fn asked(rng: &mut Rng, joint: Joint, transport: Transport) -> Option<u64> {
    match (transport, joint) {
        (Transport::Udp, Joint::Relay { mbps, .. }) => Some(mbps * rng.u64(20..=70) / 100),
        (Transport::Udp, _) => rng.bool().then(|| rng.u64(100..=900)),
        (Transport::Tcp(_), Joint::Relay { mbps, .. }) => {
            (rng.u8(0..5) == 0).then(|| mbps * rng.u64(40..=80) / 100)
        }
        (Transport::Tcp(_), _) => (rng.u8(0..5) == 0).then(|| rng.u64(200..=900)),
    }
}

/// One of them.
pub(super) fn pick<T: Copy>(rng: &mut Rng, all: &[T]) -> T {
    all[rng.usize(0..all.len())]
}

pub(super) fn other(end: End) -> End {
    match end {
        End::Client => End::Server,
        End::Server => End::Client,
    }
}

pub(super) fn at(end: End) -> At {
    match end {
        End::Client => At::Client,
        End::Server => At::Server,
    }
}

pub(super) fn on(end: End) -> On {
    match end {
        End::Client => On::Client,
        End::Server => On::Server,
    }
}

const BOTH: [End; 2] = [End::Client, End::Server];
/// What a relay, which is a thread, can carry beside a test on a small machine.
const RELAY_MBPS: [u64; 5] = [50, 100, 200, 400, 800];
const QUEUE_MS: u64 = 20;
