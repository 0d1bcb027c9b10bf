//! iperf3's messages, word by word: scripts look for them.

use std::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use measurement::Transport;
use measurement::plan::{IPERF3_STREAMS, PlanError, PlanField};
use report::iperf3::Role;
use session::{ErrorCode, Introduction, Parameters, ProtocolError, SessionError};

use super::end::End;
use crate::flags::Iperf3Flags;

/// Reason for which a run of `linerate iperf3` failed.
pub(super) enum Failure {
    /// The command line is invalid.
    Usage(String),
    /// The command line is valid, but the run failed.
    Run(String),
}

impl Failure {
    pub(super) fn system(what: &str, error: &io::Error) -> Self {
        Self::Run(format!("{what}: {}", kernel(error)))
    }
}

/// The kernel's words as strerror(3) has them.
fn kernel(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or_default().to_owned()
}

/// The line that says which iperf3 this stands for.
pub(super) fn version() -> String {
    format!(
        "{}\n{}\nOptional features available: {}\n",
        report::iperf3::VERSION,
        system(),
        FEATURES.join(", ")
    )
}

/// The names of the system on one line.
pub(super) fn system() -> String {
    let names = linux::host::system_names();
    [names.system, names.host, names.kernel, names.build, names.architecture].join(" ")
}

/// Says it on standard error.
pub(super) fn complain(text: &str) {
    // Standard error may be closed; the exit code is what is left then.
    _ = writeln!(io::stderr(), "iperf3: {text}");
}

/// Says what is wrong with the command line once all of it is read: at the time that
/// `--timestamps` asks for.
pub(super) fn refuse_usage(flags: &Iperf3Flags, wrong: &str) -> ExitCode {
    let time = flags.timestamps.as_deref().map(linux::clock::local_time).unwrap_or_default();
    refuse(&time, &format!("parameter error - {wrong}"))
}

/// Refuses an unknown flag, or one without its value, in the words of getopt_long(3).
pub(super) fn refuse_flag(error: &clap::Error) -> ExitCode {
    let argument = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(argument)) => argument.clone(),
        _ => String::new(),
    };
    let long = argument.split([' ', '=']).next().unwrap_or_default();
    let short = long.strip_prefix('-').filter(|rest| !rest.starts_with('-'));
    match (error.kind(), short) {
        (ErrorKind::UnknownArgument, Some(letter)) => {
            refuse("", &format!("invalid option -- '{letter}'"))
        }
        (ErrorKind::UnknownArgument, None) => refuse("", &format!("unrecognized option '{long}'")),
        (ErrorKind::InvalidValue, _) if is_missing(error) => {
            refuse("", &format!("option '{long}' requires an argument"))
        }
        // The flag's own words, without clap's around them.
        (ErrorKind::ValueValidation, _) if error.source().is_some() => {
            let wrong = error.source().map(ToString::to_string).unwrap_or_default();
            refuse("", &format!("parameter error - {wrong}"))
        }
        _ => refuse("", &format!("parameter error - {}", of_clap(error))),
    }
}

fn is_missing(error: &clap::Error) -> bool {
    matches!(error.get(ContextKind::InvalidValue), Some(ContextValue::String(value)) if value.is_empty())
}

fn refuse(time: &str, wrong: &str) -> ExitCode {
    // As above.
    _ = writeln!(io::stderr(), "{time}iperf3: {wrong}");
    _ = io::stderr().write_all(
        b"\nUsage: iperf3 [-s|-c host] [options]\nTry `iperf3 --help' for more information.\n",
    );
    ExitCode::FAILURE
}

/// Joins clap's message of several lines into one.
fn of_clap(error: &clap::Error) -> String {
    let text = error.to_string();
    let first = text.split("\n\n").next().unwrap_or_default();
    let words: Vec<_> = first.split_whitespace().collect();
    words.join(" ").trim_start_matches("error: ").to_owned()
}

/// The error of a plan, in iperf3's words where it has some.
pub(super) fn of_plan(error: &PlanError) -> String {
    let PlanError::OutOfRange { field, least, most, .. } = error else { return error.to_string() };
    match field {
        PlanField::Streams => too_many_streams(),
        PlanField::Mss => format!("TCP MSS too large (maximum = {most} bytes)"),
        PlanField::Window => format!("socket buffer size too large (maximum = {most} bytes)"),
        PlanField::Omit => "bogus value for --omit (maximum = 600 seconds)".to_owned(),
        PlanField::Length if *least > 1 => {
            format!("block size invalid (minimum = {least} bytes, maximum = {most} bytes)")
        }
        PlanField::Length => format!("block size too large (maximum = {most} bytes)"),
        _ => error.to_string(),
    }
}

