//! Reads the interrupts of interfaces: `/proc/interrupts` and `/proc/irq` (proc(5)).

use std::collections::{BTreeMap, BTreeSet};

use measurement::host::{Interface, Irq};
use measurement::{Gap, IntoSet};

use super::lists::list;
use crate::Tree;

/// An interrupt with a number and its counts: a row of `/proc/interrupts` (proc_interrupts(5)).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct IrqRow {
    /// Number of the interrupt.
    pub number: u32,
    /// Text after the counts: interrupt controller, its own number of the interrupt, trigger type,
    /// device names.
    pub words: String,
    /// Number of interrupts since boot, by CPU; a CPU that is offline has none.
    pub counts: BTreeMap<u32, u64>,
}

/// Parses the text of `/proc/interrupts` (proc_interrupts(5)). Rows without a number (`NMI`,
/// `IPI0`) belong to no device and are left out.
pub fn rows(text: &str) -> Vec<IrqRow> {
    let mut lines = text.lines();
    let head = lines.next().unwrap_or_default();
    let number = |word: &str| word.strip_prefix("CPU")?.parse().ok();
    let cpus: Vec<u32> = head.split_whitespace().filter_map(number).collect();
    lines.filter_map(|line| row(line, &cpus)).collect()
}

fn row(line: &str, cpus: &[u32]) -> Option<IrqRow> {
    let (number, rest) = line.split_once(':')?;
    let number = number.trim().parse().ok()?;
    let mut words = rest.split_whitespace();
    let mut counts = BTreeMap::new();
    for cpu in cpus {
        counts.insert(*cpu, words.next()?.parse().ok()?);
    }
    Some(IrqRow { number, words: words.collect::<Vec<_>>().join(" "), counts })
}

impl IrqRow {
    /// Names of its devices: the words after the trigger (`2-edge`, `Level`), or the last word
    /// with those that share the interrupt.
    fn name(&self) -> String {
        let words: Vec<&str> = self.words.split(' ').collect();
        let is_trigger = |word: &&str| {
            let word = word.to_lowercase();
            ["edge", "level", "fasteoi"].iter().any(|trigger| word.ends_with(trigger))
        };
        let behind = words.iter().rposition(is_trigger).map(|place| place + 1);
        let shared = || {
            let earlier = words.iter().rev().skip(1).take_while(|word| word.ends_with(','));
            words.len() - 1 - earlier.count()
        };
        let from = behind.filter(|place| *place < words.len()).unwrap_or_else(shared);
        words[from..].join(" ")
    }
}

/// The interrupts of interfaces.
pub(super) fn irqs(tree: &Tree, interfaces: &[Interface]) -> (Vec<Irq>, Option<Gap>) {
    let text = match tree.text("proc/interrupts") {
        Ok(text) => text,
        Err(error) => return (Vec::new(), Some(super::gap("interrupts of interfaces", &error))),
    };
    let marks: Vec<_> = interfaces.iter().filter_map(|one| Marks::new(tree, one)).collect();
    let irq = |row: IrqRow| {
        let interface = match Marks::owner(&marks, &row)? {
            Owner::One(interface) => Some(interface.to_owned()),
            Owner::OneOfSeveral => None,
        };
        Some(irq(tree, row, interface))
    };
    (rows(&text).into_iter().filter_map(irq).collect(), None)
}

fn irq(tree: &Tree, row: IrqRow, interface: Option<String>) -> Irq {
    let cpus = |file: &str| {
        let text = tree.value(&format!("proc/irq/{}/{file}", row.number));
        text.map(|text| list(&text)).unwrap_or_default()
    };
    Irq {
        number: row.number,
        name: row.name(),
        interface,
        allowed: cpus("smp_affinity_list"),
        effective: cpus("effective_affinity_list"),
        counts: row.counts,
    }
}

/// The interface that an interrupt belongs to.
enum Owner<'a> {
    /// This interface.
    One(&'a str),
    /// One of several with the same driver; the kernel does not report which.
    OneOfSeveral,
}

/// What identifies the interrupts of an interface.
struct Marks<'a> {
    interface: &'a str,
    /// Its driver, after which some drivers name their interrupts.
    driver: Option<&'a str>,
    /// Words that name the interface or its device, e.g. `eth0` and `virtio2`.
    names: Vec<String>,
    /// Interrupts that were allocated to its device (`msi_irqs`).
    numbers: BTreeSet<u32>,
}

