//! The settings that remedies name, each with its new value. How they are written as commands
//! stands in `command`.

use crate::engine::EngineName;
use crate::units::ByteSize;

use super::CpuMask;

/// A setting of a host or of a test, with its new value. [`std::fmt::Display`] writes the shell
/// command that sets it, [`std::str::FromStr`] parses that command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A variable below `/proc/sys`: `sysctl -w NAME=VALUE`, sysctl(8).
    Sysctl {
        /// Name of the variable with dots, e.g. `net.core.rmem_max`.
        name: String,
        /// New value; several numbers are separated by a space.
        value: String,
    },
    /// Entries of a ring of a network device: `ethtool -G IF rx N`, ethtool(8).
    Ring {
        /// Name of the interface.
        interface: String,
        /// Receive or transmit ring.
        ring: Ring,
        /// New number of descriptors of each queue.
        entries: u64,
    },
    /// Channels (queues with an interrupt of their own) that a network device uses:
    /// `ethtool -L IF combined N`, ethtool(8).
    Channels {
        /// Name of the interface.
        interface: String,
        /// Type of the channels.
        kind: Channels,
        /// New number of channels.
        count: u64,
    },
    /// A feature of a network device, such as an offload: `ethtool -K IF FEATURE on`, ethtool(8),
    /// Documentation/networking/netdev-features.rst.
    Feature {
        /// Name of the interface.
        interface: String,
        /// Name of the feature, e.g. `tx-udp-segmentation`, or a short name of ethtool(8), e.g.
        /// `tso`.
        feature: String,
        /// New state of the feature.
        state: Switch,
    },
    /// Interrupt coalescing of a network device: `ethtool -C IF rx-usecs N`, ethtool(8).
    Coalescing {
        /// Name of the interface.
        interface: String,
        /// The parameter with its new value.
        parameter: Coalescing,
    },
    /// Pause frames (IEEE 802.3, annex 31B) of a link: `ethtool -A IF rx off`, ethtool(8).
    PauseFrames {
        /// Name of the interface.
        interface: String,
        /// Direction of the pause frames.
        side: Side,
        /// New state of the pause frames.
        state: Switch,
    },
    /// Energy-Efficient Ethernet (IEEE 802.3, clause 78): `ethtool --set-eee IF eee off`,
    /// ethtool(8).
    Eee {
        /// Name of the interface.
        interface: String,
        /// New state of Energy-Efficient Ethernet.
        state: Switch,
    },
    /// Autonegotiation of speed and duplex: `ethtool -s IF autoneg on`, ethtool(8).
    Autonegotiation {
        /// Name of the interface.
        interface: String,
        /// New state of autonegotiation.
        state: Switch,
    },
    /// A fixed speed and duplex of a link, without autonegotiation: `ethtool -s IF speed N duplex
    /// full autoneg off`, ethtool(8).
    FixedSpeed {
        /// Name of the interface.
        interface: String,
        /// New speed in Mbit/s.
        mbps: u32,
        /// New duplex mode.
        duplex: DuplexMode,
    },
    /// Receive queues over which RSS spreads flows evenly: `ethtool -X IF equal N`, ethtool(8).
    RssQueues {
        /// Name of the interface.
        interface: String,
        /// New number of queues, from the first one on.
        queues: u64,
    },
    /// CPUs to which an interrupt may be delivered: `echo MASK > /proc/irq/N/smp_affinity`,
    /// Documentation/core-api/irq/irq-affinity.rst.
    IrqAffinity {
        /// Number of the interrupt.
        irq: u32,
        /// New set of CPUs.
        cpus: CpuMask,
    },
    /// CPUs to which RPS distributes the packets of a receive queue; none: RPS is off. `echo MASK >
    /// /sys/class/net/IF/queues/rx-N/rps_cpus`, Documentation/networking/scaling.rst.
    RpsCpus {
        /// Name of the interface.
        interface: String,
        /// Number of the receive queue.
        queue: u32,
        /// New set of CPUs.
        cpus: CpuMask,
    },
    /// Size of the RFS flow table of a receive queue: `echo N >
    /// /sys/class/net/IF/queues/rx-N/rps_flow_cnt`, Documentation/networking/scaling.rst.
    RpsFlows {
        /// Name of the interface.
        interface: String,
        /// Number of the receive queue.
        queue: u32,
        /// New number of entries; a power of two.
        entries: u64,
    },
    /// CPUs that send through a transmit queue (XPS): `echo MASK >
    /// /sys/class/net/IF/queues/tx-N/xps_cpus`, Documentation/networking/scaling.rst.
    XpsCpus {
        /// Name of the interface.
        interface: String,
        /// Number of the transmit queue.
        queue: u32,
        /// New set of CPUs.
        cpus: CpuMask,
    },
    /// Threaded NAPI: packets are received in threads of the kernel. `echo 1 >
    /// /sys/class/net/IF/threaded`, Documentation/networking/napi.rst.
    ThreadedNapi {
        /// Name of the interface.
        interface: String,
        /// New state of threaded NAPI.
        state: Switch,
    },
    /// Length of the transmit queue of an interface: `ip link set dev IF txqueuelen N`, ip-link(8).
    QueueLength {
        /// Name of the interface.
        interface: String,
        /// New length in packets.
        packets: u32,
    },
    /// Transparent huge pages: `echo always > /sys/kernel/mm/transparent_hugepage/enabled`,
    /// Documentation/admin-guide/mm/transhuge.rst.
    TransparentHugePages {
        /// Which programs get them.
        pages: HugePages,
    },
    /// The queueing discipline at the root of an interface: `tc qdisc replace dev IF root KIND`,
    /// tc(8).
    RootQdisc {
        /// Name of the interface.
        interface: String,
        /// Kind of the queueing discipline, with default parameters, e.g. `fq`.
        kind: String,
    },
    /// No configured queueing discipline at the root of an interface, so that the kernel attaches
    /// its default: `tc qdisc del dev IF root`, tc(8).
    DefaultQdisc {
        /// Name of the interface.
        interface: String,
    },
    /// MTU of an interface: `ip link set dev IF mtu N`, ip-link(8).
    Mtu {
        /// Name of the interface.
        interface: String,
        /// New MTU in bytes.
        bytes: u32,
    },
    /// Largest packet of segmentation offload and generic receive offload (BIG TCP): `ip link set
    /// dev IF gso_max_size N gro_max_size N`, ip-link(8).
    BigTcp {
        /// Name of the interface.
        interface: String,
        /// New size in bytes.
        bytes: u32,
    },
    /// The frequency governor of all CPUs: `cpupower frequency-set -g NAME`,
    /// cpupower-frequency-set(1), Documentation/admin-guide/pm/cpufreq.rst.
    CpuGovernor {
        /// Name of the governor, e.g. `performance`.
        governor: String,
    },
    /// A service to be stopped until the next boot: `systemctl stop NAME`, systemctl(1).
    StoppedService {
        /// Name of the service, e.g. `irqbalance`.
        service: String,
    },
    /// Length of blocks or datagrams: `-l N` of `linerate test`.
    Length(ByteSize),
    /// Maximum segment size of TCP in bytes: `-M N` of `linerate test`.
    SegmentSize(u32),
    /// Size of the socket buffers: `-w N` of `linerate test`; 0: the kernel adjusts it.
    Window(ByteSize),
    /// Number of parallel streams: `-P N` of `linerate test`.
    Streams(u32),
    /// Duration of the test in seconds: `-t N` of `linerate test`.
    Seconds(u32),
    /// Pacing: `--pacing HOW` of `linerate test`.
    Pacing(Pacing),
    /// Congestion control of TCP by its name, e.g. `bbr`: `-C NAME` of `linerate test`.
    Congestion(String),
    /// CPUs of the workers of this host: `--cpus LIST` of `linerate test`.
    Cpus(CpuMask),
    /// Engine of one end and transport, e.g. `sendfile`: `--engine NAME` of `linerate test`.
    Engine(EngineName),
}

