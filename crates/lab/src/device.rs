//! A device under test: a network namespace that forwards between two ports of a tester.

use std::ffi::OsStr;
use std::io::{self, Write};
use std::net::{IpAddr, Ipv4Addr};
use std::process::{Command, Stdio};
use std::time::Duration;

use linux::namespace::NetworkNamespace;
use linux::netlink::RouteSocket;
use linux::xdp::{XdpMode, XdpProgram};

use crate::error::LabError;
use crate::host::{LOOPBACK, open_route, run_in, set_up};
use crate::link::{create_namespace, join};
use crate::shape::Shape;
use crate::slow::Slow;

/// Kind of a device: its forwarder.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DeviceKind {
    /// A bridge of the kernel.
    Bridge,
    /// A router of the kernel, with so many rules of nftables that no frame matches. Rules need the
    /// program nft(8).
    Router {
        /// Number of rules.
        rules: u32,
    },
    /// A router that translates source addresses towards port B, with nft(8).
    Nat,
    /// A router behind a token bucket filter towards port B.
    Shaper(Shape),
    /// A program of XDP that sends on what arrives at the side of port A.
    Xdp,
    /// A program that takes this time for each frame, in both directions together.
    Slow {
        /// Time for a frame.
        cost: Duration,
    },
    /// Nothing: a command that is run in the device's namespace forwards.
    None,
}

impl DeviceKind {
    const fn is_of_the_kernel(self) -> bool {
        !matches!(self, Self::Slow { .. } | Self::None)
    }

    const fn routes(self) -> bool {
        matches!(self, Self::Router { .. } | Self::Nat | Self::Shaper(_))
    }
}

/// A tester with two ports, [`PORT_A`] and [`PORT_B`], and a device between them with the interfaces
/// [`DEVICE_A`] and [`DEVICE_B`].
///
/// The kernel removes everything once the handles are gone, as with a [`Link`](crate::Link).
#[derive(Debug)]
pub struct Device {
    tester: NetworkNamespace,
    inside: NetworkNamespace,
    kind: DeviceKind,
    /// The forwarder, if that is not the kernel.
    _held: Option<Held>,
}

impl Device {
    /// Creates a tester and a device, which forwards on a CPU of its own if one is given: what the
    /// kernel forwards is otherwise done on the CPU of the tester.
    ///
    /// It needs the rights that [`prepare`](crate::prepare) gets; a CPU, [`DeviceKind::Slow`] and
    /// [`DeviceKind::Xdp`] need root. A CPU for the kernel needs ethtool(8) and taskset(1).
    ///
    /// # Errors
    /// [`LabError::Device`] if the device cannot be set up, else the step that failed.
    pub fn create(kind: DeviceKind, cpu: Option<usize>) -> Result<Self, LabError> {
        let (tester, inside) = (create_namespace()?, create_namespace()?);
        for (port, other) in [(PORT_A, DEVICE_A), (PORT_B, DEVICE_B)] {
            join(&tester, port, &inside, other)?;
        }
        let made = Self { tester, inside, kind, _held: None };
        made.set_addresses()?;
        for (namespace, names) in [(&made.tester, PORTS), (&made.inside, INSIDE)] {
            let mut route = open_route(namespace, names[0])?;
            for name in names.into_iter().chain([LOOPBACK]) {
                set_up(&mut route, name)?;
            }
        }
        let held = made.forward(cpu)?;
        if let Some(cpu) = cpu.filter(|_| kind.is_of_the_kernel()) {
            made.give_cpu(cpu).map_err(LabError::Device)?;
        }
        Ok(Self { _held: held, ..made })
    }

    /// The network namespace of the tester.
    pub fn tester(&self) -> &NetworkNamespace {
        &self.tester
    }

