//! Changes of settings are made, read back and undone, on interfaces in namespaces of their own. What
//! they were before is set, and what they are is read, by ip(8), ethtool(8) and tc(8) as well.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a test harness reports on stdout")]

extern crate lab as linerate_lab;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use lab::{Link, LinkSpec};
use linerate_host::tuning::{Applied, Outcome as Undoing, Refusal, Tuning, TuningError, undo};
use measurement::remedy::Setting;

#[path = "../../lab/tests/harness/mod.rs"]
mod harness;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> std::process::ExitCode {
    harness::run(&[
        ("a_variable_is_set_and_restored", a_variable_is_set_and_restored),
        ("a_feature_is_set_and_restored", a_feature_is_set_and_restored),
        ("an_mtu_is_set_and_restored", an_mtu_is_set_and_restored),
        ("what_was_killed_is_undone", what_was_killed_is_undone),
    ])
}

fn a_variable_is_set_and_restored() -> Outcome {
    Place::create()?.run(|place| {
        let command = "sysctl -w 'net.ipv4.tcp_rmem=4096 65536 1048576'";
        let applied = place.round_trip(command)?;
        assert_eq!((applied.after.as_str(), applied.is_in_effect), ("4096 65536 1048576", true));
        place.refuse("sysctl -w kernel.core_pattern=x", "linerate does not change it")?;
        place.refuse("sysctl -w net.ipv4.no_such=1", "net.ipv4.no_such is not there")?;
        place.refuse("sysctl -w net.ipv4.ip_forward=1", "could not be restored")?;
        place.refuse("-w 4M", "it is an option of linerate test")
    })
}

fn a_feature_is_set_and_restored() -> Outcome {
    Place::create()?.run(|place| {
        let applied = place.round_trip("ethtool -K near0 tso off")?;
        assert_eq!((applied.before.as_str(), applied.after.as_str()), ("on", "off"));
        // TSO needs scatter-gather, and comes back with it.
        let applied = place.round_trip("ethtool -K near0 sg off")?;
        assert!(applied.is_in_effect, "{applied:?}");
        run_tool("ethtool -K near0 tso off")?;
        place.round_trip("ethtool -K near0 sg off")?;
        place.round_trip("ethtool -K near0 rx-udp-gro-forwarding on")?;
        place.round_trip("ethtool -K near0 gro on")?;
        place.refuse("ethtool -K near0 rx-fcs on", "cannot be changed")?;
        place.refuse("ethtool -K near0 no-such on", "is not there")?;
        place.refuse("ethtool -K near9 gro on", "is not there")
    })
}

fn an_mtu_is_set_and_restored() -> Outcome {
    Place::create()?.run(|place| {
        assert_eq!(place.round_trip("ip link set dev near0 mtu 9000")?.after, "9000");
        std::fs::write("/proc/sys/net/ipv6/conf/near0/mtu", "1400")?;
        place.round_trip("ip link set dev near0 mtu 9000")?;
        assert_eq!(std::fs::read_to_string("/proc/sys/net/ipv6/conf/near0/mtu")?.trim(), "1400");
        place.refuse("ip link set dev near0 mtu 1000", "takes the IPv6 addresses away")?;
        let setting = "ip link set dev near0 mtu 4000000".parse()?;
        let error = place.open()?.apply(&setting).expect_err("beyond what veth takes");
        assert!(matches!(error, TuningError::Apply { .. }), "{error}");
        Ok(())
    })
}

fn what_was_killed_is_undone() -> Outcome {
    Place::create()?.run(|place| {
        let before = state()?;
        let settings = ["ip link set dev near0 mtu 9000", "ethtool -K near0 gro on"];
        let mut tuning = place.open()?;
        for setting in settings {
            tuning.apply(&setting.parse()?)?;
        }
        let busy = Tuning::open(&place.directory).expect_err("one is open");
        assert!(matches!(busy, TuningError::Busy { .. }), "{busy}");
        // As after SIGKILL: the lock is gone, and nothing else.
        let copy = std::fs::read(place.directory.join("tuning.journal"))?;
        drop(tuning);
        let journal = place.directory.join("tuning.journal");
        for setting in settings {
            run_tool(setting)?;
        }
        std::fs::write(&journal, copy)?;
        let unfinished = Tuning::open(&place.directory).expect_err("unfinished");
        assert!(unfinished.to_string().contains("type linerate undo"), "{unfinished}");
        let undone = undo(&place.directory)?;
        assert!(matches!(undone[0].outcome, Undoing::Restored { .. }), "{undone:?}");
        assert_eq!((undone.len(), state()?), (2, before));
        assert!(undo(&place.directory)?.is_empty() && !journal.exists());
        Ok(())
    })
}