impl Setting {
    /// Whether the setting is an option of `linerate test`, and not a shell command for a host.
    pub const fn is_option(&self) -> bool {
        matches!(
            self,
            Self::Length(_)
                | Self::SegmentSize(_)
                | Self::Window(_)
                | Self::Streams(_)
                | Self::Seconds(_)
                | Self::Pacing(_)
                | Self::Congestion(_)
                | Self::Engine(_)
                | Self::Cpus(_)
        )
    }

    /// Name of the setting: its command without the value. It is equal for two values of
    /// one setting.
    pub fn target(&self) -> String {
        let command = self.to_string();
        let (first, last) = match self {
            Self::Sysctl { .. } => command.split_once('='),
            Self::StoppedService { .. } => None,
            _ => command.rsplit_once(' '),
        }
        .unwrap_or((&command, ""));
        // A file is the last word, and not the value.
        if first.starts_with("echo ") { last.to_owned() } else { first.to_owned() }
    }
}

/// Makes an enum of words, each with the name that a command has for it.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident { $($(#[$word_doc:meta])* $word:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum $name {
            $($(#[$word_doc])* $word,)*
        }

        impl $name {
            /// The value as it is written in a command, e.g. `rx` in `ethtool -G eth0 rx 4096`.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// Finds a value by the word for it in a command, e.g. `rx` in `ethtool -G eth0 rx N`.
            /// None: no value is written so.
            pub fn from_name(name: &str) -> Option<Self> {
                match name {
                    $($text => Some(Self::$word),)*
                    _ => None,
                }
            }
        }
    };
}

