//! Record of copies ([`CopyRecord`]): how fast the cores of a host copy memory, by which routine, and
//! how fast its kernel copies from and to processes. How it is measured is a matter of `host`, what it
//! says of a network run of `analysis`.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Serialize};

use crate::host::Pipeline;
use crate::transport::Direction;
use crate::units::BitRate;

/// Bytes copied in a second, in 1e9 bytes for people: `12.3 GB/s`.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(transparent)]
pub struct CopySpeed(f64);

impl CopySpeed {
    /// A speed in bytes in a second.
    pub const fn from_bytes_per_second(bytes: f64) -> Self {
        Self(bytes)
    }

    /// The speed in bytes in a second.
    pub const fn bytes_per_second(self) -> f64 {
        self.0
    }

    /// The rate of a stream whose bytes are copied once at this speed.
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "speeds are far below 2^63, and not negative"
    )]
    pub fn rate(self) -> BitRate {
        BitRate::from_bits_per_second((self.0.max(0.0) * 8.0) as u64)
    }
}

impl Display for CopySpeed {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let giga = self.0 / 1e9;
        let decimals = match giga {
            giga if giga < 0.1 => 3,
            giga if giga < 10.0 => 2,
            giga if giga < 100.0 => 1,
            _ => 0,
        };
        f.pad(&format!("{giga:.decimals$} GB/s"))
    }
}

/// Speed of a routine at one length and alignment; both buffers are in the caches that hold them.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoutineSpeed {
    /// Name of the routine, e.g. `shift-x8`.
    pub routine: String,
    /// Bytes of each copy; the working set is twice as much.
    #[serde(rename = "length_bytes")]
    pub length: u64,
    /// Bytes from a boundary of 64 to the source.
    #[serde(rename = "source_offset_bytes")]
    pub source_offset: u64,
    /// Bytes from a boundary of 64 to the destination.
    #[serde(rename = "destination_offset_bytes")]
    pub destination_offset: u64,
    /// Its speed.
    #[serde(rename = "bytes_per_second")]
    pub speed: CopySpeed,
}

/// A way on which the kernel copies between itself and a process, or moves bytes without that.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum KernelPath {
    /// pread(2) of a file in the page cache.
    PageCacheRead,
    /// pwrite(2) to a file in the page cache.
    PageCacheWrite,
    /// write(2) to a pipe and read(2) from it: two copies.
    Pipe,
    /// send(2) over TCP on the loopback interface, with the kernel's work on the packets.
    Send,
    /// sendfile(2) of the same: without the copy.
    Sendfile,
    /// recv(2) over TCP on the loopback interface, of bytes that have arrived.
    Receive,
    /// recv(2) with `MSG_TRUNC` of the same: without the copy.
    ReceiveTruncated,
}

/// Speed of a path of the kernel, with calls of one length.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct KernelSpeed {
    /// The path.
    pub path: KernelPath,
    /// Bytes of each call.
    #[serde(rename = "length_bytes")]
    pub length: u64,
    /// Its speed: bytes of payload in the time of the calls.
    #[serde(rename = "bytes_per_second")]
    pub speed: CopySpeed,
}

/// The routine that suits a core best.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct RoutineChoice {
    /// Name of the routine.
    pub routine: String,
    /// Its mean speed in the probe, in those of the C library's memcpy.
    pub of_libc_ratio: f64,
    /// Origin of the choice.
    pub by: ChosenBy,
}

/// Origin of the choice of a routine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum ChosenBy {
    /// A probe of now.
    Probe,
    /// A probe of before, on the same kind of core, kernel and firmware.
    Cache,
    /// The user (`--routine`, `COPY_ROUTINE`).
    User,
}

/// Places where copies become much slower.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Cliff {
    /// Cause of the fall.
    pub cause: CliffCause,
    /// The routine.
    pub routine: String,
    /// Speed before.
    #[serde(rename = "from_bytes_per_second")]
    pub from: CopySpeed,
    /// Speed behind.
    #[serde(rename = "to_bytes_per_second")]
    pub to: CopySpeed,
    /// Length of the copies behind, in bytes.
    #[serde(rename = "length_bytes")]
    pub length: u64,
}

/// Cause for which copies become much slower.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "kebab-case")]
pub enum CliffCause {
    /// Each misaligned access traps to an emulation.
    Trap,
    /// Source and destination differ in alignment, so that the routine copies bytes.
    Bytes,
    /// The working set is larger than the caches of level 1.
    Level1,
    /// It is larger than those of level 2.
    Level2,
    /// It is larger than those of level 3.
    Level3,
    /// It is larger than a cache whose size is not known, or than all.
    Memory,
}

/// Copies on one kind of core.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CoreCopies {
    /// CPU on which it was measured.
    pub cpu: u32,
    /// Design of the core; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub model: Option<String>,
    /// Whether it executes in order; none: not known.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub pipeline: Option<Pipeline>,
    /// Sizes of its caches of data by level, in bytes, the first level first.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub cache_bytes: Vec<u64>,
    /// Speeds of routines.
    pub routines: Vec<RoutineSpeed>,
    /// Speeds of the kernel's paths.
    pub kernel: Vec<KernelSpeed>,
    /// The best routine; none: none was chosen.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub choice: Option<RoutineChoice>,
    /// Places where copies become much slower.
    pub cliffs: Vec<Cliff>,
}

