//! Tuning: misconfigurations that are planted on hosts of their own are found, the remedy is kept with
//! proof, and all else is as before, however it ends.

use std::path::Path;
use std::time::{Duration, Instant};

use lab::{Host, Link, Relayed};
use serde_json::Value;

use crate::support::{
    Directory, Finished, Running, Server, before_others, eventually, far_apart, linerate,
    linerate_on, link, list, run, shell,
};

/// A link with a server at its far end.
struct Bed {
    link: Link,
    _server: Server,
    state: Directory,
}

impl Bed {
    /// None where no link can be made, or ethtool is missing.
    fn new(name: &str) -> Option<Self> {
        let link = link()?;
        if !shell(&link.near, "ethtool -k near0 >/dev/null") {
            return None;
        }
        let server = Server::start_on(&link.far, "");
        Some(Self { link, _server: server, state: Directory::new(name) })
    }

    fn near(&self) -> &Host {
        &self.link.near
    }

    fn command(&self, options: &str) -> std::process::Command {
        tune(self.near(), &self.link.far, &self.state, options)
    }

    fn run(&self, options: &str) -> Finished {
        Running::start(self.command(options)).finish_within(LONG)
    }

    /// Segmentation offload is off: it costs more than half of the rate.
    fn plant(&self) -> bool {
        shell(self.near(), "ethtool -K near0 tso off gso off >/dev/null")
    }

    fn has_segmentation(&self) -> bool {
        settings(self.near()).iter().any(|line| line.contains("tcp-segmentation-offload: on"))
    }
}

fn tune(near: &Host, far: &Host, state: &Directory, options: &str) -> std::process::Command {
    let state = state.path().join("journal");
    let line = format!("tune {} -q --state {} {options}", far.ipv4(), state.display());
    linerate_on(near, &line)
}