/// Two hosts and their link, and a directory for journals.
struct Place {
    link: Link,
    directory: PathBuf,
}

impl Place {
    fn create() -> Result<Self, Box<dyn Error>> {
        let link = Link::create(&LinkSpec::default())?;
        let inode = link.near.namespace().inode()?;
        let name = format!("linerate-tuned-{}-{inode}", std::process::id());
        Ok(Self { link, directory: std::env::temp_dir().join(name) })
    }

    /// Runs a test at the near end, whose `/sys` shows its own interfaces.
    fn run(&self, test: impl FnOnce(&Self) -> Outcome + Send) -> Outcome {
        let namespace = self.link.near.namespace();
        let done = namespace.run_with_sysfs(|| test(self).map_err(|error| error.to_string()))?;
        Ok(done?)
    }

    fn open(&self) -> Result<Tuning, TuningError> {
        Tuning::open(&self.directory)
    }

    /// Makes a change and undoes it: all else and then everything is as before.
    fn round_trip(&self, command: &str) -> Result<Applied, Box<dyn Error>> {
        let setting: Setting = command.parse()?;
        let before = state()?;
        let mut tuning = self.open()?;
        let outlook = tuning.look(&setting)?;
        let applied = tuning.apply(&setting)?;
        assert_eq!(applied.before, outlook.before, "{command}");
        let again = tuning.apply(&setting).expect_err("it is changed already");
        assert!(again.to_string().contains("is not undone yet"), "{again}");
        let undone = tuning.undo(applied.id)?;
        assert!(matches!(undone.outcome, Undoing::Restored { .. } | Undoing::Unchanged { .. }));
        assert_eq!(state()?, before, "{command}");
        assert!(tuning.close()?.is_empty());
        as_commands(command, &outlook.undo, &before)?;
        Ok(applied)
    }

    fn refuse(&self, command: &str, why: &str) -> Outcome {
        let setting: Setting = command.parse()?;
        let before = state()?;
        let mut tuning = self.open()?;
        let refusal: Refusal = tuning.look(&setting).expect_err(command);
        assert!(refusal.to_string().contains(why), "{command}: {refusal}");
        let error = tuning.apply(&setting).expect_err(command);
        assert!(matches!(error, TuningError::Refused { .. }), "{command}: {error}");
        assert!(!self.directory.join("tuning.journal").exists());
        assert_eq!(state()?, before, "{command}");
        Ok(())
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.directory);
    }
}

/// The commands that a person would type do the same.
fn as_commands(command: &str, undo: &[String], before: &str) -> Outcome {
    run_tool(command)?;
    for command in undo {
        run_tool(command)?;
    }
    assert_eq!(state()?, before, "{command}: {undo:?}");
    Ok(())
}

/// Everything that the tools tell of this host.
fn state() -> Result<String, Box<dyn Error>> {
    let commands = [
        "ip -d link show near0",
        "ethtool -k near0",
        "ethtool -l near0",
        "ethtool -c near0",
        "tc qdisc show dev near0",
        "ip address show dev near0",
        "grep -r . /sys/class/net/near0/queues/ --include=rps_* --include=xps_cpus",
        "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv6/conf/near0/mtu",
        "cat /sys/class/net/near0/threaded",
    ];
    commands.iter().map(|command| tool(command)).collect()
}

fn run_tool(command: &str) -> Outcome {
    let output = Command::new("sh").args(["-c", command]).output()?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{command}: {}", String::from_utf8_lossy(&output.stderr)).into())
}

/// What a tool tells; devices do not have everything.
fn tool(command: &str) -> Result<String, Box<dyn Error>> {
    let output = Command::new("sh").args(["-c", command]).output()?;
    Ok(String::from_utf8(output.stdout)?)
}
