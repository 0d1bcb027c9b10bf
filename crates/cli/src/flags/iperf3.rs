//! The command line of iperf3, flag by flag, with the meaning that it has there.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use clap::parser::ValueSource;
use clap::{ArgMatches, Command, CommandFactory, FromArgMatches, Parser};
use measurement::{BitRate, ByteSize};

use super::iperf3_values::{
    self as values, Affinity, ClientHost, ConnectTimeout, ControlKeepalive, Lossy, Rate, Seconds,
    ServerLimit, reads,
};

/// Does what iperf3 3.21 does, as client (-c) or as server (-s).
#[derive(Clone, Debug, Parser)]
#[command(
    name = "iperf3",
    bin_name = "iperf3",
    no_binary_name = true,
    infer_long_args = true,
    args_override_self = true,
    disable_help_flag = true,
    disable_version_flag = true,
    max_term_width = 100,
    override_usage = "iperf3 [-s|-c host] [options]\n       iperf3 [-h|--help] [-v|--version]",
    after_help = EXAMPLES
)]
#[expect(clippy::struct_excessive_bools, reason = "iperf3 has as many switches")]
pub(crate) struct Iperf3Flags {
    /// Server port to listen on or to connect to
    #[arg(short, long, value_name = "N", default_value_t = session::DEFAULT_PORT, value_parser = reads(values::port), help_heading = BOTH)]
    pub(crate) port: u16,
    /// Unit of rates: k, m, g, t in bits or K, M, G, T in bytes
    #[arg(short, long, value_name = "kmgtKMGT", value_parser = reads(values::parse_format), help_heading = BOTH)]
    pub(crate) format: Option<report::iperf3::UnitFormat>,
    /// Seconds between two reports; 0: only at the end
    #[arg(short, long, value_name = "N", value_parser = reads(values::interval), help_heading = BOTH)]
    pub(crate) interval: Option<f64>,
    /// Write the number of this process to a file
    #[arg(short = 'I', long, value_name = "FILE", help_heading = BOTH)]
    pub(crate) pidfile: Option<PathBuf>,
    /// Send from, or receive to, this file
    #[arg(short = 'F', long, value_name = "FILE", help_heading = BOTH)]
    pub(crate) file: Option<PathBuf>,
    /// CPU to run on; a client may add the server's, after a comma
    #[arg(short = 'A', long, value_name = "n[,m]", value_parser = reads(values::affinity), help_heading = BOTH)]
    pub(crate) affinity: Option<Affinity>,
    /// Address to bind to; %dev as with --bind-dev
    #[arg(short = 'B', long, value_name = "HOST[%DEV]", value_parser = Lossy, help_heading = BOTH)]
    pub(crate) bind: Option<String>,
    /// Network interface to bind to (SO_BINDTODEVICE)
    #[arg(long, value_name = "DEV", value_parser = Lossy, help_heading = BOTH)]
    pub(crate) bind_dev: Option<String>,
    /// More detailed output
    #[arg(short = 'V', long, help_heading = BOTH)]
    pub(crate) verbose: bool,
    /// Output in JSON, one object for a test
    #[arg(short = 'J', long, help_heading = BOTH)]
    pub(crate) json: bool,
    /// Output in JSON, one object per line for each event
    #[arg(long, help_heading = BOTH)]
    pub(crate) json_stream: bool,
    /// With --json-stream: the whole object too
    #[arg(long, help_heading = BOTH)]
    pub(crate) json_stream_full_output: bool,
    /// Append the output to a file
    #[arg(long, value_name = "FILE", help_heading = BOTH)]
    pub(crate) logfile: Option<PathBuf>,
    /// Flush the output at each report (linerate always does)
    #[arg(long, help_heading = BOTH)]
    pub(crate) forceflush: bool,
    /// Begin each line with the time, as =FORMAT of strftime(3) wants it
    #[arg(long, value_name = "FORMAT", num_args = 0..=1, require_equals = true, default_missing_value = "%c ", value_parser = Lossy, help_heading = BOTH)]
    pub(crate) timestamps: Option<String>,
    /// Give up when nothing was received for so long, in ms [default: 120000]
    #[arg(long, value_name = "N", value_parser = reads(values::receive_timeout), help_heading = BOTH)]
    pub(crate) rcv_timeout: Option<Duration>,
    /// Give up when sent data is not acknowledged for so long, in ms (TCP_USER_TIMEOUT)
    #[arg(long, value_name = "N", value_parser = reads(values::send_timeout), help_heading = BOTH)]
    pub(crate) snd_timeout: Option<Duration>,
    /// Keepalive of the control connection: =IDLE/INTERVAL/COUNT, in seconds
    #[arg(long, value_name = "N/N/N", num_args = 0..=1, require_equals = true, default_missing_value = "", value_parser = reads(values::keepalive), help_heading = BOTH)]
    pub(crate) cntl_ka: Option<ControlKeepalive>,
    /// Use Multipath TCP
    #[arg(short, long, help_heading = BOTH)]
    pub(crate) mptcp: bool,
    /// Print what is said on the control connection; =LEVEL is accepted
    #[arg(short, long, value_name = "LEVEL", num_args = 0..=1, require_equals = true, default_missing_value = "4", value_parser = Lossy, help_heading = BOTH)]
    pub(crate) debug: Option<String>,
    /// PKCS#1 padding of the credentials, for peers before 3.17
    #[arg(long, help_heading = BOTH)]
    pub(crate) use_pkcs1_padding: bool,
    /// Only use IPv4
    #[arg(short = '4', long, help_heading = BOTH)]
    pub(crate) version4: bool,
    /// Only use IPv6
    #[arg(short = '6', long, help_heading = BOTH)]
    pub(crate) version6: bool,
    /// Print the version
    #[arg(short, long, help_heading = BOTH)]
    pub(crate) version: bool,
    /// Print this help
    #[arg(short, long, help_heading = BOTH)]
    pub(crate) help: bool,

