//! The link and what else is on it: packets that are too large for it, offloads, a neighbour.

use fastrand::Rng;

use super::super::super::expected::On;
use super::super::super::scenario::Need;
use super::super::super::step::{At, End, Step, Table};
use super::super::fault::{Family, Fault};
use super::super::scene::{Joint, Scene, at};
use super::uncut;

pub(super) const FAMILIES: [Family; 3] = [
    Family { name: "mtu-black-hole", fits: |scene| scene.router().is_some(), draw: black_hole },
    Family { name: "offloads", fits: is_fast, draw: offloads },
    Family {
        name: "neighbour",
        fits: |scene| scene.asked.is_none() && scene.is_tcp(),
        draw: neighbour,
    },
];

/// The CPUs are what limits it.
fn is_fast(scene: &Scene) -> bool {
    scene.is_tcp() && scene.ceiling().is_none()
}

/// Nobody tells the sender that its packets are too large (RFC 2923, section 2.1).
fn black_hole(rng: &mut Rng, scene: &Scene) -> Fault {
    let (out, bytes) = (scene.router_ways().0, rng.u32(1_200..=1_400));
    let silence = "-A OUTPUT -p icmp --icmp-type fragmentation-needed -j DROP".to_owned();
    let plant = vec![
        Step::InterfaceMtu { at: out, bytes },
        Step::Firewall { at: At::Router, table: Table::Filter, rules: vec![silence], times: 1 },
    ];
    let words = format!("the router's link takes {bytes} bytes and it reports no larger packet");
    let mut fault = Fault::new(words, plant)
        .named(&["path-mtu-black-hole", "path-mtu-exceeded"])
        .on_router(scene);
    if !fault.on.contains(&On::Path) {
        fault.on.push(On::Path);
    }
    fault
}

fn offloads(rng: &mut Rng, scene: &Scene) -> Fault {
    if rng.bool() {
        let (end, at) = (scene.sender, at(scene.sender));
        let words = if rng.bool() { "tso off gso off" } else { "tx off" };
        let plant = vec![Step::Offloads { at, words: words.to_owned() }];
        Fault::new(format!("the sender has {words}"), plant)
            .named(&["tso-off", "checksum-offload-off", "checksum-cost", "packet-processing-cost"])
            .of_a_cpu(scene, end)
    } else {
        let own = at(scene.receiver());
        let words = "gro off".to_owned();
        let on = Step::Offloads { at: own, words: "gro on".to_owned() };
        Fault::new("the receiver has gro off", vec![Step::Offloads { at: own, words }])
            .based_on(vec![uncut(at(scene.sender)), on])
            .named(&["gro-off", "gro-not-merging", "packet-processing-cost", "tso-off"])
            .at_either_end(scene)
    }
}

/// A link that both share: the relay, or a shaper. The shaper is a limit too, whose removal gains
/// more.
fn neighbour(rng: &mut Rng, scene: &Scene) -> Fault {
    let direction = if scene.sender == End::Client { "--send" } else { "--receive" };
    let streams = rng.u32(1..=4);
    let traffic = format!("--tcp {direction} -P {streams} -t 8s");
    let fault = Fault::new(
        format!("{streams} other streams over the same link"),
        vec![Step::Traffic { words: traffic }],
    );
    let fault = fault.named(&["foreign-traffic"]);
    if matches!(scene.joint, Joint::Relay { .. }) {
        return fault;
    }
    let mbps = rng.u32(50..=500);
    let words = format!("tbf rate {mbps}mbit burst 256kb latency 50ms");
    let need = Need::Qdisc(words.clone());
    let link = Step::Queue { at: at(scene.sender), words, class: None };
    let mut fault = fault.based_on(vec![link]).needing(need);
    fault.rules.push("qdisc-limit");
    if scene.is_silent(scene.sender) {
        // That shaper is seen from the other end as the path's.
        fault.rules.extend(["standing-queue", "path-rate-limit"]);
    }
    fault
}
