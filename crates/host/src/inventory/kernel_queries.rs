//! Queries the running kernel by uname(2), rtnetlink(7) and ethtool, for what no file has.

use std::collections::BTreeMap;
use std::io;

use linux::ethtool_ioctl::EthtoolIoctl;
use linux::netlink::ethtool::{
    Coalescing, Duplex, EnergyEfficiency, Ethtool, Parameter, Pause, is_absent,
};
use linux::netlink::{LinkEntry, RouteSocket};
use measurement::host::{self, Interface, Measure};
use measurement::{Gap, IntoMap};

use super::answers::{InterfaceAnswers, KernelAnswers};
use super::traffic_control;

/// All answers, for the network namespace of the calling thread.
pub(super) fn query() -> KernelAnswers {
    let names = linux::host::system_names();
    let mut answers = KernelAnswers {
        host: names.host,
        kernel: names.kernel,
        architecture: names.architecture,
        misaligned: misaligned(),
        ..KernelAnswers::default()
    };
    if let Err(error) = query_netlink(&mut answers) {
        answers.gaps.push(super::gap("interfaces", &error));
    }
    Device::query_all(&mut answers);
    answers
}

fn query_netlink(answers: &mut KernelAnswers) -> io::Result<()> {
    let mut route = RouteSocket::open()?;
    answers.interfaces = route.links()?.into_iter().map(of_link).collect();
    let of_index = |answers: &mut KernelAnswers, index: u32, put: &dyn Fn(&mut Interface)| {
        let found = answers.interfaces.iter_mut().find(|one| one.interface.index == index);
        if let Some(one) = found {
            put(&mut one.interface);
        }
    };
    for entry in route.addresses()? {
        let text = format!("{}/{}", entry.address, entry.prefix_length);
        of_index(answers, entry.index, &|interface| interface.addresses.push(text.clone()));
    }
    traffic_control::query(&mut route, answers)?;
    let routes = route.routes()?;
    if routes.len() > MOST_ROUTES {
        let why = format!("there are {}: the first {MOST_ROUTES} are kept", routes.len());
        answers.gaps.push(Gap { what: "all routes".to_owned(), why });
    }
    let name = |index| {
        let found = answers.interfaces.iter().find(|one| one.interface.index == index);
        found.map(|one| one.interface.name.clone()).unwrap_or_default()
    };
    let route = |entry: &linux::netlink::RouteEntry| host::Route {
        to: match entry.prefix_length {
            0 => "default".to_owned(),
            length => format!("{}/{length}", entry.to),
        },
        via: entry.via.map(|via| via.to_string()),
        interface: name(entry.index),
        mtu: entry.mtu,
    };
    answers.routes = routes.iter().take(MOST_ROUTES).map(route).collect();
    Ok(())
}

fn of_link(link: LinkEntry) -> InterfaceAnswers {
    let octets: Vec<_> = link.address.iter().map(|octet| format!("{octet:02x}")).collect();
    let is_loopback = link.device_type == LOOPBACK;
    let interface = Interface {
        index: link.index,
        kind: link.kind.or_else(|| is_loopback.then(|| "loopback".to_owned())),
        state: link.state.map(str::to_owned),
        mtu: link.mtu,
        receive_queues: link.receive_queues.unwrap_or_default(),
        send_queues: link.send_queues.unwrap_or_default(),
        gso_max_bytes: link.gso_max_bytes.map(u64::from),
        gro_max_bytes: link.gro_max_bytes.map(u64::from),
        name: link.name,
        ..Interface::default()
    };
    InterfaceAnswers { hardware: octets.join(":"), interface }
}

/// A network device, queried by ethtool netlink, or by ioctl(2) on kernels before 5.6.
struct Device<'a> {
    ethtool: Option<&'a mut Ethtool>,
    calls: &'a EthtoolIoctl,
    gaps: Vec<Gap>,
    name: String,
    index: u32,
}

