//! Flags about the IP packets of the streams.

use clap::Args;
use measurement::StreamOptions;

use super::iperf3_values;

/// Header fields of the packets that both ends send.
#[derive(Clone, Copy, Debug, Args)]
#[command(next_help_heading = "Packets")]
pub(crate) struct PacketFlags {
    /// DSCP of the packets of both ends: 0 to 63, or a name such as ef, af21 or cs1
    #[arg(long, conflicts_with = "tos", env = "LINERATE_DSCP", value_name = "CODE", value_parser = iperf3_values::dscp)]
    dscp: Option<u8>,
    /// Type of service or traffic class of the packets of both ends: 0 to 255, also 0x2e
    #[arg(short = 'S', long, env = "LINERATE_TOS", value_name = "NUMBER", value_parser = type_of_service)]
    tos: Option<u8>,
    /// Time to live (IPv6: hop limit) of the packets of both ends: 1 to 255
    #[arg(long, env = "LINERATE_TTL", value_name = "HOPS", value_parser = clap::value_parser!(u8).range(1..))]
    ttl: Option<u8>,
}

impl PacketFlags {
    /// `options` with these fields.
    pub(crate) fn of(self, options: StreamOptions) -> StreamOptions {
        let type_of_service = self.tos.or(self.dscp).unwrap_or(options.type_of_service);
        StreamOptions { type_of_service, hop_limit: self.ttl, ..options }
    }
}

/// As iperf3 reads it, in our words.
fn type_of_service(text: &str) -> Result<u8, String> {
    iperf3_values::type_of_service(text).map_err(|_| {
        let is_name = text.parse::<u64>().is_err() && iperf3_values::dscp(text).is_ok();
        if is_name { format!("type --dscp {text}") } else { "choose between 0 and 255".to_owned() }
    })
}
