//! A program of XDP that makes frames in the kernel: the live frame mode of `BPF_PROG_RUN`
//! (Documentation/bpf/bpf_prog_run.rst, Linux 5.18). No frame crosses into the kernel, and no socket
//! buffer is made.

use std::io;
use std::os::fd::OwnedFd;

use super::{FrameTag, HELPER_CLOCK, HELPER_REDIRECT, XDP_DROP, XDP_MD_DATA, XDP_MD_DATA_END};
use crate::bpf::{self, Instruction, Map};

/// Which fields of a frame differ from the next one's, and how: sequence number and time of sending in
/// the payload of UDP, and its checksum; with several flows the UDP port of the source and the number of
/// the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LiveFields {
    /// Offset of the UDP header in bytes.
    pub udp: i16,
    /// Offset of the flow's number in bytes, 16 bits; the sequence number, 32 bits, and the time, 32
    /// bits in units of 16 ns of `CLOCK_MONOTONIC`, follow it. All are big-endian.
    pub label: i16,
    /// Number of flows, at least 1: frame n is the one n / flows of the flow n % flows.
    pub flows: u16,
    /// UDP port of the source of flow 0; that of flow n is n more.
    pub port: u16,
    /// Sum, as of RFC 1071, of all that the UDP checksum is of, without these fields but with `port`.
    pub sum: u32,
}

/// A program that makes frames and sends them through an interface, whose driver has to take what
/// programs of XDP redirect.
#[derive(Debug)]
pub struct LiveFrames {
    program: OwnedFd,
    /// The number of the next frame, and the time of the last one.
    numbers: Map,
    frame: Vec<u8>,
}

impl LiveFrames {
    /// The longest frame in bytes, without the frame check sequence: a page of 4 KiB holds it with room
    /// before and behind.
    pub const LONGEST_FRAME: usize = 3_072;

    /// A program for frames like `frame` that leave by the interface of index `to`.
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`; `EINVAL` before Linux 5.18, or if `fields` are not
    /// in the frame.
    pub fn new(to: u32, frame: &[u8], fields: &LiveFields) -> io::Result<Self> {
        // Whether the kernel has the mode: a run of none would be one.
        let dropping = bpf::load(&[Instruction::set(0, XDP_DROP), Instruction::exit()])?;
        bpf::run_live(&dropping, frame, 1)?;
        let numbers = Map::of_numbers()?;
        let program = bpf::load(&program(to, frame.len(), fields, &numbers))?;
        Ok(Self { program, numbers, frame: frame.to_vec() })
    }

    /// Sets the number of the next frame.
    ///
    /// # Errors
    /// Those of bpf(2); none is expected.
    pub fn begin_at(&self, number: u64) -> io::Result<()> {
        self.numbers.set_numbers([number, 0])
    }

    /// Makes and sends `count` frames. Returns how many were made, fewer after a signal, and the time
    /// of the last one in nanoseconds of `CLOCK_MONOTONIC`. What the driver does not take is dropped,
    /// and counted by the interface.
    ///
    /// # Errors
    /// Those of bpf(2); none is expected.
    pub fn send(&self, count: u32) -> io::Result<(u64, u64)> {
        let [before, last] = self.numbers.numbers()?;
        if count == 0 {
            return Ok((0, last));
        }
        match bpf::run_live(&self.program, &self.frame, count) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => self.numbers.numbers().map(|[next, last]| (next - before, last)),
        }
    }
}

/// ```text
///   r6 frame   r7 sequence number   r8 time   r9 flow
/// ```
fn program(to: u32, length: usize, fields: &LiveFields, numbers: &Map) -> Vec<Instruction> {
    let mut program = vec![
        Instruction::load32(6, 1, XDP_MD_DATA),
        Instruction::load32(3, 1, XDP_MD_DATA_END),
        Instruction::copy(2, 6),
        Instruction::add(2, i32::try_from(length).unwrap_or(i32::MAX)),
        // It is as long as it was given: the verifier has to see that.
        Instruction::skip_if_at_most(2, 3, 2),
        Instruction::set(0, XDP_DROP),
        Instruction::exit(),
    ];
    program.extend(Instruction::value(1, numbers));
    program.extend([
        Instruction::load64(7, 1, 0),
        Instruction::copy(2, 7),
        Instruction::add(2, 1),
        Instruction::put64(1, 0, 2),
        Instruction::call(HELPER_CLOCK),
        Instruction::copy(8, 0),
    ]);
    // The call has taken the register.
    program.extend(Instruction::value(1, numbers));
    program
        .extend([Instruction::put64(1, 8, 8), Instruction::shift_right(8, FrameTag::TIME_SHIFT)]);
    if fields.flows > 1 {
        program.extend(flow(fields));
    } else {
        program.push(Instruction::set(9, 0));
    }
    program.extend(checksum(fields));
    program.extend([
        Instruction::big_endian(7, 32),
        Instruction::put32(6, fields.label + 2, 7),
        Instruction::big_endian(8, 32),
        Instruction::put32(6, fields.label + 6, 8),
        Instruction::set(1, to.cast_signed()),
        Instruction::set(2, 0),
        Instruction::call(HELPER_REDIRECT),
        Instruction::exit(),
    ]);
    program
}

/// Finds the flow and the sequence number in it, and writes the flow and its port.
fn flow(fields: &LiveFields) -> [Instruction; 10] {
    let flows = i32::from(fields.flows);
    [
        Instruction::copy(9, 7),
        Instruction::modulo(9, flows),
        Instruction::divide(7, flows),
        Instruction::copy(1, 9),
        Instruction::big_endian(1, 16),
        Instruction::put16(6, fields.label, 1),
        Instruction::copy(1, 9),
        Instruction::add(1, i32::from(fields.port)),
        Instruction::big_endian(1, 16),
        Instruction::put16(6, fields.udp, 1),
    ]
}

/// Writes the checksum of UDP (RFC 768, RFC 1071).
fn checksum(fields: &LiveFields) -> Vec<Instruction> {
    let mut sum = vec![
        Instruction::set(1, fields.sum.cast_signed()),
        // Of its number, and of the port that is as much larger.
        Instruction::plus(1, 9),
        Instruction::plus(1, 9),
    ];
    for value in [7, 8] {
        sum.extend([
            Instruction::copy(2, value),
            Instruction::mask(2, 0xffff),
            Instruction::plus(1, 2),
            Instruction::copy(2, value),
            Instruction::shift_right(2, 16),
            Instruction::mask(2, 0xffff),
            Instruction::plus(1, 2),
        ]);
    }
    for _ in 0..2 {
        sum.extend([
            Instruction::copy(2, 1),
            Instruction::shift_right(2, 16),
            Instruction::mask(1, 0xffff),
            Instruction::plus(1, 2),
        ]);
    }
    sum.extend([
        Instruction::invert(1, 0xffff),
        // 0 would mean that there is none.
        Instruction::skip_if_not(1, 0, 1),
        Instruction::set(1, 0xffff),
        Instruction::big_endian(1, 16),
        Instruction::put16(6, fields.udp + 6, 1),
    ]);
    sum
}