/// Share of a CPU that copies explain of a direction of a network run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyShare {
    /// The test of the record, from 1.
    pub test: usize,
    /// Number of the CPU whose copies explain it: of the kinds of cores each has its own share.
    pub cpu: u32,
    /// Direction of the data.
    pub direction: Direction,
    /// Rate that was measured.
    #[serde(rename = "measured_bits_per_second")]
    pub measured: BitRate,
    /// Rate at which one CPU of this host does nothing but the copy between the kernel and the process.
    #[serde(rename = "at_most_bits_per_second")]
    pub at_most: BitRate,
    /// Share of the time of one CPU that the copy took at the rate that was measured.
    pub of_cpu_ratio: f64,
    /// The same by the samples of the record's profile of this host, copies within the kernel
    /// included; none: it has none.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub profiled_ratio: Option<f64>,
    /// Rate if the kernel copied as fast as the chosen routine does, and all else took the time that
    /// it takes (Amdahl); none: that routine is not faster.
    #[serde(
        rename = "with_routine_bits_per_second",
        skip_serializing_if = "Option::is_none",
        default
    )]
    pub with_routine: Option<BitRate>,
}

/// Format version of the JSON of a [`CopyRecord`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum CopySchema {
    /// The current version.
    #[default]
    #[serde(rename = "linerate/copy/1")]
    V1,
}

/// Record of the copies of a host.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct CopyRecord {
    /// Version of the format.
    pub schema: CopySchema,
    /// Version of the linerate that wrote the record.
    pub linerate: String,
    /// Name of the host.
    pub host: String,
    /// Release of its kernel (uname(2)).
    pub kernel: String,
    /// Its architecture (uname(2)).
    pub architecture: String,
    /// Each kind of core.
    pub cores: Vec<CoreCopies>,
    /// Shares that copies explain of the tests that were given.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    pub explained: Vec<CopyShare>,
}

impl KernelPath {
    /// All paths.
    pub const ALL: [Self; 7] = [
        Self::PageCacheRead,
        Self::PageCacheWrite,
        Self::Pipe,
        Self::Send,
        Self::Sendfile,
        Self::Receive,
        Self::ReceiveTruncated,
    ];
}

impl Display for KernelPath {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::PageCacheRead => "page cache, read",
            Self::PageCacheWrite => "page cache, write",
            Self::Pipe => "pipe, write and read",
            Self::Send => "TCP send",
            Self::Sendfile => "TCP sendfile",
            Self::Receive => "TCP recv",
            Self::ReceiveTruncated => "TCP recv, MSG_TRUNC",
        })
    }
}

impl Display for CliffCause {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Trap => "misaligned accesses trap",
            Self::Bytes => "source and destination differ in alignment, so that it copies bytes",
            Self::Level1 => "the working set leaves the level 1 cache",
            Self::Level2 => "the working set leaves the level 2 cache",
            Self::Level3 => "the working set leaves the level 3 cache",
            Self::Memory => "the working set leaves the caches",
        })
    }
}

impl CoreCopies {
    /// Speed of a routine at a length, with both sides at a boundary.
    pub fn aligned(&self, routine: &str, length: u64) -> Option<CopySpeed> {
        let mut of_routine = self.routines.iter().filter(|one| one.routine == routine);
        of_routine
            .find(|one| {
                one.length == length && one.source_offset == 0 && one.destination_offset == 0
            })
            .map(|one| one.speed)
    }

    /// The slowest speed of a routine whose sides differ in alignment.
    pub fn misaligned(&self, routine: &str) -> Option<&RoutineSpeed> {
        let differs = |one: &&RoutineSpeed| one.source_offset != one.destination_offset;
        let of_routine = self.routines.iter().filter(|one| one.routine == routine).filter(differs);
        of_routine.min_by(|one, other| {
            one.speed.bytes_per_second().total_cmp(&other.speed.bytes_per_second())
        })
    }

    /// Speed of a path of the kernel with the longest calls.
    pub fn path(&self, path: KernelPath) -> Option<CopySpeed> {
        let of_path = self.kernel.iter().filter(|one| one.path == path);
        of_path.max_by_key(|one| one.length).map(|one| one.speed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn speeds_have_three_digits() {
        let speeds = [7.1e6, 0.372e9, 5.6e9, 31.04e9, 214.6e9];
        let shown = speeds.map(|speed| CopySpeed::from_bytes_per_second(speed).to_string());
        assert_eq!(shown, ["0.007 GB/s", "0.37 GB/s", "5.60 GB/s", "31.0 GB/s", "215 GB/s"]);
    }

    #[test]
    fn a_speed_is_a_rate_of_eight_times_as_many_bits() {
        let rate = CopySpeed::from_bytes_per_second(237.5e6).rate();
        assert_eq!(rate, BitRate::from_bits_per_second(1_900_000_000));
    }
}
