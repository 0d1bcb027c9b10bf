//! The families of faults: a line for each file of them.

mod buffers;
mod drops;
mod policers;
mod shapers;
mod time;
mod wire;

use fastrand::Rng;

use super::super::step::{At, Step};
use super::fault::Family;
use super::scene::Scene;

/// All of them.
pub(super) fn all() -> impl Iterator<Item = &'static Family> {
    let files: [&'static [Family]; 6] = [
        &shapers::FAMILIES,
        &policers::FAMILIES,
        &drops::FAMILIES,
        &buffers::FAMILIES,
        &time::FAMILIES,
        &wire::FAMILIES,
    ];
    files.into_iter().flatten()
}

/// Mbit/s that are less than what arrives otherwise.
fn rate_below(rng: &mut Rng, scene: &Scene) -> u64 {
    let most = scene.ceiling().map_or(900, |mbps| (mbps * 3 / 5).min(900));
    rng.u64(20.min(most)..=most)
}

/// Packets of the test, as iptables matches them. What opens a stream of datagrams is short, and
/// an iperf3 sends it once.
fn matched(scene: &Scene) -> &'static str {
    if scene.is_tcp() { "-p tcp" } else { "-p udp -m length --length 256:65535" }
}

/// Segments leave one by one.
fn uncut(at: At) -> Step {
    Step::Offloads { at, words: "tso off gso off".to_owned() }
}
