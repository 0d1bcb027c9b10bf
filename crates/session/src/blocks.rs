//! How long the blocks and datagrams of a test are unless the plan says it.

use std::net::SocketAddr;

use linux::tcp::TcpInfo;
use measurement::plan::MAX_DATAGRAM;
use measurement::{BitRate, ByteSize, TestPlan, Transport};

use crate::request::{DatagramDefault, Request};

/// The block length asked, else the default of the transport.
pub(crate) fn block_length(request: &Request, server: SocketAddr, path: &TcpInfo) -> ByteSize {
    let (plan, path_mtu) = (&request.plan, path.pmtu);
    if let Some(exchange) = plan.exchange {
        return exchange.request.max(exchange.response);
    }
    plan.options.block.unwrap_or_else(|| match plan.transport {
        Transport::Tcp => ByteSize::from_bytes(tcp_block(plan.options.rate, plan.streams_in_all())),
        Transport::Udp if request.options.datagram == DatagramDefault::ControlSegment => {
            let segment = u64::from(path.snd_mss);
            ByteSize::from_bytes(if segment < 16 { UDP_PAYLOAD } else { segment.min(MAX_DATAGRAM) })
        }
        Transport::Udp => {
            ByteSize::from_bytes(datagram(plan.options.rate, payload(path_mtu, server)))
        }
    })
}

/// Payload of a datagram that fits a path of `mtu` to `server`; 0: the path is not known.
pub(crate) fn payload(mtu: u32, server: SocketAddr) -> u64 {
    u64::from(mtu).saturating_sub(headers(server))
}

/// IP and UDP headers without options (RFC 791, RFC 8200, RFC 768).
fn headers(server: SocketAddr) -> u64 {
    if server.ip().to_canonical().is_ipv4() { 28 } else { 48 }
}

/// What a reader must know of datagrams of `length` bytes of payload that a path of `mtu` to
/// `server` takes in fragments only; none: they fit, or must not be cut.
pub(crate) fn fragmentation(
    plan: &TestPlan,
    server: SocketAddr,
    length: ByteSize,
    mtu: u32,
) -> Option<String> {
    let fits = payload(mtu, server);
    let is_cut = plan.transport == Transport::Udp && length.bytes() > fits && fits > 0;
    let may_be_cut = !plan.options.dont_fragment || !server.ip().to_canonical().is_ipv4();
    (is_cut && may_be_cut).then(|| {
        let count = fragments(length.bytes(), mtu, server);
        format!(
            "datagrams of {} exceed the path MTU of {mtu} and are sent in {count} fragments; use \
             -l {fits} or less",
            length.expanded()
        )
    })
}

/// In how many fragments a datagram of `length` bytes of payload travels. All but the last one
/// carry a multiple of eight bytes (RFC 791, RFC 8200), the header of UDP among them.
fn fragments(length: u64, mtu: u32, server: SocketAddr) -> u64 {
    // A fragment of IPv6 has a header of eight bytes more, one of IPv4 has none of UDP.
    let before = if server.ip().to_canonical().is_ipv4() { 20 } else { 48 };
    let each = u64::from(mtu).saturating_sub(before) / 8 * 8;
    (length + UDP_HEADER).div_ceil(each.max(8))
}

/// At a low rate large blocks would make long bursts, and of tens of thousands of streams more than
/// the kernel has room for (`net.ipv4.tcp_mem`).
fn tcp_block(rate: Option<BitRate>, streams: u32) -> u64 {
    let share = TCP_BLOCKS / u64::from(streams.max(1)) / PAGE * PAGE;
    let block = share.clamp(LEAST_SHARE, DEFAULT_BLOCK.bytes());
    rate.map_or(block, |rate| in_a_hundredth(rate).clamp(1024, block))
}

/// The length of a buffer of which the `cache` of a CPU holds one to send and one to receive.
pub(crate) fn hot(cache: Option<usize>) -> usize {
    let half = cache.map_or(MOST_HOT, |cache| cache / 2 / LARGEST_PAGE * LARGEST_PAGE);
    half.clamp(LEAST_HOT, MOST_HOT)
}

/// What fits the path, of which `fits` bytes are left for payload; at a low rate no more than
/// a frame of Ethernet holds, since one datagram of the loopback interface takes five seconds
/// at 100 kbit/s.
fn datagram(rate: Option<BitRate>, fits: u64) -> u64 {
    if fits < 16 {
        return UDP_PAYLOAD;
    }
    let fits = fits.min(MAX_DATAGRAM);
    rate.map_or(fits, |rate| fits.min(in_a_hundredth(rate).max(ETHERNET)))
}