    /// Run as a server
    #[arg(short, long, help_heading = SERVER)]
    pub(crate) server: bool,
    /// Run in the background
    #[arg(short = 'D', long, help_heading = SERVER)]
    pub(crate) daemon: bool,
    /// Serve one client, then exit
    #[arg(short = '1', long, help_heading = SERVER)]
    pub(crate) one_off: bool,
    /// Highest rate of a test, in bit/s, and over how many seconds it is averaged
    #[arg(long, value_name = "N[KMG][/N]", value_parser = reads(values::limit), help_heading = SERVER)]
    pub(crate) server_bitrate_limit: Option<ServerLimit>,
    /// With --one-off: exit when no client came for so many seconds
    #[arg(long, value_name = "N", value_parser = reads(values::idle_timeout), help_heading = SERVER)]
    pub(crate) idle_timeout: Option<Seconds>,
    /// Longest test, in seconds
    #[arg(long, value_name = "N", value_parser = reads(values::seconds), help_heading = SERVER)]
    pub(crate) server_max_duration: Option<Seconds>,
    /// RSA private key that decrypts the clients' credentials (PEM)
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub(crate) rsa_private_key_path: Option<PathBuf>,
    /// Users that may test: name,sha256 lines
    #[arg(long, value_name = "FILE", help_heading = SERVER)]
    pub(crate) authorized_users_path: Option<PathBuf>,
    /// How far a client's clock may be off, in seconds [default: 10]
    #[arg(long, value_name = "N", value_parser = reads(values::clock_skew), help_heading = SERVER)]
    pub(crate) time_skew_threshold: Option<Seconds>,

