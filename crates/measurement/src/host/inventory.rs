//! The inventory of a host, as far as it can be read; parts that are not known are none or empty.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::units::BitRate;

/// Inventory of a host: CPUs, interfaces, interrupts, settings.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Inventory {
    /// Node name (`nodename` of uname(2)).
    pub host: String,
    /// Kernel release (`release` of uname(2)).
    pub kernel: String,
    /// Architecture (`machine` of uname(2)), e.g. `riscv64`.
    pub architecture: String,
    /// Model of the board or machine, e.g. `SiFive HiFive Unleashed A00`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Boot id (`/proc/sys/kernel/random/boot_id`), equal in all namespaces of one host.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub boot: Option<String>,
    /// CPUs by number.
    pub cpus: Vec<Cpu>,
    /// Memory modules that the firmware describes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub memory: Vec<MemoryModule>,
    /// Network interfaces.
    pub interfaces: Vec<Interface>,
    /// Interrupts that belong to a network interface, or could.
    pub irqs: Vec<Irq>,
    /// Kernel settings (sysctl(8)), by name: `net.core.rmem_max` and its value.
    pub settings: BTreeMap<String, String>,
    /// Routes to other networks.
    pub routes: Vec<Route>,
    /// Running services that affect network performance: `irqbalance`.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub services: Vec<String>,
    /// Limits of the process's control group.
    pub limits: ControlGroup,
    /// Build options of the kernel that affect network performance: `CONFIG_HZ`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_options: BTreeMap<String, String>,
}

impl Inventory {
    /// All CPU numbers in the inventory, some of them several times: of CPUs, interrupts, packet
    /// steering and the control group.
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

/// A CPU (hardware thread) of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cpu {
    /// Number of the CPU.
    pub number: u32,
    /// Whether the CPU is offline.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub offline: bool,
    /// Design of the core, e.g. `Cortex-A53` or `sifive,u54-mc`, or the model name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
    /// Capacity relative to the fastest CPU of the host, which has 1024 (`cpu_capacity`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub capacity: Option<u32>,
    /// Highest frequency in kHz.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub max_khz: Option<u64>,
    /// Frequency governor (cpufreq), e.g. `schedutil`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub governor: Option<String>,
    /// Whether the core executes in order; none: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pipeline: Option<Pipeline>,
    /// Number of the core; CPUs of one core are hardware threads (SMT).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub core: Option<u32>,
    /// Number of the package (socket).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub package: Option<u32>,
    /// Number of the NUMA node.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Other CPUs (hardware threads) of the core.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub siblings: Vec<u32>,
    /// Caches of the CPU.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub caches: Vec<Cache>,
    /// Instruction set with extensions, e.g. `rv64imafdc`, or the relevant CPU flags.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub instructions: Option<String>,
    /// RISC-V: how fast misaligned accesses are (`riscv_hwprobe(2)`): `fast`, `slow`,
    /// `emulated`, `unsupported` or `unknown`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misaligned: Option<String>,
}

/// Execution order of a CPU core: in order or out of order.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum Pipeline {
    /// In order: it stalls on every load that misses the cache.
    InOrder,
    /// Out of order: it executes later instructions while a load waits.
    OutOfOrder,
}

/// A cache of a CPU.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Cache {
    /// Level of the cache; 1 is the nearest.
    pub level: u32,
    /// Type of the cache: `data`, `instruction` or `unified`.
    pub kind: String,
    /// Size of the cache in bytes.
    pub bytes: u64,
    /// Numbers of the CPUs that share the cache.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub shared: Vec<u32>,
}

/// A memory module of a host, as its firmware describes it: SMBIOS (DMTF DSP0134, structure type
/// 17), or nodes of LPDDR in the device tree.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct MemoryModule {
    /// Label of the socket, e.g. `DIMM_A1`, or name of the node of the device tree.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locator: Option<String>,
    /// Memory type, e.g. `DDR4`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Size of the module in bytes.
    pub bytes: u64,
    /// Width of its data bus in bits, without those for error correction.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width_bits: Option<u16>,
    /// Speed at which the module runs, in million transfers per second (MT/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mtps: Option<u32>,
    /// Highest speed of the module in million transfers per second (MT/s).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_mtps: Option<u32>,
}

/// Current and maximum value of a parameter of a network device, e.g. of its number of queues.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Measure {
    /// Current value.
    pub current: u64,
    /// Maximum that the device supports. None: not reported.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub most: Option<u64>,
}

