//! Meshes of real hosts: network namespaces on one bridge, each link of which is shaped.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use serde_json::Value;

use crate::shared::{Directory, Finished, Running, linerate, run, skip, until};

/// Hosts in namespaces, named by ip-netns(8), at one bridge.
pub(super) struct Fabric {
    directory: Directory,
    tag: String,
    hosts: u32,
}

impl Fabric {
    /// None: this system does not let the test make namespaces.
    pub(super) fn new(name: &str, hosts: u32, megabits: u32) -> Option<Self> {
        let tag = format!("mesh{}{name}", std::process::id());
        let fabric = Self { directory: Directory::new(&tag), tag, hosts };
        let bridge = fabric.name(0);
        if !ip(&format!("netns add {bridge}")) {
            return skip("no namespace can be made by ip-netns(8)");
        }
        assert!(ip(&format!("-n {bridge} link add br0 type bridge")));
        assert!(ip(&format!("-n {bridge} link set br0 up")));
        let mut lines = String::new();
        for host in 1..=hosts {
            let name = fabric.name(host);
            for command in [
                format!("netns add {name}"),
                format!("-n {name} link set lo up"),
                format!("-n {bridge} link add p{host} type veth peer name eth0 netns {name}"),
                format!("-n {bridge} link set p{host} master br0 up"),
                format!("-n {name} addr add 10.77.0.{host}/24 dev eth0"),
                format!("-n {name} link set eth0 up"),
            ] {
                assert!(ip(&command), "ip {command}");
            }
            fabric.shape(host, megabits);
            lines.extend([name.as_str(), " 10.77.0.", &host.to_string(), "\n"]);
        }
        fs::write(fabric.file("hosts"), lines).expect("a file");
        Some(fabric)
    }

    /// An address for who coordinates, in the namespace of the bridge, which is number 0.
    pub(super) fn coordinator(&self, address: u32) {
        let bridge = self.name(0);
        assert!(ip(&format!("-n {bridge} link set lo up")));
        assert!(ip(&format!("-n {bridge} addr add 10.77.0.{address}/24 dev br0")));
    }

    /// A second link and address for each host, shaped likewise.
    fn second_links(&self, megabits: u32) {
        let bridge = self.name(0);
        assert!(ip(&format!("-n {bridge} link add br1 type bridge")));
        assert!(ip(&format!("-n {bridge} link set br1 up")));
        let mut lines = String::new();
        for host in 1..=self.hosts {
            let name = self.name(host);
            for command in [
                format!("-n {bridge} link add q{host} type veth peer name eth1 netns {name}"),
                format!("-n {bridge} link set q{host} master br1 up"),
                format!("-n {name} addr add 10.78.0.{host}/24 dev eth1"),
                format!("-n {name} link set eth1 up"),
            ] {
                assert!(ip(&command), "ip {command}");
            }
            self.shape_link(host, ["eth1", "q"], megabits);
            let further = format!(" 10.77.0.{host},10.78.0.{host}\n");
            lines.extend([name, further]);
        }
        fs::write(self.file("hosts"), lines).expect("a file");
    }

    pub(super) fn name(&self, host: u32) -> String {
        format!("{}-{host}", self.tag)
    }

    pub(super) fn file(&self, name: &str) -> PathBuf {
        self.directory.file(name)
    }

    /// Limits what a host sends and receives.
    fn shape(&self, host: u32, megabits: u32) {
        self.shape_link(host, ["eth0", "p"], megabits);
    }

    fn shape_link(&self, host: u32, [of_host, of_bridge]: [&str; 2], megabits: u32) {
        let limit = format!("root tbf rate {megabits}mbit burst 256kb latency 50ms");
        let (name, bridge) = (self.name(host), self.name(0));
        for at in [
            format!("{name} tc qdisc replace dev {of_host}"),
            format!("{bridge} tc qdisc replace dev {of_bridge}{host}"),
        ] {
            assert!(ip(&format!("netns exec {at} {limit}")), "{at}");
        }
    }

    fn mesh(&self, options: &str) -> Command {
        let mut command = linerate(&format!("mesh --quiet -t 500ms {options}"));
        command.arg("--hosts").arg(self.file("hosts")).args(["--via", "ip netns exec {host}"]);
        command.env_remove("LINERATE_HOSTS");
        command
    }

    fn record(&self, options: &str) -> Value {
        let finished: Finished = run(self.mesh(&format!("--json {options}")));
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.json()
    }
}

impl Drop for Fabric {
    fn drop(&mut self) {
        for host in 0..=self.hosts {
            _ = ip(&format!("netns del {}", self.name(host)));
        }
    }
}

fn ip(arguments: &str) -> bool {
    let output = Command::new("ip").args(arguments.split_whitespace()).output();
    output.is_ok_and(|output| output.status.success())
}

