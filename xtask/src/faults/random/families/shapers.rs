//! Queueing disciplines that let a fixed rate through: before data, and before acknowledgements.

use fastrand::Rng;

use super::super::super::scenario::Need;
use super::super::super::step::{At, Step};
use super::super::fault::{Family, Fault};
use super::super::scene::{Scene, Watch, at};
use super::rate_below;

pub(super) const FAMILIES: [Family; 4] = [
    Family { name: "shaper-sender", fits: |_| true, draw: at_sender },
    Family { name: "shaper-acks", fits: Scene::is_tcp, draw: acks_at_receiver },
    Family { name: "shaper-router", fits: has_router, draw: on_router },
    Family {
        name: "shaper-router-acks",
        fits: |scene| scene.is_tcp() && has_router(scene),
        draw: acks_on_router,
    },
];

fn has_router(scene: &Scene) -> bool {
    scene.router().is_some()
}

fn at_sender(rng: &mut Rng, scene: &Scene) -> Fault {
    data(rng, scene, at(scene.sender), "the sender").named(&["qdisc-limit"]).at_end_or_path(
        scene,
        scene.sender,
        unseen(scene),
    )
}

fn on_router(rng: &mut Rng, scene: &Scene) -> Fault {
    let rules = match scene.router() {
        Some(Watch::Observed) => &["qdisc-limit"],
        _ => unseen(scene),
    };
    data(rng, scene, scene.router_ways().0, "the router").named(rules).on_router(scene)
}

fn acks_at_receiver(rng: &mut Rng, scene: &Scene) -> Fault {
    let receiver = scene.receiver();
    acks(rng, at(receiver), "the receiver")
        .named(&["qdisc-limit", "ack-path-limited"])
        .at_end_or_path(scene, receiver, WAY_BACK)
}

fn acks_on_router(rng: &mut Rng, scene: &Scene) -> Fault {
    let rules = match scene.router() {
        Some(Watch::Observed) => &["qdisc-limit", "ack-path-limited"],
        _ => WAY_BACK,
    };
    acks(rng, scene.router_ways().1, "the router").named(rules).on_router(scene)
}

/// A queue that nobody sees stands on either way, as one row of TCP tells.
const WAY_BACK: &[&str] = &["ack-path-limited", "path-rate-limit"];

/// What names a rate of the path whose shaper nobody sees: datagrams above it are lost, segments
/// wait.
fn unseen(scene: &Scene) -> &'static [&'static str] {
    if scene.is_tcp() {
        &["path-rate-limit", "standing-queue"]
    } else {
        &["path-rate-limit", "udp-path-loss"]
    }
}

fn data(rng: &mut Rng, scene: &Scene, at: At, whose: &str) -> Fault {
    let mbps = rate_below(rng, scene);
    let burst = rng.u64(32..=256);
    let words = format!("{whose} shapes data to {mbps} Mbit/s");
    shaped(rng, at, &words, mbps * 1_000, burst)
}

fn acks(rng: &mut Rng, at: At, whose: &str) -> Fault {
    let kbps = rng.u64(100..=500);
    let words = format!("{whose} shapes acknowledgements to {kbps} kbit/s");
    shaped(rng, at, &words, kbps, 4)
}

fn shaped(rng: &mut Rng, at: At, words: &str, kbps: u64, burst_kb: u64) -> Fault {
    if rng.bool() {
        let latency = rng.u64(10..=100);
        let queue = format!("tbf rate {kbps}kbit burst {burst_kb}kb latency {latency}ms");
        let plant = vec![Step::Queue { at, words: queue, class: None }];
        Fault::new(format!("{words} (tbf)"), plant).needing(Need::Qdisc(TBF.to_owned()))
    } else {
        let class = Some(format!("parent 1: classid 1:1 htb rate {kbps}kbit"));
        let queue = "handle 1: htb default 1".to_owned();
        let plant = vec![Step::Queue { at, words: queue, class }];
        Fault::new(format!("{words} (htb)"), plant).needing(Need::Qdisc("htb".to_owned()))
    }
}

const TBF: &str = "tbf rate 100mbit burst 128kb latency 50ms";
