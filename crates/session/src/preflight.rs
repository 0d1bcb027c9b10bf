//! Whether this host has what many streams need, before the first of them is opened.

use std::fmt;

use linux::limits::PortRange;
use measurement::units::group_thousands;
use measurement::{ByteSize, Direction, TestPlan, Transport, Way};

/// What this host has; none: the kernel does not report it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostResources {
    /// Files that this process may have open.
    files: u64,
    /// Ports for connections that ask for none.
    ports: Option<PortRange>,
    /// Bytes for the buffers of all sockets of the plan's transport.
    buffers: Option<u64>,
    /// Bytes of free memory.
    memory: Option<u64>,
}

/// A resource that a client's host has too little of for a test, found before the test starts. Its
/// text says how to get more.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Shortage {
    /// File descriptors (`RLIMIT_NOFILE`).
    Files {
        /// Number of descriptors that the test needs.
        need: u64,
        /// Limit of the process.
        limit: u64,
        /// Number of streams, `-P`, that it allows.
        fits: u64,
    },
    /// Local ports (`net.ipv4.ip_local_port_range`).
    Ports {
        /// Number of ports that the test needs.
        need: u64,
        /// Range of the local ports.
        range: PortRange,
        /// Number of streams, `-P`, that it allows.
        fits: u64,
    },
    /// Memory of the kernel for socket buffers.
    SocketBuffers {
        /// Transport of the sockets.
        transport: Transport,
        /// Bytes that the test needs.
        need: u64,
        /// Limit of the kernel in bytes (`net.ipv4.tcp_mem`, `net.ipv4.udp_mem`).
        limit: u64,
        /// Number of streams, `-P`, that it allows.
        fits: u64,
    },
    /// Free memory of the host.
    Memory {
        /// Bytes that the test needs.
        need: u64,
        /// Bytes that are available.
        free: u64,
        /// Bytes that a stream needs.
        each: u64,
        /// Number of streams, `-P`, that they allow.
        fits: u64,
    },
}

/// Ways of TCP streams on which each of the client's ports can be used once.
#[derive(Clone, Copy, Debug)]
pub(crate) struct TcpWays {
    /// Addresses of the client, from each of which streams go to the server's own port.
    pub(crate) addresses: usize,
    /// Ports that the server may open beside its own, for the first address.
    pub(crate) extra_ports: usize,
}

impl fmt::Display for Shortage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let bytes = |bytes| ByteSize::from_bytes(bytes).to_string();
        match *self {
            Self::Files { need, limit, fits } => write!(
                f,
                "the streams need {} open files, {} are allowed: raise the limit (ulimit -n) or \
                 {}",
                group_thousands(need),
                group_thousands(limit),
                lower(fits)
            ),
            Self::Ports { need, range, fits } => write!(
                f,
                "the streams need {} source ports, {} to {} are {}: widen \
                 net.ipv4.ip_local_port_range or {}",
                group_thousands(need),
                range.first,
                range.last,
                group_thousands(range.count().into()),
                lower(fits)
            ),
            Self::SocketBuffers { transport, need, limit, fits } => write!(
                f,
                "the streams need {} of socket buffers, the kernel allows {}: raise net.ipv4.{} \
                 or {}",
                bytes(need),
                bytes(limit),
                if transport == Transport::Tcp { "tcp_mem" } else { "udp_mem" },
                lower(fits)
            ),
            Self::Memory { need, free, each, fits } => write!(
                f,
                "the streams need about {} of memory ({} each), {} are free: {}",
                bytes(need),
                bytes(each),
                bytes(free),
                lower(fits)
            ),
        }
    }
}

/// The advice on `-P` if only `fits` streams fit.
fn lower(fits: u64) -> String {
    if fits == 0 { "lower -P".to_owned() } else { format!("lower -P to {}", group_thousands(fits)) }
}

impl HostResources {
    /// This one, after it has raised its own limits.
    pub(crate) fn this(transport: Transport) -> Self {
        Self {
            files: linux::host::file_limit() as u64,
            ports: PortRange::read(),
            buffers: match transport {
                Transport::Tcp => linux::limits::tcp_memory_limit(),
                Transport::Udp => linux::limits::udp_memory_limit(),
            },
            memory: linux::host::available_memory(),
        }
    }

    /// What it has too little of for the client's end of `plan`, whose TCP streams can go on
    /// these `ways`.
    pub(crate) fn lacks_as_client(&self, plan: &TestPlan, ways: TcpWays) -> Option<Shortage> {
        let own = if self.has_few_files() { LEAST_FILES } else { OWN_FILES };
        let need = u64::from(plan.streams_in_all()) + own;
        let fits = each_way(self.files.saturating_sub(own), plan);
        let files = Shortage::Files { need, limit: self.files, fits };
        (need > self.files)
            .then_some(files)
            .or_else(|| self.lacks_ports(plan, ways))
            .or_else(|| self.lacks_memory(plan))
    }

