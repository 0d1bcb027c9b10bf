//! XDP: programs that run for each frame before the kernel's network stack, and sockets of AF_XDP,
//! which send and receive frames past it (Documentation/networking/af_xdp.rst).

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use crate::bpf::{self, Instruction, Map};

mod live;
mod ring;
mod socket;

pub use live::{LiveFields, LiveFrames};
pub use socket::{Binding, SocketShape, XdpSocket, XdpStatistics};

/// Where in the kernel a program of XDP runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum XdpMode {
    /// In the driver, before a socket buffer is made.
    Native,
    /// In the kernel's network stack, for drivers without XDP.
    Generic,
}

impl XdpMode {
    const fn flags(self) -> u32 {
        match self {
            Self::Native => XDP_FLAGS_DRV_MODE,
            Self::Generic => XDP_FLAGS_SKB_MODE,
        }
    }
}

/// The frames that a program takes: UDP whose payload begins with `tag`, over IPv4 or IPv6, with or
/// without a VLAN tag. All others go on to the network stack, such as ARP.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FrameTag(u32);

impl FrameTag {
    /// Bytes before the payload in which a program of [`XdpProgram::redirect`] notes when a frame
    /// arrived: four, big-endian, in place of the length and checksum of UDP, by `CLOCK_MONOTONIC` in
    /// units of 16 ns, modulo 2^32.
    pub const ARRIVAL: usize = 4;
    /// Bits by which nanoseconds are shifted to the right to be the units of times in frames, 16 ns.
    pub const TIME_SHIFT: i32 = 4;

    /// A tag of these bits, without the highest.
    pub const fn new(bits: u32) -> Self {
        Self(bits & (u32::MAX >> 1))
    }

    /// The bytes at the beginning of the payload.
    pub const fn bytes(self) -> [u8; 4] {
        self.0.to_ne_bytes()
    }

    /// Where in a frame the payload of UDP begins, if it is one with this tag.
    pub fn find(self, frame: &[u8]) -> Option<usize> {
        let bytes = self.bytes();
        PAYLOADS.into_iter().find(|at| frame.get(*at..*at + 4) == Some(&bytes))
    }
}

/// A program of XDP at an interface. It is detached when this is dropped, and by the kernel when the
/// process ends in any other way.
#[derive(Debug)]
pub struct XdpProgram {
    _link: OwnedFd,
    _program: OwnedFd,
    map: Option<Map>,
    mode: XdpMode,
}

impl XdpProgram {
    /// Attaches a program that hands frames with the tag to the sockets, each of which receives
    /// from the queue of its number, and notes in them when: see [`FrameTag::ARRIVAL`].
    ///
    /// # Errors
    /// `EPERM` without `CAP_BPF` and `CAP_NET_ADMIN`; `EINVAL` before Linux 5.9; `EBUSY` if another
    /// program is attached; `EOPNOTSUPP` if the driver has no XDP of this mode.
    pub fn redirect(
        interface: u32,
        mode: XdpMode,
        tag: FrameTag,
        sockets: &[XdpSocket],
    ) -> io::Result<Self> {
        let queues = sockets.iter().map(|socket| socket.queue() + 1).max().unwrap_or(1);
        let map = Map::of_sockets(queues)?;
        for socket in sockets {
            map.set_socket(socket.queue(), socket.as_fd())?;
        }
        // Register 4 is behind the tag.
        let mut action = vec![
            Instruction::copy(7, 4),
            Instruction::call(HELPER_CLOCK),
            Instruction::shift_right(0, FrameTag::TIME_SHIFT),
            Instruction::big_endian(0, 32),
            Instruction::put32(7, -8, 0),
            Instruction::load32(2, 6, XDP_MD_RX_QUEUE),
        ];
        action.extend(Instruction::map(1, &map));
        action.extend([
            Instruction::set(3, XDP_PASS),
            Instruction::call(HELPER_REDIRECT_MAP),
            Instruction::exit(),
        ]);
        Self::attach(interface, mode, &of_tag(tag, &action), Some(map))
    }

