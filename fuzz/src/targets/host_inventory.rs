//! Any bytes in place of the files of a captured host, of its archive, and of what the kernel
//! answers about a device and its queueing disciplines. A captured host comes from anywhere.

use crate::memory;
use host::inventory::{
    self, answers, cores, cpuinfo, irqs, limits, lists, memory as modules, options, routes,
};
use host::{Archive, Tree, TreeEntry};
use linux::netlink::{QdiscOptions, class_ceiling, ethtool, policers};

/// Judges one input.
pub(super) fn run(bytes: &[u8]) {
    memory::bounded(bytes.len(), || ethtool_messages(bytes));
    memory::bounded(bytes.len(), || traffic_control(bytes));
    memory::bounded(bytes.len(), || firmware(bytes));
    let text = String::from_utf8_lossy(bytes);
    memory::bounded(bytes.len(), || files(&text));
    if let Some(unpacked) = options::unpack(bytes) {
        // Four mebibytes, each byte of which may be none of a text.
        assert!(unpacked.len() <= 3 * (4 << 20));
    }
    whole(bytes);
}

/// Each parser of text.
fn files(text: &str) {
    let info = cpuinfo::read(text);
    for cpu in info.cpus.keys() {
        _ = (cores::core(&info, *cpu), cores::instructions(&info, *cpu));
    }
    let rows = irqs::rows(text);
    assert!(rows.windows(2).all(|pair| pair[0].counts.keys().eq(pair[1].counts.keys())));
    assert!(lists::list(text).is_sorted() && lists::mask(text).is_sorted());
    _ = (limits::groups(text), limits::mounts(text), options::read(text));
    _ = (routes::routes(text, true), routes::routes(text, false));
    if let Ok(answers) = serde_json::from_str::<answers::KernelAnswers>(text) {
        let again = serde_json::to_string(&answers).expect("serialises");
        assert_eq!(serde_json::from_str::<answers::KernelAnswers>(&again).expect("reads"), answers);
    }
}

/// What ethtool answers, as the attributes of netlink.
fn ethtool_messages(bytes: &[u8]) {
    _ = (ethtool::rings(bytes), ethtool::channels(bytes), ethtool::features(bytes));
    _ = (ethtool::LinkModes::read(bytes), ethtool::Coalescing::read(bytes));
    _ = (ethtool::Pause::read(bytes), ethtool::EnergyEfficiency::read(bytes));
}

/// What the kernel answers about queueing disciplines, classes and filters.
fn traffic_control(bytes: &[u8]) {
    for kind in ["cake", "fq", "hfsc", "htb", "netem", "tbf"] {
        _ = (QdiscOptions::read(kind, bytes), class_ceiling(kind, bytes));
    }
    _ = policers(bytes);
}

/// The tables of the firmware.
fn firmware(bytes: &[u8]) {
    let kept = modules::only_modules(bytes);
    assert!(kept.len() <= bytes.len());
    assert_eq!(modules::read(&kept), modules::read(bytes));
}

/// A host all of whose files are the same, and one in an archive.
fn whole(bytes: &[u8]) {
    let files = FILES.map(|path| (path.to_owned(), TreeEntry::File(bytes.to_vec())));
    let link =
        ("sys/class/net/eth0/device".to_owned(), TreeEntry::Link("../../../devices/a".to_owned()));
    let tree = Tree::archived(Archive::from_entries(files.into_iter().chain([link])));
    let (inventory, _) = inventory::read(&tree);
    assert!(inventory.cpus.len() >= 2);
    if let Ok(archive) = Archive::read(bytes) {
        _ = inventory::read(&Tree::archived(archive));
    }
}

const FILES: [&str; 23] = [
    "linerate/told.json",
    "proc/config.gz",
    "proc/cpuinfo",
    "proc/interrupts",
    "proc/irq/27/smp_affinity_list",
    "proc/net/route",
    "proc/self/cgroup",
    "proc/self/mountinfo",
    "proc/sys/net/ipv4/tcp_rmem",
    "proc/version",
    "sys/class/net/eth0/ifindex",
    "sys/class/net/eth0/queues/rx-0/rps_cpus",
    "sys/class/net/eth0/queues/tx-0/xps_cpus",
    "sys/class/net/eth0/speed",
    "sys/class/net/eth0/uevent",
    "sys/devices/a/subsystem",
    "sys/devices/system/cpu/cpu0/cache/index0/level",
    "sys/devices/system/cpu/cpu0/cache/index0/size",
    "sys/devices/system/cpu/cpu0/topology/thread_siblings_list",
    "sys/devices/system/cpu/cpu1/cpu_capacity",
    "sys/devices/system/node/node0/cpulist",
    "sys/firmware/dmi/tables/DMI",
    "sys/fs/cgroup/cpu.max",
];