/// In iperf3's dialect its limit holds, also between two linerates.
pub(super) fn too_many_streams() -> String {
    format!("number of parallel streams too large (maximum = {IPERF3_STREAMS})")
}

/// Warns of combinations that are allowed but hardly meant.
pub(super) fn warn_of_oddities(flags: &Iperf3Flags) {
    let json = flags.is_json();
    let odd = [
        (flags.format.is_some(), "Report format (-f) flag ignored with JSON output (-J)"),
        (flags.verbose, "Verbose output (-v) may interfere with JSON output (-J)"),
        (flags.debug.is_some(), "Debug output (-d) may interfere with JSON output (-J)"),
    ];
    for (_, text) in odd.into_iter().filter(|(odd, _)| json && *odd) {
        warn(text);
    }
    for word in &flags.words {
        warn(&format!("the argument '{word}' is ignored: it belongs to no flag"));
    }
    if flags.no_fq_socket_pacing {
        warn("--no-fq-socket-pacing is deprecated");
    }
}

/// A warning on standard error.
pub(super) fn warn(text: &str) {
    // As above.
    _ = writeln!(io::stderr(), "warning: {text}");
}

/// A datagram beyond the segment size may travel in fragments.
pub(super) fn warn_of_fragments(introduction: &Introduction<'_>) {
    let parameters = introduction.parameters;
    let (Some(segment), block) = (introduction.segment, parameters.block().bytes()) else { return };
    if parameters.plan.transport == Transport::Udp && block > u64::from(segment) {
        warn(&format!(
            "UDP block size {block} exceeds TCP MSS {segment}, may result in fragmentation / drops"
        ));
    }
}

/// The client's parameters as they are sent, without the token.
pub(super) fn of_parameters(parameters: &Parameters) -> String {
    let mut json = parameters.to_json();
    if let Some(token) = json.get_mut("authtoken") {
        *token = "(hidden)".into();
    }
    format!("parameters:\n{json:#}\n")
}

/// Why a test failed.
pub(super) fn of_session(error: &SessionError) -> String {
    match error {
        SessionError::Resolve { why, .. } => format!("{UNREACHABLE}: {}", capital(why)),
        SessionError::Connect { error, .. } => format!("{UNREACHABLE}: {}", kernel(error)),
        SessionError::Listen { error, .. } => {
            format!("unable to start listener for connections: {}", kernel(error))
        }
        SessionError::OpenStream { error, .. } => {
            format!("unable to connect stream: {}", kernel(error))
        }
        SessionError::Congestion { error, .. } => {
            let why = if error.kind() == io::ErrorKind::NotFound {
                "Supplied congestion control algorithm not supported on this host".to_owned()
            } else {
                kernel(error)
            };
            format!("unable to set TCP_CONGESTION: {why}")
        }
        SessionError::Protocol { error, .. } => of_protocol(error),
        SessionError::Window { .. } => "socket buffer size not set correctly".to_owned(),
        SessionError::NothingReceived { .. } => "idle timeout for receiving data".to_owned(),
        other => other.to_string(),
    }
}

fn capital(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map(|first| first.to_uppercase().chain(letters).collect()).unwrap_or_default()
}

/// An error of a client.
pub(super) fn of_server(error: &SessionError) -> End {
    let words = of_session(error);
    match error {
        SessionError::Protocol { error: ProtocolError::ServerError { .. }, .. } => {
            End::Refused(words)
        }
        _ => End::Failed(words),
    }
}

/// An error of a server with a client.
pub(super) fn of_client(error: &SessionError) -> End {
    match error {
        SessionError::Protocol {
            error: ProtocolError::Closed(_) | ProtocolError::Lost(_), ..
        } => End::Early("the client has unexpectedly closed the connection".to_owned()),
        SessionError::Protocol { error: ProtocolError::ClientTerminated, .. } => of_a_client_gone(),
        // iperf3 has no word for it.
        SessionError::Protocol { error: ProtocolError::ClientFailed, .. } => End::Well,
        SessionError::Protocol {
            error: ProtocolError::ServerError { code: ErrorCode::TIME_IS_UP, .. },
            ..
        } => End::Failed(format!(
            "{} - test is terminated by the server",
            of_code(ErrorCode::TIME_IS_UP, 0)
        )),
        other => End::Failed(of_session(other)),
    }
}

