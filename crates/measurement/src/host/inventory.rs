//! The inventory of a host, as far as it can be read; parts that are not known are none or empty.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// The inventory of a host: CPUs, interfaces, interrupts, settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Inventory {
    /// Node name, as of uname(2).
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine, e.g. `riscv64`.
    pub architecture: String,
    /// The board or the machine, e.g. `SiFive HiFive Unleashed A00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// An identifier of this start of this kernel (`/proc/sys/kernel/random/boot_id`): two
    /// namespaces of one host have the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// Its CPUs, by number.
    pub cpus: Vec<Cpu>,
    /// Its interfaces.
    pub interfaces: Vec<Interface>,
    /// Its interrupts that belong to an interface, or could.
    pub irqs: Vec<Irq>,
    /// Settings of the kernel by their names: `net.core.rmem_max` and its value.
    pub settings: BTreeMap<String, String>,
    /// Ways out of it.
    pub routes: Vec<Route>,
    /// Programs that run and change what decides how fast it is: `irqbalance`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// The limits of the process's control group.
    pub limits: ControlGroup,
    /// Options with which the kernel was built, of those that matter here: `CONFIG_HZ`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_options: BTreeMap<String, String>,
}

impl Inventory {
    /// Every number of a CPU in it.
    pub fn cpu_numbers(&self) -> impl Iterator<Item = &u32> {
        let cpus = self.cpus.iter().flat_map(|cpu| cpu.siblings.iter().chain([&cpu.number]));
        let irqs = self.irqs.iter();
        let irqs =
            irqs.flat_map(|irq| irq.allowed.iter().chain(&irq.effective).chain(irq.counts.keys()));
        let steering = self.interfaces.iter().flat_map(|interface| &interface.steering);
        let steering = steering.flat_map(|steering| &steering.cpus);
        cpus.chain(irqs).chain(steering).chain(&self.limits.cpus)
    }
}

/// One CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cpu {
    /// Its number.
    pub number: u32,
    /// It is switched off: it has no interrupts, no frequency and runs nothing.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// Core design, e.g. `Cortex-A53` or `sifive,u54-mc`, or the model's name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Its capacity against the largest of the host, of 1024 (`cpu_capacity`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Highest frequency in kHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_khz: Option<u64>,
    /// The frequency governor, e.g. `schedutil`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether it executes in program order, where that is known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// Which core, package and NUMA node it is of; two of one core are threads of it (SMT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// Socket.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    /// Memory node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Other CPUs of its core.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<u32>,
    /// Its caches.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Cache>,
    /// Instruction set and what it can do beyond, e.g. `rv64imafdc`, or flags of interest.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// RISC-V: how fast misaligned accesses are (`riscv_hwprobe(2)`): `fast`, `slow`,
    /// `emulated`, `unsupported` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misaligned: Option<String>,
}

/// How a core executes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Pipeline {
    /// In program order: it waits for every load that is not there yet.
    InOrder,
    /// Out of order.
    OutOfOrder,
}

/// One cache of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Cache {
    /// 1 for the nearest.
    pub level: u32,
    /// `data`, `instruction` or `unified`.
    pub kind: String,
    /// Its size in bytes.
    pub bytes: u64,
    /// CPUs that share it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<u32>,
}

/// A number of something that can be set, as it is and at most.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Measure {
    /// As it is.
    pub current: u64,
    /// The most that the device supports. None: it does not report it.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most: Option<u64>,
}

