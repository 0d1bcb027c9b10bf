//! One end of a link: a network namespace, its interface and its addresses.

use std::ffi::OsStr;
use std::io::{self, ErrorKind};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};
use std::process::Command;
use std::thread;
use std::time::Duration;

use linux::namespace::NetworkNamespace;
use linux::netlink::{LinkState, RouteSocket};

use crate::addressing::{Addressing, IPV4_PREFIX_LENGTH, IPV6_PREFIX_LENGTH};
use crate::error::LabError;
use crate::link_spec::LinkSpec;
use crate::shape::Shape;

/// A virtual host at one end of a [`Link`](crate::Link): a network namespace with one interface.
#[derive(Debug)]
pub struct Host {
    namespace: NetworkNamespace,
    addressing: Addressing,
    scope_id: u32,
    ipv6: Ipv6Support,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ipv6Support {
    Present,
    Absent,
}

impl Host {
    /// The network namespace of this host.
    pub fn namespace(&self) -> &NetworkNamespace {
        &self.namespace
    }

    /// Name of the host's interface to the other end of the link, e.g. `near0`.
    pub fn interface(&self) -> &str {
        self.addressing.interface
    }

    /// Index of the host's interface to the other end of the link. It is the scope (RFC 4007) with
    /// which this host addresses the [`link_local`](Self::link_local) address of the other end.
    pub fn scope_id(&self) -> u32 {
        self.scope_id
    }

    /// IPv4 address of the host's interface to the other end of the link.
    pub fn ipv4(&self) -> Ipv4Addr {
        self.addressing.ipv4
    }

    /// The unique local IPv6 address of the host (RFC 4193). `None` where IPv6 is off on this
    /// system or link.
    pub fn ipv6(&self) -> Option<Ipv6Addr> {
        (self.ipv6 == Ipv6Support::Present).then_some(self.addressing.ipv6)
    }

    /// The link-local IPv6 address of the host (RFC 4291). `None` where IPv6 is off on this system
    /// or link.
    pub fn link_local(&self) -> Option<Ipv6Addr> {
        (self.ipv6 == Ipv6Support::Present).then_some(self.addressing.link_local)
    }

    /// A command that runs `program` on this host, in its network namespace.
    pub fn command(&self, program: impl AsRef<OsStr>) -> Command {
        let mut command = Command::new(program);
        self.namespace.apply_to(&mut command);
        command
    }

    /// Runs `work` on a new thread in the network namespace of this host and waits for it. Sockets
    /// that it opens belong to this host, whichever thread uses them later.
    ///
    /// # Errors
    /// [`LabError::EnterNamespace`] if the thread cannot enter the namespace.
    pub fn run<T: Send>(&self, work: impl FnOnce() -> T + Send) -> Result<T, LabError> {
        run_in(&self.namespace, self.interface(), work)
    }

    /// Reads the state and the counters of the host's interface to the other end of the link.
    ///
    /// # Errors
    /// [`LabError::EnterNamespace`], [`LabError::OpenNetlink`] or [`LabError::Inspect`].
    pub fn link(&self) -> Result<LinkState, LabError> {
        self.inspect(&mut self.route()?)
    }

    /// Sets a token bucket filter before what this host sends, in place of the queueing discipline
    /// that is there.
    ///
    /// # Errors
    /// [`LabError::OpenNetlink`], or the step that failed.
    pub fn add_shaper(&self, shape: &Shape) -> Result<(), LabError> {
        self.shape(&mut self.route()?, shape)
    }

    pub(crate) fn new(namespace: NetworkNamespace, addressing: Addressing) -> Self {
        Self { namespace, addressing, scope_id: 0, ipv6: Ipv6Support::Absent }
    }

    /// Sets MTU, shaping and addresses, and then sets the interface up: a qdisc that is
    /// attached before that sees every packet.
    pub(crate) fn configure(&mut self, spec: &LinkSpec) -> Result<(), LabError> {
        let route = &mut self.route()?;
        if let Some(mtu) = spec.mtu {
            self.set_mtu(route, mtu)?;
        }
        if let Some(shape) = &spec.shape {
            self.shape(route, shape)?;
        }
        self.add_address(route, self.ipv4().into(), IPV4_PREFIX_LENGTH)?;
        if spec.mtu.is_none_or(|mtu| mtu >= IPV6_MINIMAL_MTU) {
            self.ipv6 = self.add_ipv6(route)?;
        }
        self.scope_id = self.inspect(route)?.index;
        set_up(route, LOOPBACK)?;
        set_up(route, self.interface())
    }

