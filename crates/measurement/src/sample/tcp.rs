//! The state of one TCP connection as the kernel reports it. It is read in `linux::tcp`.

use serde::{Deserialize, Serialize};

use super::column::{Cell, Column};

/// Declares the fields, each once: a `total` only grows, of a `state` the last value counts; the
/// field; its name in records, and its name in records of earlier versions and on the wire.
macro_rules! tcp_sample {
    ($($(#[$attribute:meta])* $kind:ident $name:ident: $type:ty as $record:literal or $wire:literal;)+) => {
        /// The state of one TCP connection (`TCP_INFO`, tcp(7), `linux/tcp.h`). In records the
        /// fields have the kernel's names, with a unit where the kernel's name has none or another
        /// one.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub struct TcpSample {
            $($(#[$attribute])* #[serde(rename = $record, alias = $wire)] pub $name: $type,)+
        }

        /// [`TcpSample`] with the names that its fields have on the wire (clause 13.4 of
        /// docs/protocol/iperf3.md): peers of earlier versions know no others.
        #[derive(Clone, Copy, Debug, Serialize)]
        pub struct WireTcpSample {
            $(#[serde(rename = $wire)] $name: $type,)+
        }

        impl From<TcpSample> for WireTcpSample {
            fn from(sample: TcpSample) -> Self {
                Self { $($name: sample.$name,)+ }
            }
        }

        impl TcpSample {
            /// All fields, with their names in records.
            pub(super) const COLUMNS: &[Column<Self>] = &[$(Column {
                name: $record,
                get: |sample| sample.$name.cell(),
                set: |sample, value| sample.$name.fill(value),
            }),+];

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
    total acknowledged: u64 as "bytes_acked" or "acknowledged";
    /// Segments retransmitted since the connection opened.
    total retransmits: u64 as "total_retrans" or "retransmits";
    /// Bytes retransmitted since the connection opened.
    total bytes_retransmitted: u64 as "bytes_retrans" or "bytes_retransmitted";
    /// Congestion window in bytes.
    state congestion_window: u64 as "snd_cwnd_bytes" or "congestion_window";
    /// Smoothed round-trip time in microseconds.
    state rtt_micros: u32 as "rtt_micros" or "rtt_micros";
    /// Variation of the round-trip time in microseconds.
    state rtt_variation_micros: u32 as "rttvar_micros" or "rtt_variation_micros";
    /// Least round-trip time in microseconds.
    state min_rtt_micros: u32 as "min_rtt_micros" or "min_rtt_micros";
    /// Path MTU in bytes.
    state path_mtu: u32 as "pmtu" or "path_mtu";
    /// Segment size for sending in bytes.
    state segment: u32 as "snd_mss" or "segment";
    /// The receiver's window in bytes; zero before Linux 5.10.
    #[serde(default)]
    state send_window: u64 as "snd_wnd_bytes" or "send_window";
    /// Reordering that the sender allows for before it takes a segment for lost, in segments.
    #[serde(default)]
    state reordering: u32 as "reordering" or "reordering";
    /// Time with data outstanding, in microseconds.
    total busy_micros: u64 as "busy_time_micros" or "busy_micros";
    /// Part of the busy time that the receiver's window was the limit, in microseconds.
    total receive_window_limited_micros: u64 as "rwnd_limited_micros" or "receive_window_limited_micros";
    /// Part of the busy time that the send buffer was the limit, in microseconds.
    total send_buffer_limited_micros: u64 as "sndbuf_limited_micros" or "send_buffer_limited_micros";
    /// Rate at which segments were last delivered, in bytes per second.
    #[serde(default)]
    state delivery_rate: u64 as "delivery_rate_bytes_per_second" or "delivery_rate";
    /// Whether that rate was measured while the application sent too little.
    #[serde(default)]
    state delivery_rate_is_of_application: bool as "delivery_rate_app_limited" or "delivery_rate_is_of_application";
    /// Payload bytes sent, those sent again included.
    #[serde(default)]
    total bytes_sent: u64 as "bytes_sent" or "bytes_sent";
    /// Segments that arrived twice, as duplicate SACKs report (RFC 2883).
    #[serde(default)]
    total duplicates: u32 as "dsack_dups" or "duplicates";
    /// How often segments were found to have changed their order.
    #[serde(default)]
    total reorderings: u32 as "reord_seen" or "reorderings";
    /// Segments delivered that bore a mark of congestion (ECN, RFC 3168).
    #[serde(default)]
    total congestion_marks: u32 as "delivered_ce" or "congestion_marks";
    /// Bytes written that were not sent yet.
    #[serde(default)]
    state not_sent: u32 as "notsent_bytes" or "not_sent";
    /// Segments sent that are not acknowledged.
    #[serde(default)]
    state unacknowledged: u32 as "unacked" or "unacknowledged";
    /// Segments received, acknowledgements included; zero before Linux 4.2, and from peers that do
    /// not report it.
    #[serde(default)]
    total segments_in: u32 as "segs_in" or "segs_in";
    /// Segments sent, acknowledgements included; zero before Linux 4.2, and from peers that do not
    /// report it.
    #[serde(default)]
    total segments_out: u32 as "segs_out" or "segs_out";
    /// Window that this end advertises at most for now, in bytes (`tcpi_rcv_ssthresh`); zero from
    /// peers that do not report it.
    #[serde(default)]
    state receive_window: u32 as "rcv_ssthresh_bytes" or "rcv_ssthresh";
    /// Round-trip time as a receiver estimates it, from an acknowledgement to data that answers it
    /// (`tcpi_rcv_rtt`), in microseconds; zero without data, and from peers that do not report it.
    #[serde(default)]
    state receiver_rtt_micros: u32 as "rcv_rtt_micros" or "rcv_rtt_micros";
    /// `TCPI_OPT_*` of `linux/tcp.h`: 1 time stamps, 2 SACK, 4 window scale, 8 ECN.
    #[serde(default)]
    state options: u8 as "options" or "options";
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_have_the_kernels_names_and_those_of_earlier_versions_are_read() {
        let sample =
            TcpSample { acknowledged: 7, duplicates: 3, segment: 1448, ..Default::default() };
        let record = serde_json::to_value(sample).expect("an object");
        assert_eq!(
            (&record["bytes_acked"], &record["dsack_dups"], &record["snd_mss"]),
            (&7.into(), &3.into(), &1448.into())
        );
        let wire = serde_json::to_value(WireTcpSample::from(sample)).expect("an object");
        assert_eq!(
            (&wire["acknowledged"], &wire["duplicates"], &wire["segment"]),
            (&7.into(), &3.into(), &1448.into())
        );
        for text in [record, wire] {
            assert_eq!(serde_json::from_value::<TcpSample>(text).expect("readable"), sample);
        }
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
