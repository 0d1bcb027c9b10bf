//! What `linerate calc` says of segmentation offload, against the packets of a test.

use lab::{Link, LinkSpec};

use crate::capture::{Capture, TCP};
use crate::shared::linerate;
use crate::support::{Server, iperf3_on, link, run};

#[test]
fn the_largest_super_packets_have_the_size_that_calc_says() {
    if link().is_none() {
        return;
    }
    let spec = LinkSpec { mtu: Some(9_000), ..LinkSpec::default() };
    let link = Link::create(&spec).expect("a link");
    for mss in [536, 1_000, 1_460, 7_960, 8_960] {
        // IPv4 and TCP without options are 40 bytes.
        let said = calc(mss + 40);
        let server = Server::start_on(&link.far, "");
        let from_here = format!("tcp and src host {}", link.near.ipv4());
        let Some(capture) = Capture::on(&link.near, &from_here) else { return };
        let to = format!("-c {} -p {}", link.far.ipv4(), server.port);
        // A few whole buffers of slow start, and then what a fast connection sends.
        let finished = run(iperf3_on(&link.near, &format!("{to} -M {mss} -n 200M")));
        finished.assert_success();
        let packets = capture.packets();
        let sizes = packets.iter().filter(|packet| packet.protocol == TCP).map(|one| one.length);
        let most = sizes.clone().max().expect("packets");
        assert_eq!(most, said, "MSS {mss}");
        let full = sizes.filter(|size| *size == said).count();
        assert!(full > 100, "MSS {mss}: {full} of {} packets", packets.len());
    }
}

/// Payload of the largest super-packet at an MTU.
fn calc(mtu: u32) -> usize {
    let finished = run(linerate(&format!("calc tso --mtu {mtu} --json")));
    let payload = finished.json()[0]["payload_bytes"].as_u64().expect("a size");
    usize::try_from(payload).expect("it fits")
}