    /// Attaches a program that counts frames with the tag and drops them.
    ///
    /// # Errors
    /// As [`Self::redirect`].
    pub fn count(interface: u32, mode: XdpMode, tag: FrameTag) -> io::Result<Self> {
        let map = Map::of_counter()?;
        let mut action = vec![
            Instruction::store32(10, -4, 0),
            Instruction::copy(2, 10),
            Instruction::add(2, -4),
        ];
        action.extend(Instruction::map(1, &map));
        action.extend([
            Instruction::call(HELPER_MAP_LOOKUP),
            Instruction::skip_if_equal(0, 0, 2),
            Instruction::set(1, 1),
            Instruction::add64(0, 0, 1),
            Instruction::set(0, XDP_DROP),
            Instruction::exit(),
        ]);
        Self::attach(interface, mode, &of_tag(tag, &action), Some(map))
    }

    /// Attaches a program that sends every frame on through the interface of index `to`.
    ///
    /// # Errors
    /// As [`Self::redirect`].
    pub fn forward(interface: u32, mode: XdpMode, to: u32) -> io::Result<Self> {
        let program = [
            Instruction::set(1, to.cast_signed()),
            Instruction::set(2, 0),
            Instruction::call(HELPER_REDIRECT),
            Instruction::exit(),
        ];
        Self::attach(interface, mode, &program, None)
    }

    /// Attaches a program that lets every frame pass: interfaces such as veth(4) need one to
    /// receive what another program redirects to them.
    ///
    /// # Errors
    /// As [`Self::redirect`].
    pub fn pass(interface: u32, mode: XdpMode) -> io::Result<Self> {
        let program = [Instruction::set(0, XDP_PASS), Instruction::exit()];
        Self::attach(interface, mode, &program, None)
    }

    /// Where the program runs.
    pub const fn mode(&self) -> XdpMode {
        self.mode
    }

    /// The number of frames that a program of [`Self::count`] has seen.
    ///
    /// # Errors
    /// Those of bpf(2); none is expected.
    pub fn counted(&self) -> io::Result<u64> {
        self.map.as_ref().map_or(Ok(0), Map::sum)
    }

    fn attach(
        interface: u32,
        mode: XdpMode,
        program: &[Instruction],
        map: Option<Map>,
    ) -> io::Result<Self> {
        let program = bpf::load(program)?;
        let link = bpf::attach(&program, interface, mode.flags())?;
        Ok(Self { _link: link, _program: program, map, mode })
    }
}

/// A program that does `action`, with the context in register 6, for frames with the tag, and lets
/// all others pass.
fn of_tag(tag: FrameTag, action: &[Instruction]) -> Vec<Instruction> {
    let mut program = vec![
        Instruction::copy(6, 1),
        Instruction::load32(2, 1, XDP_MD_DATA),
        Instruction::load32(3, 1, XDP_MD_DATA_END),
    ];
    let mut steps = i16::try_from(PAYLOADS.len()).unwrap_or(i16::MAX);
    for at in PAYLOADS {
        let offset = i16::try_from(at).unwrap_or(i16::MAX);
        steps -= 1;
        // Behind the steps of five instructions are the two that let a frame pass.
        program.extend([
            Instruction::copy(4, 2),
            Instruction::add(4, i32::from(offset) + 4),
            Instruction::skip_if_greater(4, 3, 2 + steps * 5),
            Instruction::load32(5, 2, offset),
            Instruction::skip_if_equal(5, tag.0.cast_signed(), 2 + steps * 5),
        ]);
    }
    program.extend([Instruction::set(0, XDP_PASS), Instruction::exit()]);
    program.extend(action);
    program
}

/// Where the payload of UDP begins behind Ethernet and IPv4, the same with a VLAN tag, IPv6, the
/// same with a VLAN tag: ascending, since a frame that ends before one ends before the next.
const PAYLOADS: [usize; 4] = [42, 46, 62, 66];
// `struct xdp_md` and `enum xdp_action`, linux/bpf.h
const XDP_MD_DATA: i16 = 0;
const XDP_MD_DATA_END: i16 = 4;
const XDP_MD_RX_QUEUE: i16 = 16;
const XDP_DROP: i32 = 1;
const XDP_PASS: i32 = 2;
// bpf-helpers(7)
const HELPER_MAP_LOOKUP: i32 = 1;
/// `bpf_ktime_get_ns`, the nanoseconds of `CLOCK_MONOTONIC`.
const HELPER_CLOCK: i32 = 5;
const HELPER_REDIRECT: i32 = 23;
const HELPER_REDIRECT_MAP: i32 = 51;
// linux/if_link.h
const XDP_FLAGS_SKB_MODE: u32 = 1 << 1;
const XDP_FLAGS_DRV_MODE: u32 = 1 << 2;

#[cfg(test)]
mod tests;
