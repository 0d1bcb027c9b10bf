//! Reads the CPUs: `/sys/devices/system/cpu` (Documentation/ABI/testing/sysfs-devices-system-cpu)
//! and `/proc/cpuinfo`.

use std::collections::BTreeMap;

use measurement::host::{Cache, Cpu, MOST_CPU};

use measurement::{IntoMap, Order};

use super::cores::{core, instructions};
use super::cpuinfo::CpuInfo;
use super::lists::list;
use crate::Tree;

/// The CPUs of a host, by number. `misaligned` is the speed of misaligned accesses of each,
/// which no file has.
pub(super) fn cpus(tree: &Tree, info: &CpuInfo, misaligned: &BTreeMap<u32, String>) -> Vec<Cpu> {
    let nodes = nodes(tree);
    let cpu = |number| {
        let (model, pipeline) = core(info, number);
        Cpu {
            model,
            pipeline,
            instructions: instructions(info, number),
            misaligned: misaligned.get(&number).cloned(),
            node: nodes.get(&number).copied(),
            ..of_sysfs(tree, number)
        }
    };
    numbers(tree, info).into_iter().map(cpu).collect()
}

/// Numbers of the CPUs. Where they are not in sysfs (a captured tree of few files),
/// `/proc/cpuinfo` has those that are online.
fn numbers(tree: &Tree, info: &CpuInfo) -> Vec<u32> {
    let folders = tree.names("sys/devices/system/cpu").unwrap_or_default();
    let number = |name: &String| name.strip_prefix("cpu")?.parse().ok();
    let mut numbers: Vec<u32> = folders.iter().filter_map(number).collect();
    if numbers.is_empty() {
        numbers.extend(info.cpus.keys());
    }
    numbers.retain(|number| *number <= MOST_CPU);
    numbers.order();
    numbers
}

fn of_sysfs(tree: &Tree, number: u32) -> Cpu {
    let folder = format!("sys/devices/system/cpu/cpu{number}");
    let path = |file: &str| format!("{folder}/{file}");
    let siblings = tree
        .value(&path("topology/thread_siblings_list"))
        .or_else(|| tree.value(&path("topology/core_cpus_list")));
    let siblings = siblings.map(|text| list(&text)).unwrap_or_default();
    Cpu {
        number,
        offline: tree.number::<u32>(&path("online")) == Some(0),
        capacity: tree.number(&path("cpu_capacity")),
        max_khz: tree.number(&path("cpufreq/cpuinfo_max_freq")),
        governor: tree.value(&path("cpufreq/scaling_governor")),
        // Where the firmware does not number them, the kernel says -1.
        core: tree.number(&path("topology/core_id")),
        package: tree.number(&path("topology/physical_package_id")),
        siblings: siblings.into_iter().filter(|cpu| *cpu != number).collect(),
        caches: caches(tree, &path("cache")),
        ..Cpu::default()
    }
}

fn caches(tree: &Tree, folder: &str) -> Vec<Cache> {
    let names = tree.names(folder).unwrap_or_default();
    let cache = |name: &String| {
        let path = |file: &str| format!("{folder}/{name}/{file}");
        Some(Cache {
            level: tree.number(&path("level"))?,
            kind: tree.value(&path("type"))?.to_lowercase(),
            bytes: tree.value(&path("size")).and_then(|text| bytes(&text)).unwrap_or_default(),
            shared: tree
                .value(&path("shared_cpu_list"))
                .map(|text| list(&text))
                .unwrap_or_default(),
        })
    };
    names.iter().filter(|name| name.starts_with("index")).filter_map(cache).collect()
}

/// A size as the kernel writes it: `32K`.
fn bytes(text: &str) -> Option<u64> {
    let (number, unit) = text.split_at(text.find(|letter: char| !letter.is_ascii_digit())?);
    let unit = match unit {
        "K" => 1 << 10,
        "M" => 1 << 20,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}

/// The memory node of each CPU.
fn nodes(tree: &Tree) -> BTreeMap<u32, u32> {
    let folder = "sys/devices/system/node";
    let names = tree.names(folder).unwrap_or_default();
    let node = |name: &String| {
        let node: u32 = name.strip_prefix("node")?.parse().ok()?;
        let cpus = tree.value(&format!("{folder}/{name}/cpulist"))?;
        Some(list(&cpus).into_iter().map(move |cpu| (cpu, node)))
    };
    names.iter().filter_map(node).flatten().into_map()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_of_caches_have_units() {
        assert_eq!(bytes("32K"), Some(32 << 10));
        assert_eq!(bytes("2M"), Some(2 << 20));
        assert_eq!(bytes("99999999999999999999K"), None);
        assert_eq!(bytes("12"), None);
    }
}
