//! The interfaces that rules look at.

use std::collections::BTreeMap;

use measurement::host::{EachCounter, Interface, Irq, counter};
use measurement::{BitRate, IntoMap};

use super::Case;
use crate::evidence::{Flowing, HostView};
use crate::words;

/// An interface of a host.
#[derive(Clone, Copy)]
pub(crate) struct Device<'c, 'a> {
    pub(crate) host: &'c HostView<'a>,
    pub(crate) interface: &'a Interface,
}

impl<'a> Case<'a> {
    /// Interfaces that carried the test; of a host that does not know them, and where there was
    /// no test, those of hardware that are up. In a container, which has no hardware, these are
    /// the virtual ones that are up.
    pub(crate) fn devices(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        self.hosts.iter().flat_map(|host| {
            let all = host.evidence.inventory.interfaces.iter();
            let devices = all.map(move |interface| Device { host, interface });
            devices.filter(Device::is_of_interest)
        })
    }

    /// The same where they are hardware.
    pub(crate) fn hardware(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        self.devices().filter(Device::is_hardware)
    }

    /// Hardware through which something is sent of which a part is missing; without a test all
    /// of it.
    pub(crate) fn senders(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        self.hardware().filter(|device| self.concerns(device, Flowing::Out))
    }

    /// Interfaces, of hardware or not, through which something is sent of which a part is
    /// missing; without a test all of them.
    pub(crate) fn carriers(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        let is_of_interest = move |device: &Device<'_, '_>| !device.is_loopback();
        self.devices().filter(is_of_interest).filter(|device| self.concerns(device, Flowing::Out))
    }

    /// Interfaces whose traffic control matters: those of [`Case::devices`], and without a test
    /// all others that are not down, such as the `ifb` through which a router shapes what it
    /// receives.
    pub(crate) fn controlled(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        let all = self.hosts.iter().flat_map(|host| {
            let all = host.evidence.inventory.interfaces.iter();
            all.map(move |interface| Device { host, interface })
        });
        all.filter(|device| {
            let is_open = self.test.is_none() && !device.is_down() && !device.is_loopback();
            is_open || device.is_of_interest()
        })
    }

    /// The same where it is received.
    pub(crate) fn receivers(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        self.hardware().filter(|device| self.concerns(device, Flowing::In))
    }

    /// Virtual interfaces at which segments of a test arrive one by one, since the other end has no
    /// segmentation offload; elsewhere a virtual link carries whole packets.
    pub(crate) fn receivers_of_segments(&self) -> impl Iterator<Item = Device<'_, 'a>> {
        let has_cut = |sender: &Device<'_, '_>| {
            let is_off = |name| matches!(sender.offload(name), Offload::Off | Offload::Missing);
            is_off("tx-tcp-segmentation") && is_off("tx-generic-segmentation")
        };
        let is_one = move |device: &Device<'_, '_>| {
            let is_virtual = self.test.is_some() && !device.is_hardware() && !device.is_loopback();
            let mut others = self.carriers().filter(|one| one.host.role() != device.host.role());
            is_virtual && self.concerns(device, Flowing::In) && others.any(|one| has_cut(&one))
        };
        self.devices().filter(is_one)
    }

    fn concerns(&self, device: &Device<'_, '_>, flowing: Flowing) -> bool {
        self.test.is_none() || self.through(device.host.role(), flowing).next().is_some()
    }
}