    /// Run as a client of this host; %dev as with --bind-dev
    #[arg(short, long, value_name = "HOST[%DEV]", value_parser = reads(values::client_host), help_heading = CLIENT)]
    pub(crate) client: Option<ClientHost>,
    /// UDP in place of TCP
    #[arg(short, long, help_heading = CLIENT)]
    pub(crate) udp: bool,
    /// SCTP in place of TCP (not available)
    #[arg(long, help_heading = CLIENT)]
    pub(crate) sctp: bool,
    /// Bind SCTP to links (not available)
    #[arg(short = 'X', long, value_name = "NAME", value_parser = Lossy, help_heading = CLIENT)]
    pub(crate) xbind: Option<String>,
    /// Number of SCTP streams (not available)
    #[arg(long, value_name = "N", value_parser = Lossy, help_heading = CLIENT)]
    pub(crate) nstreams: Option<String>,
    /// How long the control connection may take to open, in ms
    #[arg(long, value_name = "N", value_parser = reads(values::connect_timeout), help_heading = CLIENT)]
    pub(crate) connect_timeout: Option<ConnectTimeout>,
    /// Rate of each stream in bit/s, 0: unlimited [default: 1 Mbit/s for UDP]; /# sends so many blocks at once
    #[arg(short, long, visible_alias = "bandwidth", value_name = "N[KMG][/N]", value_parser = reads(values::rate), help_heading = CLIENT)]
    pub(crate) bitrate: Option<Rate>,
    /// Pacing timer of old servers, in microseconds [default: 1000]
    #[arg(long, value_name = "N[KMG]", value_parser = reads(values::size), help_heading = CLIENT)]
    pub(crate) pacing_timer: Option<ByteSize>,
    /// Rate to which the kernel paces each stream, in bit/s (SO_MAX_PACING_RATE)
    #[arg(long, value_name = "N[KMG]", value_parser = reads(values::plain_rate), help_heading = CLIENT)]
    pub(crate) fq_rate: Option<BitRate>,
    /// Switches --fq-rate off (deprecated)
    #[arg(long, help_heading = CLIENT)]
    pub(crate) no_fq_socket_pacing: bool,
    /// Seconds to test, 0: until it is interrupted [default: 10]
    #[arg(short, long, value_name = "N", value_parser = reads(values::seconds), help_heading = CLIENT)]
    pub(crate) time: Option<Seconds>,
    /// Bytes to move in place of a time
    #[arg(short = 'n', long, value_name = "N[KMG]", value_parser = reads(values::size), help_heading = CLIENT)]
    pub(crate) bytes: Option<ByteSize>,
    /// Blocks to move in place of a time
    #[arg(short = 'k', long, value_name = "N[KMG]", value_parser = reads(values::size), help_heading = CLIENT)]
    pub(crate) blockcount: Option<ByteSize>,
    /// Length of a block, or of a datagram [default: 128K for TCP, what fits for UDP]
    #[arg(short, long, value_name = "N[KMG]", value_parser = reads(values::length), help_heading = CLIENT)]
    pub(crate) length: Option<ByteSize>,
    /// Port of this client's first stream
    #[arg(long, value_name = "PORT", value_parser = reads(values::port), help_heading = CLIENT)]
    pub(crate) cport: Option<u16>,
    /// Parallel streams
    #[arg(short = 'P', long, value_name = "N", value_parser = reads(values::streams), help_heading = CLIENT)]
    pub(crate) parallel: Option<u32>,
    /// The server sends
    #[arg(short = 'R', long, help_heading = CLIENT)]
    pub(crate) reverse: bool,
    /// Both send
    #[arg(long, help_heading = CLIENT)]
    pub(crate) bidir: bool,
    /// Socket buffers
    #[arg(short, long, value_name = "N[KMG]", value_parser = reads(values::window), help_heading = CLIENT)]
    pub(crate) window: Option<ByteSize>,
    /// Congestion control, e.g. cubic
    #[arg(short = 'C', long, alias = "linux-congestion", value_name = "NAME", value_parser = Lossy, help_heading = CLIENT)]
    pub(crate) congestion: Option<String>,
    /// TCP maximum segment size
    #[arg(short = 'M', long, value_name = "N", value_parser = reads(values::segment_size), help_heading = CLIENT)]
    pub(crate) set_mss: Option<u32>,
    /// TCP_NODELAY
    #[arg(short = 'N', long, help_heading = CLIENT)]
    pub(crate) no_delay: bool,
    /// IP type of service: 0 to 255, also 0x.. and 0..
    #[arg(short = 'S', long, value_name = "N", value_parser = reads(values::type_of_service), help_heading = CLIENT)]
    pub(crate) tos: Option<u8>,
    /// DSCP: 0 to 63, or a name such as ef or af21
    #[arg(long, value_name = "N", value_parser = reads(values::dscp), help_heading = CLIENT)]
    pub(crate) dscp: Option<u8>,
    /// IPv6 flow label
    #[arg(short = 'L', long, value_name = "N", value_parser = reads(values::flow_label), help_heading = CLIENT)]
    pub(crate) flowlabel: Option<u32>,
    /// Send without copying (sendfile)
    #[arg(short = 'Z', long, help_heading = CLIENT)]
    pub(crate) zerocopy: bool,
    /// Receive without copying (MSG_TRUNC)
    #[arg(long, help_heading = CLIENT)]
    pub(crate) skip_rx_copy: bool,
    /// Leave the first seconds out of the result
    #[arg(short = 'O', long, value_name = "N", value_parser = reads(values::omit), help_heading = CLIENT)]
    pub(crate) omit: Option<Seconds>,
    /// Begin each line of output with this text
    #[arg(short = 'T', long, value_name = "TEXT", value_parser = Lossy, help_heading = CLIENT)]
    pub(crate) title: Option<String>,
    /// Text for the JSON of both ends
    #[arg(long, value_name = "TEXT", value_parser = Lossy, help_heading = CLIENT)]
    pub(crate) extra_data: Option<String>,
    /// Show the server's output too
    #[arg(long, help_heading = CLIENT)]
    pub(crate) get_server_output: bool,
    /// 64-bit sequence numbers in datagrams
    #[arg(long, help_heading = CLIENT)]
    pub(crate) udp_counters_64bit: bool,
    /// UDP_SEGMENT and UDP_GRO at both ends
    #[arg(long, help_heading = CLIENT)]
    pub(crate) gsro: bool,
    /// Send a pattern in place of random bytes
    #[arg(long, help_heading = CLIENT)]
    pub(crate) repeating_payload: bool,
    /// Set "don't fragment" on UDP over IPv4
    #[arg(long, help_heading = CLIENT)]
    pub(crate) dont_fragment: bool,
    /// User to authenticate as; the password comes from IPERF3_PASSWORD, or is asked for
    #[arg(long, value_name = "NAME", value_parser = Lossy, help_heading = CLIENT)]
    pub(crate) username: Option<String>,
    /// RSA public key of the server (PEM)
    #[arg(long, value_name = "FILE", help_heading = CLIENT)]
    pub(crate) rsa_public_key_path: Option<PathBuf>,

