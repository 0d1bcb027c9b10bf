//! Why a session could not do what it was asked.

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::path::PathBuf;
use std::time::Duration;

use measurement::units::show_time;
use measurement::{ByteSize, EngineName};
use protocol::iperf3::ProtocolError;

use crate::preflight::Shortage;

/// Why a test or a server could not do what it was asked. Its text says what failed and what to do.
#[derive(Debug, thiserror::Error)]
pub enum SessionError {
    /// The name of a host cannot be resolved to an address.
    #[error("cannot find host '{host}': {why}; check the name or give an address")]
    Resolve {
        /// Name of the host, as given.
        host: String,
        /// Error message of the resolver (`getaddrinfo(3)`).
        why: String,
    },
    /// The address from which the test ran is no address of this host any more.
    #[error(
        "this host has lost its address {address}: its interface was removed, or the address was taken \
         from it; see \"ip address\""
    )]
    AddressLost {
        /// The local address of the control connection.
        address: IpAddr,
    },
    /// The server has no address of the family of the local address to bind to.
    #[error("'{host}' has no address of the same family as --bind; choose another (IPv4 or IPv6)")]
    BindFamily {
        /// Name or address of the server.
        host: String,
    },
    /// The control connection to the server cannot be opened.
    #[error("cannot connect to {to}: {}; {}", reason(.error), connect_hint(.error))]
    Connect {
        /// The last address to which a connection was tried.
        to: SocketAddr,
        /// Error of connect(2).
        error: io::Error,
    },
    /// The ends of the control connection have not proved the same key.
    #[error("cannot use the server at {to}: {why}")]
    Keyed {
        /// Address of the server.
        to: SocketAddr,
        /// Reason.
        why: protocol::keyed::KeyedError,
    },
    /// The server cannot listen.
    #[error("cannot listen on {on}: {}; {}", reason(.error), listen_hint(.error))]
    Listen {
        /// Address and port to listen on.
        on: SocketAddr,
        /// Error of bind(2) or listen(2).
        error: io::Error,
    },
    /// The limit of file descriptors is too low for a server (`RLIMIT_NOFILE`).
    #[error("the limit of {limit} open files is too low to serve: raise it (ulimit -n)")]
    FewDescriptors {
        /// Limit of the process.
        limit: usize,
    },
    /// This host lacks resources for the number of streams.
    #[error("{0}")]
    Shortage(Shortage),
    /// A stream could not be opened.
    #[error("cannot open stream {id}: {}; {}", reason(.error), stream_hint(.error))]
    OpenStream {
        /// Id of the stream on the wire.
        id: u32,
        /// Error of the system call.
        error: io::Error,
    },
    /// The kernel refuses the requested congestion control.
    #[error("cannot use congestion control '{name}': {}", congestion_hint(.error))]
    Congestion {
        /// Name of the congestion control.
        name: String,
        /// Error of setsockopt(2).
        error: io::Error,
    },
    /// A requested engine cannot be used.
    #[error("cannot use engine '{name}': {reason}; choose another with --engine")]
    Engine {
        /// Name of the engine.
        name: EngineName,
        /// Reason in words.
        reason: String,
    },
    /// The server does not answer requests: it is an iperf3, or a linerate of another version.
    #[error("latency needs \"linerate serve\" of the same version on {to}, which runs {software}")]
    NoAnswers {
        /// Address and port of the server.
        to: SocketAddr,
        /// Software of the server, e.g. `iperf3`.
        software: String,
    },
    /// A further host cannot be watched.
    #[error("cannot observe {host}: {reason}; does \"linerate serve --observe\" run there?")]
    Unobserved {
        /// Name or address of the host.
        host: String,
        /// Reason in words.
        reason: String,
    },
    /// The server could not open a further port for connections of requests.
    #[error("{to} has no further port to be called at; see its log")]
    NoPort {
        /// Address and port of the server.
        to: SocketAddr,
    },
    /// The file for the payload cannot be used.
    #[error("cannot {doing} file '{}': {}; {}", path.display(), reason(.error), file_hint(.error))]
    File {
        /// The failed action, e.g. `open`.
        doing: &'static str,
        /// Path of the file.
        path: PathBuf,
        /// Error of the system call.
        error: io::Error,
    },
    /// No hello of a UDP stream was answered.
    #[error(
        "no answer over UDP from {to}; does a firewall between the hosts drop UDP to that port?"
    )]
    NoReply {
        /// Address and port of the server.
        to: SocketAddr,
    },
    /// The control connection failed.
    #[error("the test with {peer} failed: {error}")]
    Protocol {
        /// Address and port of the peer.
        peer: SocketAddr,
        /// Error of the protocol.
        error: ProtocolError,
    },
    /// A setting of this host that the test is to run with is not in effect; the reason in one
    /// sentence.
    #[error("{0}")]
    Setting(String),
    /// Another program that was to run the test gave no result.
    #[error("{program}: {reason}")]
    Program {
        /// The program, as given.
        program: String,
        /// Reason in words.
        reason: String,
        /// Whether the same test may succeed if it is tried again in a moment.
        may_pass: bool,
    },
    /// The kernel set smaller socket buffers than requested.
    #[error(
        "asked for a socket buffer of {}, the kernel gave {}: raise net.core.rmem_max and \
         net.core.wmem_max",
        asked.expanded(),
        got.expanded()
    )]
    Window {
        /// Requested size.
        asked: ByteSize,
        /// Size that the kernel set.
        got: ByteSize,
    },
    /// The server sent no payload within the time limit.
    #[error(
        "nothing came from {peer} for {}; is it stopped, or the path broken?",
        show_time(*patience)
    )]
    NothingReceived {
        /// Address and port of the server.
        peer: SocketAddr,
        /// The time limit.
        patience: Duration,
    },
    /// The user interrupted the test before it began.
    #[error("interrupted before the test began")]
    Interrupted,
    /// The kernel refused a request that rarely fails, for lack of resources or permission.
    #[error("the system refused {what}: {}", reason(.error))]
    System {
        /// The request in words.
        what: &'static str,
        /// Error of the system call.
        error: io::Error,
    },
}

