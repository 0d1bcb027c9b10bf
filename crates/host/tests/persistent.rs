//! Files by which changes outlive a boot: written, read by the programs for which they are, and taken
//! back.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use host::Tree;
use host::tuning::{
    Content, PersistBy, PersistentChange, TuningError, check_persist, files, persist, persisted,
    unpersist,
};
use lab::{Access, Link, LinkSpec};
use linerate_host as host;

/// A directory of its own, which is deleted at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("linerate-{name}-{}", std::process::id()));
        fs::create_dir_all(path.join("root/etc")).expect("a directory");
        Self(path)
    }

    fn root(&self) -> PathBuf {
        self.0.join("root")
    }

    fn state(&self) -> PathBuf {
        self.0.join("state")
    }

    fn persist(&self, by: PersistBy, changes: &[PersistentChange]) -> Result<usize, TuningError> {
        persist(&self.state(), &self.root(), &tree(), by, changes).map(|all| all.files.len())
    }

    /// All files below the root, with what they are.
    fn content(&self) -> Vec<(String, String)> {
        let mut all = Vec::new();
        list(&self.root(), &mut all);
        all.sort();
        all
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        _ = fs::remove_dir_all(&self.0);
    }
}

fn list(folder: &Path, all: &mut Vec<(String, String)>) {
    for entry in fs::read_dir(folder).expect("a directory") {
        let path = entry.expect("an entry").path();
        if path.is_dir() && !path.is_symlink() {
            all.push((path.display().to_string(), "directory".to_owned()));
            list(&path, all);
        } else {
            let link = fs::read_link(&path).map(|target| target.display().to_string());
            let text = link.or_else(|_| fs::read_to_string(&path)).expect("a file");
            all.push((path.display().to_string(), text));
        }
    }
}