    /// Waits until the interface is operational and its addresses are local: the kernel
    /// does both in the background.
    pub(crate) fn finish(&self) -> Result<(), LabError> {
        let route = &mut self.route()?;
        let deadline = linux::clock::monotonic() + PATIENCE;
        while !self.is_ready(route)? {
            if linux::clock::monotonic() > deadline {
                return Err(LabError::NotOperational {
                    interface: self.interface().to_owned(),
                    waited: PATIENCE,
                });
            }
            thread::sleep(POLL_INTERVAL);
        }
        Ok(())
    }

    fn is_ready(&self, route: &mut RouteSocket) -> Result<bool, LabError> {
        if !self.inspect(route)?.operational {
            return Ok(false);
        }
        for address in self.addresses() {
            if !self.answers_for(route, address)? {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn addresses(&self) -> impl Iterator<Item = IpAddr> {
        let ipv6 = self.ipv6().into_iter().chain(self.link_local());
        ipv6.map(IpAddr::from).chain([self.ipv4().into()])
    }

    /// Whether an address is local; a host without any route to it is not ready either.
    fn answers_for(&self, route: &mut RouteSocket, address: IpAddr) -> Result<bool, LabError> {
        match route.is_local(self.interface(), address) {
            Err(error) if error.kind() == ErrorKind::NetworkUnreachable => Ok(false),
            answer => answer.map_err(|source| self.inspect_error(source)),
        }
    }

    fn add_ipv6(&self, route: &mut RouteSocket) -> Result<Ipv6Support, LabError> {
        for address in [self.addressing.ipv6, self.addressing.link_local] {
            match self.add_address(route, address.into(), IPV6_PREFIX_LENGTH) {
                Err(LabError::AddAddress { source, .. }) if means_ipv6_is_off(&source) => {
                    return Ok(Ipv6Support::Absent);
                }
                outcome => outcome?,
            }
        }
        Ok(Ipv6Support::Present)
    }

    fn add_address(
        &self,
        route: &mut RouteSocket,
        address: IpAddr,
        prefix_length: u8,
    ) -> Result<(), LabError> {
        route.add_address(self.interface(), address, prefix_length).map_err(|source| {
            LabError::AddAddress { address, interface: self.interface().to_owned(), source }
        })
    }

    fn set_mtu(&self, route: &mut RouteSocket, mtu: u32) -> Result<(), LabError> {
        route.set_mtu(self.interface(), mtu).map_err(|source| LabError::SetMtu {
            mtu,
            interface: self.interface().to_owned(),
            source,
        })
    }

    fn shape(&self, route: &mut RouteSocket, shape: &Shape) -> Result<(), LabError> {
        route
            .shape_tbf(self.interface(), shape.bucket())
            .map_err(|source| LabError::Shape { interface: self.interface().to_owned(), source })
    }

    fn inspect(&self, route: &mut RouteSocket) -> Result<LinkState, LabError> {
        route.link(self.interface()).map_err(|source| self.inspect_error(source))
    }

    fn inspect_error(&self, source: io::Error) -> LabError {
        LabError::Inspect { interface: self.interface().to_owned(), source }
    }

    fn route(&self) -> Result<RouteSocket, LabError> {
        open_route(&self.namespace, self.interface())
    }
}

/// A netlink socket in `namespace`; `interface` is for the text of errors.
pub(crate) fn open_route(
    namespace: &NetworkNamespace,
    interface: &str,
) -> Result<RouteSocket, LabError> {
    run_in(namespace, interface, RouteSocket::open)?.map_err(LabError::OpenNetlink)
}

pub(crate) fn set_up(route: &mut RouteSocket, interface: &str) -> Result<(), LabError> {
    route
        .set_up(interface)
        .map_err(|source| LabError::SetUp { interface: interface.to_owned(), source })
}

pub(crate) fn run_in<T: Send>(
    namespace: &NetworkNamespace,
    interface: &str,
    work: impl FnOnce() -> T + Send,
) -> Result<T, LabError> {
    namespace
        .run(work)
        .map_err(|source| LabError::EnterNamespace { interface: interface.to_owned(), source })
}

/// Whether IPv6 is off: a kernel without it answers `EOPNOTSUPP`, one where `disable_ipv6`
/// is set `EACCES`. The latter cannot mean a lack of rights, since the same process has
/// just added an IPv4 address.
fn means_ipv6_is_off(error: &io::Error) -> bool {
    matches!(error.kind(), ErrorKind::Unsupported | ErrorKind::PermissionDenied)
}

pub(crate) const LOOPBACK: &str = "lo";
/// RFC 8200, section 5.
const IPV6_MINIMAL_MTU: u32 = 1280;
const PATIENCE: Duration = Duration::from_secs(5);
const POLL_INTERVAL: Duration = Duration::from_millis(2);