impl SessionError {
    /// Whether the server refused the test because it serves another client.
    pub const fn is_busy(&self) -> bool {
        matches!(self, Self::Protocol { error: ProtocolError::Busy, .. })
    }

    /// Whether the same test may succeed if it is tried again in a moment: the server is busy, or
    /// refused the TCP connection.
    pub fn may_pass(&self) -> bool {
        let refused = |error: &io::Error| error.kind() == io::ErrorKind::ConnectionRefused;
        match self {
            Self::Connect { error, .. } => refused(error),
            Self::Program { may_pass, .. } => *may_pass,
            _ => self.is_busy(),
        }
    }

    pub(crate) const fn system(what: &'static str) -> impl Fn(io::Error) -> Self {
        move |error| Self::System { what, error }
    }
}

/// The message of the kernel for an error, in lower case at its begin and without ` (os error N)`.
pub fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    letters.next().map(|first| first.to_lowercase().chain(letters).collect()).unwrap_or_default()
}

/// Why an engine cannot be used, and what helps.
pub(crate) fn engine_reason(error: &io::Error) -> String {
    let reason = reason(error);
    match error.raw_os_error() {
        Some(EMFILE) => format!("{reason}, raise the limit (ulimit -n)"),
        _ => reason,
    }
}

fn connect_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => "is \"linerate serve\" or \"iperf3 -s\" running there?",
        io::ErrorKind::TimedOut => "is the host up, and does a firewall let the port through?",
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            "check the address and \"ip route\""
        }
        io::ErrorKind::AddrNotAvailable | io::ErrorKind::AddrInUse => {
            "check the address given with --bind"
        }
        io::ErrorKind::PermissionDenied => "a local firewall may forbid it",
        io::ErrorKind::InvalidInput => {
            "a link-local address needs its interface, as in fe80::1%eth0"
        }
        _ if error.raw_os_error() == Some(ENODEV) => NO_SUCH_INTERFACE,
        _ => "check the address and the port",
    }
}

fn listen_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AddrInUse => {
            "another server has the port: stop it or choose one with --port"
        }
        io::ErrorKind::PermissionDenied => "ports below 1024 need root: choose a higher --port",
        io::ErrorKind::AddrNotAvailable => "no interface has that address: see \"ip address\"",
        _ if error.raw_os_error() == Some(ENODEV) => NO_SUCH_INTERFACE,
        _ => "check --bind and --port",
    }
}

