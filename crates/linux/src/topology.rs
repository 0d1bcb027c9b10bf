//! CPU topology: which CPUs share a core or a cache, and which serve a network interface.
//!
//! It is read from `/sys/devices/system/cpu` (sysfs(5)), `/proc/interrupts` and `/proc/irq`
//! (proc(5)).

use std::fs::{self, File};
use std::io::{self, BufRead, BufReader};

/// The CPUs of `allowed` that share a core with `cpu` (SMT), including itself. If the kernel does
/// not report cores, each CPU counts as a core of its own.
pub fn siblings(cpu: usize, allowed: &[usize]) -> Vec<usize> {
    let path = format!("/sys/devices/system/cpu/cpu{cpu}/topology/thread_siblings_list");
    let told = fs::read_to_string(path).ok().and_then(|text| parse_list(&text));
    let mut siblings = told.unwrap_or_else(|| vec![cpu]);
    siblings.retain(|sibling| allowed.contains(sibling));
    siblings
}

/// One CPU of `allowed` for each core, so that no two of them share a core (SMT).
pub fn one_of_each_core(allowed: &[usize]) -> Vec<usize> {
    first_of_each(allowed, |cpu| siblings(cpu, allowed))
}

fn first_of_each(allowed: &[usize], siblings: impl Fn(usize) -> Vec<usize>) -> Vec<usize> {
    let is_first = |cpu: &usize| siblings(*cpu).iter().min().is_none_or(|first| first == cpu);
    allowed.iter().copied().filter(is_first).collect()
}

/// A CPU's part of its second-level cache in bytes: the cache's size divided by the number of CPUs
/// that share it (sysfs(5)). `None` if the kernel does not report it.
pub fn second_level_cache(cpu: usize) -> Option<usize> {
    let read = |index: usize, file: &str| {
        let path = format!("/sys/devices/system/cpu/cpu{cpu}/cache/index{index}/{file}");
        fs::read_to_string(path).ok().map(|text| text.trim().to_owned())
    };
    let index = (0..8).find(|index| read(*index, "level").as_deref() == Some("2"))?;
    let size = read(index, "size")?;
    let kibibytes: usize = size.strip_suffix('K')?.parse().ok()?;
    let shared = read(index, "shared_cpu_list").and_then(|list| parse_list(&list));
    Some(kibibytes * 1024 / shared.map_or(1, |cpus| cpus.len().max(1)))
}

/// The CPUs that serve the interrupts of a network interface (`/proc/irq`, proc(5)). Empty if the
/// interface has none, as `lo` and veth(4).
///
/// # Errors
/// The errors of reading `/proc/interrupts`, e.g. `ENOENT` without interrupts (`s390`).
pub fn irq_cpus(interface: &str) -> io::Result<Vec<usize>> {
    let mut names = vec![interface.to_owned()];
    // Some drivers name their interrupts after the device, e.g. virtio0-input.0.
    let device = fs::read_link(format!("/sys/class/net/{interface}/device")).ok();
    names.extend(device.and_then(|path| Some(path.file_name()?.to_str()?.to_owned())));
    let numbers = interrupts(BufReader::new(File::open("/proc/interrupts")?), &names)?;
    let mut cpus: Vec<_> = numbers.into_iter().flat_map(affinity).collect();
    cpus.sort_unstable();
    cpus.dedup();
    Ok(cpus)
}

/// The CPUs to which an interrupt is delivered: `effective_affinity_list`, else
/// `smp_affinity_list`.
fn affinity(number: u32) -> Vec<usize> {
    let read = |name: &str| fs::read_to_string(format!("/proc/irq/{number}/{name}")).ok();
    let list = |text: String| parse_list(&text).filter(|cpus| !cpus.is_empty());
    let effective = read("effective_affinity_list").and_then(list);
    effective.or_else(|| read("smp_affinity_list").and_then(list)).unwrap_or_default()
}

/// The numbers of the interrupts whose names are one of `names`, or begin with one and a
/// separator.
fn interrupts(table: impl BufRead, names: &[String]) -> io::Result<Vec<u32>> {
    let is_meant = |word: &str| {
        names.iter().any(|name| {
            let rest = word.strip_prefix(name.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['-', '.', ':', '@', '_']))
        })
    };
    let mut numbers = Vec::new();
    for line in table.lines() {
        let line = line?;
        let Some((number, rest)) = line.split_once(':') else { continue };
        let words = rest.split([' ', ',', '\t']);
        if let Ok(number) = number.trim().parse()
            && words.into_iter().any(is_meant)
        {
            numbers.push(number);
        }
    }
    Ok(numbers)
}

/// Parses a list of CPUs such as `0,2-3`.
pub(crate) fn parse_list(text: &str) -> Option<Vec<usize>> {
    let mut cpus = Vec::new();
    for part in text.trim().split(',').filter(|part| !part.is_empty()) {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        cpus.extend(first.parse::<usize>().ok()?..=last.parse().ok()?);
    }
    Some(cpus)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As Linux 6.18 writes it.
    const TABLE: &str = "           CPU0       CPU1
  0:         36          0   IO-APIC    2-edge      timer
 25:          0      12345   PCI-MSIX-0000:00:03.0    0-edge      virtio1-config
 26:       9912          0   PCI-MSIX-0000:00:03.0    1-edge      virtio1-input.0
 27:          0       1234   IR-PCI-MSIX-0000:5e:00.0    1-edge      ens3f0-TxRx-0
 28:          0       1234   IR-PCI-MSIX-0000:5e:00.1    1-edge      ens3f01-TxRx-0
 29:          0          7   GICv3  65 Level     eth0, eth1
NMI:          0          0   Non-maskable interrupts
";

    fn of(names: &[&str]) -> Vec<u32> {
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        interrupts(TABLE.as_bytes(), &names).expect("readable")
    }

    #[test]
    fn interrupts_are_found_by_the_names_of_interface_and_device() {
        assert_eq!(of(&["ens3f0"]), [27]);
        assert_eq!(of(&["enp0s3", "virtio1"]), [25, 26]);
        assert_eq!(of(&["eth0"]), [29]);
        assert_eq!(of(&["eth1"]), [29]);
        assert!(of(&["lo"]).is_empty());
    }

    #[test]
    fn lists_of_cpus_are_the_kernels() {
        assert_eq!(parse_list("0,2-3\n"), Some(vec![0, 2, 3]));
        assert_eq!(parse_list("\n"), Some(Vec::new()));
        assert_eq!(parse_list("x"), None);
    }

    #[test]
    fn a_core_is_taken_once() {
        let pairs = |cpu: usize| vec![cpu % 4, cpu % 4 + 4];
        assert_eq!(first_of_each(&[0, 1, 2, 3, 4, 5, 6, 7], pairs), [0, 1, 2, 3]);
        let alone = |cpu: usize| vec![cpu];
        assert_eq!(first_of_each(&[3, 5], alone), [3, 5]);
    }

    #[test]
    fn this_host_has_cores() {
        let allowed = crate::host::allowed_cpus().expect("an affinity");
        let cores = one_of_each_core(&allowed);
        assert!(!cores.is_empty() && cores.len() <= allowed.len());
        assert!(siblings(cores[0], &allowed).contains(&cores[0]));
        assert!(second_level_cache(cores[0]).is_none_or(|size| size > 1024));
        assert_eq!(second_level_cache(1 << 20), None);
        assert!(irq_cpus("lo").expect("interrupts").is_empty());
    }
}
