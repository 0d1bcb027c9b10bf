//! Names of a host's counters and gauges as constants, e.g. [`CGROUP_PERIODS`], each spelled once.
//!
//! A name is `FAMILY.ITEM.FIELD`, e.g. `interface.eth0.rx_dropped`: the source that was read,
//! what there are several of, and the kernel's word for it, with the unit at its end where it
//! is not a count. Code that refers to a counter does so by a constant of this module, so that
//! a misspelt name does not compile. Collectors that pass on whatever names a kernel or a
//! driver prints build theirs with [`Counter::from_text`]: a counter of tomorrow's kernel needs
//! no change here.

use std::fmt;
use std::marker::PhantomData;

mod names;

pub use names::*;

/// A family of counters and gauges with a common source: the first part of their names.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Family(&'static str);

impl Family {
    /// CPU controller of the control group (`cpu.stat`, cgroups(7)).
    pub const CGROUP: Self = Self("cgroup");
    /// Connection tracking (`/proc/net/stat/nf_conntrack`).
    pub const CONNTRACK: Self = Self("conntrack");
    /// States of cooling devices (`/sys/class/thermal`).
    pub const COOLING: Self = Self("cooling");
    /// CPU time by state (`/proc/stat`, proc_stat(5)).
    pub const CPU: Self = Self("cpu");
    /// Clock frequency of CPUs (cpufreq).
    pub const FREQUENCY: Self = Self("frequency");
    /// Statistics of network interfaces (`struct rtnl_link_stats64`).
    pub const INTERFACE: Self = Self("interface");
    /// Interrupts by CPU (`/proc/interrupts`).
    pub const INTERRUPTS: Self = Self("interrupts");
    /// Extended statistics of TCP and IP (`/proc/net/netstat`).
    pub const NETSTAT: Self = Self("netstat");
    /// Statistics of network drivers (`ethtool -S`).
    pub const NIC: Self = Self("nic");
    /// Pressure stall information (`/proc/pressure`).
    pub const PRESSURE: Self = Self("pressure");
    /// CPU time of this process (`/proc/self/stat`).
    pub const PROCESS: Self = Self("process");
    /// Statistics of queueing disciplines (rtnetlink(7)).
    pub const QDISC: Self = Self("qdisc");
    /// Statistics of IPv4, ICMP, TCP and UDP (`/proc/net/snmp`, RFC 1213).
    pub const SNMP: Self = Self("snmp");
    /// Statistics of IPv6, ICMPv6 and UDP over IPv6 (`/proc/net/snmp6`).
    pub const SNMP6: Self = Self("snmp6");
    /// Number and memory of sockets (`/proc/net/sockstat`).
    pub const SOCKSTAT: Self = Self("sockstat");
    /// Softirqs by CPU (`/proc/softirqs`).
    pub const SOFTIRQS: Self = Self("softirqs");
    /// Receive processing by CPU (`/proc/net/softnet_stat`).
    pub const SOFTNET: Self = Self("softnet");
    /// Run time and run delay of threads (`/proc/PID/task/TID/schedstat`).
    pub const TASK: Self = Self("task");
    /// Temperature of thermal zones (`/sys/class/thermal`).
    pub const THERMAL: Self = Self("thermal");
    /// Thermal throttling of CPUs (`/sys/devices/system/cpu/cpuN/thermal_throttle`).
    pub const THROTTLE: Self = Self("throttle");

    /// Name of the family, the first part of the names of its counters, e.g. `softnet`.
    pub const fn as_str(self) -> &'static str {
        self.0
    }

    /// The family of a counter or gauge by its whole name.
    pub(super) fn name_in(name: &str) -> &str {
        name.split('.').next().unwrap_or(name)
    }
}

