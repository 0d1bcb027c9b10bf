//! A device under test in namespaces: its throughput, whose limit it is, and what is left behind.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use lab::{Access, Device, DeviceKind, PORT_A, PORT_B};
use serde_json::Value;

use crate::support::{Finished, Running, child, eventually, linerate, list, program, run, skip};

const LINERATE: &str = env!("CARGO_BIN_EXE_linerate");

fn device(kind: DeviceKind) -> Option<Device> {
    if let Access::Forbidden { reason } = lab::prepare() {
        return skip(&reason);
    }
    let cpus = linux::host::allowed_cpus().expect("known");
    let cpu = cpus.get(1).copied().filter(|_| matches!(kind, DeviceKind::Slow { .. }));
    match Device::create(kind, cpu) {
        Ok(device) => Some(device),
        Err(error) => skip(&error.to_string()),
    }
}

/// A device that takes 200 us for each frame: 5,000 frames in a second pass.
fn slow() -> Option<Device> {
    device(DeviceKind::Slow { cost: Duration::from_micros(200) })
}

/// The program at the tester with these arguments, separated by spaces.
fn at_tester(device: &Device, line: &str) -> Command {
    let mut command = program(device.command(LINERATE));
    command.args(line.split_whitespace());
    command
}

fn command(device: &Device, options: &str) -> Command {
    let ports = format!("--port-a {PORT_A} --port-b {PORT_B} --cpus 0,0");
    at_tester(device, &format!("dut {ports} {options}"))
}

fn short(device: &Device, options: &str) -> Finished {
    run(command(device, &format!("--final-trial 200ms --budget 8s --width 5% {options}")))
}

/// What ip(8) says of the tester's interfaces.
fn links(device: &Device) -> String {
    let shown = device.command("ip").args(["-details", "link"]).output().expect("iproute2");
    String::from_utf8(shown.stdout).expect("text")
}

fn number(value: &Value, pointer: &str) -> f64 {
    value.pointer(pointer).and_then(Value::as_f64).unwrap_or_else(|| panic!("{pointer}: {value:#}"))
}

