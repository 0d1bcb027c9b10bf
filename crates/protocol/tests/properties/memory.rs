//! What a peer can make a machine hold, and for how long.

#![expect(clippy::disallowed_methods, reason = "a test measures time")]

use std::time::{Duration, Instant};

use linerate_protocol::iperf3::{OptionalParameters, ServerPhase, State};
use measurement::Timestamp;

use crate::machine::Machine;
use crate::support::{
    CLIENT_WAY, SERVER_WAY, START, client_after, client_of, parameters, server_after,
};

/// The length of its debug text, where every byte held is at least three characters.
fn footprint(machine: &impl std::fmt::Debug) -> usize {
    format!("{machine:?}").len()
}

/// The footprint of a machine that holds nothing.
const EMPTY: usize = 5 * 1024;
/// What a byte of a buffer takes in a footprint, at most.
const BYTE: usize = "255, ".len();

#[test]
fn ten_megabytes_of_garbage_fail_early_and_are_not_kept() {
    let garbage = vec![0xaa; 64 * 1024];
    for steps in 0..CLIENT_WAY.len() {
        let (mut client, mut server) = (client_after(steps), server_after(steps));
        for _ in 0..160 {
            client.handle_bytes(&garbage, START);
            server.handle_bytes(&garbage, START);
            assert!(client.is_over() && server.is_over(), "after {steps} steps");
        }
        assert!(footprint(&client) < EMPTY + BYTE * garbage.len(), "after {steps} steps");
        assert!(footprint(&server) < EMPTY + BYTE * garbage.len(), "after {steps} steps");
    }
}

#[test]
fn no_byte_repeated_for_ever_fills_the_memory() {
    for byte in 0..=u8::MAX {
        for steps in 0..CLIENT_WAY.len() {
            let (mut client, mut server) = (client_after(steps), server_after(steps));
            let piece = [byte; 512];
            for _ in 0..64 {
                client.handle_bytes(&piece, START);
                server.handle_bytes(&piece, START);
            }
            assert!(footprint(&client) < EMPTY + BYTE * piece.len(), "{byte} after {steps} steps");
            assert!(footprint(&server) < EMPTY + BYTE * piece.len(), "{byte} after {steps} steps");
        }
    }
}

#[test]
fn nothing_that_comes_after_the_end_is_kept() {
    let (mut client, mut server) = (client_after(CLIENT_WAY.len()), server_after(SERVER_WAY.len()));
    for _ in 0..160 {
        client.handle_bytes(&vec![1; 64 * 1024], START);
        server.handle_bytes(&vec![1; 64 * 1024], START);
    }
    assert!(footprint(&client) < EMPTY && footprint(&server) < EMPTY);
}

#[test]
fn a_long_announcement_and_a_drip_hold_only_what_has_come() {
    let (mut client, mut server) = (client_after(8), server_after(5));
    for machine in [&mut client as &mut dyn Peer, &mut server] {
        let due = machine.deadline();
        machine.take((30_u32 << 10).to_be_bytes().as_slice());
        for come in 1..20_000_usize {
            machine.take(b" ");
            assert_eq!(machine.deadline(), due, "a drip must not buy time");
            assert!(come % 1000 > 0 || machine.footprint() < EMPTY + BYTE * come);
        }
    }
}

/// The little that a drip needs of either machine.
trait Peer {
    fn take(&mut self, bytes: &[u8]);
    fn deadline(&self) -> Option<Timestamp>;
    fn footprint(&self) -> usize;
}

impl<M: Machine + std::fmt::Debug> Peer for M {
    fn take(&mut self, bytes: &[u8]) {
        self.bytes(bytes, START);
    }

    fn deadline(&self) -> Option<Timestamp> {
        self.due()
    }

    fn footprint(&self) -> usize {
        footprint(self)
    }
}

#[test]
fn a_length_above_the_limit_fails_at_its_last_byte() {
    // Clause 5.4.
    let fails = |machine: &mut dyn Peer, limit: u32| {
        machine.take(&(limit + 1).to_be_bytes()[..3]);
        assert!(machine.deadline().is_some());
        machine.take(&(limit + 1).to_be_bytes()[3..]);
        assert!(machine.deadline().is_none());
    };
    fails(&mut server_after(0), 16 * 1024);
    // 32 KiB, and 2 KiB for the one stream.
    fails(&mut server_after(5), 34 * 1024);
    // 512 KiB more, since it may tell of its host (clause 13.19).
    fails(&mut client_after(8), (34 + 512) * 1024);
    // The server's output may come with them (clause 10.7).
    let optional = OptionalParameters { server_output: true, ..OptionalParameters::default() };
    fails(&mut client_of(parameters().with_optional(optional), 8), 15 << 20);
    let mut asking = client_after(1);
    asking.handle_bytes(&[State::Extension.byte()], START);
    // 64 KiB, and 96 bytes for the one stream.
    fails(&mut asking, 64 * 1024 + 96);
}

#[test]
fn a_flood_of_short_messages_ends_the_test_in_no_time() {
    let mut server = server_after(3);
    let begin = Instant::now();
    server.handle_bytes(&vec![State::TestStart.byte(); 2 << 20], START);
    assert_eq!(server.phase(), ServerPhase::Failed);
    // Quadratic, it would be minutes.
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
}