    /// A command that runs `program` at the tester, in its network namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.tester.apply_to(&mut command);
        command
    }

    /// A command that runs `program` in the network namespace of the device.
    pub fn device_command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.inside.apply_to(&mut command);
        command
    }

    /// The address of the device that the tester's port A routes by; none: it does not route.
    pub fn gateway(&self) -> Option<Ipv4Addr> {
        self.kind.routes().then_some(GATEWAYS[0])
    }

    /// The address of the device that the tester's port B routes by; none: it does not route.
    pub fn gateway_b(&self) -> Option<Ipv4Addr> {
        self.kind.routes().then_some(GATEWAYS[1])
    }

    fn set_addresses(&self) -> Result<(), LabError> {
        if !self.kind.routes() {
            return Ok(());
        }
        let sides = [(&self.tester, PORTS, ENDS), (&self.inside, INSIDE, GATEWAYS)];
        for (namespace, names, addresses) in sides {
            let mut route = open_route(namespace, names[0])?;
            for (name, address) in names.into_iter().zip(addresses) {
                let address = IpAddr::from(address);
                route.add_address(name, address, PREFIX).map_err(|source| {
                    LabError::AddAddress { address, interface: name.to_owned(), source }
                })?;
            }
        }
        let forward = || std::fs::write("/proc/sys/net/ipv4/ip_forward", "1");
        let failed = |source| LabError::EnableRouting { via: GATEWAYS[0].into(), source };
        run_in(&self.inside, DEVICE_A, forward)?.map_err(failed)
    }

    /// Has the device forward; what does so beside the kernel.
    fn forward(&self, cpu: Option<usize>) -> Result<Option<Held>, LabError> {
        match self.kind {
            DeviceKind::Bridge => self.bridge().map_err(LabError::Device)?,
            DeviceKind::Router { rules: 0 } | DeviceKind::None => {}
            DeviceKind::Router { rules } => self.load(&filter(rules))?,
            DeviceKind::Nat => self.load(NAT)?,
            DeviceKind::Shaper(shape) => self.shape(&shape)?,
            DeviceKind::Xdp => {
                let program = run_in(&self.inside, DEVICE_A, attach)?;
                return program.map(Held::Program).map(Some).map_err(LabError::Device);
            }
            DeviceKind::Slow { cost } => {
                let start = || Slow::start(indices()?, cost, cpu);
                let slow = run_in(&self.inside, DEVICE_A, start)?;
                return slow.map(Held::Slow).map(Some).map_err(LabError::Device);
            }
        }
        Ok(None)
    }

    fn shape(&self, shape: &Shape) -> Result<(), LabError> {
        open_route(&self.inside, DEVICE_B)?
            .shape_tbf(DEVICE_B, shape.bucket())
            .map_err(|source| LabError::Shape { interface: DEVICE_B.to_owned(), source })
    }

    /// Has a thread of the kernel forward on this CPU: threaded NAPI, which veth(4) has where its peer
    /// hands over frames one by one.
    fn give_cpu(&self, cpu: usize) -> io::Result<()> {
        for port in PORTS {
            run(self.command("ethtool").args(["-K", port, "tso", "off"]))?;
        }
        run(self.device_command("unshare").args(["-m", "sh", "-c", THREADED]))?;
        for thread in linux::process::thread_uses() {
            if thread.is_kernel && thread.name.starts_with("napi/device-") {
                let (cpu, thread) = (cpu.to_string(), thread.thread.to_string());
                run(Command::new("taskset").args(["-p", "-c", &cpu, &thread]))?;
            }
        }
        Ok(())
    }

    fn bridge(&self) -> io::Result<()> {
        let made = self.inside.run(|| {
            let mut route = RouteSocket::open()?;
            route.create_bridge(BRIDGE)?;
            for name in INSIDE {
                route.set_master(name, BRIDGE)?;
            }
            route.set_up(BRIDGE)
        });
        made?
    }

    /// Loads rules by nft(8).
    fn load(&self, rules: &str) -> Result<(), LabError> {
        let load = || -> io::Result<()> {
            let mut nft = self.device_command("nft");
            let mut child = nft.args(["-f", "-"]).stdin(Stdio::piped()).spawn()?;
            if let Some(mut input) = child.stdin.take() {
                input.write_all(rules.as_bytes())?;
            }
            let status = child.wait()?;
            if status.success() { Ok(()) } else { Err(io::Error::other(format!("nft: {status}"))) }
        };
        load().map_err(LabError::Device)
    }
}

/// Runs a command, whose output is of no interest.
fn run(command: &mut Command) -> io::Result<()> {
    let status = command.stdout(Stdio::null()).status()?;
    let failed = || io::Error::other(format!("{}: {status}", command.get_program().display()));
    if status.success() { Ok(()) } else { Err(failed()) }
}

/// A forwarder that ends when this is dropped.
#[derive(Debug)]
#[expect(dead_code, reason = "it is held, not read")]
enum Held {
    Program(XdpProgram),
    Slow(Slow),
}

/// The program that forwards from the side of port A to that of port B.
fn attach() -> io::Result<XdpProgram> {
    let [from, to] = indices()?;
    XdpProgram::forward(from, XdpMode::Native, to)
        .or_else(|_| XdpProgram::forward(from, XdpMode::Generic, to))
}

fn indices() -> io::Result<[u32; 2]> {
    let mut route = RouteSocket::open()?;
    Ok([route.interface_index(DEVICE_A)?, route.interface_index(DEVICE_B)?])
}

/// Rules that no frame of the tester matches.
fn filter(rules: u32) -> String {
    let rule = |number: u32| {
        let address = Ipv4Addr::from(u32::from(UNUSED) + number);
        format!("ip saddr {address} udp dport {} drop\n", 1024 + number % 1000)
    };
    let rules: String = (0..rules).map(rule).collect();
    format!(
        "table ip filter {{\nchain forward {{\ntype filter hook forward priority 0;\n{rules}}}\n}}\n"
    )
}

/// Interface of the tester at one side of the device.
pub const PORT_A: &str = "port-a";
/// Interface of the tester at the other side.
pub const PORT_B: &str = "port-b";
/// Interface of the device towards [`PORT_A`].
pub const DEVICE_A: &str = "device-a";
/// Interface of the device towards [`PORT_B`].
pub const DEVICE_B: &str = "device-b";
const PORTS: [&str; 2] = [PORT_A, PORT_B];
const INSIDE: [&str; 2] = [DEVICE_A, DEVICE_B];
/// For sh(1), with a /sys of the device's network.
const THREADED: &str = "mount -t sysfs sysfs /sys && for name in device-a device-b; do \
                        ethtool -K $name gro on && echo 1 > /sys/class/net/$name/threaded; done";
const BRIDGE: &str = "bridge0";
/// Addresses for benchmarks of network devices (RFC 2544, appendix C.2.2; RFC 6890).
const ENDS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 1), Ipv4Addr::new(198, 19, 0, 1)];
const GATEWAYS: [Ipv4Addr; 2] = [Ipv4Addr::new(198, 18, 0, 254), Ipv4Addr::new(198, 19, 0, 254)];
const PREFIX: u8 = 24;
/// Addresses for documentation (RFC 5737); rules go on from there.
const UNUSED: Ipv4Addr = Ipv4Addr::new(203, 0, 113, 0);
/// Rules of nft(8) for a router with NAT: frames from outside pass only as answers.
const NAT: &str = "table ip nat {\nchain postrouting {\ntype nat hook postrouting priority 100;\n\
                   oifname \"device-b\" masquerade\n}\nchain forward {\ntype filter hook forward \
                   priority 0;\niifname \"device-b\" ct state new drop\n}\n}\n";
