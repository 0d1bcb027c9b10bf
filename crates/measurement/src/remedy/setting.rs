//! The settings that remedies name, each with its new value. How they are written as commands
//! stands in `command`.

use crate::units::ByteSize;

use super::CpuMask;

/// A setting of a host or of a test, and the value that it should have. [`std::fmt::Display`]
/// writes the shell command that makes it, [`std::str::FromStr`] reads that command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Setting {
    /// A variable below `/proc/sys`: `sysctl -w NAME=VALUE`, sysctl(8).
    Sysctl {
        /// Its name with dots, e.g. `net.core.rmem_max`.
        name: String,
        /// Its value; several numbers have a space between them.
        value: String,
    },
    /// Entries of a ring of a network device: `ethtool -G IF rx N`, ethtool(8).
    Ring {
        /// Name of the interface.
        interface: String,
        /// Which of its rings.
        ring: Ring,
        /// Descriptors of each queue.
        entries: u64,
    },
    /// Channels (queues with an interrupt of their own) that a network device uses:
    /// `ethtool -L IF combined N`, ethtool(8).
    Channels {
        /// Name of the interface.
        interface: String,
        /// Which kind of channels.
        kind: Channels,
        /// How many of them.
        count: u64,
    },
    /// A feature of a network device, such as an offload: `ethtool -K IF FEATURE on`, ethtool(8),
    /// Documentation/networking/netdev-features.rst.
    Feature {
        /// Name of the interface.
        interface: String,
        /// Name of the feature, e.g. `tx-udp-segmentation`, or ethtool's short one, e.g. `tso`.
        feature: String,
        /// Its new state.
        state: Switch,
    },
    /// Interrupt coalescing of a network device: `ethtool -C IF rx-usecs N`, ethtool(8).
    Coalescing {
        /// Name of the interface.
        interface: String,
        /// Which parameter, and its value.
        parameter: Coalescing,
    },
    /// Pause frames (IEEE 802.3, annex 31B) of a link: `ethtool -A IF rx off`, ethtool(8).
    PauseFrames {
        /// Name of the interface.
        interface: String,
        /// Frames that it obeys, or frames that it sends.
        side: Side,
        /// Its new state.
        state: Switch,
    },
    /// Energy-Efficient Ethernet (IEEE 802.3, clause 78): `ethtool --set-eee IF eee off`,
    /// ethtool(8).
    Eee {
        /// Name of the interface.
        interface: String,
        /// Its new state.
        state: Switch,
    },
    /// Negotiation of speed and duplex: `ethtool -s IF autoneg on`, ethtool(8).
    Autonegotiation {
        /// Name of the interface.
        interface: String,
        /// Its new state.
        state: Switch,
    },
    /// Receive queues over which RSS spreads flows evenly: `ethtool -X IF equal N`, ethtool(8).
    RssQueues {
        /// Name of the interface.
        interface: String,
        /// The first so many queues take part.
        queues: u64,
    },
    /// The CPUs that an interrupt may go to: `echo MASK > /proc/irq/N/smp_affinity`,
    /// Documentation/core-api/irq/irq-affinity.rst.
    IrqAffinity {
        /// Number of the interrupt.
        irq: u32,
        /// The CPUs.
        cpus: CpuMask,
    },
    /// The CPUs to which RPS gives packets of a receive queue; none: RPS is off.
    /// `echo MASK > /sys/class/net/IF/queues/rx-N/rps_cpus`,
    /// Documentation/networking/scaling.rst.
    RpsCpus {
        /// Name of the interface.
        interface: String,
        /// Number of the receive queue.
        queue: u32,
        /// The CPUs.
        cpus: CpuMask,
    },
    /// Entries of a receive queue's flow table, for RFS:
    /// `echo N > /sys/class/net/IF/queues/rx-N/rps_flow_cnt`,
    /// Documentation/networking/scaling.rst.
    RpsFlows {
        /// Name of the interface.
        interface: String,
        /// Number of the receive queue.
        queue: u32,
        /// Entries; a power of two.
        entries: u64,
    },
    /// The CPUs that send through a transmit queue (XPS):
    /// `echo MASK > /sys/class/net/IF/queues/tx-N/xps_cpus`, Documentation/networking/scaling.rst.
    XpsCpus {
        /// Name of the interface.
        interface: String,
        /// Number of the transmit queue.
        queue: u32,
        /// The CPUs.
        cpus: CpuMask,
    },
    /// The queueing discipline at the root of an interface: `tc qdisc replace dev IF root KIND`,
    /// tc(8).
    RootQdisc {
        /// Name of the interface.
        interface: String,
        /// Its kind, with its defaults, e.g. `fq`.
        kind: String,
    },
    /// Largest packet of an interface: `ip link set dev IF mtu N`, ip-link(8).
    Mtu {
        /// Name of the interface.
        interface: String,
        /// Bytes.
        bytes: u32,
    },
    /// Largest packet that the stack hands to a device, and that GRO makes (BIG TCP):
    /// `ip link set dev IF gso_max_size N gro_max_size N`, ip-link(8).
    BigTcp {
        /// Name of the interface.
        interface: String,
        /// Bytes.
        bytes: u32,
    },
    /// The frequency governor of all CPUs: `cpupower frequency-set -g NAME`,
    /// cpupower-frequency-set(1), Documentation/admin-guide/pm/cpufreq.rst.
    CpuGovernor {
        /// Its name, e.g. `performance`.
        governor: String,
    },
    /// A service that is to stop until the next boot: `systemctl stop NAME`, systemctl(1).
    StoppedService {
        /// Its name, e.g. `irqbalance`.
        service: String,
    },
    /// Length of blocks or datagrams of the test: `-l N` of `linerate test`.
    Length(ByteSize),
    /// Socket buffers of the test: `-w N` of `linerate test`.
    Window(ByteSize),
    /// Streams of the test: `-P N` of `linerate test`.
    Streams(u32),
    /// Duration of the test in seconds: `-t N` of `linerate test`.
    Seconds(u32),
    /// The pacing of the test: `--pacing HOW` of `linerate test`.
    Pacing(Pacing),
}