fn congestion_hint(error: &io::Error) -> &'static str {
    if error.kind() == io::ErrorKind::PermissionDenied {
        "not allowed without CAP_NET_ADMIN; run as root, or add it to \
         net.ipv4.tcp_allowed_congestion_control"
    } else {
        "not available; load it (modprobe tcp_NAME), or see sysctl \
         net.ipv4.tcp_available_congestion_control"
    }
}

fn file_hint(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::NotFound => "check its name and its directory",
        io::ErrorKind::PermissionDenied => "check its permissions",
        io::ErrorKind::IsADirectory => "name a file in it",
        _ => "choose another one",
    }
}

fn stream_hint(error: &io::Error) -> &'static str {
    match (error.kind(), error.raw_os_error()) {
        (_, Some(ENODEV)) => NO_SUCH_INTERFACE,
        (_, Some(EPROTONOSUPPORT | ENOPROTOOPT | EOPNOTSUPP)) => {
            "this kernel lacks one of the options asked for, or cannot combine them; for \
             Multipath TCP see /proc/sys/net/mptcp/enabled"
        }
        (io::ErrorKind::AddrInUse | io::ErrorKind::AddrNotAvailable, _) => {
            "check the address and the port to send from; for many streams see \
             net.ipv4.ip_local_port_range"
        }
        (_, Some(EMFILE)) => "raise the limit of open files (ulimit -n) or lower -P",
        (io::ErrorKind::InvalidInput, _) => "check the options of the stream, such as --mss",
        _ => "check that the server is still running",
    }
}

const NO_SUCH_INTERFACE: &str = "no interface has that name: see \"ip link\"";
/// Too many open files, `asm-generic/errno-base.h`.
const EMFILE: i32 = 24;
/// No such device, same header.
const ENODEV: i32 = 19;
/// `asm-generic/errno.h`; MIPS and SPARC number these differently and then get the
/// general hint.
const ENOPROTOOPT: i32 = 92;
const EPROTONOSUPPORT: i32 = 93;
const EOPNOTSUPP: i32 = 95;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_is_one_sentence_with_what_to_do() {
        let error = io::Error::from_raw_os_error(111);
        let error = SessionError::Connect { to: "10.0.0.2:5201".parse().expect("valid"), error };
        assert_eq!(
            error.to_string(),
            "cannot connect to 10.0.0.2:5201: connection refused; \
             is \"linerate serve\" or \"iperf3 -s\" running there?"
        );
    }

    #[test]
    fn every_error_names_its_object_and_fits_a_line() {
        let to: SocketAddr = "10.0.0.2:5201".parse().expect("valid");
        let system = || io::Error::from_raw_os_error(1);
        let cases = [
            (SessionError::Resolve { host: "here".to_owned(), why: "no".to_owned() }, "'here'"),
            (SessionError::BindFamily { host: "here".to_owned() }, "--bind"),
            (SessionError::Listen { on: to, error: io::Error::from_raw_os_error(98) }, "10.0.0.2"),
            (SessionError::FewDescriptors { limit: 20 }, "ulimit -n"),
            (SessionError::OpenStream { id: 3, error: system() }, "stream 3"),
            (SessionError::Congestion { name: "bbr".to_owned(), error: system() }, "'bbr'"),
            (SessionError::Engine { name: "gso".into(), reason: "x".to_owned() }, "--engine"),
            (SessionError::NoAnswers { to, software: "iperf3".to_owned() }, "linerate serve"),
            (SessionError::NoPort { to }, "see its log"),
            (SessionError::NoReply { to }, "firewall"),
            (SessionError::Protocol { peer: to, error: ProtocolError::Busy }, "10.0.0.2:5201"),
            (
                SessionError::Window {
                    asked: ByteSize::from_bytes(4096),
                    got: ByteSize::from_bytes(1024),
                },
                "net.core.rmem_max",
            ),
            (
                SessionError::NothingReceived { peer: to, patience: Duration::from_secs(2) },
                "10.0.0.2:5201",
            ),
        ];
        for (error, words) in cases {
            let text = error.to_string();
            assert!(text.contains(words), "{text}");
            assert!(!text.contains('\n') && !text.ends_with('.'), "{text}");
            assert!(text.len() < 200, "{text}");
        }
    }
}