words! {
    /// A ring of a network device, receive or transmit (`ethtool -G`).
    Ring {
        /// Receive ring (`rx`).
        Rx = "rx",
        /// Transmit ring (`tx`).
        Tx = "tx",
    }
}

words! {
    /// Type of channels of a network device (`ethtool -L`).
    Channels {
        /// Channels for a receive and a transmit queue each.
        Combined = "combined",
        /// Channels for a receive queue each.
        Rx = "rx",
        /// Channels for a transmit queue each.
        Tx = "tx",
    }
}

words! {
    /// Direction of pause frames (`ethtool -A`).
    Side {
        /// Received pause frames, which the device obeys.
        Rx = "rx",
        /// Pause frames that the device sends.
        Tx = "tx",
    }
}

words! {
    /// State of a feature of a network device: on or off.
    Switch {
        /// The feature is switched on.
        On = "on",
        /// The feature is switched off.
        Off = "off",
    }
}

impl From<bool> for Switch {
    fn from(is_on: bool) -> Self {
        if is_on { Self::On } else { Self::Off }
    }
}

words! {
    /// Duplex mode of a link (`ethtool -s`).
    DuplexMode {
        /// Only one end sends at a time.
        Half = "half",
        /// Both ends send at the same time.
        Full = "full",
    }
}

words! {
    /// Which programs get transparent huge pages, as the file of sysfs has it.
    HugePages {
        /// All programs.
        Always = "always",
        /// Programs that ask for them (madvise(2)).
        Madvise = "madvise",
        /// None.
        Never = "never",
    }
}

words! {
    /// Pacing of a test, as `--pacing` of `linerate test` names it.
    Pacing {
        /// Each datagram at its own time, by linerate.
        Even = "even",
        /// In small batches, by linerate.
        Smooth = "smooth",
    }
}

/// A parameter of interrupt coalescing (`ethtool -C`), with its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalescing {
    /// Whether the driver adapts the coalescing of received frames (`adaptive-rx`).
    AdaptiveRx(Switch),
    /// Whether the driver adapts the coalescing of sent frames (`adaptive-tx`).
    AdaptiveTx(Switch),
    /// Delay of the interrupt after a received frame in microseconds (`rx-usecs`).
    RxMicros(u32),
    /// Received frames up to an interrupt (`rx-frames`).
    RxFrames(u32),
    /// Delay of the interrupt after a sent frame in microseconds (`tx-usecs`).
    TxMicros(u32),
    /// Sent frames up to an interrupt (`tx-frames`).
    TxFrames(u32),
}

impl Coalescing {
    /// Name of the parameter in ethtool(8), e.g. `rx-usecs`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::AdaptiveRx(_) => "adaptive-rx",
            Self::AdaptiveTx(_) => "adaptive-tx",
            Self::RxMicros(_) => "rx-usecs",
            Self::RxFrames(_) => "rx-frames",
            Self::TxMicros(_) => "tx-usecs",
            Self::TxFrames(_) => "tx-frames",
        }
    }

    /// Value of the parameter as ethtool(8) takes it, e.g. `on` or `30`.
    pub fn value(self) -> String {
        match self {
            Self::AdaptiveRx(state) | Self::AdaptiveTx(state) => state.name().to_owned(),
            Self::RxMicros(number)
            | Self::RxFrames(number)
            | Self::TxMicros(number)
            | Self::TxFrames(number) => number.to_string(),
        }
    }

    /// The parameter with a value as ethtool(8) takes it. None: it has no such value.
    #[must_use]
    pub fn with(self, value: &str) -> Option<Self> {
        Self::from_words(self.name(), value)
    }

    /// Finds a parameter by its name and value in a command, e.g. `rx-usecs 30`. None: there is no
    /// such parameter, or it has no such value.
    pub fn from_words(name: &str, value: &str) -> Option<Self> {
        let number = || value.parse().ok();
        Some(match name {
            "adaptive-rx" => Self::AdaptiveRx(Switch::from_name(value)?),
            "adaptive-tx" => Self::AdaptiveTx(Switch::from_name(value)?),
            "rx-usecs" => Self::RxMicros(number()?),
            "rx-frames" => Self::RxFrames(number()?),
            "tx-usecs" => Self::TxMicros(number()?),
            "tx-frames" => Self::TxFrames(number()?),
            _ => return None,
        })
    }
}