/// A network interface of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Interface {
    /// Name of the interface, e.g. `eth0`.
    pub name: String,
    /// Index of the interface (netdevice(7)).
    pub index: u32,
    /// The kind of a virtual interface: `loopback`, `veth`, `bridge`, `bond`, `vlan`, `tun`. None:
    /// it is hardware.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Name of the driver, e.g. `r8169`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub driver: Option<String>,
    /// Version of the firmware, as the driver reports it (`ethtool -i`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub firmware: Option<String>,
    /// Operational state (RFC 2863): `up`, `down`, `unknown` …
    #[serde(skip_serializing_if = "Option::is_none")]
    pub state: Option<String>,
    /// MTU in bytes.
    pub mtu: u32,
    /// IP addresses with prefix length.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub addresses: Vec<String>,
    /// Negotiated speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed_mbps: Option<u64>,
    /// Highest supported speed in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_mbps: Option<u64>,
    /// Highest advertised speed in Mbit/s; it is below the supported speed if the configuration
    /// limits it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub advertised_mbps: Option<u64>,
    /// Highest speed that the link partner advertises, in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub peer_mbps: Option<u64>,
    /// Whether autonegotiation is on.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub negotiated: Option<bool>,
    /// Duplex mode: `full` or `half`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub duplex: Option<String>,
    /// Number of receive queues.
    pub receive_queues: u32,
    /// Number of transmit queues.
    pub send_queues: u32,
    /// Channels in use, each with an interrupt (`ethtool -l`), by type: `rx`, `tx`, `combined`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub channels: BTreeMap<String, Measure>,
    /// Ring sizes in descriptors (`ethtool -g`): `rx`, `tx`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub rings: BTreeMap<String, Measure>,
    /// Interrupt coalescing (`ethtool -c`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub coalescing: Option<Coalescing>,
    /// Offloads that affect a measurement, by the kernel's names (`ethtool -k`):
    /// `tx-tcp-segmentation`, and `on`, `off`, `on [fixed]` or `off [fixed]`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub offloads: BTreeMap<String, String>,
    /// Flow control by pause frames (`ethtool -a`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub pause: Option<Pause>,
    /// Energy Efficient Ethernet (IEEE 802.3az): `off`, `enabled` or `active`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub eee: Option<String>,
    /// Bus of the device; none: the interface is virtual.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub bus: Option<Bus>,
    /// NUMA node of the device.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub node: Option<u32>,
    /// Queueing disciplines, the root first (tc(8)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub queueing: Vec<Queueing>,
    /// Classes of the queueing disciplines htb and hfsc (tc(8)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub classes: Vec<QueueingClass>,
    /// Policers at the ingress (tc-police(8)).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub policers: Vec<Policer>,
    /// Packet steering of the queues: RPS, RFS and XPS.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub steering: Vec<Steering>,
    /// Byte queue limit (BQL) of each transmit queue in bytes, in order
    /// (`byte_queue_limits/limit`); 0: no limit, or nothing was sent yet.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub send_limits_bytes: Vec<u64>,
    /// Largest packet of segmentation offload in bytes (`gso_max_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gso_max_bytes: Option<u64>,
    /// Largest packet of generic receive offload in bytes (`gro_max_size`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub gro_max_bytes: Option<u64>,
    /// Further attributes in sysfs, by name: `threaded`, `gro_flush_timeout`, `tx_queue_len`.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub attributes: BTreeMap<String, String>,
}

/// Interrupt coalescing of a network device (`ethtool -c`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Coalescing {
    /// Delay of an interrupt after a received frame, in microseconds (`rx-usecs`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_micros: Option<u32>,
    /// Received frames before an interrupt (`rx-frames`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub receive_frames: Option<u32>,
    /// Delay of an interrupt after a sent frame, in microseconds (`tx-usecs`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_micros: Option<u32>,
    /// Sent frames before an interrupt (`tx-frames`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub send_frames: Option<u32>,
    /// Whether the driver adapts the values for received frames (`adaptive-rx`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_receive: Option<bool>,
    /// Whether the driver adapts the values for sent frames (`adaptive-tx`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub adaptive_send: Option<bool>,
}

/// Flow control by pause frames (IEEE 802.3, annex 31B; `ethtool -a`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Pause {
    /// Whether pause frames are autonegotiated.
    pub negotiated: bool,
    /// Whether the interface obeys received pause frames.
    pub receive: bool,
    /// Whether the interface sends pause frames.
    pub send: bool,
}

/// Bus of a network device, e.g. its PCI slot.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Bus {
    /// Type of the bus: `pci`, `usb`, `platform`, `virtio` …
    pub kind: String,
    /// Address of the device on the bus, e.g. `0000:01:00.0`.
    pub address: String,
    /// Speed of the bus, e.g. `8.0 GT/s PCIe`; for USB in Mbit/s.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub speed: Option<String>,
    /// Highest speed that the device supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_speed: Option<String>,
    /// Type of the IOMMU translation (`iommu_group/type`): `DMA` (strict), `DMA-FQ` (lazy),
    /// `identity`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub iommu: Option<String>,
    /// PCI lanes in use.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub width: Option<u32>,
    /// PCI lanes that the device supports.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub most_width: Option<u32>,
}

