//! Reads the interfaces from `/sys/class/net` (Documentation/ABI/testing/sysfs-class-net), in
//! addition to netlink.

use std::collections::{BTreeMap, BTreeSet};

use measurement::host::{Bus, Interface, Steering};
use measurement::{Gap, IntoMap, IntoSet, Order};

use super::answers::InterfaceAnswers;
use super::lists::mask;
use crate::Tree;

/// The interfaces of a host: those that netlink reported, with their attributes in sysfs;
/// without an answer of netlink, those in sysfs.
pub(super) fn interfaces(
    tree: &Tree,
    answers: &[InterfaceAnswers],
) -> (Vec<Interface>, Option<Gap>) {
    let names = tree.names(FOLDER).unwrap_or_default();
    // A file beside the folders, `bonding_masters`, is no interface.
    let indices = names.iter().filter_map(|name| Some((name.as_str(), index(tree, name)?)));
    let in_sysfs: BTreeMap<&str, u32> = indices.into_map();
    if answers.is_empty() {
        let bare = |(name, index): (&&str, &u32)| Interface {
            name: (*name).to_owned(),
            index: *index,
            ..Interface::default()
        };
        let all = in_sysfs.iter().map(bare).map(|interface| of_sysfs(tree, interface)).collect();
        return (sorted(all), None);
    }
    let interfaces = answers.iter().map(|one| one.interface.clone());
    if !is_same_namespace(tree, &in_sysfs, answers) {
        return (sorted(interfaces.collect()), Some(other_namespace()));
    }
    (sorted(interfaces.map(|interface| of_sysfs(tree, interface)).collect()), None)
}

/// What is mounted at `/sys` may be of another network namespace; then it names other
/// interfaces, or the same with other numbers or addresses.
fn is_same_namespace(
    tree: &Tree,
    in_sysfs: &BTreeMap<&str, u32>,
    answers: &[InterfaceAnswers],
) -> bool {
    let names: BTreeSet<_> = answers.iter().map(|one| one.interface.name.as_str()).into_set();
    let agrees = |one: &InterfaceAnswers| {
        let Interface { name, index, .. } = &one.interface;
        let address = tree.value(&format!("{FOLDER}/{name}/address")).unwrap_or_default();
        in_sysfs.get(name.as_str()) == Some(index)
            && (address == one.hardware || has_none(&address))
    };
    names.iter().copied().eq(in_sysfs.keys().copied()) && answers.iter().all(agrees)
}

/// Whether an address is none: a tunnel's, or all zeroes.
fn has_none(address: &str) -> bool {
    address.chars().all(|letter| matches!(letter, '0' | ':'))
}

fn index(tree: &Tree, name: &str) -> Option<u32> {
    tree.number(&format!("{FOLDER}/{name}/ifindex"))
}

fn sorted(mut interfaces: Vec<Interface>) -> Vec<Interface> {
    interfaces.order_by(|one, other| (one.index, &one.name).cmp(&(other.index, &other.name)));
    interfaces
}

fn other_namespace() -> Gap {
    Gap {
        what: "queues, steering and devices of interfaces".to_owned(),
        why: "/sys shows another network namespace: run linerate with ip netns exec, which \
              mounts it anew"
            .to_owned(),
    }
}

/// Adds the attributes in sysfs; what netlink reported is kept.
fn of_sysfs(tree: &Tree, reported: Interface) -> Interface {
    let folder = format!("{FOLDER}/{}", reported.name);
    let path = |file: &str| format!("{folder}/{file}");
    let queues = tree.names(&path("queues")).unwrap_or_default();
    let count = |kind: &str| {
        let count = queues.iter().filter(|name| name.starts_with(kind)).count();
        u32::try_from(count).ok().filter(|count| *count > 0)
    };
    let mbps = |file: &str| tree.number::<u32>(&path(file)).filter(|speed| *speed != u32::MAX);
    let duplex = tree.value(&path("duplex")).filter(|text| text != "unknown");
    Interface {
        kind: reported.kind.clone().or_else(|| kind(tree, &folder)),
        driver: tree.link(&path("device/driver")).or_else(|| reported.driver.clone()),
        state: reported.state.clone().or_else(|| tree.value(&path("operstate"))),
        mtu: tree.number(&path("mtu")).unwrap_or(reported.mtu),
        speed_mbps: reported.speed_mbps.or_else(|| mbps("speed").map(u64::from)),
        duplex: reported.duplex.clone().or(duplex),
        receive_queues: count("rx-").unwrap_or(reported.receive_queues),
        send_queues: count("tx-").unwrap_or(reported.send_queues),
        bus: bus(tree, &path("device")),
        node: tree.number(&path("device/numa_node")),
        steering: steering(tree, &path("queues"), &queues),
        send_limits_bytes: send_limits(tree, &folder, &queues),
        attributes: attributes(tree, &folder),
        ..reported
    }
}

