//! CPU profiles: samples of the functions that the CPUs of a host ran.

use std::time::Duration;

use serde::{Deserialize, Serialize};

/// CPU profile of a host: samples by function.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct Profile {
    /// Origin of the samples.
    pub source: ProfileSource,
    /// Event that triggered the samples, by its name in perf: `cpu-clock`, `cycles`.
    pub event: String,
    /// Requested samples per second and CPU; 0: not known.
    pub hertz: u32,
    /// Time in which samples were taken, in seconds.
    #[serde(rename = "span_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    pub span: Duration,
    /// Number of samples, including those of idle CPUs; for an import the sum of the weights. Some
    /// kernels take no samples of sleeping CPUs, so there may be fewer than `hertz` times `span`
    /// for each CPU.
    pub samples: u64,
    /// Samples that were lost because the ring buffer of the kernel was full.
    #[serde(skip_serializing_if = "is_default")]
    pub lost: u64,
    /// Samples by function, the most frequent first. Rare functions are left out.
    pub rows: Vec<ProfileRow>,
    /// Call chains, the most frequent first; empty: none were recorded, or they were not sent by
    /// the peer.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<FoldedStack>,
}

/// The origin of the samples of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ProfileSource {
    /// linerate took the samples, by perf_event_open(2).
    #[default]
    Sampled,
    /// The text output of another program was imported: `perf report`.
    Imported(String),
    /// A text states the shares, e.g. an article, without a measurement that could be imported.
    Stated(String),
}

/// Samples of one function, with the CPU and the kind of task that ran it.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
pub struct ProfileRow {
    /// Number of the CPU. None: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// Kind of task that was running.
    pub task: Task,
    /// Whether the CPU ran the kernel or a program.
    #[serde(skip_serializing_if = "Mode::is_kernel")]
    pub mode: Mode,
    /// Name of the function, without suffixes that a compiler added (`.isra.0`).
    pub symbol: String,
    /// Kernel module, or executable file, that contains the function: `stmmac`, `libc.so.6`. None:
    /// the kernel itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// For a generic function (`memcpy`, `memset`, locks): the nearest caller that is not generic;
    /// none: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Number of samples in the function.
    pub count: u64,
}

/// Mode of a CPU: kernel or user.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// Kernel mode: code of the kernel or of a module.
    #[default]
    Kernel,
    /// User mode: code of a program or library.
    User,
}

impl Mode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    const fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel)
    }
}

/// Kind of task that a CPU was running.
#[derive(
    Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize,
)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// The task is not known.
    #[default]
    Unknown,
    /// A thread of linerate, including softirqs that interrupted it.
    Own,
    /// A thread of another process.
    Other,
    /// A kernel thread: `ksoftirqd/0`.
    Kernel,
    /// The idle task, including softirqs that interrupted it.
    Idle,
}

/// A call chain in the folded format of flame graphs, and how often it was sampled.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FoldedStack {
    /// Process and functions, the outermost first, separated by semicolons.
    pub frames: String,
    /// Number of samples with this call chain.
    pub count: u64,
}

/// Whether a kernel function is generic (a copy, a checksum or a lock), so that only its caller
/// shows the kind of work.
pub fn is_generic(symbol: &str) -> bool {
    let plain = symbol.trim_start_matches('_');
    let plain = plain.strip_prefix("pi_").unwrap_or(plain).trim_start_matches('_');
    GENERIC.iter().any(|prefix| plain.starts_with(prefix)) || plain.contains("spin_")
}

const GENERIC: [&str; 14] = [
    "memcpy",
    "memmove",
    "memset",
    "mmiocpy",
    "mmioset",
    "rep_movs",
    "rep_stos",
    "copy_page",
    "clear_page",
    "csum_partial",
    "do_csum",
    "raw_read_",
    "raw_write_",
    "local_bh_",
];

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