#[test]
fn the_throughput_of_a_known_device_is_found_and_the_device_named() {
    let Some(device) = slow() else { return };
    let finished = short(&device, "--sizes 64 --json");
    // Other tests of this machine may disturb the tester.
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let record = finished.json();
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/dut.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("a schema"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    schema.validate(&record).unwrap_or_else(|error| panic!("{error}: {record:#}"));
    let limit = &record["rows"][0]["limit"];
    if limit["stamp"] == "INVALID" {
        // Other tests took the tester's CPU.
        assert_eq!(limit["who"], "tester", "{record:#}");
        return;
    }
    assert!(matches!(limit["who"].as_str(), Some("device")), "{record:#}");
    let frames = number(&record, "/rows/0/goals/0/lower_bits_per_second") / 512.0;
    assert!((1_000.0..5_300.0).contains(&frames), "{frames} of 5000: {record:#}");
    assert_eq!(record["rows"][0]["latency"].as_array().map(Vec::len), Some(4), "{record:#}");
    assert!(number(&record, "/rows/0/latency/1/latency/p50_nanos") > 100_000.0, "{record:#}");
    assert!(number(&record, "/rows/0/back_to_back/frames") >= 1.0, "{record:#}");
}

#[test]
fn a_router_is_found_by_arp_and_both_directions_are_measured() {
    let Some(device) = device(DeviceKind::Router { rules: 0 }) else { return };
    let gateways = format!(
        "--gateway {} --gateway-b {}",
        device.gateway().expect("it routes"),
        device.gateway_b().expect("it routes")
    );
    let options = format!("{gateways} --direction all --sizes 128 --loss 0.5% --burst 0s");
    let finished = short(&device, &format!("{options} -v"));
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    finished.assert_prints(&["128 B", "A to B", "B to A", "both", "LIMIT"]);
    short(&device, "--sizes 64 --gateway 198.18.0.1")
        .assert_complaint(2, &["198.18.0.1 is the address of port-a itself"]);
    short(&device, "--sizes 64 --gateway 198.18.0.77")
        .assert_complaint(1, &["no answer from 198.18.0.77"]);
}

#[test]
fn nat_is_measured_the_way_back_too_by_what_it_has_opened() {
    let Some(device) = device(DeviceKind::Nat) else { return };
    let back = format!("--from {PORT_B} --to {PORT_A} --gateway 198.19.0.254 --cpus 0,0");
    let unasked = run(at_tester(&device, &format!("packets {back} --pps 1000 -t 300ms --json")));
    assert_eq!(unasked.json()["received"]["frames"], 0, "{unasked:?}");
    let options = "--gateway 198.18.0.254 --gateway-b 198.19.0.254 --direction all --sizes 128";
    let finished = short(&device, &format!("{options} --loss 0.5% --burst 0s --json"));
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let record = finished.json();
    let rows = list(&record["rows"]);
    assert_eq!(rows.len(), 3, "{record:#}");
    for row in rows {
        // How many of the frames depends on what else this machine does.
        let arrives = |trial: &Value| trial["delivered_bits_per_second"].as_f64() > Some(0.0);
        assert!(list(&row["trials"]).iter().any(arrives), "{row:#}");
    }
    short(&device, &format!("{options} --flows 2")).assert_complaint(2, &["leave --flows out"]);
}

#[test]
fn a_program_on_the_testers_cpu_is_named_and_makes_the_result_invalid() {
    let Some(device) = slow() else { return };
    let mut hog = program(Command::new("sh"));
    hog.args(["-c", "exec taskset -c 0 sh -c 'while :; do :; done'"]);
    let hog = Running::start(hog);
    let finished = short(&device, "--sizes 64 --loss 0 --burst 0s --json");
    drop(hog);
    assert_eq!(finished.code, Some(3), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["rows"][0]["limit"]["who"], "tester", "{record:#}");
    assert_eq!(record["rows"][0]["limit"]["stamp"], "INVALID", "{record:#}");
}

#[test]
fn nothing_is_left_at_the_ports_when_it_is_interrupted_or_killed() {
    let Some(device) = slow() else { return };
    let links = || links(&device);
    eventually("carriers", || links().matches("state UP").count() == 2);
    let before = links();
    assert!(!before.contains("xdp"), "{before}");
    let resetting = Running::start(command(&device, "--sizes 64 --json -q --reset sleep${IFS}99"));
    eventually("the reset", || child(resetting.id()).is_some());
    resetting.signal("INT");
    let finished = resetting.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    for signal in ["INT", "KILL"] {
        let running = Running::start(command(&device, "--sizes 64 --json --quiet"));
        eventually("a program at a port", || links().contains("prog/xdp"));
        running.signal(signal);
        let finished = running.finish();
        if signal == "INT" {
            assert_eq!(finished.code, Some(130), "{finished:?}");
            assert_eq!(finished.json()["interrupted"], true);
        }
        assert_eq!(links(), before, "after {signal}");
    }
}

#[test]
fn what_cannot_be_measured_is_said_in_a_sentence() {
    let Some(device) = device(DeviceKind::Bridge) else { return };
    for (options, code, words) in [
        ("--port-a port-a --port-b port-a", 2, "two ports"),
        ("--port-a port-a --port-b nowhere", 2, "no interface nowhere"),
        ("--port-a port-a --port-b lo", 2, "no Ethernet address"),
        ("--port-a port-a --port-b port-b --sizes 63", 2, "'63' is no size: choose 64"),
        ("--port-a port-a --port-b port-b --sizes 64,", 2, "'' is no size"),
        (
            "--port-a port-a --port-b port-b --gateway 198.18.0.254 --direction all",
            2,
            "--gateway-b",
        ),
        ("--port-a port-a --port-b port-b --observe 127.0.0.1:1", 1, "does not answer at port 1"),
        ("--port-a port-a --port-b port-b --sizes 9000", 2, "exceeds the MTU"),
        ("--port-a port-a --port-b port-b --gateway 198.18.0.254", 2, "has no address"),
        ("--port-a port-a --port-b port-b --reset false", 1, "--reset failed"),
    ] {
        run(at_tester(&device, &format!("dut {options}"))).assert_complaint(code, &[words]);
    }
    run(linerate("dut --port-a a")).assert_complaint(2, &["--port-b"]);
}

/// Default routes: over the port, in two halves, in another table; over a VLAN on it, a macvlan on it,
/// and a bridge that it is a port of.
#[test]
fn a_link_that_others_need_is_refused() {
    let Some(device) = device(DeviceKind::Router { rules: 0 }) else { return };
    let gateway = device.gateway().expect("it routes");
    let on = |name: &str, kind: &str| {
        format!(
            "ip link add link port-a name {name} {kind} && ip link set {name} up && ip route add default dev {name}"
        )
    };
    let ways = [
        (format!("ip route add default via {gateway}"), "ip route del default".to_owned()),
        (
            format!("ip route add 0.0.0.0/1 via {gateway}"),
            "ip route del 0.0.0.0/1".to_owned(),
        ),
        (
            format!("ip route add default via {gateway} table 77"),
            "ip route flush table 77".to_owned(),
        ),
        (on("vlan7", "type vlan id 7"), "ip link del vlan7".to_owned()),
        (on("mac7", "type macvlan"), "ip link del mac7".to_owned()),
        (
            "ip link add bridge7 type bridge && ip link set bridge7 up && ip link set port-a master bridge7 && ip route add default dev bridge7".to_owned(),
            "ip link del bridge7".to_owned(),
        ),
    ];
    let shell = |script: &str| {
        let done = device.command("sh").args(["-c", script]).status();
        done.is_ok_and(|status| status.success())
    };
    for (make, take_back) in ways {
        // A kernel may lack a kind of device.
        if !shell(&make) {
            shell(&take_back);
            continue;
        }
        for line in ["dut --port-a port-a --port-b port-b", "packets --from port-a --to port-b"] {
            let finished = run(at_tester(&device, line));
            finished.assert_complaint(2, &["default route", "--i-own-this-link"]);
        }
        assert!(shell(&take_back), "{take_back}");
    }
}

#[test]
fn a_device_that_is_observed_tells_what_its_rules_cost() {
    let Some(device) = device(DeviceKind::Router { rules: 2_000 }) else { return };
    let gateway = device.gateway().expect("it routes");
    let mut serve = program(device.device_command(LINERATE));
    serve.args(["serve", "--observe"]);
    let mut server = Running::start(serve);
    server
        .await_line(Duration::from_secs(10), |line| line.contains("listens"))
        .expect("it listens");
    let options = format!("--sizes 64 --loss 0.5% --burst 0s --gateway {gateway}");
    let finished = short(&device, &format!("{options} --observe {gateway} --json"));
    assert!(matches!(finished.code, Some(0 | 3)), "{finished:?}");
    let record = finished.json();
    if record["rows"][0]["limit"]["who"] == "tester" {
        // Other tests took the tester's CPU: nothing overloaded the device.
        return;
    }
    let seen = &record["rows"][0]["device"];
    assert_eq!(seen["name"], gateway.to_string(), "{record:#}");
    if seen["filter_share"].is_null() {
        // The kernel permits no samples here.
        return;
    }
    assert!(number(seen, "/filter_share") > 0.0, "{seen:#}");
    assert!(number(seen, "/filter_nanos_per_frame") > 0.0, "{seen:#}");
}

#[test]
fn ports_without_a_carrier_and_ports_that_go_away_are_named() {
    let Some(device) = device(DeviceKind::Router { rules: 0 }) else { return };
    let gateway = device.gateway().expect("it routes");
    let set = |name: &str, state: &str| {
        let mut ip = device.command("ip");
        assert!(ip.args(["link", "set", name, state]).status().expect("iproute2").success());
    };
    let mut down = device.device_command("ip");
    assert!(down.args(["link", "set", "device-a", "down"]).status().expect("iproute2").success());
    short(&device, &format!("--sizes 64 --gateway {gateway}")).assert_complaint(1, &["no carrier"]);
    let mut up = device.device_command("ip");
    assert!(up.args(["link", "set", "device-a", "up"]).status().expect("iproute2").success());
    let running = Running::start(command(&device, &format!("--sizes 64 --gateway {gateway} -q")));
    eventually("programs at the ports", || links(&device).contains("prog/xdp"));
    set("port-b", "down");
    let finished = running.finish();
    finished.assert_complaint(1, &["interface port-b is down"]);
}

#[test]
fn a_device_that_passes_nothing_gives_no_valid_result() {
    let Some(device) = device(DeviceKind::None) else { return };
    let finished = short(&device, "--sizes 64");
    assert_eq!(finished.code, Some(3), "{finished:?}");
    finished.assert_prints(&["INVALID", "Not known (64 B): no frame came", "--gateway"]);
}

#[test]
fn a_port_that_another_linerate_uses_is_refused() {
    let Some(device) = slow() else { return };
    // A count holds its port for all of its time; a search takes the ports again for each trial.
    let count = "packets --from port-a --to port-b --count-only --pps 100 -t 5m -q";
    let _count = Running::start(at_tester(&device, count));
    eventually("a program at the port", || links(&device).contains("prog/xdp"));
    short(&device, "--sizes 64").assert_complaint(1, &["is another linerate running"]);
}
