//! Errors, refusals and the help of `linerate iperf`.

use std::io::{self, Write};
use std::process::ExitCode;

use measurement::Transport;
use report::iperf2::Form;
use session::SessionError;

/// Says it on standard error, as it is.
pub(super) fn say_error(text: &str) {
    // Standard error may be closed; the exit code is what is left then.
    _ = writeln!(io::stderr(), "{text}");
}

/// Says it on standard error.
pub(super) fn complain(text: &str) {
    say_error(&format!("iperf: {text}"));
}

/// The test failed, or could not start.
pub(super) fn fail(why: &str) -> ExitCode {
    complain(why);
    ExitCode::from(crate::exit::FAILED)
}

/// The command line is wrong.
pub(super) fn refuse(wrong: &str) -> ExitCode {
    complain(wrong);
    ExitCode::from(crate::exit::USAGE)
}

/// Why a test could not start; who listens there is an iperf, if anybody does.
pub(super) fn of_session(error: &SessionError, transport: Transport) -> String {
    let refused = io::ErrorKind::ConnectionRefused;
    match error {
        SessionError::Connect { to, error } if error.kind() == refused => {
            let udp = if transport == Transport::Udp { " -u" } else { "" };
            let why = session::reason(error);
            format!("cannot connect to {to}: {why}; is \"iperf -s{udp}\" running there?")
        }
        error => error.to_string(),
    }
}

/// The time of day for values that are separated by commas.
pub(super) fn date(form: Form) -> String {
    match form {
        Form::Csv => linux::clock::local_time("%Y%m%d%H%M%S"),
        Form::Text => String::new(),
    }
}

/// Prints it.
pub(super) fn say(text: &str) {
    let mut out = io::stdout();
    // A reader that has gone has seen enough; the test goes on for the server's sake.
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

pub(super) const HELP: &str = "\
Does what iperf 2.1.8 does, as client (-c) or as server (-s)

Usage: iperf [-s|-c HOST] [options]

  -c, --client HOST           Run as a client of this server
  -s, --server                Run as a server of TCP, or of UDP (-u)
  -p, --port N                Port of the server [default: 5001; linerate serve: 5201]
  -u, --udp                   UDP in place of TCP
  -R, --reverse               The server sends
  -d, --dualtest              The server sends, too, to a port of this host
  -r, --tradeoff              As -d, after what the client sends
      --full-duplex           Both send over the same connection or flow
      --bounceback[=N]        Round trips of N requests a period [default: 10] (TCP)
      --bounceback-period[=S] Period in seconds, 0: one request after another [default: 1]
      --bounceback-hold MS    The server waits so many milliseconds before it answers
      --isochronous[=N:RATE]  N frames a second, each sent at once [default: 60:20m] (UDP)
      --trip-times            The server tells times on the way, by the clocks of both ends
  -L, --listenport N          Port of this host for -d and -r [default: that of the server]
  -t, --time SECONDS          Time to send [default: 10], or for a server to wait and to receive
  -n, --num N[kmgKMG]         Bytes of each stream to send in place of a time
  -b, --bandwidth N[kmgKMG]   Rate of each stream in bit/s, 0: unlimited [default: 1M for UDP]
  -l, --len N[kmKM]           Bytes of a write or datagram [default: 128K, UDP 1470, IPv6 1450]
  -i, --interval SECONDS      Time between two reports [default: none]
  -P, --parallel N            Streams [default: 1]; a server ends after so many
  -B, --bind IP[:PORT][%DEV]  Address, port and interface; of a server, a multicast group
  -H, --ssm-host IP           The one sender to that group
  -V, --ipv6_domain           IPv6
  -w, --window N[KM]          Socket buffers
  -M, --mss N                 TCP maximum segment size
  -N, --nodelay               TCP_NODELAY
  -Z, --tcp-congestion NAME   Congestion control
  -S, --tos N                 Type of service, as 0x10
  -T, --ttl N                 Time to live
  -f, --format [kmgKMG]       Unit of the report
  -y, --reportstyle C         Comma-separated values
  -e, -m                      Accepted
  -v, --version               Print the version
  -h, --help                  Print this help

Upper letters are powers of 1024, lower ones of 1000: 1K is 1024, 1k is 1000.
";