/// One interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Interface {
    /// Its name, e.g. `eth0`.
    pub name: String,
    /// Its number.
    pub index: u32,
    /// The kind of a virtual interface: `loopback`, `veth`, `bridge`, `bond`, `vlan`, `tun`. None:
    /// it is hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Its driver, e.g. `r8169`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Whether it is up and running (RFC 2863: `up`, `down`, `unknown` …).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// Largest packet in bytes.
    pub mtu: u32,
    /// Addresses with the length of their prefix.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// The negotiated speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u64>,
    /// The fastest that it can, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_mbps: Option<u64>,
    /// The fastest that it offers to the other end, in Mbit/s; less than it can: somebody
    /// forbade it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertised_mbps: Option<u64>,
    /// The fastest that the other end offers, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_mbps: Option<u64>,
    /// Whether both ends negotiate the speed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negotiated: Option<bool>,
    /// `full` or `half`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplex: Option<String>,
    /// Queues for receiving and for sending.
    pub receive_queues: u32,
    /// Queues for sending.
    pub send_queues: u32,
    /// Channels, i.e. queues that the device runs (`ethtool -l`): receive, send, combined.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, Measure>,
    /// Rings in descriptors (`ethtool -g`): `rx`, `tx`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rings: BTreeMap<String, Measure>,
    /// How interrupts are held back (`ethtool -c`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<Coalescing>,
    /// Offloads of those that matter, by the kernel's names, which are those in `ethtool -k`
    /// behind what ethtool sums up: `tx-tcp-segmentation`, and `on`, `off`, `on [fixed]` or
    /// `off [fixed]`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<String, String>,
    /// Flow control (`ethtool -a`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// Energy Efficient Ethernet (IEEE 802.3az): `off`, `enabled` or `active`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eee: Option<String>,
    /// The bus of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<Bus>,
    /// Memory node that it is next to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Queueing disciplines, the root first.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queueing: Vec<Queueing>,
    /// RPS, RFS and XPS of its queues.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steering: Vec<Steering>,
    /// Bytes that each queue for sending may hold in the device now, in order
    /// (`byte_queue_limits/limit`); 0: there is no limit, or it has not sent yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub send_limits_bytes: Vec<u64>,
    /// Largest packet that segmentation offload may make, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_max_bytes: Option<u64>,
    /// Largest packet that receive offload may make, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro_max_bytes: Option<u64>,
    /// Other attributes in sysfs, by their names: `threaded`, `gro_flush_timeout`,
    /// `tx_queue_len`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// How interrupts are held back.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Coalescing {
    /// Time after a received frame, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_micros: Option<u32>,
    /// Received frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_frames: Option<u32>,
    /// Time after a sent frame, in microseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_micros: Option<u32>,
    /// Sent frames.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_frames: Option<u32>,
    /// The driver adapts it to what is received.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_receive: Option<bool>,
    /// The driver adapts it to what is sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_send: Option<bool>,
}

/// Flow control of IEEE 802.3x.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Pause {
    /// It is negotiated.
    pub negotiated: bool,
    /// It obeys pause frames.
    pub receive: bool,
    /// It sends pause frames.
    pub send: bool,
}

/// The bus of a device.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Bus {
    /// `pci`, `usb`, `platform`, `virtio` …
    pub kind: String,
    /// Its address there, e.g. `0000:01:00.0`.
    pub address: String,
    /// Speed as the kernel reports it, e.g. `8.0 GT/s PCIe`, or for USB Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// The fastest that the device can.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_speed: Option<String>,
    /// How an IOMMU translates addresses for it (`iommu_group/type`): `DMA` (strict), `DMA-FQ`
    /// (lazy), `identity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iommu: Option<String>,
    /// PCI lanes in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// PCI lanes that the device has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_width: Option<u32>,
}

/// One queueing discipline.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Queueing {
    /// Its handle, e.g. `8001:`, or `0:` of one that the kernel chose.
    pub handle: String,
    /// Its parent: `root`, or a class.
    pub parent: String,
    /// Its kind, e.g. `fq_codel`.
    pub kind: String,
}

/// Where packets of one queue are worked on.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Steering {
    /// The queue: `rx-0`, `tx-3`.
    pub queue: String,
    /// CPUs: of RPS for `rx`, of XPS for `tx`; empty: off.
    pub cpus: Vec<u32>,
    /// RFS: entries of the queue's flow table (`rps_flow_cnt`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
}

/// One interrupt.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Irq {
    /// Its number.
    pub number: u32,
    /// The name of the interrupt, e.g. `eth0-rx-1`.
    pub name: String,
    /// Interface that it belongs to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// CPUs that it may go to (`smp_affinity_list`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<u32>,
    /// CPUs that it goes to (`effective_affinity_list`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effective: Vec<u32>,
    /// How often it came to each CPU since the start of the host, by the CPU's number; a
    /// CPU that is offline has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub counts: BTreeMap<u32, u64>,
}

/// One way out of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Route {
    /// Where to: `default`, or `10.0.0.0/8`.
    pub to: String,
    /// By which router.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// By which interface.
    pub interface: String,
    /// Path MTU that is set on it, in bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

/// The highest number that a CPU can have: no kernel is built for more (`CONFIG_NR_CPUS`).
pub const MOST_CPU: u32 = 8191;

/// The limits of a control group (cgroups(7), version 1 or 2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct ControlGroup {
    /// Version of the control group: 1 or 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// CPU time in thousandths of a CPU; none: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_thousandths: Option<u64>,
    /// CPUs; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Memory in bytes; none: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}
