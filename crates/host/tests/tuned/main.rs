//! Changes of settings are made, read back and undone, on interfaces in namespaces of their own. What
//! they were before is set, and what they are is read, by ip(8), ethtool(8) and tc(8) as well.

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "a test harness reports on stdout")]

extern crate lab as linerate_lab;

use std::error::Error;
use std::path::PathBuf;
use std::process::Command;

use lab::{Link, LinkSpec};
use linerate_host::tuning::{
    self, Applied, ChangeId, Refusal, Tuning, TuningError, UndoOutcome, Undone,
};
use measurement::remedy::Setting;

mod crash;
#[path = "../../../lab/tests/harness/mod.rs"]
mod harness;

type Outcome = Result<(), Box<dyn Error>>;

fn main() -> std::process::ExitCode {
    if let Some(directory) = std::env::var_os(crash::DIRECTORY) {
        return crash::change(directory.as_ref());
    }
    harness::run(&[
        ("a_variable_is_set_and_restored", a_variable_is_set_and_restored),
        ("a_feature_is_set_and_restored", a_feature_is_set_and_restored),
        ("an_mtu_is_set_and_restored", an_mtu_is_set_and_restored),
        ("what_was_killed_is_undone", crash::what_was_killed_is_undone),
        ("a_journal_cut_at_any_byte_undoes", crash::a_journal_cut_at_any_byte_undoes),
        ("kills_at_random_instants_are_undone", crash::kills_at_random_instants_are_undone),
        ("queues_are_steered_and_restored", queues_are_steered_and_restored),
        ("sizes_of_a_link_are_set_and_restored", sizes_of_a_link_are_set_and_restored),
        ("a_device_is_set_and_restored", a_device_is_set_and_restored),
        ("a_qdisc_comes_back_with_its_parameters", a_qdisc_comes_back_with_its_parameters),
        ("what_is_kept_stays", what_is_kept_stays),
        ("what_others_set_since_is_left", what_others_set_since_is_left),
        ("an_interface_is_found_under_another_name", an_interface_is_found_under_another_name),
        ("what_cannot_be_undone_is_given_up", what_cannot_be_undone_is_given_up),
        ("files_of_a_copy_are_set_and_restored", files_of_a_copy_are_set_and_restored),
        ("a_thread_elsewhere_is_refused", a_thread_elsewhere_is_refused),
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

fn queues_are_steered_and_restored() -> Outcome {
    Place::create()?.run(|place| {
        let rps = "echo 2 > /sys/class/net/near0/queues/rx-0/rps_cpus";
        assert_eq!(place.round_trip(rps)?.after, "2");
        run_tool("echo 1 > /sys/class/net/near0/queues/rx-0/rps_cpus")?;
        place.round_trip(rps)?;
        // The kernel takes powers of two.
        let flows = "echo 4096 > /sys/class/net/near0/queues/rx-0/rps_flow_cnt";
        assert!(place.round_trip(flows)?.is_in_effect);
        let flows = "echo 3000 > /sys/class/net/near0/queues/rx-0/rps_flow_cnt";
        let applied = place.round_trip(flows)?;
        assert_eq!((applied.after.as_str(), applied.is_in_effect), ("4096", false));
        place.round_trip("ethtool -L near0 rx 2")?;
        run_tool("ethtool -L near0 rx 2 tx 2")?;
        place.round_trip("echo 2 > /sys/class/net/near0/queues/tx-1/xps_cpus")?;
        place.round_trip("ethtool -L near0 tx 1")?;
        run_tool("echo 2 > /sys/class/net/near0/queues/tx-1/xps_cpus")?;
        place.refuse("ethtool -L near0 tx 1", "queue 1, which has CPUs or flows set")?;
        place.refuse("ethtool -L near0 tx 3", "tx channels of near0 takes 1 to 2")?;
        place.refuse("ethtool -L near0 combined 2", "is not there")?;
        // veth has no NAPI without GRO.
        let threaded = "echo 1 > /sys/class/net/near0/threaded";
        let error = place.open()?.apply(&threaded.parse()?).expect_err("no NAPI");
        assert!(matches!(error, TuningError::Apply { .. }), "{error}");
        run_tool("ethtool -K near0 gro on")?;
        assert!(place.round_trip(threaded)?.is_in_effect);
        place.refuse("echo 1 > /sys/class/net/near0/queues/rx-7/rps_cpus", "is not there")
    })
}

fn sizes_of_a_link_are_set_and_restored() -> Outcome {
    Place::create()?.run(|place| {
        place.round_trip("ip link set dev near0 txqueuelen 10000")?;
        let sizes = "ip link set dev near0 gso_max_size 185000 gro_max_size 185000";
        assert!(place.round_trip(sizes)?.is_in_effect);
        run_tool("ip link set dev near0 gso_max_size 30000 gro_max_size 40000")?;
        place.round_trip(sizes)?;
        // Those of IPv4 follow up to 64 KiB.
        place.round_trip("ip link set dev near0 gso_max_size 20000 gro_max_size 20000").map(drop)
    })
}

/// A tap takes what veth does not.
fn a_device_is_set_and_restored() -> Outcome {
    Place::create()?.run(|place| {
        run_tool("ip tuntap add dev tap0 mode tap && ip link set dev tap0 up")?;
        assert!(place.round_trip("ethtool -C tap0 rx-frames 32")?.is_in_effect);
        let applied = place.round_trip("ethtool -C tap0 rx-frames 1000")?;
        assert_eq!((applied.after.as_str(), applied.is_in_effect), ("64", false));
        let fixed = "ethtool -s tap0 speed 2500 duplex half autoneg off";
        assert!(place.round_trip(fixed)?.is_in_effect);
        place.round_trip("ethtool -s tap0 autoneg on")?;
        for command in [
            "ethtool -G near0 rx 512",
            "ethtool -C near0 rx-usecs 30",
            "ethtool -A near0 rx off",
            "ethtool --set-eee near0 eee off",
            "ethtool -X near0 equal 1",
            "ethtool -s no-such autoneg on",
        ] {
            place.refuse(command, "is not there")?;
        }
        Ok(())
    })
}

fn a_qdisc_comes_back_with_its_parameters() -> Outcome {
    Place::create()?.run(|place| {
        let pfifo = "tc qdisc replace dev near0 root pfifo";
        let applied = place.round_trip(pfifo)?;
        assert_eq!(
            (applied.before.as_str(), applied.after.as_str()),
            ("noqueue by default", "pfifo")
        );
        run_tool("tc qdisc replace dev near0 root handle 77: bfifo limit 12345")?;
        place.round_trip(pfifo)?;
        place.round_trip("tc qdisc del dev near0 root")?;
        run_tool("tc qdisc replace dev near0 root handle 8: pfifo limit 17")?;
        place.round_trip("tc qdisc replace dev near0 root bfifo")?;
        place.round_trip(pfifo)?;
        for shaper in ["tbf rate 10mbit burst 10k limit 100k", "handle 1: htb default 1"] {
            run_tool(&format!("tc qdisc replace dev near0 root {shaper}"))?;
            place.refuse(pfifo, "not all parameters of")?;
        }
        run_tool("tc qdisc del dev near0 root")?;
        let setting = "tc qdisc replace dev near0 root no_such_kind".parse()?;
        let before = state()?;
        let error = place.open()?.apply(&setting).expect_err("no such kind");
        assert!(matches!(error, TuningError::Apply { .. }), "{error}");
        assert_eq!(state()?, before);
        Ok(())
    })
}

fn what_is_kept_stays() -> Outcome {
    Place::create()?.run(|place| {
        let mut tuning = place.open()?;
        let kept = tuning.apply(&"ip link set dev near0 mtu 9000".parse()?)?;
        let other = tuning.apply(&"ip link set dev near0 txqueuelen 77".parse()?)?;
        tuning.keep(kept.id)?;
        let error = tuning.undo(kept.id).expect_err("kept");
        assert!(matches!(error, TuningError::NoSuchChange(_)), "{error}");
        let undone = tuning.close()?;
        assert_eq!(undone.iter().map(|one| one.id).collect::<Vec<_>>(), [other.id]);
        let link = tool("ip link show dev near0")?;
        assert!(link.contains("mtu 9000") && link.contains("qlen 1000"), "{link}");
        // The settings of an interface go with it.
        let mut tuning = place.open()?;
        tuning.apply(&"ip link set dev near0 mtu 4000".parse()?)?;
        run_tool("ip link del dev near0 && ip link add near0 type veth")?;
        let undone = tuning.close()?;
        assert_eq!(undone[0].outcome, UndoOutcome::Gone);
        assert!(tool("ip link show dev near0")?.contains("mtu 1500"));
        Ok(())
    })
}

fn what_others_set_since_is_left() -> Outcome {
    Place::create()?.run(|place| {
        let mut tuning = place.open()?;
        tuning.apply(&"ip link set dev near0 mtu 9000".parse()?)?;
        tuning.apply(&"ip link set dev near0 txqueuelen 77".parse()?)?;
        run_tool("ip link set dev near0 mtu 4000")?;
        let undone = tuning.close()?;
        let value = "4000".to_owned();
        assert_eq!(undone[1].outcome, UndoOutcome::Superseded { value }, "{undone:?}");
        let link = tool("ip link show dev near0")?;
        assert!(link.contains("mtu 4000") && link.contains("qlen 1000"), "{link}");
        Ok(())
    })
}

fn an_interface_is_found_under_another_name() -> Outcome {
    Place::create()?.run(|place| {
        let mut tuning = place.open()?;
        tuning.apply(&"ip link set dev near0 mtu 9000".parse()?)?;
        tuning.apply(&"ethtool -K near0 tso off".parse()?)?;
        tuning.apply(&"echo 1 > /sys/class/net/near0/queues/rx-0/rps_cpus".parse()?)?;
        run_tool("ip link set near0 down && ip link set near0 name wan0 && ip link set wan0 up")?;
        // Another one has its name.
        run_tool("ip link add near0 mtu 2000 type veth peer name near1")?;
        let undone = tuning.close()?;
        let is_restored = |one: &Undone| matches!(one.outcome, UndoOutcome::Restored { .. });
        assert!(undone.len() == 3 && undone.iter().all(is_restored), "{undone:?}");
        assert!(tool("ip link show dev wan0")?.contains("mtu 1500"));
        assert!(tool("ip link show dev near0")?.contains("mtu 2000"));
        assert!(tool("ethtool -k wan0")?.contains("tcp-segmentation-offload: on"));
        Ok(())
    })
}

fn what_cannot_be_undone_is_given_up() -> Outcome {
    let place = Place::create()?;
    let root = place.directory.join("root");
    let folder = root.join("proc/irq/27");
    std::fs::create_dir_all(&folder)?;
    let file = folder.join("smp_affinity");
    std::fs::write(&file, "3f\n")?;
    let mut tuning = Tuning::open_below(&place.directory, &root)?;
    let id = tuning.apply(&"echo 10 > /proc/irq/27/smp_affinity".parse()?)?.id;
    std::fs::remove_file(&file)?;
    std::fs::create_dir(&file)?;
    let error = tuning.close().expect_err("no file to write").to_string();
    assert!(error.ends_with(&format!("linerate undo --give-up {id}")), "{error}");
    let shut = Tuning::open_below(&place.directory, &root).expect_err("a change is left");
    assert!(matches!(shut, TuningError::Unfinished { .. }), "{shut}");
    let none = tuning::give_up(&place.directory, ChangeId::from_number(99)).expect_err("no such");
    assert!(matches!(none, TuningError::NoSuchChange(_)), "{none}");
    let setting = tuning::give_up(&place.directory, id)?;
    assert_eq!(setting.to_string(), "echo 10 > /proc/irq/27/smp_affinity");
    Tuning::open_below(&place.directory, &root)?;
    Ok(())
}

/// Settings of the whole host, which no namespace has of its own.
fn files_of_a_copy_are_set_and_restored() -> Outcome {
    let place = Place::create()?;
    let root = place.directory.join("root");
    let policies = [("policy0", "schedutil"), ("policy4", "powersave")];
    for (policy, governor) in policies {
        let folder = root.join("sys/devices/system/cpu/cpufreq").join(policy);
        std::fs::create_dir_all(&folder)?;
        std::fs::write(folder.join("scaling_governor"), format!("{governor}\n"))?;
        let all = "performance powersave schedutil\n";
        std::fs::write(folder.join("scaling_available_governors"), all)?;
    }
    let folder = root.join("proc/irq/27");
    std::fs::create_dir_all(&folder)?;
    std::fs::write(folder.join("smp_affinity"), "3f\n")?;
    std::fs::create_dir_all(root.join("proc/41"))?;
    std::fs::write(root.join("proc/41/comm"), "irqbalance\n")?;
    let files = || tool(&format!("grep -r . {} | sort", root.display()));
    let before = files()?;
    let mut tuning = Tuning::open_below(&place.directory, &root)?;
    let governor = "cpupower frequency-set -g performance".parse()?;
    let outlook = tuning.look(&governor)?;
    assert_eq!(outlook.before, "policy0=schedutil policy4=powersave");
    let applied = tuning.apply(&governor)?;
    assert!(applied.is_in_effect && files()? != before, "{applied:?}");
    let affinity = "echo 10 > /proc/irq/27/smp_affinity".parse()?;
    assert_eq!(tuning.look(&affinity)?.rewriters, ["irqbalance"]);
    assert_eq!(tuning.apply(&affinity)?.after, "10");
    let wrong = tuning.look(&"cpupower frequency-set -g turbo".parse()?).expect_err("none such");
    assert!(wrong.to_string().contains("policy0 has performance"), "{wrong}");
    let mtu = tuning.look(&"ip link set dev eth0 mtu 9000".parse()?).expect_err("no kernel");
    assert!(matches!(mtu, Refusal::Read { .. }), "{mtu}");
    assert_eq!(tuning.close()?.len(), 2);
    assert_eq!(files()?, before);
    let managed = folder.join("smp_affinity");
    let mut permissions = std::fs::metadata(&managed)?.permissions();
    permissions.set_readonly(true);
    std::fs::set_permissions(&managed, permissions)?;
    let tuning = Tuning::open_below(&place.directory, &root)?;
    let refusal = tuning.look(&affinity).expect_err("managed");
    assert!(refusal.to_string().contains("which the kernel manages"), "{refusal}");
    Ok(())
}

fn a_thread_elsewhere_is_refused() -> Outcome {
    let place = Place::create()?;
    let setting = "ip link set dev near0 mtu 4000".parse()?;
    let open = || Tuning::open(&place.directory).map_err(|error| error.to_string());
    let tuning = place.link.near.run(open)??;
    let refusal = tuning.look(&setting).expect_err("another namespace");
    assert!(matches!(refusal, Refusal::OtherNamespace { .. }), "{refusal}");
    drop(tuning);
    // `/sys` is that of the machine.
    let steer = "echo 1 > /sys/class/net/near0/queues/rx-0/rps_cpus".parse()?;
    let refusal = place.link.near.run(|| {
        let tuning = open()?;
        Ok::<_, String>(tuning.look(&steer).expect_err("another sysfs").to_string())
    })??;
    assert!(refusal.contains("/sys shows the interfaces of another"), "{refusal}");
    Ok(())
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
        assert!(matches!(
            undone.outcome,
            UndoOutcome::Restored { .. } | UndoOutcome::Unchanged { .. }
        ));
        assert_same(&before, command)?;
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
        assert_same(&before, command)
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
    assert_same(before, &format!("{command}: {undo:?}"))
}

fn assert_same(before: &str, after: &str) -> Outcome {
    let now = state()?;
    let differs: Vec<_> = before.lines().zip(now.lines()).filter(|(one, two)| one != two).collect();
    assert!(differs.is_empty() && before.lines().eq(now.lines()), "{after}: {differs:#?}");
    Ok(())
}

/// Everything that the tools tell of this host.
fn state() -> Result<String, Box<dyn Error>> {
    let commands = [
        "ip -d link show near0",
        "ethtool -k near0",
        "ethtool -l near0",
        "ethtool -c near0",
        "tc qdisc show dev near0 | sed 's/direct_packets_stat [0-9]*//'",
        "ip address show dev near0 | sed 's/ tentative//'",
        "grep -r . /sys/class/net/near0/queues/ --include=rps_* --include=xps_cpus",
        "cat /proc/sys/net/ipv4/tcp_rmem /proc/sys/net/ipv6/conf/near0/mtu",
        "cat /sys/class/net/near0/threaded",
        "ip -d link show tap0",
        "ethtool tap0",
        "ethtool -k tap0",
        "ethtool -c tap0",
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