    /// Whether this process may have so few files open that it watches nothing beside its streams.
    const fn has_few_files(&self) -> bool {
        self.files < FEW_FILES as u64
    }

    /// From one address to one port of the server TCP uses each port once; a UDP socket has its
    /// port for itself.
    fn lacks_ports(&self, plan: &TestPlan, ways: TcpWays) -> Option<Shortage> {
        let range = self.ports?;
        let need = u64::from(plan.streams_in_all());
        let ways = match plan.transport {
            Transport::Tcp => (ways.addresses + ways.extra_ports) as u64,
            Transport::Udp => 1,
        };
        let there = ways * u64::from(range.count());
        let fits = each_way(there, plan);
        (need > there).then_some(Shortage::Ports { need, range, fits })
    }

    /// What it has too little of for either end of `plan`.
    pub(crate) fn lacks_memory(&self, plan: &TestPlan) -> Option<Shortage> {
        let streams = u64::from(plan.streams_in_all());
        let need = streams * LEAST_BUFFERS;
        if let Some(limit) = self.buffers.filter(|limit| need > *limit) {
            let fits = each_way(limit / LEAST_BUFFERS, plan);
            return Some(Shortage::SocketBuffers { transport: plan.transport, need, limit, fits });
        }
        let each = stream_bytes(plan.transport);
        let need = streams * each;
        let free = self.memory.filter(|free| need > *free)?;
        Some(Shortage::Memory { need, free, each, fits: each_way(free / each, plan) })
    }

    /// How many ports of a server beside its own the streams of `plan` are spread over,
    /// so that none needs more than half of this end's ports: the kernel finds a free one
    /// quickly then.
    pub(crate) fn extra_ports(&self, plan: &TestPlan, most: u8) -> u8 {
        if plan.exchange.is_some_and(|exchange| exchange.way == Way::Connection) {
            return 1;
        }
        let (Some(range), Transport::Tcp) = (self.ports, plan.transport) else { return 0 };
        let each = (range.count() / 2).max(1);
        let further = plan.streams_in_all().div_ceil(each).saturating_sub(1);
        u8::try_from(further).unwrap_or(u8::MAX).min(most)
    }
}

/// Which `-P` gives so many streams in all.
fn each_way(streams: u64, plan: &TestPlan) -> u64 {
    if plan.direction == Direction::Both { streams / 2 } else { streams }
}

/// Memory that the streams of `plan` take at each end: that of the process, and that of the kernel
/// for idle sockets. Data in the socket buffers comes on top.
pub fn stream_memory(plan: &TestPlan) -> ByteSize {
    ByteSize::from_bytes(u64::from(plan.streams_in_all()) * stream_bytes(plan.transport))
}

/// What one stream takes of either end's memory: the process's own, and the kernel's for
/// an idle socket. One of UDP remembers which datagrams came.
pub(crate) const fn stream_bytes(transport: Transport) -> u64 {
    match transport {
        Transport::Tcp => 8 * 1024,
        Transport::Udp => 16 * 1024,
    }
}

/// The least that the kernel gives a socket to send and to receive (tcp(7), udp(7)).
const LEAST_BUFFERS: u64 = 2 * 4096;
/// Whether this process may have so few files open that a test watches nothing beside its streams:
/// neither its host nor the CPUs.
pub fn has_few_files() -> bool {
    linux::host::file_limit() < FEW_FILES
}

