//! Packets that are dropped at random: by a router, by the sender's host, by a relay.

use fastrand::Rng;

use super::super::super::scenario::{Need, Peer};
use super::super::super::step::{At, Cable, End, Step, Table};
use super::super::fault::{Family, Fault};
use super::super::scene::{Joint, Scene, Transport, Watch, at};
use super::{matched, uncut};

pub(super) const FAMILIES: [Family; 5] = [
    Family { name: "router-drops", fits: |scene| scene.router().is_some(), draw: forward },
    Family { name: "sender-drops", fits: Scene::is_tcp, draw: output },
    Family { name: "loss", fits: is_sensitive, draw: loss },
    Family {
        name: "reordering",
        fits: |scene| scene.is_tcp() && is_relayed(scene),
        draw: reordering,
    },
    Family { name: "duplicates", fits: is_sensitive, draw: duplicates },
];

/// Segments go one by one there, and the relay is a thread. An iperf3 sends once what opens a stream
/// of datagrams.
fn is_relayed(scene: &Scene) -> bool {
    let opens = scene.is_tcp() || scene.peer == Peer::Linerate;
    opens && matches!(scene.joint, Joint::Relay { mbps, .. } if mbps <= 400)
}

/// Loss costs TCP more the longer a round trip is (Mathis et al., 1997), and BBR little.
fn is_sensitive(scene: &Scene) -> bool {
    let is_slowed = match (scene.transport, scene.joint) {
        (Transport::Tcp(control), Joint::Relay { delay_ms, mbps }) => {
            control != "bbr" && delay_ms >= 2 && mbps >= 100
        }
        _ => true,
    };
    is_slowed && is_relayed(scene)
}

fn forward(rng: &mut Rng, scene: &Scene) -> Fault {
    let (out, interface) = match scene.router_ways().0 {
        At::RouterNear => (At::RouterNear, "left0"),
        _ => (At::Router, "right0"),
    };
    let rules = match scene.router() {
        Some(Watch::Observed) => &["forward-drops"],
        _ => lost(scene),
    };
    dropped(rng, scene, out, &format!("FORWARD -o {interface}")).named(rules).on_router(scene)
}

/// A datagram that is dropped there is an error of its sender (EPERM), which ends its stream.
fn output(rng: &mut Rng, scene: &Scene) -> Fault {
    dropped(rng, scene, at(scene.sender), "OUTPUT")
        .named(&["output-drops", "tx-drops", "tcp-path-loss"])
        .at_end_or_path(scene, scene.sender, lost(scene))
}

fn dropped(rng: &mut Rng, scene: &Scene, at: At, chain: &str) -> Fault {
    let (share, matched) = (share(rng, scene), matched(scene));
    let statistic = format!("-m statistic --mode random --probability {share:.4}");
    let rules = vec![format!("-A {chain} {matched} {statistic} -j DROP")];
    let words = format!("{:.1} % of packets are dropped in {chain}", 100.0 * share);
    Fault::new(words, vec![Step::Firewall { at, table: Table::Filter, rules, times: 1 }])
        .needing(Need::Firewall(format!("-A OUTPUT {statistic} -j DROP")))
}

fn loss(rng: &mut Rng, scene: &Scene) -> Fault {
    let loss = share(rng, scene);
    let words = format!("the path loses {:.1} %", 100.0 * loss);
    impaired(scene, words, |cable| Cable { loss, ..cable }).named(lost(scene))
}

fn reordering(rng: &mut Rng, scene: &Scene) -> Fault {
    let (share, held_ms) = (rounded(rng, 10, 100), rng.u64(5..=30));
    let words = format!("the path holds back {:.1} % for {held_ms} ms", 100.0 * share);
    impaired(scene, words, |cable| Cable { reorder: share, held_ms, ..cable })
        .named(&["packet-reordering"])
}

/// Copies alone cost a path nothing that datagrams need.
fn duplicates(rng: &mut Rng, scene: &Scene) -> Fault {
    let duplicate = rounded(rng, 30, 300);
    let loss = if scene.is_tcp() { rounded(rng, 1, 20) } else { share(rng, scene) };
    let words =
        format!("the path loses {:.1} % and duplicates {:.1} %", 100.0 * loss, 100.0 * duplicate);
    impaired(scene, words, |cable| Cable { loss, duplicate, ..cable }).named(lost(scene))
}

fn impaired(scene: &Scene, words: String, change: impl Fn(Cable) -> Cable) -> Fault {
    let cable = change(scene.cable().unwrap_or_default());
    let base = [End::Client, End::Server].map(|end| uncut(at(end)));
    Fault::new(words, vec![Step::Relay(cable)]).based_on(base.to_vec()).on_path()
}

/// A few of a thousand cost TCP much; datagrams are lost one by one.
fn share(rng: &mut Rng, scene: &Scene) -> f64 {
    if scene.is_tcp() { rounded(rng, 1, 30) } else { rounded(rng, 130, 300) }
}

/// So many thousandths.
fn rounded(rng: &mut Rng, least: u32, most: u32) -> f64 {
    f64::from(rng.u32(least..=most)) / 1_000.0
}

fn lost(scene: &Scene) -> &'static [&'static str] {
    if scene.is_tcp() { &["tcp-path-loss"] } else { &["udp-path-loss"] }
}