impl Setting {
    /// Whether it is an option of `linerate test`, and no command of the host.
    pub const fn is_option(&self) -> bool {
        matches!(
            self,
            Self::Length(_)
                | Self::Window(_)
                | Self::Streams(_)
                | Self::Seconds(_)
                | Self::Pacing(_)
        )
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
            /// As commands have it.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$word => $text,)*
                }
            }

            /// The one that commands call `name`.
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
    /// Rings of a network device.
    Ring {
        /// The ring of received frames.
        Rx = "rx",
        /// The ring of frames to be sent.
        Tx = "tx",
    }
}

words! {
    /// Kinds of channels of a network device.
    Channels {
        /// Each for a receive and a transmit queue.
        Combined = "combined",
        /// Each for a receive queue.
        Rx = "rx",
        /// Each for a transmit queue.
        Tx = "tx",
    }
}

words! {
    /// The direction of pause frames.
    Side {
        /// Those that come are obeyed.
        Rx = "rx",
        /// They are sent.
        Tx = "tx",
    }
}

words! {
    /// A state of what is on or off.
    Switch {
        /// On.
        On = "on",
        /// Off.
        Off = "off",
    }
}

words! {
    /// How blocks are spaced, as `--pacing` names it.
    Pacing {
        /// By the program, evenly.
        Even = "even",
        /// By the program, with as few wake-ups as a smooth rate needs.
        Smooth = "smooth",
    }
}

/// A parameter of interrupt coalescing with its value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Coalescing {
    /// Whether the driver adapts it to what is received.
    AdaptiveRx(Switch),
    /// Microseconds after a received frame.
    RxMicros(u32),
}
