//! Sockets and programs of XDP on veth pairs in namespaces.

use std::os::fd::AsFd;

use super::*;
use crate::namespace::{NetworkNamespace, may_administrate_network};
use crate::netlink::RouteSocket;

/// A pair of interfaces in a namespace of its own, both up. None: it is not permitted here.
fn in_pair<T: Send>(work: impl FnOnce(u32, u32) -> T + Send) -> Option<T> {
    if !may_administrate_network() {
        eprintln!("skipped: needs CAP_SYS_ADMIN and CAP_NET_ADMIN");
        return None;
    }
    let namespace = NetworkNamespace::create().expect("permitted");
    let done = namespace.run(|| {
        let mut route = RouteSocket::open().expect("netlink");
        let here = NetworkNamespace::current().expect("permitted");
        route.create_veth("a0", "b0", here.as_fd()).expect("a pair");
        for name in ["a0", "b0"] {
            route.set_up(name).expect("up");
        }
        let index = |route: &mut RouteSocket, name| route.interface_index(name).expect("there");
        let (one, other) = (index(&mut route, "a0"), index(&mut route, "b0"));
        work(one, other)
    });
    Some(done.expect("entered"))
}

fn frame(into: &mut [u8], tag: FrameTag, number: u8) -> usize {
    into[..60].fill(0);
    into[12] = 8;
    into[42..46].copy_from_slice(&tag.bytes());
    into[46] = number;
    60
}

/// Now, as a program notes it.
#[expect(clippy::cast_possible_truncation, reason = "modulo 2^32")]
fn units() -> u32 {
    (crate::clock::monotonic().as_nanos() >> FrameTag::TIME_SHIFT) as u32
}

const SHAPE: SocketShape = SocketShape { send: 64, receive: 64, frame_bytes: 60 };

#[test]
fn frames_with_the_tag_are_received_and_no_others() {
    let got = in_pair(|one, other| {
        let tag = FrameTag::new(0x1234_5678);
        let mut from = XdpSocket::open(one, 0, Binding::Copy, &SHAPE).expect("a socket");
        let to = XdpSocket::open(other, 0, Binding::Copy, &SHAPE).expect("a socket");
        let mut sockets = [to];
        let program =
            XdpProgram::redirect(other, XdpMode::Native, tag, &sockets).expect("attached");
        assert_eq!(program.mode(), XdpMode::Native);
        let mut number = 0;
        let begun = units();
        let queued = from.queue_frames(20, |_, into| {
            number += 1;
            let other = if number % 2 == 0 { FrameTag::new(99) } else { tag };
            frame(into, other, number)
        });
        assert_eq!(queued, 20);
        while from.kick().expect("up") {}
        let mut got = Vec::new();
        for _ in 0..1000 {
            sockets[0].receive(64, |frame| {
                let noted = &frame[42 - FrameTag::ARRIVAL..42];
                let noted = u32::from_be_bytes(noted.try_into().expect("four bytes"));
                assert!(noted.wrapping_sub(begun) <= units().wrapping_sub(begun), "{noted}");
                got.push(frame[46]);
            });
            if got.len() >= 10 {
                break;
            }
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        assert_eq!(from.outstanding(), 0);
        assert_eq!(
            sockets[0].statistics().expect("read"),
            XdpStatistics { fill_ring_empty: 0, ..sockets[0].statistics().expect("read") }
        );
        got
    });
    if let Some(got) = got {
        assert_eq!(got, (1..=20).step_by(2).collect::<Vec<_>>());
    }
}

#[test]
fn a_program_counts_in_either_mode_and_is_gone_with_its_link() {
    in_pair(|one, other| {
        let tag = FrameTag::new(7);
        let mut from = XdpSocket::open(one, 0, Binding::Copy, &SHAPE).expect("a socket");
        for mode in [XdpMode::Native, XdpMode::Generic] {
            let program = XdpProgram::count(other, mode, tag).expect("none is left attached");
            let queued = from.queue_frames(40, |_, into| frame(into, tag, 0));
            while from.kick().expect("up") || from.outstanding() > 0 {}
            for _ in 0..1000 {
                if program.counted().expect("read") == queued as u64 {
                    break;
                }
                std::thread::sleep(std::time::Duration::from_millis(1));
            }
            assert_eq!(program.counted().expect("read"), queued as u64, "{mode:?}");
        }
    });
}

#[test]
fn a_queue_that_is_not_there_is_an_error() {
    in_pair(|one, _| {
        let error = XdpSocket::open(one, 9, Binding::Copy, &SHAPE).expect_err("one queue");
        assert_eq!(error.raw_os_error(), Some(libc::EINVAL), "{error}");
    });
}