/// What a host has: offloads and MTU of its interface, queueing, and variables of its namespace.
fn settings(host: &Host) -> Vec<String> {
    let interface = host.interface();
    let script = format!(
        "ethtool -k {interface}; ip link show {interface} | grep -o 'mtu [0-9]*'; \
         tc qdisc show; sysctl net.ipv4 net.core 2>/dev/null"
    );
    let output = host.command("sh").args(["-c", &script]).output().expect("a shell");
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

/// Lines of the settings after that are not among those before.
fn changed(before: &[String], after: &[String]) -> Vec<String> {
    after.iter().filter(|line| !before.contains(line)).cloned().collect()
}

fn kept(record: &Value) -> Vec<&str> {
    let kept = record["kept"].as_array().map(Vec::as_slice).unwrap_or_default();
    kept.iter().filter_map(|one| one["command"].as_str()).collect()
}

/// The interval of the goal in the last comparison excludes no change, and 10 % are gained.
fn assert_gain(record: &Value) {
    let goal = &record["check"]["metrics"][0];
    assert_eq!(goal["metric"], record["goal"], "{record:#}");
    assert!(goal["effect"]["interval"]["low"].as_f64() > Some(1.0), "{goal:#}");
    assert!(goal["effect"]["ratio"].as_f64() > Some(1.1), "{goal:#}");
}

/// A script makes at the next boot what is kept, until it is taken back.
fn assert_persists(bed: &FarAway, record: &Value, script: &Path) {
    assert_eq!(record["persisted"], serde_json::json!(["/etc/linerate/tuning.sh"]));
    assert!(shell(bed.near(), SMALL_BUFFER) && !bed.is_mended());
    assert!(shell(bed.near(), &format!("sh {} >&2", script.display())));
    assert!(bed.is_mended(), "{record:#}");
    let state = bed.state.path().join("journal");
    let undo = |options: &str| {
        run(linerate(&format!("undo --persistent --state {} {options}", state.display())))
    };
    undo("--dry-run").assert_prints(&["/etc/linerate/tuning.sh"]);
    undo("").assert_prints(&["/etc/linerate/tuning.sh: removed"]);
    assert!(!script.exists());
    undo("").assert_prints(&["nothing to undo"]);
}

/// Offloads, of which only a quiet machine tells the gain: `cargo xtask proof tune`.
#[test]
fn what_is_kept_persists_and_the_record_has_all_of_it() {
    let Some(bed) = FarAway::with_small_buffer("tune-persist") else { return };
    let before = settings(bed.near());
    let file = bed.state.file("tune.json");
    let root = bed.state.path().join("root");
    let options = format!("-R -t 500ms --pairs 6 --json -o {}", file.display());
    let options = format!("{options} --persist shell --persist-root {}", root.display());
    let finished = Running::start(bed.command(&options)).finish_within(LONG);
    finished.assert_ran_to_its_end();
    let record = finished.json();
    assert_gain(&record);
    let [command] = kept(&record)[..] else { panic!("one change: {record:#}") };
    assert!(command.contains("net.ipv4.tcp_rmem="), "{record:#}");
    let effective = record["kept"][0]["effective"].as_str().expect("a value");
    let [line] = &changed(&before, &settings(bed.near()))[..] else { panic!("{record:#}") };
    assert_eq!(line.replace('\t', " "), format!("net.ipv4.tcp_rmem = {effective}"));
    assert_persists(&bed, &record, &root.join("etc/linerate/tuning.sh"));
    let labels: Vec<_> = list(&record["records"]).iter().map(|one| &one["tags"]["tune"]).collect();
    assert_eq!((labels[0], labels[1]), (&"verdict".into(), &"1".into()));
    let schema = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/schema/tune.json");
    let schema = serde_json::from_str(&std::fs::read_to_string(schema).expect("a schema"));
    let schema = jsonschema::validator_for(&schema.expect("JSON")).expect("a schema");
    assert!(schema.is_valid(&record), "{record:#}");
    let stored = std::fs::read_to_string(file).expect("a file");
    assert_eq!(serde_json::from_str::<Value>(&stored).expect("JSON"), record);
}

#[test]
fn a_clean_path_is_left_as_it_is() {
    let Some(bed) = Bed::new("tune-clean") else { return };
    let before = settings(bed.near());
    let finished = bed.run("--yes -t 500ms --pairs 4 --json");
    finished.assert_ran_to_its_end();
    assert!(kept(&finished.json()).is_empty(), "{finished:?}");
    assert_eq!(settings(bed.near()), before);
}

#[test]
fn a_small_send_buffer_on_a_long_path_is_found() {
    let plant = "sysctl -qw net.ipv4.tcp_wmem='4096 8192 16384'";
    let Some((record, screen)) = far_away("tune-wmem", plant) else { return };
    assert!(kept(&record)[0].contains("net.ipv4.tcp_wmem="), "{record:#}");
    screen.assert_prints(&["tuning for throughput", "VERDICT", "KEPT", "RESULT", "UNDO"]);
    screen.assert_prints(&["before", "after", "CPU time per GB", "4096 8192 16384"]);
}

/// Tunes a host with a planted fault, 20 ms of round-trip time away from the server; the record, in
/// which only what was kept differs from what was planted, and what people read. None where that
/// cannot be made.
fn far_away(name: &str, plant: &str) -> Option<(Value, Finished)> {
    let bed = FarAway::new(name, plant)?;
    let before = settings(bed.near());
    let file = bed.state.file("tune.json");
    let options = format!("-t 500ms --pairs 6 -o {}", file.display());
    let finished = Running::start(bed.command(&options)).finish_within(LONG);
    finished.assert_ran_to_its_end();
    let stored = std::fs::read_to_string(file).expect("a file");
    let record: Value = serde_json::from_str(&stored).expect("JSON");
    assert!(!kept(&record).is_empty(), "{record:#}");
    assert_gain(&record);
    let changes = changed(&before, &settings(bed.near()));
    let names: Vec<_> = changes.iter().filter_map(|line| line.split(" = ").next()).collect();
    let is_kept = |name: &&str| kept(&record).iter().any(|command| command.contains(name));
    assert!(!names.is_empty() && names.iter().all(is_kept), "{changes:?}");
    Some((record, finished))
}

/// A host with a planted fault, and a server 20 ms of round-trip time away. What limits there is told
/// on a busy machine, too.
struct FarAway {
    relayed: Relayed,
    _server: Server,
    state: Directory,
}

impl FarAway {
    /// None where no relay can be made.
    fn new(name: &str, plant: &str) -> Option<Self> {
        let relayed = far_apart()?;
        if !shell(&relayed.near, plant) {
            return None;
        }
        let server = Server::start_first_on(&relayed.far, "");
        Some(Self { relayed, _server: server, state: Directory::new(name) })
    }

    fn with_small_buffer(name: &str) -> Option<Self> {
        Self::new(name, SMALL_BUFFER)
    }

    fn near(&self) -> &Host {
        &self.relayed.near
    }

    fn command(&self, options: &str) -> std::process::Command {
        // Whose slow start does not end where a delay varies, as with cubic (HyStart).
        let options = format!("--yes -C reno {options}");
        before_others(tune(self.near(), &self.relayed.far, &self.state, &options))
    }

    /// A tuning that has made its change.
    fn with_change(&self) -> Running {
        let running = Running::start(self.command("-R -t 2s --pairs 8 --json"));
        eventually("change", || self.is_mended());
        running
    }

    fn is_mended(&self) -> bool {
        let is_buffer = |line: &&String| line.starts_with("net.ipv4.tcp_rmem = ");
        settings(self.near()).iter().find(is_buffer).is_some_and(|line| !line.ends_with("16384"))
    }
}

#[test]
fn a_tuning_that_is_killed_is_undone_by_a_process_beside_it() {
    let Some(bed) = FarAway::with_small_buffer("tune-kill") else { return };
    let before = settings(bed.near());
    let running = bed.with_change();
    running.signal("KILL");
    let since = Instant::now();
    eventually("undone change", || !bed.is_mended());
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(settings(bed.near()), before);
    let ended = running.finish();
    assert_eq!(ended.code, None, "{ended:?}");
    // Nothing is left to undo, and the next one begins.
    bed.with_change().signal("INT");
    eventually("undone change", || !bed.is_mended());
}

#[test]
fn ctrl_c_undoes_all() {
    let Some(bed) = FarAway::with_small_buffer("tune-interrupt") else { return };
    let before = settings(bed.near());
    let running = bed.with_change();
    running.signal("INT");
    let finished = running.finish();
    assert_eq!(finished.code, Some(130), "{finished:?}");
    assert!(finished.stderr.contains("all changes are undone"), "{finished:?}");
    assert!(kept(&finished.json()).is_empty());
    assert_eq!(settings(bed.near()), before);
}

#[test]
fn a_change_with_which_the_server_is_silent_is_undone_within_5_seconds() {
    let Some(bed) = FarAway::with_small_buffer("tune-silent") else { return };
    let before = settings(bed.near());
    let running = bed.with_change();
    let since = Instant::now();
    assert!(shell(&bed.relayed.far, "ip link set far0 down"));
    eventually("undone change", || !bed.is_mended());
    assert!(since.elapsed() < Duration::from_secs(5), "{:?}", since.elapsed());
    assert_eq!(settings(bed.near()), before);
    assert!(shell(&bed.relayed.far, "ip link set far0 up"));
    let record = running.finish_within(LONG).json();
    let reasons: Vec<_> = list(&record["attempts"]).iter().map(|one| &one["reason"]).collect();
    let is_silent = |reason: &&Value| reason.as_str().is_some_and(|it| it.contains("silent"));
    assert!(reasons.iter().any(is_silent), "{reasons:?}");
    assert!(kept(&record).is_empty(), "{record:#}");
}

#[test]
fn a_dry_run_is_a_script_that_makes_the_changes_and_undoes_them() {
    let Some(bed) = Bed::new("tune-dry").filter(Bed::plant) else { return };
    let before = settings(bed.near());
    let finished = bed.run("--dry-run -t 500ms");
    finished.assert_success();
    assert_eq!(settings(bed.near()), before);
    let script = bed.state.file("tune.sh");
    std::fs::write(&script, &finished.stdout).expect("a file");
    let run = |word: &str| shell(bed.near(), &format!("sh {} {word} >&2", script.display()));
    assert!(run("") && bed.has_segmentation(), "{finished:?}");
    assert!(run("undo"), "{finished:?}");
    assert_eq!(settings(bed.near()), before, "{finished:?}");
}

#[test]
fn two_tunings_at_once_are_one_too_many() {
    let Some(bed) = FarAway::with_small_buffer("tune-two") else { return };
    let first = bed.with_change();
    run(bed.command("")).assert_refusal(1, &["another linerate changes settings"]);
    first.signal("INT");
    eventually("undone change", || !bed.is_mended());
    assert_eq!(first.finish().code, Some(130));
}

#[test]
fn what_cannot_be_tuned_is_told_in_a_sentence() {
    let refused = |options: &str, words: &str| {
        run(linerate(&format!("tune 127.0.0.1:1 -q {options}"))).assert_complaint(2, &[words]);
    };
    refused("", "--yes, or --dry-run");
    refused("--yes --goal pps", "type -u and -b RATE");
    refused("--yes --no-evidence", "leave --no-evidence out");
    refused("--yes -u", "UDP needs a rate");
    refused("--yes --pairs 2", "choose between 4 and 1000");
    refused("--yes --format hdr-log", "shows single tests only");
}

/// A receiver with room for a fraction of what the path holds.
const SMALL_BUFFER: &str = "sysctl -qw net.ipv4.tcp_rmem='4096 8192 16384'";
/// Longer than a tuning of a few attempts takes on a busy machine.
const LONG: Duration = Duration::from_secs(180);