impl<'a> Marks<'a> {
    /// None for an interface without hardware.
    fn new(tree: &Tree, interface: &'a Interface) -> Option<Self> {
        if interface.kind.is_some() {
            return None;
        }
        let mut names = vec![interface.name.clone()];
        if let Some(bus) = &interface.bus {
            names.push(bus.address.clone());
            names.extend(host_controller(&bus.kind, &bus.address));
        }
        let numbers = ["device/msi_irqs", "device/../msi_irqs"].iter().filter_map(|folder| {
            // Those of a device around it, e.g. a PCI device of virtio; a bridge of PCI
            // around a PCI device has its own.
            let is_own = interface.bus.as_ref().is_none_or(|bus| bus.kind != "pci");
            let folder = (is_own || !folder.contains("..")).then_some(folder)?;
            tree.names(&format!("sys/class/net/{}/{folder}", interface.name)).ok()
        });
        let numbers = numbers.flatten().filter_map(|name| name.parse().ok()).into_set();
        Some(Self {
            interface: &interface.name,
            driver: interface.driver.as_deref(),
            names,
            numbers,
        })
    }

    /// The interface whose name the interrupt has, before one whose device it is of: several
    /// interfaces may share a device. One that is named after a driver is of an interface of
    /// that driver. None: it is of no interface.
    fn owner(marks: &[Self], row: &IrqRow) -> Option<Owner<'a>> {
        let is_of = |one: &&Self| one.names.iter().any(|name| is_named(&row.words, name));
        let named = marks.iter().find(is_of);
        let own = named.or_else(|| marks.iter().find(|one| one.numbers.contains(&row.number)));
        if let Some(one) = own {
            return Some(Owner::One(one.interface));
        }
        let name = row.name();
        let mut of_driver = marks.iter().filter(|one| one.driver == Some(name.as_str()));
        let first = of_driver.next()?;
        let is_alone = of_driver.next().is_none();
        Some(if is_alone { Owner::One(first.interface) } else { Owner::OneOfSeveral })
    }
}

/// A USB device has the interrupt of its host controller: `4-1:1.0` is behind `usb4`.
fn host_controller(kind: &str, address: &str) -> Option<String> {
    let (number, _) = address.split_once('-')?;
    (kind == "usb").then(|| format!("usb{number}"))
}

/// Whether a word is the name, or begins with it and a separator.
fn is_named(words: &str, name: &str) -> bool {
    words.split([' ', ',']).any(|word| {
        let behind = |word: &str| {
            let rest = word.strip_prefix(name);
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(SEPARATORS))
        };
        // `xhci-hcd:usb4` and `mlx5_comp0@pci:0000:5e:00.0`.
        behind(word)
            || word.split_once(':').is_some_and(|(_, rest)| behind(rest))
            || word.split_once('@').is_some_and(|(_, rest)| rest.trim_start_matches("pci:") == name)
    })
}

const SEPARATORS: [char; 5] = ['-', '.', ':', '@', '_'];

#[cfg(test)]
mod tests {
    use super::*;

    /// As different kernels write it; CPU1 is offline.
    const TABLE: &str = "           CPU0       CPU2
 25:          0      12345   PCI-MSIX-0000:00:03.0    0-edge      virtio1-config
 27:   10628015          0     GICv3  44 Level     eth0
 29:          0          7   GICv3  65 Level     eth0, eth1
167:          0          9     GICv2  99 Level     xhci-hcd:usb4
 53:         12          0   SiFive PLIC  53  10090000.ethernet
 22:         12          0   MIPS GIC  10  eth0, eth1
 99:          1          2   IR-PCI-MSI-0000:5e:00.0  1-edge  mlx5_comp0@pci:0000:5e:00.0
broken
 31:          1
NMI:          0          0   Non-maskable interrupts
ERR:          0
";

    #[test]
    fn rows_have_a_count_for_each_cpu_that_is_online() {
        let rows = rows(TABLE);
        assert_eq!(
            rows.iter().map(|row| row.number).collect::<Vec<_>>(),
            [25, 27, 29, 167, 53, 22, 99]
        );
        assert_eq!(rows[0].counts, BTreeMap::from([(0, 0), (2, 12345)]));
        let names: Vec<_> = rows.iter().map(IrqRow::name).collect();
        assert_eq!(
            names,
            [
                "virtio1-config",
                "eth0",
                "eth0, eth1",
                "xhci-hcd:usb4",
                "10090000.ethernet",
                "eth0, eth1",
                "mlx5_comp0@pci:0000:5e:00.0"
            ]
        );
    }

    #[test]
    fn an_interrupt_is_named_after_interface_device_or_host_controller() {
        let rows = rows(TABLE);
        let numbers = |name: &str| {
            let of_name = rows.iter().filter(|row| is_named(&row.words, name));
            of_name.map(|row| row.number).collect::<Vec<_>>()
        };
        assert_eq!(numbers("eth0"), [27, 29, 22]);
        assert_eq!(numbers("eth1"), [29, 22]);
        assert_eq!(numbers("virtio1"), [25]);
        assert_eq!(numbers("0000:5e:00.0"), [99]);
        assert_eq!(numbers("10090000.ethernet"), [53]);
        assert_eq!(numbers(&host_controller("usb", "4-1:1.0").expect("one")), [167]);
        assert_eq!(numbers("eth"), [0_u32; 0]);
    }
}
