//! CPU profiles: samples of the functions that the CPUs of a host ran.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// Samples of a host's CPUs, in the names of its kernel.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize, JsonSchema)]
#[serde(default)]
pub struct Profile {
    /// The origin of the samples.
    pub source: ProfileSource,
    /// The event that triggered samples, in the words of perf: `cpu-clock`, `cycles`.
    pub event: String,
    /// Samples a second of each CPU that were asked; 0: not known.
    pub hertz: u32,
    /// Time in which samples were taken, in seconds.
    #[serde(with = "crate::seconds")]
    #[schemars(with = "f64")]
    pub span: Duration,
    /// All samples, those of idle CPUs too; of an import the weights that were shared out.
    /// Fewer than `hertz` times `span` for each CPU: some kernels give none of CPUs that sleep,
    /// and none was lost.
    pub samples: u64,
    /// Samples that were lost because the ring buffer of the kernel was full.
    #[serde(skip_serializing_if = "is_default")]
    pub lost: u64,
    /// Where they were found, the most first. Those that are in no row were too few to keep.
    pub rows: Vec<ProfileRow>,
    /// Chains of calls for flame graphs, the most first; empty: none were taken, or they did
    /// not travel.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub stacks: Vec<FoldedStack>,
}

/// The origin of the samples of a profile.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum ProfileSource {
    /// linerate, by perf_event_open(2).
    #[default]
    Sampled,
    /// Read from the text of another program: `perf report`.
    Imported(String),
    /// Stated in a text, e.g. a sentence in an article, without a measurement at hand.
    Stated(String),
}

/// Samples that were found in one place.
#[derive(
    Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(default)]
pub struct ProfileRow {
    /// The number of the CPU. None: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub cpu: Option<u32>,
    /// On whose behalf the CPU ran.
    pub task: Task,
    /// Whose code it ran.
    #[serde(skip_serializing_if = "Mode::is_kernel")]
    pub mode: Mode,
    /// The function, without what a compiler added (`.isra.0`).
    pub symbol: String,
    /// The module or file that it is of, where it is not the kernel itself: `stmmac`,
    /// `libc.so.6`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub module: Option<String>,
    /// The nearest caller that has a meaning of its own, where the function has none
    /// (`memcpy`, `memset`, locks); none: not known, or not needed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub within: Option<String>,
    /// Samples.
    pub count: u64,
}

/// Whose code a CPU ran.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Mode {
    /// The kernel's, or a module's of it.
    #[default]
    Kernel,
    /// A program's, or a library's of it.
    User,
}

impl Mode {
    #[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
    const fn is_kernel(&self) -> bool {
        matches!(self, Self::Kernel)
    }
}

/// On whose behalf a CPU ran.
#[derive(
    Clone,
    Copy,
    Debug,
    Default,
    PartialEq,
    Eq,
    PartialOrd,
    Ord,
    Hash,
    Serialize,
    Deserialize,
    JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Task {
    /// Not known.
    #[default]
    Unknown,
    /// linerate's own threads; with them softirqs that interrupted them.
    Own,
    /// Another process.
    Other,
    /// A thread of the kernel: `ksoftirqd/0`.
    Kernel,
    /// No task: the idle task, or a softirq that interrupted it.
    Idle,
}

/// A chain of calls, as flame graphs have it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct FoldedStack {
    /// Process and functions, the outermost first, between semicolons.
    pub frames: String,
    /// Samples.
    pub count: u64,
}

/// Whether a function of the kernel means nothing without its caller: plain copies, sums and
/// locks.
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
