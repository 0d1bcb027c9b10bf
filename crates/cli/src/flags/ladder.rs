//! Flags of `ladder`.

use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{ArgMatches, Args};

use super::cpus::{CpuList, usable_cpus};
use super::output::RecordOutputFlags;
use super::packets::PacketFlags;
use super::server::ServerFlags;
use super::store::StoreFlags;
use super::values::{parse_streams, parse_time_within};

/// Measures layer by layer what a path gives: the link by its own word, frames, UDP, TCP, an application;
/// and says what is lost from each to the next, and why.
#[derive(Debug, Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct LadderFlags {
    #[command(flatten)]
    pub(crate) server: ServerFlags,
    /// Time of each test
    #[arg(short, long, default_value = "2s", env = "LINERATE_TIME", value_name = "DURATION", value_parser = parse_time)]
    pub(crate) time: Duration,
    /// From the server to here
    #[arg(short = 'R', long, env = "LINERATE_RECEIVE", value_parser = BoolishValueParser::new())]
    pub(crate) receive: bool,
    /// Streams of the rung of several TCP streams
    #[arg(short = 'P', long, default_value_t = 8, env = "LINERATE_STREAMS", value_name = "COUNT", value_parser = parse_streams)]
    pub(crate) streams: u32,
    /// CPUs to pin the workers to, as in linerate test
    #[arg(long, env = "LINERATE_CPUS", value_name = "LIST", value_parser = usable_cpus)]
    pub(crate) cpus: Option<CpuList>,
    /// Permit frames below UDP by an interface of a default route: the link may be in use by others
    #[arg(long, env = "LINERATE_I_OWN_THIS_LINK", value_parser = BoolishValueParser::new())]
    pub(crate) i_own_this_link: bool,
    #[command(flatten)]
    pub(crate) packets: PacketFlags,
    #[command(flatten)]
    pub(crate) output: RecordOutputFlags,
    #[command(flatten)]
    pub(crate) store: StoreFlags,
}

impl LadderFlags {
    /// Of two ports the one that was typed counts.
    pub(super) fn settle(mut self, matches: &ArgMatches) -> Result<Self, String> {
        self.server.settle(matches)?;
        Ok(self)
    }
}

/// The time of each of several tests.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    parse_time_within(text, Duration::from_millis(500), Duration::from_secs(3600), "500ms and 1h")
}

const EXAMPLES: &str = "\
Examples:
  linerate ladder 10.0.0.2                    from here to the server
  linerate ladder 10.0.0.2 -R -t 5s           from the server, five seconds each
  linerate ladder 10.0.0.2 -P 32              32 TCP streams in place of 8
  linerate ladder 10.0.0.2 --format csv       a line a layer

UDP is sent at the highest rate without loss; its trials are a part of the time. TCP goes without
copies (sendfile, MSG_TRUNC) but for the application, which writes and reads 128 KiB as iperf3 does.
The server is a linerate. Frames below UDP leave from here by AF_XDP, as root and by an interface
without a default route; nothing counts them at the far end.
Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID; 5 the server was busy; 130
interrupted, with the layers that were measured";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_test_is_long_enough_to_be_one() {
        assert_eq!(parse_time("2s"), Ok(Duration::from_secs(2)));
        assert!(parse_time("100ms").is_err() && parse_time("2h").is_err());
        assert!(parse_time("soon").is_err());
    }
}
