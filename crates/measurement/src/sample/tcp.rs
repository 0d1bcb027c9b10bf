//! The state of one TCP connection as the kernel reports it. It is read in `linux::tcp`.

use serde::{Deserialize, Serialize};

/// Declares the fields, each once: a `total` only grows, of a `state` the last value counts; the
/// field; its name in records and on the wire.
macro_rules! tcp_sample {
    ($($(#[$attribute:meta])* $kind:ident $name:ident: $type:ty as $key:literal;)+) => {
        /// The state of one TCP connection (`TCP_INFO`, tcp(7), `linux/tcp.h`). In JSON the
        /// fields have the kernel's names, with a unit where the kernel's name has none or another
        /// one.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct TcpSample {
            $($(#[$attribute])* #[serde(rename = $key)] pub $name: $type,)+
        }

        impl TcpSample {
            /// The difference to an `earlier` sample of the same connection. Values that do not
            /// only grow are those of this sample.
            #[must_use]
            pub const fn since(&self, earlier: &Self) -> Self {
                Self { $($name: since!($kind self.$name, earlier.$name),)+ }
            }
        }
    };
}

tcp_sample! {
    /// Payload bytes that the peer's kernel acknowledged since the stream opened.
    total acknowledged: u64 as "bytes_acked";
    /// Segments retransmitted since the connection opened.
    total retransmits: u64 as "total_retrans";
    /// Bytes retransmitted since the connection opened.
    total bytes_retransmitted: u64 as "bytes_retrans";
    /// Congestion window in bytes.
    state congestion_window: u64 as "snd_cwnd_bytes";
    /// Smoothed round-trip time in microseconds.
    state rtt_micros: u32 as "rtt_micros";
    /// Variation of the round-trip time in microseconds.
    state rtt_variation_micros: u32 as "rttvar_micros";
    /// Least round-trip time in microseconds.
    state min_rtt_micros: u32 as "min_rtt_micros";
    /// Path MTU in bytes.
    state path_mtu: u32 as "pmtu";
    /// Segment size for sending in bytes.
    state segment: u32 as "snd_mss";
    /// The receiver's window in bytes; zero before Linux 5.10.
    state send_window: u64 as "snd_wnd_bytes";
    /// Reordering that the sender allows for before it takes a segment for lost, in segments.
    state reordering: u32 as "reordering";
    /// Time with data outstanding, in microseconds.
    total busy_micros: u64 as "busy_time_micros";
    /// Part of the busy time that the receiver's window was the limit, in microseconds.
    total receive_window_limited_micros: u64 as "rwnd_limited_micros";
    /// Part of the busy time that the send buffer was the limit, in microseconds.
    total send_buffer_limited_micros: u64 as "sndbuf_limited_micros";
    /// Rate at which segments were last delivered, in bytes per second.
    state delivery_rate: u64 as "delivery_rate_bytes_per_second";
    /// Whether that rate was measured while the application sent too little.
    state delivery_rate_is_of_application: bool as "delivery_rate_app_limited";
    /// Payload bytes sent, those sent again included.
    total bytes_sent: u64 as "bytes_sent";
    /// Segments that arrived twice, as duplicate SACKs report (RFC 2883).
    total duplicates: u32 as "dsack_dups";
    /// How often segments were found to have changed their order.
    total reorderings: u32 as "reord_seen";
    /// Segments delivered that bore a mark of congestion (ECN, RFC 3168).
    total congestion_marks: u32 as "delivered_ce";
    /// Bytes written that were not sent yet.
    state not_sent: u32 as "notsent_bytes";
    /// Segments sent that are not acknowledged.
    state unacknowledged: u32 as "unacked";
    /// Segments received, acknowledgements included; zero before Linux 4.2.
    total segments_in: u32 as "segs_in";
    /// Segments sent, acknowledgements included; zero before Linux 4.2.
    total segments_out: u32 as "segs_out";
    /// Window that this end advertises at most for now, in bytes (`tcpi_rcv_ssthresh`).
    state receive_window: u32 as "rcv_ssthresh_bytes";
    /// Round-trip time as a receiver estimates it, from an acknowledgement to data that answers it
    /// (`tcpi_rcv_rtt`), in microseconds; zero without data.
    state receiver_rtt_micros: u32 as "rcv_rtt_micros";
    /// `TCPI_OPT_*` of `linux/tcp.h`: 1 time stamps, 2 SACK, 4 window scale, 8 ECN.
    state options: u8 as "options";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_have_the_kernels_names() {
        let sample =
            TcpSample { acknowledged: 7, duplicates: 3, segment: 1448, ..Default::default() };
        let json = serde_json::to_value(sample).expect("an object");
        assert_eq!(
            (&json["bytes_acked"], &json["dsack_dups"], &json["snd_mss"]),
            (&7.into(), &3.into(), &1448.into())
        );
        assert_eq!(serde_json::from_value::<TcpSample>(json).expect("readable"), sample);
    }

    #[test]
    fn totals_are_subtracted_and_states_are_kept() {
        let sample = |count: u32| TcpSample {
            acknowledged: count.into(),
            congestion_marks: count,
            rtt_micros: count,
            ..TcpSample::default()
        };
        let since = sample(9).since(&sample(4));
        assert_eq!((since.acknowledged, since.congestion_marks, since.rtt_micros), (5, 5, 9));
    }
}