/// The kind of a virtual interface; none for hardware.
fn kind(tree: &Tree, folder: &str) -> Option<String> {
    let of_type = tree.number::<u32>(&format!("{folder}/type"));
    if of_type == Some(LOOPBACK) {
        return Some("loopback".to_owned());
    }
    if tree.value(&format!("{folder}/tun_flags")).is_some() {
        return Some("tun".to_owned());
    }
    let text = tree.text(&format!("{folder}/uevent")).ok()?;
    let kind = text.lines().find_map(|line| line.strip_prefix("DEVTYPE="))?;
    // These are of hardware.
    let is_hardware = matches!(kind, "wlan" | "wwan" | "gadget" | "dsa");
    (!is_hardware).then(|| kind.to_owned())
}

/// The bus of a device.
fn bus(tree: &Tree, device: &str) -> Option<Bus> {
    let kind = tree.link(&format!("{device}/subsystem"))?;
    let address = tree.link(device)?;
    let known = |file: &str| {
        tree.value(&format!("{device}/{file}")).filter(|text| !text.starts_with("Unknown"))
    };
    let iommu = tree.value(&format!("{device}/iommu_group/type"));
    let lanes = |file: &str| tree.number(&format!("{device}/{file}")).filter(|lanes| *lanes > 0);
    Some(match kind.as_str() {
        "pci" => Bus {
            speed: known("current_link_speed"),
            most_speed: known("max_link_speed"),
            iommu,
            width: lanes("current_link_width"),
            most_width: lanes("max_link_width").filter(|lanes| *lanes < UNKNOWN_WIDTH),
            kind,
            address,
        },
        // The speed is that of the device around its functions.
        "usb" => Bus { speed: known("../speed"), iommu, kind, address, ..Bus::default() },
        _ => Bus { iommu, kind, address, ..Bus::default() },
    })
}

/// Byte queue limits of hardware, by the number of the queue; the files of virtual devices
/// are there and mean nothing.
fn send_limits(tree: &Tree, folder: &str, queues: &[String]) -> Vec<u64> {
    if tree.link(&format!("{folder}/device")).is_none() {
        return Vec::new();
    }
    let limit = |queue: &String| {
        let number: u32 = queue.strip_prefix("tx-")?.parse().ok()?;
        let path = format!("{folder}/queues/{queue}/byte_queue_limits/limit");
        Some((number, tree.number(&path)?))
    };
    let mut limits: Vec<(u32, u64)> = queues.iter().filter_map(limit).collect();
    limits.order();
    limits.into_iter().map(|(_, limit)| limit).collect()
}

/// RPS, RFS and XPS of each queue that has them.
fn steering(tree: &Tree, folder: &str, queues: &[String]) -> Vec<Steering> {
    let steering = |queue: &String| {
        let path = |file: &str| format!("{folder}/{queue}/{file}");
        let file = if queue.starts_with("rx-") { "rps_cpus" } else { "xps_cpus" };
        let cpus = tree.value(&path(file)).map(|text| mask(&text))?;
        let flows = tree.number(&path("rps_flow_cnt"));
        Some(Steering { queue: queue.clone(), cpus, flows })
    };
    let mut all: Vec<_> = queues.iter().filter_map(steering).collect();
    all.order_by_key(|one| {
        let (kind, number) = one.queue.split_once('-').unwrap_or((&one.queue, ""));
        (kind.to_owned(), number.parse().unwrap_or(u32::MAX))
    });
    all
}

fn attributes(tree: &Tree, folder: &str) -> BTreeMap<String, String> {
    let value = |name: &str| {
        let value = tree.value(&format!("{folder}/{name}"))?;
        Some((name.to_owned(), value))
    };
    ATTRIBUTES.iter().filter_map(|name| value(name)).into_map()
}

const FOLDER: &str = "sys/class/net";
/// `ARPHRD_LOOPBACK`, linux/if_arp.h
const LOOPBACK: u32 = 772;
/// `PCIE_LNK_WIDTH_UNKNOWN`, linux/pci.h
const UNKNOWN_WIDTH: u32 = 255;
const ATTRIBUTES: [&str; 6] = [
    "carrier",
    "carrier_changes",
    "gro_flush_timeout",
    "napi_defer_hard_irqs",
    "threaded",
    "tx_queue_len",
];