/// A client that ended its test before the time.
pub(super) fn of_a_client_gone() -> End {
    End::Early(CLIENT_GONE.to_owned())
}

/// Why a control connection could not go on.
pub(super) fn of_protocol(error: &ProtocolError) -> String {
    let words = match error {
        ProtocolError::Busy => "the server is busy running a test. try again later",
        ProtocolError::Closed(_) | ProtocolError::Lost(_) => {
            "control socket has closed unexpectedly"
        }
        ProtocolError::ServerTerminated => "the server has terminated",
        ProtocolError::UnknownState { .. } | ProtocolError::UnexpectedState { .. } => {
            UNKNOWN_MESSAGE
        }
        ProtocolError::ClientTerminated => CLIENT_GONE,
        ProtocolError::ServerError { code, errno, .. } => return of_code(*code, *errno),
        error if error.is_of_results() => return of_code(ErrorCode::RESULTS, 0),
        _ => return error.to_string(),
    };
    words.to_owned()
}

fn of_code(code: ErrorCode, errno: i32) -> String {
    let words = match code {
        ErrorCode::COOKIE => return with_errno("unable to receive cookie at server", errno),
        ErrorCode::PARAMETERS => {
            return with_errno("unable to receive parameters from client", errno);
        }
        ErrorCode::RESULTS => return with_errno("unable to receive results", errno),
        ErrorCode::AFFINITY => return with_errno("unable to set CPU affinity", errno),
        ErrorCode::STREAM_CONNECT => return with_errno("unable to connect stream", errno),
        ErrorCode::CLOSED => "control socket has closed unexpectedly",
        ErrorCode::MESSAGE => UNKNOWN_MESSAGE,
        ErrorCode::CLIENT_ENDED => CLIENT_GONE,
        ErrorCode::FLOW_LABEL => "unable to set IPv6 flow label",
        ErrorCode::CONGESTION => {
            "unable to set TCP_CONGESTION: Supplied congestion control algorithm not supported on \
             this host"
        }
        ErrorCode::AUTHENTICATION => "test authorization failed",
        ErrorCode::TOTAL_RATE => "total required bandwidth is larger than server limit",
        ErrorCode::SERVER_DURATION => {
            "client's requested duration exceeds the server's maximum permitted limit"
        }
        ErrorCode::WINDOW_NOT_SET => "socket buffer size not set correctly",
        ErrorCode::NOTHING_RECEIVED => "idle timeout for receiving data",
        ErrorCode::FILE_OVER_UDP => "cannot transfer file using UDP",
        ErrorCode::TIME_IS_UP => "server test duration expired",
        _ => return code.to_string(),
    };
    words.to_owned()
}

/// As perror(3) has it, also if there is no errno.
fn with_errno(words: &str, errno: i32) -> String {
    let why = if errno == 0 { String::new() } else { kernel(&io::Error::from_raw_os_error(errno)) };
    format!("{words}: {why}")
}

/// How a signal ended a run.
pub(super) fn of_signal(role: Role, number: u32) -> String {
    let who = if role == Role::Client { "client" } else { "server" };
    let name = match number {
        1 => "Hangup",
        2 => "Interrupt",
        15 => "Terminated",
        _ => "signal",
    };
    format!("interrupt - the {who} has terminated by signal {name}({number})")
}

const CLIENT_GONE: &str = "the client has terminated";
const UNKNOWN_MESSAGE: &str =
    "received an unknown control message (ensure other side is iperf3 and not iperf)";
const UNREACHABLE: &str = "unable to connect to server - server may have stopped running or use a \
                           different port, firewall issue, etc.";

const FEATURES: [&str; 10] = [
    "CPU affinity setting",
    "IPv6 flow label",
    "TCP congestion algorithm setting",
    "sendfile / zerocopy",
    "socket pacing",
    "authentication",
    "bind to device",
    "support IPv4 don't fragment",
    "POSIX threads",
    "GSO/GRO support",
];