impl Device<'_> {
    fn query_all(answers: &mut KernelAnswers) {
        let calls = match EthtoolIoctl::open() {
            Ok(calls) => calls,
            Err(error) => return answers.gaps.push(super::gap("devices of interfaces", &error)),
        };
        let mut ethtool = Ethtool::open();
        if let Err(error) = &ethtool {
            let what = "offloads and link modes".to_owned();
            let why = format!("the kernel's ethtool speaks netlink since Linux 5.6 only: {error}");
            answers.gaps.push(Gap { what, why });
        }
        for one in &mut answers.interfaces {
            let Interface { name, index, .. } = &one.interface;
            let mut device = Device {
                ethtool: ethtool.as_mut().ok(),
                calls: &calls,
                gaps: Vec::new(),
                name: name.clone(),
                index: *index,
            };
            device.fill(&mut one.interface);
            answers.gaps.append(&mut device.gaps);
        }
    }

    fn fill(&mut self, interface: &mut Interface) {
        let driver = self.calls.driver(&self.name);
        interface.driver = self.keep("driver", driver);
        interface.firmware = self.calls.firmware(&self.name).ok().filter(|text| !text.is_empty());
        self.fill_link_modes(interface);
        self.fill_offloads(interface);
        let rings = self.query(Ethtool::rings, EthtoolIoctl::rings);
        interface.rings = measures(self.keep("rings", rings));
        let channels = self.query(Ethtool::channels, EthtoolIoctl::channels);
        interface.channels = measures(self.keep("channels", channels));
        let held = self.query(Ethtool::coalescing, EthtoolIoctl::coalescing);
        interface.coalescing = self.keep("coalescing", held).map(coalescing);
        let pause = self.query(Ethtool::pause, EthtoolIoctl::pause);
        interface.pause = self.keep("flow control", pause).map(flow_control);
        let eee = self.query(Ethtool::energy_efficiency, EthtoolIoctl::energy_efficiency);
        interface.eee = self.keep("Energy Efficient Ethernet", eee).and_then(energy_efficiency);
    }

    fn fill_link_modes(&mut self, interface: &mut Interface) {
        let Some(ethtool) = &mut self.ethtool else { return };
        let modes = ethtool.link_modes(self.index);
        let Some(modes) = self.keep("link modes", modes) else { return };
        interface.speed_mbps = modes.speed_mbps.map(u64::from);
        interface.most_mbps = modes.supported_mbps.map(u64::from);
        interface.advertised_mbps = modes.advertised_mbps.map(u64::from);
        interface.peer_mbps = modes.peer_mbps.map(u64::from);
        interface.negotiated = modes.negotiated.filter(|_| modes.supported_mbps.is_some());
        interface.duplex = modes.duplex.map(|duplex| match duplex {
            Duplex::Half => "half".to_owned(),
            Duplex::Full => "full".to_owned(),
        });
    }

    fn fill_offloads(&mut self, interface: &mut Interface) {
        let Some(ethtool) = &mut self.ethtool else { return };
        let features = ethtool.features(self.index);
        let features = self.keep("offloads", features).unwrap_or_default();
        let of_interest = features.into_iter().filter(|one| OFFLOADS.contains(&one.name.as_str()));
        let state = |on, fixed| match (on, fixed) {
            (true, false) => "on",
            (true, true) => "on [fixed]",
            (false, false) => "off",
            (false, true) => "off [fixed]",
        };
        interface.offloads =
            of_interest.map(|one| (one.name, state(one.on, one.fixed).to_owned())).into_map();
    }

    /// Queries by netlink where the kernel has it, else by ioctl(2).
    fn query<T>(
        &mut self,
        newer: fn(&mut Ethtool, u32) -> io::Result<T>,
        older: fn(&EthtoolIoctl, &str) -> io::Result<T>,
    ) -> io::Result<T> {
        match &mut self.ethtool {
            Some(ethtool) => newer(ethtool, self.index),
            None => older(self.calls, &self.name),
        }
    }

    /// The answer, or a gap with the reason. A feature that the device does not have is no gap,
    /// and neither is a device that just went.
    fn keep<T>(&mut self, what: &str, answer: io::Result<T>) -> Option<T> {
        let error = match answer {
            Ok(answer) => return Some(answer),
            Err(error) => error,
        };
        if !is_absent(&error) {
            self.gaps.push(super::gap(format!("{what} of {}", self.name), &error));
        }
        None
    }
}

