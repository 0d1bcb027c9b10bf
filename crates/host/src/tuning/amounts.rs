//! Rings and channels of a network device (`ethtool -G`, `ethtool -L`). Drivers stop and start the
//! device to change them.

use std::io;

use linux::netlink::ethtool::Parameter;
use measurement::remedy::{Channels, Ring, Setting};

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// A number of descriptors or channels and its new value.
#[derive(Debug)]
pub(super) struct Amount {
    interface: String,
    kind: Kind,
    value: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Ring(Ring),
    Channels(Channels),
}

impl Amount {
    /// Descriptors of each queue.
    pub(super) fn ring(interface: &str, ring: Ring, entries: u64) -> Self {
        Self { interface: interface.to_owned(), kind: Kind::Ring(ring), value: entries }
    }

    /// Channels, which are queues with an interrupt.
    pub(super) fn channels(interface: &str, channels: Channels, count: u64) -> Self {
        Self { interface: interface.to_owned(), kind: Kind::Channels(channels), value: count }
    }

    const fn name(&self) -> &'static str {
        match self.kind {
            Kind::Ring(ring) => ring.name(),
            Kind::Channels(channels) => channels.name(),
        }
    }

    fn what(&self) -> String {
        let noun = if matches!(self.kind, Kind::Ring(_)) { "ring" } else { "channels" };
        format!("{} {noun} of {}", self.name(), self.interface)
    }

    fn parameter(&self, kernel: &Kernel) -> Result<Parameter, Refusal> {
        let reading = |source| Refusal::reading(self.what(), source);
        let index = kernel.interface_index(&self.interface).map_err(reading)?;
        let mut ethtool = kernel.ethtool().map_err(reading)?;
        let all = match self.kind {
            Kind::Ring(_) => ethtool.rings(index),
            Kind::Channels(_) => ethtool.channels(index),
        };
        let found = all.map_err(reading)?.into_iter().find(|one| one.name == self.name());
        found.ok_or_else(|| Refusal::Absent { what: self.what() })
    }

    fn set(&self, kernel: &Kernel, value: u64) -> io::Result<()> {
        let index = kernel.interface_index(&self.interface)?;
        let value = u32::try_from(value).map_err(io::Error::other)?;
        let mut ethtool = kernel.ethtool()?;
        match self.kind {
            Kind::Ring(ring) => ethtool.set_ring(index, ring.name(), value),
            Kind::Channels(channels) => ethtool.set_channels(index, channels.name(), value),
        }
    }

    /// The CPUs set for queues that fewer channels would not have any more are lost.
    fn require_plain_queues(&self, kernel: &Kernel, current: u32) -> Result<(), Refusal> {
        let folder = format!("sys/class/net/{}/queues", self.interface);
        let is_set = |queue: u64, file: &str| {
            let text = kernel.tree().value(&format!("{folder}/{file}"));
            let is_zero = |text: &str| text.chars().all(|letter| matches!(letter, '0' | ','));
            text.filter(|text| !is_zero(text)).map(|_| queue)
        };
        let files = ["rx-*/rps_cpus", "rx-*/rps_flow_cnt", "tx-*/xps_cpus"];
        let lost = (self.value..u64::from(current)).find_map(|queue| {
            files.iter().find_map(|file| is_set(queue, &file.replace('*', &queue.to_string())))
        });
        match lost {
            Some(queue) => {
                let why = format!("queue {queue}, which has CPUs or flows set, would be gone");
                Err(Refusal::NotRestorable { why })
            }
            None => Ok(()),
        }
    }
}

impl Adjustable for Amount {
    fn targets(&self) -> Vec<String> {
        vec![self.what()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        Ok(Value::plain(self.parameter(kernel)?.current.to_string()))
    }

    fn check(&self, kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        let parameter = self.parameter(kernel)?;
        let most = u64::from(parameter.max.unwrap_or(u32::MAX));
        if self.value == 0 || self.value > most {
            let why = format!("{} takes 1 to {most}", self.what());
            return Err(Refusal::Impossible { value: self.value.to_string(), why });
        }
        match self.kind {
            Kind::Ring(_) => Ok(()),
            Kind::Channels(_) => {
                kernel.require_own_sysfs()?;
                self.require_plain_queues(kernel, parameter.current)
            }
        }
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        self.set(kernel, self.value)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        self.set(kernel, exact.parse().map_err(io::Error::other)?)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.value.to_string()
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let Ok(value) = exact.parse() else { return Vec::new() };
        let interface = self.interface.clone();
        let setting = match self.kind {
            Kind::Ring(ring) => Setting::Ring { interface, ring, entries: value },
            Kind::Channels(kind) => Setting::Channels { interface, kind, count: value },
        };
        vec![setting.to_string()]
    }

    fn risks(&self) -> &'static [Risk] {
        &[Risk::LinkReset]
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["NetworkManager", "tuned"]
    }
}