fn tree() -> Tree {
    Tree::captured(&Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/nanopi-r4s"))
}

fn change(command: &str, undo: &str) -> PersistentChange {
    let setting = command.parse().expect("a command");
    PersistentChange { setting, undo: vec![undo.to_owned()] }
}

fn changes() -> Vec<PersistentChange> {
    vec![
        change("sysctl -w net.ipv4.tcp_sack=0", "sysctl -w net.ipv4.tcp_sack=1"),
        change(
            "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 8388608'",
            "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'",
        ),
        change("ethtool -K eth0 tso on", "ethtool -K eth0 tso off"),
        change("ethtool -G eth0 rx 1024", "ethtool -G eth0 rx 256"),
        change("ethtool -C eth0 rx-usecs 30", "ethtool -C eth0 rx-usecs 0"),
        change("ip link set dev eth1 mtu 9000", "ip link set dev eth1 mtu 1500"),
        change(
            "echo 20 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
            "echo 0 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
        ),
        change("echo 10 > /proc/irq/27/smp_affinity", "echo 3f > /proc/irq/27/smp_affinity"),
        change("systemctl stop irqbalance", "systemctl start irqbalance"),
        change("tc qdisc replace dev eth0 root fq", "tc qdisc del dev eth0 root"),
        change("cpupower frequency-set -g performance", "cpupower frequency-set -g ondemand"),
    ]
}

#[test]
fn each_way_has_its_files() {
    for by in PersistBy::ALL {
        let found = files(&tree(), by, &changes());
        let shown = found.files.iter().map(|file| format!("{file}\n"));
        let left_out = found.left_out.iter().map(|(setting, why)| format!("{setting}: {why}\n"));
        insta::assert_snapshot!(by.name(), shown.chain(left_out).collect::<String>());
    }
}

#[test]
fn what_is_written_is_taken_back_and_old_files_are_as_before() {
    for by in PersistBy::ALL {
        let folder = Folder::new(&format!("persist-{}", by.name()));
        let old = folder.root().join("etc/sysctl.d/90-linerate.conf");
        if by == PersistBy::Sysctl {
            fs::create_dir_all(old.parent().expect("a directory")).expect("a directory");
            fs::write(&old, "net.ipv4.tcp_sack = 1\n").expect("a file");
        }
        let before = folder.content();
        folder.persist(by, &changes()[..1]).expect("written, or left out");
        let count = folder.persist(by, &changes()).expect("written");
        assert!(count > 0 && folder.content() != before, "{by:?}");
        assert_eq!(persisted(&folder.state()).expect("a register").len(), count);
        let taken = unpersist(&folder.state()).expect("taken back");
        assert_eq!(taken.len(), count);
        assert_eq!(folder.content(), before, "{by:?}");
        assert_eq!(unpersist(&folder.state()).expect("nothing"), []);
    }
}

#[test]
fn later_changes_join_the_earlier_ones() {
    let folder = Folder::new("persist-join");
    folder.persist(PersistBy::Sysctl, &changes()[..1]).expect("written");
    let other = change("sysctl -w net.ipv4.tcp_sack=1", "sysctl -w net.ipv4.tcp_sack=0");
    folder.persist(PersistBy::Sysctl, &[changes()[1].clone(), other]).expect("written");
    let text = fs::read_to_string(folder.root().join("etc/sysctl.d/90-linerate.conf"));
    let text = text.expect("a file");
    assert!(text.ends_with("net.ipv4.tcp_rmem = 4096 131072 8388608\nnet.ipv4.tcp_sack = 1\n"));
    let refused = folder.persist(PersistBy::Shell, &changes()).expect_err("by sysctl");
    assert!(refused.to_string().starts_with("changes persist by sysctl already"), "{refused}");
    let check = |by| check_persist(&folder.state(), &folder.root(), by);
    assert!(check(PersistBy::Sysctl).is_ok() && check(PersistBy::Udev).is_err());
}

#[test]
fn a_file_that_was_edited_stays_and_is_named() {
    let folder = Folder::new("persist-edited");
    folder.persist(PersistBy::Systemd, &changes()).expect("written");
    let path = folder.root().join("etc/sysctl.d/90-linerate.conf");
    fs::write(&path, "net.ipv4.tcp_sack = 1\n").expect("a file");
    let refused = unpersist(&folder.state()).expect_err("edited");
    assert!(refused.to_string().contains("90-linerate.conf was edited since"), "{refused}");
    assert!(path.exists() && !folder.root().join("etc/linerate/tuning.sh").exists());
    fs::remove_file(&path).expect("deleted");
    unpersist(&folder.state()).expect("taken back");
    assert_eq!(persisted(&folder.state()).expect("no register"), [""; 0]);
}

#[test]
fn scripts_and_units_are_read_by_those_for_whom_they_are() {
    let folder = Folder::new("persist-read");
    for by in PersistBy::ALL {
        for file in files(&tree(), by, &changes()).files {
            let Content::Script(text) = file.content else { continue };
            let path = folder.0.join("script");
            fs::write(&path, text).expect("a file");
            let checked = Command::new("sh").arg("-n").arg(&path).output().expect("a shell");
            assert!(checked.status.success(), "{by:?}: {checked:?}");
        }
    }
    folder.persist(PersistBy::Systemd, &changes()).expect("written");
    let unit = folder.root().join("etc/systemd/system/linerate-tuning.service");
    match Command::new("systemd-analyze").arg("verify").arg(&unit).output() {
        Ok(checked) => assert_eq!(String::from_utf8_lossy(&checked.stderr), "", "{checked:?}"),
        Err(error) => eprintln!("not run: systemd-analyze: {error}"),
    }
}

#[test]
fn sysctl_reads_its_file() {
    if let Access::Forbidden { reason } = lab::prepare() {
        return eprintln!("not run: {reason}");
    }
    let link = Link::create(&LinkSpec::default()).expect("a link");
    let folder = Folder::new("persist-read-by-sysctl");
    folder.persist(PersistBy::Sysctl, &changes()[..2]).expect("written");
    let file = folder.root().join("etc/sysctl.d/90-linerate.conf");
    let read = link.near.command("sysctl").arg("-p").arg(file).output().expect("sysctl(8)");
    assert!(read.status.success(), "{read:?}");
    let output = link.near.command("sysctl").args(["-n", "net.ipv4.tcp_rmem"]).output();
    let output = output.expect("sysctl(8)").stdout;
    assert_eq!(String::from_utf8_lossy(&output), "4096\t131072\t8388608\n");
}