fn parts(record: &Value) -> Vec<(&str, &str)> {
    let culprits = record["culprits"].as_array().expect("culprits").iter();
    culprits
        .map(|culprit| {
            (culprit["part"].as_str().expect("a kind"), culprit["name"].as_str().expect("a name"))
        })
        .collect()
}

#[test]
fn a_slow_link_is_named_and_a_clean_fabric_is_not_blamed() {
    let Some(fabric) = Fabric::new("slow", 4, 40) else { return };
    // What a login prints before the agent does no harm.
    let banner = fabric.file("banner");
    fs::write(
        &banner,
        "#!/bin/sh\necho Welcome\nhost=$1\nshift\nexec ip netns exec $host \"$@\"\n",
    )
    .expect("a file");
    let via = format!("sh {} {{host}}", banner.display());
    let mut command = fabric.mesh("--json");
    command.arg("--via").arg(via);
    let finished = run(command);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let clean = finished.json();
    assert_eq!(parts(&clean), [], "{clean:#}");
    // A pair that something else on this machine slows down is tested again.
    assert!(clean["tests"].as_u64() >= Some(12) && clean["rounds"].as_u64() >= Some(3));
    assert_eq!(clean["rates"].as_array().map(Vec::len), Some(12));
    fabric.shape(3, 10);
    let slow = fabric.record("");
    assert_eq!(parts(&slow), [("host", fabric.name(3).as_str())], "{slow:#}");
    let missed = run(fabric.mesh("--expect 30M"));
    assert_eq!(missed.code, Some(4), "{missed:?}");
    assert!(missed.stderr.contains("30.00 Mbit/s are expected"), "{missed:?}");
    missed.assert_prints(&["mesh of 4 hosts", "SLOW", "rows send, columns receive"]);
}

#[test]
fn hosts_with_two_links_are_tested_over_both_at_once() {
    let Some(fabric) = Fabric::new("two", 4, 50) else { return };
    fabric.second_links(50);
    fabric.shape_link(2, ["eth1", "q"], 15);
    let file = fabric.file("page.html");
    let record = fabric.record(&format!("--html {}", file.display()));
    let links = &record["links"];
    assert_eq!(links["links"], 2, "{record:#}");
    let rate = |of: &str| links[of].as_f64().expect("a rate");
    let times = rate("all_bits_per_second") / rate("first_alone_bits_per_second");
    assert!((1.5..2.5).contains(&times), "{record:#}");
    assert_eq!(parts(&record), [("host", fabric.name(2).as_str())], "{record:#}");
    let evidence = record["culprits"][0]["evidence"][0].as_str().expect("evidence");
    assert!(evidence.contains(": 10.78.0.2 sends "), "{record:#}");
    assert!(fs::read_to_string(file).expect("a page").contains("2 links of a pair carry"));
}

#[test]
fn a_mesh_goes_on_after_an_interruption_and_tests_no_pair_twice() {
    let Some(fabric) = Fabric::new("go", 4, 100) else { return };
    let file = fabric.file("mesh.jsonl");
    let option = format!("-o {}", file.display());
    let lines = || fs::read_to_string(&file).unwrap_or_default();
    let pairs = |text: &str| text.matches("\"event\":\"pair\"").count();
    let running = Running::start(fabric.mesh(&option));
    until("pair", || (pairs(&lines()) >= 2).then_some(()));
    running.signal("INT");
    let stopped = running.finish();
    assert_eq!(stopped.code, Some(130), "{stopped:?}");
    let before = lines();
    assert!((2..6).contains(&pairs(&before)), "{before}");
    let refused = run(fabric.mesh(&option));
    assert_eq!(refused.code, Some(2), "{refused:?}");
    let record = fabric.record(&format!("{option} --resume"));
    let after = lines();
    assert!(after.starts_with(&before), "{after}");
    assert_each_pair_once(&after);
    let ended: BTreeMap<_, _> = surveyed(&after).into_iter().collect();
    let directions = 2 * ended.values().filter(|stamp| *stamp != "INVALID").count();
    assert_eq!(record["rates"].as_array().map(Vec::len), Some(directions), "{record:#}");
    let stored = surveyed(&before).iter().filter(|(_, stamp)| stamp != "INVALID").count();
    assert!(record["stored"].as_u64() >= Some(2 * stored as u64), "{record:#}");
    // All is there: nothing is tested.
    let again = fabric.record(&format!("{option} --resume"));
    assert_eq!(lines(), after);
    assert_eq!(again["rounds"].as_u64(), Some(0), "{again:#}");
    assert_eq!(again["culprits"], record["culprits"]);
}