impl<'a> Device<'_, 'a> {
    fn is_of_interest(&self) -> bool {
        let carried = self.host.interfaces();
        if carried.is_empty() {
            return self.is_up()
                && !self.is_loopback()
                && (self.is_hardware() || self.is_virtual_host());
        }
        carried.contains(&self.interface.name)
    }

    /// No interface of its host is hardware: a container.
    pub(crate) fn is_virtual_host(&self) -> bool {
        self.host.evidence.inventory.interfaces.iter().all(|one| one.kind.is_some())
    }

    pub(crate) fn is_hardware(&self) -> bool {
        self.interface.kind.is_none()
    }

    fn is_loopback(&self) -> bool {
        self.interface.kind.as_deref() == Some("loopback")
    }

    fn is_up(&self) -> bool {
        self.interface.state.as_deref() == Some("up")
    }

    fn is_down(&self) -> bool {
        self.interface.state.as_deref() == Some("down")
    }

    /// Its speed; none: it has none, or is not told.
    pub(crate) fn speed(&self) -> Option<BitRate> {
        let mbps = self.interface.speed_mbps.filter(|speed| *speed > 0)?;
        Some(BitRate::from_bits_per_second(mbps.saturating_mul(1_000_000)))
    }

    /// The speed at which costs are shown: its own, or one Gbit/s.
    pub(crate) fn reference_speed(&self) -> BitRate {
        self.speed().unwrap_or(GIGABIT)
    }

    /// It in a sentence: `eth0 of this host`.
    pub(crate) fn name(&self) -> String {
        format!("{} of {}", self.interface.name, words::host(self.host.role()))
    }

    /// How much one of its counters grew (`struct rtnl_link_stats64`); 0 if nobody counted.
    pub(crate) fn growth(&self, counters: EachCounter<'_>) -> u64 {
        self.host.growth(counters.on(&self.interface.name)).unwrap_or(0)
    }

    /// Counters of its driver whose names fulfil something, and that grew.
    pub(crate) fn driver_growth(&self, is: impl Fn(&str) -> bool) -> BTreeMap<&'a str, u64> {
        let own = self.host.evidence.series.each(counter::driver(&self.interface.name));
        let wanted = own.filter(|(field, _)| is(field));
        let grown = wanted.map(|(field, name)| (field, self.host.growth(name).unwrap_or(0)));
        grown.filter(|(_, grown)| *grown > 0).into_map()
    }

    /// An offload by the kernel's name.
    pub(crate) fn offload(&self, name: &str) -> Offload {
        match self.interface.offloads.get(name).map(String::as_str) {
            Some("off") => Offload::Off,
            Some("off [fixed]") => Offload::Missing,
            Some(_) => Offload::On,
            None => Offload::Unknown,
        }
    }

    /// Its interrupts; also those of which only the driver's name tells that they could be.
    pub(crate) fn irqs(&self) -> impl Iterator<Item = &'a Irq> {
        let (own, driver) = (&self.interface.name, &self.interface.driver);
        self.host.evidence.inventory.irqs.iter().filter(move |irq| match &irq.interface {
            Some(interface) => interface == own,
            None => driver.as_ref() == Some(&irq.name),
        })
    }

    /// Share of its speed that frames took, with what is between them, in the direction that
    /// had more; none: it has no speed, or nobody counted.
    pub(crate) fn filled(&self) -> Option<f64> {
        let seconds = self.host.span().as_secs_f64();
        let bits = self.interface.speed_mbps.filter(|speed| *speed > 0)? as f64 * 1e6;
        let one_way = |flowing: Flowing, packets: EachCounter<'_>| {
            let bytes = self.growth(flowing.bytes()) as f64;
            (bytes + self.growth(packets) as f64 * BETWEEN) * 8.0 / seconds / bits
        };
        let most = one_way(Flowing::In, counter::INTERFACE_RX_PACKETS)
            .max(one_way(Flowing::Out, counter::INTERFACE_TX_PACKETS));
        (seconds > 0.0).then_some(most)
    }
}

/// How an offload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offload {
    /// The offload is on.
    On,
    /// The offload is off, but can be switched on.
    Off,
    /// The device does not support the offload.
    Missing,
    /// The host does not report the offload.
    Unknown,
}

const GIGABIT: BitRate = BitRate::from_bits_per_second(1_000_000_000);
/// Bytes of a frame that an interface does not count (IEEE 802.3): preamble and start 8, check
/// sequence 4, and the gap of 12 to the next.
const BETWEEN: f64 = 24.0;
