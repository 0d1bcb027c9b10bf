//! Limits that drop what exceeds them, at the receiver of data.

use fastrand::Rng;

use super::super::super::scenario::Need;
use super::super::super::step::{Step, Table};
use super::super::fault::{Family, Fault};
use super::super::scene::{Scene, at};
use super::{matched, rate_below};

pub(super) const FAMILIES: [Family; 3] = [
    Family { name: "policer-ingress", fits: |_| true, draw: ingress },
    Family { name: "policer-prerouting", fits: |_| true, draw: prerouting },
    Family { name: "policer-input", fits: |_| true, draw: input },
];

fn ingress(rng: &mut Rng, scene: &Scene) -> Fault {
    let (mbps, burst_kbytes) = (rate_below(rng, scene), rng.u64(128..=512));
    let kbytes = mbps * 1_000 / 8;
    let plant = vec![Step::Police { at: at(scene.receiver()), kbytes, burst_kbytes }];
    Fault::new(format!("the receiver polices its ingress to {mbps} Mbit/s"), plant)
        .needing(Need::Policer)
        .named(&["ingress-drops"])
        .at_end_or_path(scene, scene.receiver(), far(scene))
}

fn prerouting(rng: &mut Rng, scene: &Scene) -> Fault {
    filtered(rng, scene, Table::Raw, "PREROUTING")
}

fn input(rng: &mut Rng, scene: &Scene) -> Fault {
    filtered(rng, scene, Table::Filter, "INPUT")
}

/// By bytes, with as much in one burst as in a second (the least that it takes), or by packets.
fn filtered(rng: &mut Rng, scene: &Scene, table: Table, chain: &str) -> Fault {
    let limit = if rng.bool() {
        let kbytes = rate_below(rng, scene).min(400) * 1_000 / 8;
        format!("--hashlimit-above {kbytes}kb/s --hashlimit-burst {}kb", kbytes + 64)
    } else {
        let packets = rng.u64(500..=5_000);
        format!("--hashlimit-above {packets}/second --hashlimit-burst {}", packets / 10)
    };
    let matched = matched(scene);
    let rule = format!("-A {chain} {matched} -m hashlimit --hashlimit-name x {limit} -j DROP");
    let words = format!("the receiver drops in {chain} what exceeds {limit}");
    let plant = vec![Step::Firewall {
        at: at(scene.receiver()),
        table,
        rules: vec![rule.clone()],
        times: 1,
    }];
    Fault::new(words, plant)
        .needing(Need::Firewall(
            "-A INPUT -m hashlimit --hashlimit-name x --hashlimit-above 9/second -j DROP"
                .to_owned(),
        ))
        .named(&["input-drops"])
        .at_end_or_path(scene, scene.receiver(), far(scene))
}

/// What names it where the receiver is an iperf3.
fn far(scene: &Scene) -> &'static [&'static str] {
    if scene.is_tcp() {
        &["path-rate-limit", "tcp-path-loss"]
    } else {
        &["path-rate-limit", "udp-path-loss"]
    }
}