impl fmt::Display for Family {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

/// Type parameter of the names of counters, whose values only grow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Grows {}

/// Type parameter of the names of gauges, whose values grow and shrink.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Varies {}

/// Name of one counter, e.g. `interface.eth0.rx_dropped`.
pub type Counter<'a> = Name<'a, Grows>;
/// Name of one gauge, e.g. `frequency.0.khz`.
pub type Gauge<'a> = Name<'a, Varies>;
/// Names of a counter that exists for each CPU, interface, queue or thread.
pub type EachCounter<'a> = Each<'a, Grows>;
/// Names of a gauge that exists for each CPU or device.
pub type EachGauge<'a> = Each<'a, Varies>;

/// Full name of a counter or gauge: `FAMILY.ITEM.FIELD`, e.g. `interface.eth0.rx_dropped`.
#[derive(Clone, Copy, Debug)]
pub struct Name<'a, K> {
    spelling: Spelling<'a>,
    kind: PhantomData<K>,
}

#[derive(Clone, Copy, Debug)]
enum Spelling<'a> {
    Whole(&'a str),
    Text(fmt::Arguments<'a>),
    Of(Pattern<'a>, Item<'a>),
}

impl<'a, K> Name<'a, K> {
    const fn new(spelling: Spelling<'a>) -> Self {
        Self { spelling, kind: PhantomData }
    }

    const fn whole(name: &'a str) -> Self {
        Self::new(Spelling::Whole(name))
    }

    /// Makes a name from its full text, which includes the family, e.g. `nic.eth0.rx_dropped`. It
    /// is for names that a kernel or driver reports, which are not known in advance.
    pub const fn from_text(text: fmt::Arguments<'a>) -> Self {
        Self::new(Spelling::Text(text))
    }

    /// A name that exists in a series.
    pub(super) const fn known(name: &'a str) -> Self {
        Self::whole(name)
    }

    /// The last part of the name, as the kernel reports it, e.g. `rx_dropped`.
    pub fn field(&self) -> String {
        let name = self.to_string();
        name.rsplit('.').next().unwrap_or_default().to_owned()
    }
}

impl<K> fmt::Display for Name<'_, K> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.spelling {
            Spelling::Whole(name) => f.write_str(name),
            Spelling::Text(text) => f.write_fmt(text),
            Spelling::Of(pattern, item) => {
                f.write_str(pattern.family.0)?;
                if let Some(group) = pattern.group {
                    write!(f, ".{group}")?;
                }
                write!(f, ".{item}")?;
                pattern.field.map_or(Ok(()), |field| write!(f, ".{field}"))
            }
        }
    }
}

impl<K> PartialEq for Name<'_, K> {
    /// Whether the texts of both names are equal.
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

impl<K> Eq for Name<'_, K> {}

/// Pattern of the names of one counter or gauge for all items of a kind, e.g.
/// `interface.*.rx_dropped`, where `*` is any interface. `K` says whether it is a counter or a
/// gauge.
#[derive(Clone, Copy, Debug)]
pub struct Each<'a, K> {
    pattern: Pattern<'a>,
    kind: PhantomData<K>,
}

#[derive(Clone, Copy, Debug)]
struct Pattern<'a> {
    family: Family,
    /// The part before the item, e.g. the interface of a queue.
    group: Option<Item<'a>>,
    /// The part behind the item. None: the item is the last part.
    field: Option<&'static str>,
}

impl<'a, K> Each<'a, K> {
    const fn field_of(family: Family, field: &'static str) -> Self {
        let pattern = Pattern { family, group: None, field: Some(field) };
        Self { pattern, kind: PhantomData }
    }

    const fn all_of(family: Family, group: Item<'a>) -> Self {
        let pattern = Pattern { family, group: Some(group), field: None };
        Self { pattern, kind: PhantomData }
    }

    /// Family of these counters or gauges: the first part of their names.
    pub const fn family(self) -> Family {
        self.pattern.family
    }

