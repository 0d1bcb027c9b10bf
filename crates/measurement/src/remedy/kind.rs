//! The kinds of settings ([`SettingKind`]), by which a host says what another one may change. How a
//! setting is changed is not known here.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::Setting;

/// Kind of a setting of a host. [`Display`] and [`FromStr`] have its name on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum SettingKind {
    /// Variables below `/proc/sys` that bear on speed: those of `net.core.` but for the compiler of
    /// BPF, `net.ipv4.tcp_` and `net.ipv4.udp_`.
    Sysctl,
    /// All other variables below `/proc/sys` that can be changed.
    OtherSysctl,
    /// Features of network devices, e.g. offloads.
    Features,
    /// MTU.
    Mtu,
    /// Length of a transmit queue.
    QueueLength,
    /// Queueing discipline.
    Qdisc,
    /// Largest packet of segmentation offload and generic receive offload.
    BigTcp,
    /// RPS, RFS and XPS.
    Steering,
    /// Threaded NAPI.
    ThreadedNapi,
    /// Channels of network devices.
    Channels,
    /// Rings of network devices.
    Rings,
    /// Interrupt coalescing.
    Coalescing,
    /// Pause frames.
    Pause,
    /// Energy-Efficient Ethernet.
    Eee,
    /// Autonegotiation, speed and duplex.
    Speed,
    /// Queues of RSS.
    Rss,
    /// CPUs of interrupts.
    Interrupts,
    /// Frequency governor.
    Governor,
    /// Transparent huge pages.
    HugePages,
    /// Services.
    Services,
}

impl SettingKind {
    /// All kinds.
    pub const ALL: [Self; 20] = [
        Self::Sysctl,
        Self::OtherSysctl,
        Self::Features,
        Self::Mtu,
        Self::QueueLength,
        Self::Qdisc,
        Self::BigTcp,
        Self::Steering,
        Self::ThreadedNapi,
        Self::Channels,
        Self::Rings,
        Self::Coalescing,
        Self::Pause,
        Self::Eee,
        Self::Speed,
        Self::Rss,
        Self::Interrupts,
        Self::Governor,
        Self::HugePages,
        Self::Services,
    ];

    /// The kind of a setting; none: it is an option of a test.
    pub fn of(setting: &Setting) -> Option<Self> {
        Some(match setting {
            Setting::Sysctl { name, .. } if bears_on_speed(name) => Self::Sysctl,
            Setting::Sysctl { .. } => Self::OtherSysctl,
            Setting::Ring { .. } => Self::Rings,
            Setting::Channels { .. } => Self::Channels,
            Setting::Feature { .. } => Self::Features,
            Setting::Coalescing { .. } => Self::Coalescing,
            Setting::PauseFrames { .. } => Self::Pause,
            Setting::Eee { .. } => Self::Eee,
            Setting::Autonegotiation { .. } | Setting::FixedSpeed { .. } => Self::Speed,
            Setting::RssQueues { .. } => Self::Rss,
            Setting::IrqAffinity { .. } => Self::Interrupts,
            Setting::RpsCpus { .. } | Setting::RpsFlows { .. } | Setting::XpsCpus { .. } => {
                Self::Steering
            }
            Setting::ThreadedNapi { .. } => Self::ThreadedNapi,
            Setting::QueueLength { .. } => Self::QueueLength,
            Setting::TransparentHugePages { .. } => Self::HugePages,
            Setting::RootQdisc { .. } | Setting::DefaultQdisc { .. } => Self::Qdisc,
            Setting::Mtu { .. } => Self::Mtu,
            Setting::BigTcp { .. } => Self::BigTcp,
            Setting::CpuGovernor { .. } => Self::Governor,
            Setting::StoppedService { .. } => Self::Services,
            Setting::Length(_)
            | Setting::SegmentSize(_)
            | Setting::Window(_)
            | Setting::Streams(_)
            | Setting::Seconds(_)
            | Setting::Pacing(_)
            | Setting::Congestion(_)
            | Setting::Engine(_)
            | Setting::Cpus(_) => return None,
        })
    }

    /// The name of the kind on a command line, e.g. `sysctl`.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Sysctl => "sysctl",
            Self::OtherSysctl => "other-sysctl",
            Self::Features => "features",
            Self::Mtu => "mtu",
            Self::QueueLength => "queue-length",
            Self::Qdisc => "qdisc",
            Self::BigTcp => "big-tcp",
            Self::Steering => "steering",
            Self::ThreadedNapi => "threaded-napi",
            Self::Channels => "channels",
            Self::Rings => "rings",
            Self::Coalescing => "coalescing",
            Self::Pause => "pause",
            Self::Eee => "eee",
            Self::Speed => "speed",
            Self::Rss => "rss",
            Self::Interrupts => "interrupts",
            Self::Governor => "governor",
            Self::HugePages => "huge-pages",
            Self::Services => "services",
        }
    }

    /// Whether a host lets others change it unless it is told otherwise: it bears on networking
    /// alone, and the link comes back by itself.
    pub const fn is_usual(self) -> bool {
        !matches!(
            self,
            Self::OtherSysctl | Self::Speed | Self::Governor | Self::HugePages | Self::Services
        )
    }
}

impl Display for SettingKind {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

impl FromStr for SettingKind {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|kind| kind.name() == text);
        found.ok_or_else(|| {
            let names: Vec<_> = Self::ALL.iter().map(|kind| kind.name()).collect();
            format!("'{text}' is no kind of setting: {}", names.join(", "))
        })
    }
}

fn bears_on_speed(name: &str) -> bool {
    let is_below = |prefixes: &[&str]| prefixes.iter().any(|prefix| name.starts_with(prefix));
    is_below(&FAST) && !is_below(&SAFETY)
}

const FAST: [&str; 3] = ["net.core.", "net.ipv4.tcp_", "net.ipv4.udp_"];
/// Sysctls that defend a host (admin-guide/sysctl/net.rst, networking/ip-sysctl.rst).
const SAFETY: [&str; 4] = [
    "net.core.bpf_",
    "net.ipv4.tcp_syncookies",
    "net.ipv4.tcp_challenge_ack_limit",
    "net.ipv4.tcp_rfc1337",
];

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(command: &str) -> Option<SettingKind> {
        SettingKind::of(&command.parse().expect("a command"))
    }

    #[test]
    fn a_name_is_read_as_it_is_written() {
        for kind in SettingKind::ALL {
            assert_eq!(kind.to_string().parse(), Ok(kind));
        }
        assert!("all".parse::<SettingKind>().is_err_and(|told| told.contains("sysctl, other")));
    }

    #[test]
    fn what_defends_a_host_is_not_usual() {
        assert_eq!(kind("sysctl -w net.core.rmem_max=1"), Some(SettingKind::Sysctl));
        for name in ["net.core.bpf_jit_harden", "net.ipv4.tcp_syncookies", "net.ipv4.ip_forward"] {
            let other = kind(&format!("sysctl -w {name}=0"));
            assert_eq!(other, Some(SettingKind::OtherSysctl), "{name}");
        }
        assert!(!SettingKind::OtherSysctl.is_usual() && SettingKind::Sysctl.is_usual());
        assert_eq!(kind("systemctl stop irqbalance"), Some(SettingKind::Services));
        assert_eq!(SettingKind::of(&Setting::Streams(2)), None);
    }
}
