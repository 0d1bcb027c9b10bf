//! Types of the crate `measurement` with the names that their fields have on the wire (clause 13 of
//! docs/protocol/iperf3.md), which are older than those in records: peers of earlier versions know
//! no others. Reading understands both.

use std::time::Duration;

use measurement::{
    BitRate, ByteSize, Exchange, Pacing, PacingReport, PacingWay, Pulse, Quantiles, UdpSample, Way,
};
use serde::{Serialize, Serializer};

/// Declares a type that is serialized in place of another one, with the same fields.
macro_rules! wire {
    ($(#[$attribute:meta])* $wire:ident for $original:ident { $($(#[$field:meta])* $name:ident: $type:ty,)+ }) => {
        $(#[$attribute])*
        #[derive(Clone, Debug, Serialize)]
        pub(super) struct $wire {
            $($(#[$field])* $name: $type,)+
        }

        impl From<$original> for $wire {
            fn from(original: $original) -> Self {
                Self { $($name: original.$name,)+ }
            }
        }
    };
}

wire! {
    /// [`Exchange`] on the wire (clause 13.9).
    WireExchange for Exchange {
        way: Way,
        request: ByteSize,
        response: ByteSize,
        depth: u16,
        #[serde(serialize_with = "optional_seconds", skip_serializing_if = "Option::is_none")]
        every: Option<Duration>,
        busy: bool,
    }
}

wire! {
    /// [`PacingReport`] on the wire.
    WirePacing for PacingReport {
        pacing: Pacing,
        way: PacingWay,
        asked: BitRate,
        achieved: BitRate,
        achieved_outside_stalls: BitRate,
        #[serde(rename = "sending_seconds", serialize_with = "seconds")]
        sending: Duration,
        #[serde(rename = "stalled_seconds", serialize_with = "seconds")]
        stalled: Duration,
        stalls: u64,
        #[serde(rename = "forgone_seconds", serialize_with = "seconds")]
        forgone: Duration,
        batches: Quantiles,
        gap_error_nanos: Quantiles,
        lateness: Vec<u64>,
        spin_share: f64,
    }
}

wire! {
    /// [`Pulse`] on the wire.
    WirePulse for Pulse {
        sender: bool,
        #[serde(serialize_with = "seconds")]
        every: Duration,
        bytes: Vec<u64>,
    }
}

wire! {
    /// [`UdpSample`] on the wire.
    WireUdpSample for UdpSample {
        drops: u64,
        receive_queue: u64,
        send_queue: u64,
    }
}

fn seconds<S: Serializer>(span: &Duration, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_f64(span.as_secs_f64())
}

#[expect(clippy::ref_option, reason = "serde hands in a reference")]
fn optional_seconds<S: Serializer>(
    span: &Option<Duration>,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    span.map(|span| span.as_secs_f64()).serialize(serializer)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn peers_of_earlier_versions_find_the_names_that_they_know() {
        let exchange = Exchange { every: Some(Duration::from_millis(500)), ..Exchange::default() };
        let wire = json!(WireExchange::from(exchange));
        assert_eq!(
            wire,
            json!({"way": "stream", "request": 64, "response": 64, "depth": 1, "every": 0.5, "busy": false})
        );
        assert_eq!(serde_json::from_value::<Exchange>(wire).ok(), Some(exchange));
        let pulse = Pulse { sender: true, every: Duration::from_millis(250), bytes: vec![7] };
        let wire = json!(WirePulse::from(pulse.clone()));
        assert_eq!(wire, json!({"sender": true, "every": 0.25, "bytes": [7]}));
        assert_eq!(serde_json::from_value::<Pulse>(wire).ok(), Some(pulse));
        let udp = UdpSample { drops: 1, receive_queue: 2, send_queue: 3 };
        let wire = json!(WireUdpSample::from(udp));
        assert_eq!(wire, json!({"drops": 1, "receive_queue": 2, "send_queue": 3}));
        assert_eq!(serde_json::from_value::<UdpSample>(wire).ok(), Some(udp));
    }
}