fn measures(amounts: Option<Vec<Parameter>>) -> BTreeMap<String, Measure> {
    let measure = |amount: Parameter| {
        let most = amount.max.map(u64::from);
        (amount.name.to_owned(), Measure { current: amount.current.into(), most })
    };
    amounts.unwrap_or_default().into_iter().map(measure).into_map()
}

fn coalescing(answers: Coalescing) -> host::Coalescing {
    host::Coalescing {
        receive_micros: answers.receive_micros,
        receive_frames: answers.receive_frames,
        send_micros: answers.send_micros,
        send_frames: answers.send_frames,
        adaptive_receive: answers.adaptive_receive,
        adaptive_send: answers.adaptive_send,
    }
}

fn flow_control(answers: Pause) -> host::Pause {
    host::Pause {
        negotiated: answers.negotiated == Some(true),
        receive: answers.receive == Some(true),
        send: answers.send == Some(true),
    }
}

fn energy_efficiency(answers: EnergyEfficiency) -> Option<String> {
    let word = match (answers.active, answers.enabled) {
        (Some(true), _) => "active",
        (_, Some(true)) => "enabled",
        (_, Some(false)) => "off",
        (_, None) => return None,
    };
    Some(word.to_owned())
}

#[cfg(target_arch = "riscv64")]
fn misaligned() -> BTreeMap<u32, String> {
    use linux::hwprobe::{Misaligned, probe};
    let word = |misaligned| match misaligned {
        Misaligned::Unknown => "unknown",
        Misaligned::Emulated => "emulated",
        Misaligned::Slow => "slow",
        Misaligned::Fast => "fast",
        Misaligned::Unsupported => "unsupported",
    };
    let of_cpu = |cpu: usize| {
        let misaligned = probe(cpu).ok()?.misaligned?;
        Some((u32::try_from(cpu).ok()?, word(misaligned).to_owned()))
    };
    linux::host::allowed_cpus().unwrap_or_default().into_iter().filter_map(of_cpu).into_map()
}

/// Other architectures do not report it.
#[cfg(not(target_arch = "riscv64"))]
const fn misaligned() -> BTreeMap<u32, String> {
    BTreeMap::new()
}

/// `ARPHRD_LOOPBACK`, linux/if_arp.h
const LOOPBACK: u16 = 772;
/// A router of the whole Internet has a million.
const MOST_ROUTES: usize = 64;

/// Offloads that affect a measurement (net/ethtool/common.c,
/// `netdev_features_strings`).
const OFFLOADS: [&str; 26] = [
    "hw-tc-offload",
    "loopback",
    "rx-checksum",
    "rx-gro",
    "rx-gro-hw",
    "rx-gro-list",
    "rx-hashing",
    "rx-lro",
    "rx-ntuple-filter",
    "rx-udp-gro-forwarding",
    "rx-vlan-hw-parse",
    "tx-checksum-ip-generic",
    "tx-checksum-ipv4",
    "tx-checksum-ipv6",
    "tx-generic-segmentation",
    "tx-gso-list",
    "tx-gso-partial",
    "tx-nocache-copy",
    "tx-scatter-gather",
    "tx-scatter-gather-fraglist",
    "tx-tcp-ecn-segmentation",
    "tx-tcp-mangleid-segmentation",
    "tx-tcp-segmentation",
    "tx-tcp6-segmentation",
    "tx-udp-segmentation",
    "tx-vlan-hw-insert",
];
