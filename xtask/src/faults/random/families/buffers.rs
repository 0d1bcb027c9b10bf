//! Buffers and windows that are smaller than what is under way.

use fastrand::Rng;

use super::super::super::step::{End, Step};
use super::super::fault::{Family, Fault};
use super::super::scene::{Joint, Scene, at, pick};

pub(super) const FAMILIES: [Family; 5] = [
    Family { name: "udp-buffer", fits: |scene| !scene.is_tcp(), draw: datagrams },
    Family { name: "tcp-rmem", fits: is_far, draw: receiver },
    Family { name: "tcp-wmem", fits: is_far, draw: sender },
    Family { name: "tcp-window-asked", fits: is_far, draw: asked },
    Family { name: "no-window-scaling", fits: is_far, draw: unscaled },
];

/// More is under way than the largest of these buffers holds.
fn is_far(scene: &Scene) -> bool {
    matches!(scene.joint, Joint::Relay { delay_ms, mbps } if delay_ms >= 5 && mbps >= 200)
        && scene.is_tcp()
        && scene.streams == 1
}

fn datagrams(rng: &mut Rng, scene: &Scene) -> Fault {
    let kbytes = rng.u64(1..=16);
    Fault::new(format!("sockets hold {kbytes} KiB"), vec![Step::Words(format!("-w {kbytes}K"))])
        .named(&["udp-receive-buffer"])
        .at_end(scene, scene.receiver())
}

fn receiver(rng: &mut Rng, scene: &Scene) -> Fault {
    limited(rng, scene, scene.receiver(), "tcp_rmem").named(&["receive-window-limited"])
}

fn sender(rng: &mut Rng, scene: &Scene) -> Fault {
    limited(rng, scene, scene.sender, "tcp_wmem").named(&["send-buffer-limited"])
}

fn limited(rng: &mut Rng, scene: &Scene, end: End, name: &str) -> Fault {
    let most = pick(rng, &[65_536_u64, 98_304, 131_072, 196_608, 262_144]);
    let value = format!("4096 {} {most}", most / 2);
    let words = format!("{name} of {end:?} is at most {most}");
    let name = format!("ipv4/{name}");
    Fault::new(words, vec![Step::Sysctl { at: at(end), name, value }]).at_end(scene, end)
}

fn asked(rng: &mut Rng, _: &Scene) -> Fault {
    let kbytes = pick(rng, &[32, 64, 128]);
    let plant = vec![Step::Words(format!("-w {kbytes}K"))];
    Fault::new(format!("the test asks for buffers of {kbytes} KiB"), plant).named(&[
        "receive-window-limited",
        "send-buffer-limited",
        "socket-buffer-below-bdp",
    ])
}

fn unscaled(rng: &mut Rng, _: &Scene) -> Fault {
    let end = pick(rng, &[End::Client, End::Server]);
    let name = "ipv4/tcp_window_scaling".to_owned();
    let plant = vec![Step::Sysctl { at: at(end), name, value: "0".to_owned() }];
    Fault::new(format!("{end:?} does not scale windows"), plant)
        .named(&["tcp-options-missing", "receive-window-limited"])
}