    /// The last part of the names, e.g. `rx_dropped`; empty: they end with the item.
    pub const fn field(self) -> &'static str {
        match self.pattern.field {
            Some(field) => field,
            None => "",
        }
    }

    /// The full name for one item (a CPU, interface, thread or device), e.g.
    /// `interface.eth0.rx_dropped`.
    pub fn on(self, item: impl Into<Item<'a>>) -> Name<'a, K> {
        Name::new(Spelling::Of(self.pattern, item.into()))
    }

    /// The names restricted to the items within a group, e.g. to the queues of one interface.
    #[must_use]
    pub fn within(self, group: impl Into<Item<'a>>) -> Self {
        Self { pattern: Pattern { group: Some(group.into()), ..self.pattern }, kind: PhantomData }
    }

    /// The common prefix of the names.
    pub(super) fn prefix(&self) -> String {
        let family = self.pattern.family;
        self.pattern
            .group
            .map_or_else(|| format!("{family}."), |group| format!("{family}.{group}."))
    }

    /// The item in a name without the prefix; none: it is not one of these names.
    pub(super) fn item_in<'n>(&self, rest: &'n str) -> Option<&'n str> {
        match self.pattern.field {
            Some(field) => rest.strip_suffix(field)?.strip_suffix('.'),
            None => Some(rest),
        }
    }
}

/// The item in a name: the number or name of a CPU, interface, queue, thread or device.
#[derive(Clone, Copy, Debug)]
pub struct Item<'a>(Part<'a>);

#[derive(Clone, Copy, Debug)]
enum Part<'a> {
    Number(i64),
    Text(&'a str),
    Written(fmt::Arguments<'a>),
}

impl fmt::Display for Item<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            Part::Number(number) => number.fmt(f),
            Part::Text(text) => f.write_str(text),
            Part::Written(text) => f.write_fmt(text),
        }
    }
}

impl From<u32> for Item<'_> {
    fn from(number: u32) -> Self {
        Self(Part::Number(number.into()))
    }
}

impl From<i32> for Item<'_> {
    fn from(number: i32) -> Self {
        Self(Part::Number(number.into()))
    }
}

impl<'a> From<&'a str> for Item<'a> {
    fn from(text: &'a str) -> Self {
        Self(Part::Text(text))
    }
}

impl<'a> From<fmt::Arguments<'a>> for Item<'a> {
    fn from(text: fmt::Arguments<'a>) -> Self {
        Self(Part::Written(text))
    }
}

impl<'a> From<&'a String> for Item<'a> {
    fn from(text: &'a String) -> Self {
        Self(Part::Text(text))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_those_of_the_kernel_behind_their_family() {
        let names = [
            CPU_STEAL.on(3).to_string(),
            UDP_RCVBUF_ERRORS.v4.to_string(),
            UDP_RCVBUF_ERRORS.v6.to_string(),
            QDISC_DROPS.within("eth0").on("tbf@8001:").to_string(),
            softirqs("NET_RX").on(0).to_string(),
            interrupts(30).on(1).to_string(),
            TCP_BACKLOG_DROP.to_string(),
            FREQUENCY_KHZ.on(0).to_string(),
        ];
        let due = [
            "cpu.3.steal_ns",
            "snmp.Udp.RcvbufErrors",
            "snmp6.Udp6RcvbufErrors",
            "qdisc.eth0.tbf@8001:.drops",
            "softirqs.NET_RX.0",
            "interrupts.30.1",
            "netstat.TcpExt.TCPBacklogDrop",
            "frequency.0.khz",
        ];
        assert_eq!(names, due);
        assert_eq!(UDP_RCVBUF_ERRORS.v4.field(), "RcvbufErrors");
    }

    #[test]
    fn a_pattern_finds_the_item_of_its_own_names_only() {
        fn item<'n>(each: EachCounter<'_>, name: &'n str) -> Option<&'n str> {
            each.item_in(name.strip_prefix(&each.prefix())?)
        }
        let drops = QDISC_DROPS.within("eth0");
        assert_eq!(item(drops, "qdisc.eth0.tbf@1:.drops"), Some("tbf@1:"));
        assert_eq!(item(drops, "qdisc.eth01.tbf@1:.drops"), None);
        assert_eq!(item(interrupts(3), "interrupts.30.1"), None);
        assert_eq!(item(INTERFACE_RX_BYTES, "interface.eth0.100.rx_bytes"), Some("eth0.100"));
        assert_eq!(item(driver("eth0"), "nic.eth0.rx_no_buf"), Some("rx_no_buf"));
    }
}