/// Workers, the control connection, the terminal, what is watched.
const OWN_FILES: u64 = 64;
/// A limit below which only what a test cannot do without is opened.
pub(crate) const FEW_FILES: usize = 128;
/// The standard streams, signals, the control connection, and a worker with what it waits for.
const LEAST_FILES: u64 = 11;

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;

    use super::*;

    const MOST: u8 = 15;
    const WAYS: TcpWays = TcpWays { addresses: 1, extra_ports: 15 };
    const HOST: HostResources = HostResources {
        files: 20_000,
        ports: Some(PortRange { first: 32_768, last: 60_999 }),
        buffers: Some(1 << 30),
        memory: Some(1 << 30),
    };

    fn plan(transport: Transport, streams: u32) -> TestPlan {
        let mut draft = PlanDraft::new(transport, Direction::Send);
        draft.streams = streams;
        draft.check().expect("a plan")
    }

    #[test]
    fn a_host_that_has_enough_lacks_nothing() {
        assert_eq!(HOST.lacks_as_client(&plan(Transport::Tcp, 10_000), WAYS), None);
        assert_eq!(HOST.lacks_as_client(&plan(Transport::Udp, 1_000), WAYS), None);
        let silent = HostResources { ports: None, buffers: None, memory: None, ..HOST };
        assert_eq!(silent.lacks_as_client(&plan(Transport::Udp, 19_000), WAYS), None);
    }

    #[test]
    fn what_is_short_is_told_with_the_setting_that_gives_more() {
        let cases = [
            (
                HostResources { files: 1024, ..HOST },
                "1,024 are allowed: raise the limit (ulimit -n) or lower -P to 960",
            ),
            (
                HostResources { ports: Some(PortRange { first: 1, last: 600 }), ..HOST },
                "1 to 600 are 600: widen net.ipv4.ip_local_port_range or lower -P to 9,600",
            ),
            (
                HostResources { buffers: Some(1 << 20), ..HOST },
                "raise net.ipv4.tcp_mem or lower -P to 128",
            ),
            (
                HostResources { memory: Some(1 << 20), ..HOST },
                "(8.000 KiB each), 1.000 MiB are free: lower -P to 128",
            ),
        ];
        for (host, words) in cases {
            let shortage = host.lacks_as_client(&plan(Transport::Tcp, 10_000), WAYS).expect(words);
            assert!(shortage.to_string().contains(words), "{shortage}");
        }
    }

    #[test]
    fn the_number_that_fits_is_that_of_each_way_and_does_fit() {
        let host = HostResources { files: 1024, ..HOST };
        let both = |streams| {
            let mut draft = PlanDraft::new(Transport::Tcp, Direction::Both);
            draft.streams = streams;
            draft.check().expect("a plan")
        };
        let shortage = host.lacks_as_client(&both(10_000), WAYS).expect("too few files");
        assert!(matches!(shortage, Shortage::Files { fits: 480, .. }), "{shortage}");
        assert_eq!(host.lacks_as_client(&both(480), WAYS), None);
        assert!(host.lacks_as_client(&both(481), WAYS).is_some());
    }

    #[test]
    fn a_host_with_few_files_has_enough_for_one_stream() {
        let host = |files| HostResources { files, ..HOST };
        assert_eq!(host(16).lacks_as_client(&plan(Transport::Tcp, 5), WAYS), None);
        let shortage = host(16).lacks_as_client(&plan(Transport::Tcp, 6), WAYS);
        assert!(matches!(shortage, Some(Shortage::Files { fits: 5, .. })), "{shortage:?}");
        assert_eq!(host(127).lacks_as_client(&plan(Transport::Tcp, 116), WAYS), None);
        assert!(host(128).lacks_as_client(&plan(Transport::Tcp, 65), WAYS).is_some());
    }

    #[test]
    fn each_further_address_has_its_ports_to_the_port_of_the_server() {
        let host = HostResources {
            files: 1 << 20,
            ports: Some(PortRange { first: 1, last: 6_000 }),
            ..HOST
        };
        let many = plan(Transport::Tcp, 100_000);
        let ways = |addresses| TcpWays { addresses, ..WAYS };
        let shortage = host.lacks_as_client(&many, ways(1));
        assert!(matches!(shortage, Some(Shortage::Ports { fits: 96_000, .. })), "{shortage:?}");
        assert_eq!(host.lacks_as_client(&many, ways(2)), None);
        let udp = host.lacks_as_client(&plan(Transport::Udp, 6_001), ways(2));
        assert!(matches!(udp, Some(Shortage::Ports { fits: 6_000, .. })), "{udp:?}");
    }

    #[test]
    fn udp_needs_a_port_for_each_stream() {
        let host = HostResources { files: 1 << 20, ..HOST };
        assert_eq!(host.lacks_as_client(&plan(Transport::Udp, 28_232), WAYS), None);
        let shortage = host.lacks_as_client(&plan(Transport::Udp, 28_233), WAYS);
        assert!(matches!(shortage, Some(Shortage::Ports { need: 28_233, .. })));
        assert_eq!(host.lacks_as_client(&plan(Transport::Tcp, 65_535), WAYS), None);
    }

    #[test]
    fn further_ports_are_asked_for_when_one_is_not_enough() {
        assert_eq!(HOST.extra_ports(&plan(Transport::Tcp, 14_116), MOST), 0);
        assert_eq!(HOST.extra_ports(&plan(Transport::Tcp, 14_117), MOST), 1);
        assert_eq!(HOST.extra_ports(&plan(Transport::Tcp, 65_535), MOST), 4);
        assert_eq!(HOST.extra_ports(&plan(Transport::Udp, 65_535), MOST), 0);
        let narrow = HostResources { ports: Some(PortRange { first: 1, last: 2 }), ..HOST };
        assert_eq!(narrow.extra_ports(&plan(Transport::Tcp, 65_535), MOST), 15);
    }
}