    /// Words that belong to no flag; iperf3 takes no notice of them.
    #[arg(hide = true, value_parser = Lossy)]
    pub(crate) words: Vec<String>,
}

/// The roles of the flags that were typed, by the headings under which help lists them; those for
/// both roles are neither.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct GivenRoles {
    /// A flag that only servers have was typed.
    pub(crate) server: bool,
    /// A flag that only clients have was typed.
    pub(crate) client: bool,
}

impl GivenRoles {
    fn of_matches(command: &Command, matches: &ArgMatches) -> Self {
        let is_given = |heading: &str| {
            let flags = command.get_arguments().filter(|flag| {
                flag.get_help_heading() == Some(heading)
                    && !CHOICES_OF_ROLE.contains(&flag.get_id().as_str())
                    && !IGNORED_BY_SERVERS.contains(&flag.get_id().as_str())
            });
            let mut sources = flags.map(|flag| matches.value_source(flag.get_id().as_str()));
            sources.any(|source| source == Some(ValueSource::CommandLine))
        };
        Self { server: is_given(SERVER), client: is_given(CLIENT) }
    }
}

impl Iperf3Flags {
    /// Reads a command line without the program's name.
    pub(crate) fn read(arguments: Vec<OsString>) -> Result<(Self, GivenRoles), clap::Error> {
        // As for getopt_long(3), what stands behind a flag that needs a value is its value.
        let command = Self::command().mut_args(|flag| {
            let is_optional = flag.is_require_equals_set() || flag.is_positional();
            let needs_value = flag.get_action().takes_values() && !is_optional;
            flag.allow_hyphen_values(needs_value)
        });
        let matches = command.clone().try_get_matches_from(arguments)?;
        let formatted = |error: clap::Error| error.format(&mut Self::command());
        let flags = Self::from_arg_matches(&matches).map_err(formatted)?;
        Ok((flags, GivenRoles::of_matches(&command, &matches)))
    }

    /// Whether the output is for programs.
    pub(crate) const fn is_json(&self) -> bool {
        self.json || self.json_stream
    }
}

const BOTH: &str = "Server or client";
const SERVER: &str = "Server only";
const CLIENT: &str = "Client only";
/// They say which role it is.
const CHOICES_OF_ROLE: [&str; 2] = ["server", "client"];
/// An iperf3 that serves takes no notice of these.
const IGNORED_BY_SERVERS: [&str; 3] = ["cport", "xbind", "nstreams"];

const EXAMPLES: &str = "\
Examples:
  iperf3 -s                          a server
  iperf3 -c 10.0.0.2 -t 5 -P 4       four TCP streams to it
  iperf3 -c 10.0.0.2 -u -b 1G -R -J  UDP from it, as JSON

[KMG] stands for the suffixes K, M, G and T: of 1024 for sizes and amounts, of 1000 for rates.";

#[cfg(test)]
mod tests {
    use super::*;

    fn given(words: &[&str]) -> GivenRoles {
        let arguments = words.iter().map(OsString::from).collect();
        Iperf3Flags::read(arguments).expect("flags of iperf3").1
    }

    #[test]
    fn a_flag_belongs_to_the_role_under_whose_heading_it_stands() {
        let (neither, server) = (GivenRoles::default(), GivenRoles { server: true, client: false });
        let client = GivenRoles { client: true, server: false };
        assert_eq!(given(&["-s", "-p", "5202", "--use-pkcs1-padding"]), neither);
        assert_eq!(given(&["-c", "here", "-1"]), server);
        assert_eq!(given(&["-s", "-t", "0"]), client);
        assert_eq!(given(&["-s", "--cport", "9", "--nstreams", "1"]), neither);
    }

    #[test]
    fn every_flag_stands_under_a_heading_and_every_exception_is_a_flag() {
        let command = Iperf3Flags::command();
        let flags = || command.get_arguments().filter(|flag| !flag.is_hide_set());
        for flag in flags() {
            let heading = flag.get_help_heading();
            let known = [BOTH, SERVER, CLIENT].map(Some);
            assert!(known.contains(&heading), "{} {heading:?}", flag.get_id());
        }
        for name in CHOICES_OF_ROLE.iter().chain(&IGNORED_BY_SERVERS) {
            assert!(flags().any(|flag| flag.get_id() == name), "{name}");
        }
    }
}