/// A queueing discipline of an interface (tc(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Queueing {
    /// Handle of the queueing discipline, e.g. `8001:`, or `0:` if the kernel assigned none.
    pub handle: String,
    /// Parent of the queueing discipline: `root`, or a class.
    pub parent: String,
    /// Kind of the queueing discipline, e.g. `fq_codel`.
    pub kind: String,
    /// Rate to which all packets are held: `rate` of tbf and netem, `bandwidth` of cake.
    #[serde(rename = "rate_bits_per_second", skip_serializing_if = "Option::is_none")]
    pub rate: Option<BitRate>,
    /// Highest rate of each flow: `maxrate` of fq.
    #[serde(rename = "flow_rate_bits_per_second", skip_serializing_if = "Option::is_none")]
    pub flow_rate: Option<BitRate>,
    /// Bytes that may leave at once after a pause: `burst` of tbf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub burst_bytes: Option<u64>,
    /// Largest queue in bytes: `limit` of tbf.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_bytes: Option<u64>,
    /// Largest queue in packets: `limit` of netem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub limit_packets: Option<u64>,
    /// Delay of each packet in microseconds: `delay` of netem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub delay_micros: Option<u64>,
    /// Share of packets that are lost at random, in millionths: `loss` of netem.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub loss_millionths: Option<u32>,
    /// Handle of the class of packets that no filter matches: `default` of htb and hfsc.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub default_class: Option<String>,
}

/// A class of a queueing discipline (tc(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct QueueingClass {
    /// Handle of the class, e.g. `1:10`.
    pub handle: String,
    /// Parent of the class: `root`, or another class.
    pub parent: String,
    /// Highest rate of the class: `ceil` of htb, `ul` of hfsc.
    #[serde(rename = "ceiling_bits_per_second", skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<BitRate>,
}

/// A policer at the ingress of an interface (tc-police(8)): received packets that exceed its rate
/// are dropped.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Policer {
    /// Kind of the filter that sends packets to the policer, e.g. `matchall`, which is all of them.
    pub filter: String,
    /// Rate of the policer.
    #[serde(rename = "rate_bits_per_second")]
    pub rate: BitRate,
}

/// Packet steering of one queue (Documentation/networking/scaling.rst).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Steering {
    /// Name of the queue: `rx-0`, `tx-3`.
    pub queue: String,
    /// CPUs of RPS for a receive queue, of XPS for a transmit queue; empty: off.
    pub cpus: Vec<u32>,
    /// Size of the RFS flow table of the queue (`rps_flow_cnt`).
    #[serde(skip_serializing_if = "Option::is_none")]
    pub flows: Option<u64>,
}

/// An interrupt (IRQ) of a host.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Irq {
    /// Number of the interrupt.
    pub number: u32,
    /// The name of the interrupt, e.g. `eth0-rx-1`.
    pub name: String,
    /// Name of the network interface to which the interrupt belongs.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub interface: Option<String>,
    /// CPUs to which the interrupt may be delivered (`smp_affinity_list`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub allowed: Vec<u32>,
    /// CPUs to which the interrupt is delivered (`effective_affinity_list`).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub effective: Vec<u32>,
    /// Number of interrupts since boot, by CPU; a CPU that is offline has none.
    #[serde(skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "by_number")]
    pub counts: BTreeMap<u32, u64>,
}

/// A map whose keys are numbers. Below a flattened field serde passes on keys as the text that they
/// are in JSON, and takes no number from it.
fn by_number<'de, D: Deserializer<'de>>(from: D) -> Result<BTreeMap<u32, u64>, D::Error> {
    let texts = BTreeMap::<String, u64>::deserialize(from)?;
    let number = |key: String| key.parse().map_err(|_| D::Error::custom("a CPU is a number"));
    let mut counts = BTreeMap::new();
    for (key, count) in texts {
        counts.insert(number(key)?, count);
    }
    Ok(counts)
}

/// A route in the routing table of a host (ip-route(8)).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Route {
    /// Destination: `default`, or a prefix such as `10.0.0.0/8`.
    pub to: String,
    /// Address of the gateway; none: the destination is on the link.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub via: Option<String>,
    /// Name of the interface.
    pub interface: String,
    /// MTU of the route in bytes; none: not set.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
}

/// The highest number that a CPU can have: Linux supports at most 8192 CPUs (`CONFIG_NR_CPUS`).
pub const MOST_CPU: u32 = 8191;

/// Limits of a control group (cgroups(7), version 1 or 2).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ControlGroup {
    /// Version of the control group: 1 or 2.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u32>,
    /// CPU time limit in thousandths of a CPU; none: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu_thousandths: Option<u64>,
    /// CPUs on which the group may run; empty: all.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub cpus: Vec<u32>,
    /// Memory limit in bytes; none: no limit.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub memory_bytes: Option<u64>,
}