/// Bytes that a rate moves in a hundredth of a second.
fn in_a_hundredth(rate: BitRate) -> u64 {
    rate.bits_per_second() / 8 / 100
}

/// That of iperf3.
pub(crate) const DEFAULT_BLOCK: ByteSize = ByteSize::from_bytes(128 * 1024);
/// What the blocks of all streams have together: 128 KiB each up to 20,480 streams.
const TCP_BLOCKS: u64 = 2560 * 1024 * 1024;
const LEAST_SHARE: u64 = 16 * 1024;
/// Less saves no copying, whatever the cache.
const LEAST_HOT: usize = 64 * 1024;
/// More gains nothing, whatever the cache.
const MOST_HOT: usize = 256 * 1024;
const LARGEST_PAGE: usize = 64 * 1024;
const PAGE: u64 = 4096;
const UDP_HEADER: u64 = 8;
/// What fits an Ethernet frame, should the kernel not know the path MTU.
const UDP_PAYLOAD: u64 = 1460;
/// What a frame of 1,500 bytes leaves for payload (RFC 791, RFC 768).
const ETHERNET: u64 = 1472;

#[cfg(test)]
mod tests {
    use measurement::Direction;
    use measurement::plan::PlanDraft;

    use super::*;

    #[test]
    fn blocks_become_smaller_with_a_low_rate_and_with_very_many_streams() {
        let rate = |number| Some(BitRate::from_bits_per_second(number));
        assert_eq!(tcp_block(None, 1), 128 * 1024);
        assert_eq!(tcp_block(None, 20_480), 128 * 1024);
        assert_eq!(tcp_block(None, 65_536), 40 * 1024);
        assert_eq!(tcp_block(rate(8_000_000), 1), 10_000);
        assert_eq!(tcp_block(rate(1), 10_000), 1024);
        assert_eq!(tcp_block(rate(u64::MAX), 10_000), 128 * 1024);
    }

    #[test]
    fn datagrams_fit_the_path_and_at_a_low_rate_an_ethernet_frame() {
        let rate = |number| Some(BitRate::from_bits_per_second(number));
        assert_eq!(datagram(None, 65_508), 65_507);
        assert_eq!(datagram(rate(1_000_000_000), 65_508), 65_507);
        assert_eq!(datagram(rate(10_000_000), 65_508), 12_500);
        assert_eq!(datagram(rate(100_000), 65_508), 1472);
        assert_eq!(datagram(rate(100_000), 1_200), 1_200);
        assert_eq!(datagram(None, 0), 1460);
    }

    #[test]
    fn datagrams_that_do_not_fit_the_path_are_told_with_their_fragments() {
        let told = |server: &str, length, dont_fragment| {
            let mut draft = PlanDraft::new(Transport::Udp, Direction::Send);
            draft.options.dont_fragment = dont_fragment;
            let plan = draft.check().expect("a plan");
            let server = server.parse().expect("an address");
            fragmentation(&plan, server, ByteSize::from_bytes(length), 1_500)
        };
        assert_eq!(told("10.0.0.1:5201", 1_472, false), None);
        let two = told("10.0.0.1:5201", 1_473, false).expect("a byte more");
        assert!(two.contains("1,473 bytes exceed the path MTU of 1500"), "{two}");
        assert!(two.contains("in 2 fragments") && two.ends_with("use -l 1472 or less"), "{two}");
        // 8,008 bytes in pieces of 1,480, or of 1,448 after the longer headers.
        assert!(told("10.0.0.1:5201", 8_000, false).expect("cut").contains(" 6 fragments"));
        assert!(told("[fd00::1]:5201", 1_453, false).expect("cut").contains(" 2 fragments"));
        assert!(told("[fd00::1]:5201", 8_680, false).expect("cut").contains(" 6 fragments"));
        assert!(told("[fd00::1]:5201", 8_681, false).expect("cut").contains(" 7 fragments"));
        assert_eq!(told("10.0.0.1:5201", 8_000, true), None, "the kernel refuses them");
    }

    #[test]
    fn two_buffers_stay_in_the_cache() {
        let of = |kibibytes: usize| hot(Some(kibibytes * 1024)) / 1024;
        assert_eq!([64, 256, 512, 2048].map(of), [64, 128, 256, 256]);
        assert_eq!(hot(None), 256 * 1024);
    }
}
