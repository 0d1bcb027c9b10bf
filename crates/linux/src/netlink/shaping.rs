//! Shaping of an interface with a token bucket filter (tc-tbf(8)).

use std::io;

use super::RouteSocket;
use super::kernel::{self, RateSpecification, TokenBucketOptions, TrafficControlMessage};
use super::message::Message;

/// The parameters of a token bucket filter (tc-tbf(8)). All sizes count the link-layer header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TokenBucket {
    /// Sustained rate in bytes per second.
    pub rate_bytes_per_second: u64,
    /// Bytes that may leave at once after a pause. A larger packet is dropped, unless it is
    /// a GSO packet, which is split.
    pub burst_bytes: u32,
    /// Bytes that may wait for tokens. More are dropped.
    pub limit_bytes: u32,
}

impl RouteSocket {
    /// Limits the rate at which the interface `name` sends: replaces its root qdisc by a token
    /// bucket filter (tc-tbf(8)).
    ///
    /// # Errors
    /// `ENOENT` without tbf (`CONFIG_NET_SCH_TBF`), `EINVAL` if the burst is zero, `ENODEV`
    /// if there is no such link, `EPERM` without `CAP_NET_ADMIN`.
    pub fn shape_tbf(&mut self, name: &str, bucket: TokenBucket) -> io::Result<()> {
        let index = self.signed_index(name)?;
        self.request(tbf_request(index, bucket))
    }
}

fn tbf_request(index: i32, bucket: TokenBucket) -> Message {
    let flags = kernel::NLM_F_CREATE | kernel::NLM_F_REPLACE;
    let parent = kernel::TC_H_ROOT;
    let body = TrafficControlMessage { index, parent };
    Message::new(libc::RTM_NEWQDISC, flags, &body.encode())
        .attribute(kernel::TCA_KIND, b"tbf\0")
        .nested(kernel::TCA_OPTIONS, |options| tbf_options(options, bucket))
}

/// The options as `net/sched/sch_tbf.c` reads them: the burst in bytes overrides the one in
/// ticks, and a rate that needs 64 bits has an attribute of its own beside a saturated
/// 32-bit one.
fn tbf_options(options: Message, bucket: TokenBucket) -> Message {
    let rate = bucket.rate_bytes_per_second;
    let narrow_rate = u32::try_from(rate);
    let parameters = TokenBucketOptions {
        rate: RateSpecification {
            link_layer: kernel::TC_LINKLAYER_ETHERNET,
            rate: narrow_rate.unwrap_or(u32::MAX),
        },
        limit: bucket.limit_bytes,
    };
    let options = options
        .attribute(kernel::TCA_TBF_PARMS, &parameters.encode())
        .attribute(kernel::TCA_TBF_BURST, &bucket.burst_bytes.to_ne_bytes());
    if narrow_rate.is_ok() {
        return options;
    }
    options.attribute(kernel::TCA_TBF_RATE64, &rate.to_ne_bytes())
}

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, attribute};
    use super::*;

    const TRAFFIC_CONTROL_BYTES: usize = 20;

    fn options(rate_bytes_per_second: u64) -> Vec<u8> {
        let bucket =
            TokenBucket { rate_bytes_per_second, burst_bytes: 0x1_0000, limit_bytes: 0x2_0000 };
        let bytes = tbf_request(4, bucket).finish(1);
        let attributes = &bytes[HEADER_BYTES + TRAFFIC_CONTROL_BYTES..];
        assert_eq!(attribute(attributes, kernel::TCA_KIND), Some(&b"tbf\0"[..]));
        attribute(attributes, kernel::TCA_OPTIONS).expect("present").to_vec()
    }

    #[test]
    fn a_bucket_has_the_layout_of_tc_tbf_qopt() {
        let options = options(12_500_000);
        let parameters = attribute(&options, kernel::TCA_TBF_PARMS).expect("present");
        let mut expected = vec![0, 1, 0, 0, 0, 0, 0, 0];
        expected.extend(12_500_000_u32.to_ne_bytes());
        expected.extend([0; 12]);
        expected.extend(0x2_0000_u32.to_ne_bytes());
        expected.extend([0; 8]);
        assert_eq!(parameters, expected);
        let burst = 0x1_0000_u32.to_ne_bytes();
        assert_eq!(attribute(&options, kernel::TCA_TBF_BURST), Some(&burst[..]));
        assert_eq!(attribute(&options, kernel::TCA_TBF_RATE64), None);
    }

    #[test]
    fn a_rate_beyond_32_bits_is_sent_in_64() {
        let options = options(12_500_000_000);
        let parameters = attribute(&options, kernel::TCA_TBF_PARMS).expect("present");
        assert_eq!(parameters[8..12], u32::MAX.to_ne_bytes());
        let rate = 12_500_000_000_u64.to_ne_bytes();
        assert_eq!(attribute(&options, kernel::TCA_TBF_RATE64), Some(&rate[..]));
    }
}
