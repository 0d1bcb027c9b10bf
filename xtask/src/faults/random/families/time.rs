//! Programs that do not get the CPU time that they need.

use fastrand::Rng;

use super::super::super::scenario::{Need, Peer};
use super::super::super::step::{End, Step};
use super::super::fault::{Family, Fault};
use super::super::scene::{Joint, Scene, View, pick};
use crate::hosts::plant::Class;

pub(super) const FAMILIES: [Family; 7] = [
    Family {
        name: "quota",
        fits: |scene| is_fast(scene) && scene.view == View::Groups,
        draw: quota,
    },
    Family {
        name: "quota-hidden",
        fits: |scene| is_fast(scene) && scene.view == View::NoGroups,
        draw: quota_hidden,
    },
    Family { name: "hog", fits: is_fast, draw: hog },
    Family { name: "hog-real-time", fits: is_fast, draw: real_time_hog },
    Family { name: "stopped", fits: |_| true, draw: stopped },
    Family { name: "slow-reader", fits: is_read_by_server, draw: slow },
    Family { name: "one-cpu", fits: is_fast, draw: one_cpu },
];

/// What joins the hosts takes little CPU time itself.
fn is_short(scene: &Scene) -> bool {
    !matches!(scene.joint, Joint::Relay { .. })
}

/// The CPUs are what limits it.
fn is_fast(scene: &Scene) -> bool {
    scene.ceiling().is_none_or(|mbps| mbps >= MUCH_MBPS) && is_short(scene)
}

fn is_read_by_server(scene: &Scene) -> bool {
    scene.is_tcp() && scene.receiver() == End::Server && is_short(scene)
}

fn quota(rng: &mut Rng, scene: &Scene) -> Fault {
    let (end, percent) = (end(rng), rng.u32(20..=60));
    let words = format!("the control group of {end:?} has {percent} % of a CPU");
    Fault::new(words, vec![Step::Quota { at: end, percent }])
        .needing(Need::Quota)
        .named(&["cgroup-cpu-quota"])
        .of_a_program(scene, end)
}

/// What is not visible cannot be counted: then that something holds the program back is right.
fn quota_hidden(rng: &mut Rng, scene: &Scene) -> Fault {
    let mut fault = quota(rng, scene);
    fault.rules.push("run-delay");
    fault
}

fn hog(rng: &mut Rng, scene: &Scene) -> Fault {
    busy(rng, scene, Class::Normal).needing(Need::Cpus(2))
}

fn real_time_hog(rng: &mut Rng, scene: &Scene) -> Fault {
    let fault = busy(rng, scene, Class::RealTime);
    Fault { needs: vec![Need::Cpus(2), Need::RealTime], ..fault }
}

fn busy(rng: &mut Rng, scene: &Scene, class: Class) -> Fault {
    let end = end(rng);
    let base = [End::Client, End::Server].map(|at| Step::Pin { at, cpu: cpu_of(at) });
    let plant = vec![Step::Hog { cpu: cpu_of(end), class }];
    Fault::new(format!("a loop ({class:?}) is busy on the CPU of {end:?}"), plant)
        .based_on(base.to_vec())
        .named(&["run-delay", "other-processes"])
        .of_a_program(scene, end)
}

fn stopped(rng: &mut Rng, scene: &Scene) -> Fault {
    let stop_ms = rng.u64(100..=400);
    let plant = vec![Step::Stop { at: End::Server, run_ms: 1_000 - stop_ms, stop_ms }];
    Fault::new(format!("the server is stopped for {stop_ms} ms of each second"), plant)
        .named(&["process-stopped"])
        .of_a_program(scene, End::Server)
}

fn slow(rng: &mut Rng, scene: &Scene) -> Fault {
    let micros = rng.u32(1_000..=8_000);
    let calls = match scene.peer {
        Peer::Linerate => "read,recvfrom,recvmsg",
        Peer::Iperf3 => "read",
    };
    let plant = vec![Step::Slow { at: End::Server, calls: calls.to_owned(), micros }];
    Fault::new(format!("each read of the server takes {micros} us more"), plant)
        .needing(Need::Program("strace".to_owned()))
        .named(&["receive-window-limited", "process-stopped"])
        .at_end(scene, End::Server)
}

fn one_cpu(_: &mut Rng, _: &Scene) -> Fault {
    let plant = [End::Client, End::Server].map(|at| Step::Pin { at, cpu: 0 });
    Fault::new("both programs run on one CPU", plant.to_vec()).needing(Need::Cpus(2)).named(&[
        "run-delay",
        "other-processes",
        "cpu-saturated",
        "single-thread-saturated",
        "worker-saturated",
    ])
}

fn end(rng: &mut Rng) -> End {
    pick(rng, &[End::Client, End::Server])
}

fn cpu_of(end: End) -> u32 {
    match end {
        End::Client => 0,
        End::Server => 1,
    }
}

/// More than a part of a CPU sends on a small machine.
const MUCH_MBPS: u64 = 700;