/// The pairs of a survey, by their hosts in order, with the worse stamp of both directions.
fn surveyed(lines: &str) -> Vec<([String; 2], String)> {
    let events = lines.lines().map(|line| serde_json::from_str::<Value>(line).expect("JSON"));
    let pairs = events.filter(|event| event["event"] == "pair" && event["stage"] == "survey");
    let of = |pair: Value| {
        let mut names = ["a", "b"].map(|end| pair[end].as_str().expect("a name").to_owned());
        names.sort();
        let readings = pair["readings"].as_array().expect("readings");
        assert_eq!(readings.len(), 2, "{pair:#}");
        let is_invalid = readings.iter().any(|reading| reading["stamp"] == "INVALID");
        (names, if is_invalid { "INVALID" } else { "VALID or SUSPECT" }.to_owned())
    };
    pairs.map(of).collect()
}

/// Each pair of four hosts has one result that counts, its last; before it only INVALID ones, for
/// which it was tested again. It is tested three times at most.
fn assert_each_pair_once(lines: &str) {
    let mut stamps: BTreeMap<[String; 2], Vec<String>> = BTreeMap::new();
    for (pair, stamp) in surveyed(lines) {
        stamps.entry(pair).or_default().push(stamp);
    }
    assert_eq!(stamps.len(), 6, "{lines}");
    for (pair, stamps) in stamps {
        let (last, before) = stamps.split_last().expect("a result");
        assert!(before.iter().all(|stamp| stamp == "INVALID"), "{pair:?}: {stamps:?}");
        assert!(last != "INVALID" || stamps.len() == 3, "{pair:?}: {stamps:?}");
        assert!(stamps.len() <= 3, "{pair:?}: {stamps:?}");
    }
}

#[test]
fn a_host_that_does_not_answer_is_reported_and_the_others_go_on() {
    let Some(fabric) = Fabric::new("dead", 3, 100) else { return };
    let hosts = fs::read_to_string(fabric.file("hosts")).expect("a file");
    fs::write(fabric.file("hosts"), hosts + "nonesuch 10.77.0.9\n").expect("a file");
    let finished = run(fabric.mesh("--json"));
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stderr.contains("nonesuch is lost"), "{finished:?}");
    let record = finished.json();
    assert_eq!(record["lost"][0].as_str(), Some("nonesuch"), "{record:#}");
    assert!(record["tests"].as_u64() >= Some(6), "{record:#}");
    assert_eq!(record["untested"].as_u64(), Some(3), "{record:#}");
    let missed = run(fabric.mesh("--expect 1M"));
    assert_eq!(missed.code, Some(4), "{missed:?}");
    let sentence = "required: nonesuch is lost, 1.000 Mbit/s are expected\n";
    assert!(missed.stderr.contains(sentence), "{missed:?}");
}

#[test]
fn a_pair_without_a_result_fails_what_is_expected() {
    let Some(fabric) = Fabric::new("cut", 3, 100) else { return };
    // Host 2 answers the coordinator, and host 1 cannot reach it.
    let (one, other) = (fabric.name(1), fabric.name(2));
    assert!(ip(&format!("-n {one} route add unreachable 10.77.0.2/32")));
    let missed = run(fabric.mesh("--expect 1M"));
    assert_eq!(missed.code, Some(4), "{missed:?}");
    let of = |from: &str, to: &str| {
        format!("required: no result of {from} and {to}, 1.000 Mbit/s are expected\n")
    };
    let is_said = [of(&one, &other), of(&other, &one)]
        .iter()
        .any(|text| missed.stderr.contains(text.as_str()));
    assert!(is_said, "{missed:?}");
    missed.assert_prints(&["FAILED", "No result of"]);
    assert!(!missed.stdout.contains("slower than the others"), "{missed:?}");
}

#[test]
fn what_is_no_mesh_is_refused_in_a_sentence() {
    let refused = |options: &str, words: &str| {
        let finished = run(linerate(&format!("mesh {options}")));
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(words), "{finished:?}");
    };
    let directory = Directory::new("mesh-refused");
    let file = directory.file("hosts");
    fs::write(&file, "n1\n").expect("a file");
    let hosts = format!("--hosts {}", file.display());
    refused(&hosts, "a mesh takes two hosts or more");
    refused(&format!("{hosts} --via true"), "{host}");
    fs::write(&file, "n1\nn2\n").expect("a file");
    refused(&format!("{hosts} --html {}", file.display()), "--html would replace");
    refused(&format!("{hosts} --html /nonesuch/page"), "cannot write /nonesuch/page");
    refused("--hosts /dev/zero", "is no such file");
    refused("--slurm", "no allocation of Slurm");
    refused(&format!("{hosts} -t 1ms"), "choose between 500ms and 1h");
}
