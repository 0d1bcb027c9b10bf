//! How much of the system's open files and threads the tests of a server may take, and what
//! the system would have to give for more.

use super::cost::Cost;
use crate::preflight::FEW_FILES;

/// What a server may have.
pub(crate) struct Capacity {
    /// Connections that have not said what they want; the oldest makes room.
    pub(crate) pending: usize,
    /// All tests together.
    pub(crate) most: Cost,
    /// UDP flows of iperf2 clients, whose addresses may be forged.
    pub(crate) flows: usize,
    /// Whether a client can test with one stream.
    pub(crate) is_enough: bool,
}

impl Capacity {
    /// What remains for tests where a server may have so many open files, threads and bytes of
    /// memory.
    pub(crate) fn within(files: usize, threads: usize, memory: u64) -> Self {
        let pending = MOST_PENDING.min(files / PENDING_SHARE);
        // Below that limit what tests take is not weighed: the kernel refuses what it has not got.
        let descriptors = if files < FEW_FILES {
            u64::from(u32::MAX)
        } else {
            files.saturating_sub(pending + OWN_DESCRIPTORS) as u64
        };
        let of_files = files / FLOWS_SHARE / FLOW_DESCRIPTORS;
        let flows = of_files.min(threads / FLOWS_SHARE / FLOW_THREADS).clamp(1, MOST_FLOWS);
        let threads = threads.saturating_sub(OWN_THREADS) as u64;
        let most = Cost { memory, descriptors, threads };
        Self { pending, most, flows, is_enough: files >= LEAST_DESCRIPTORS }
    }
}

/// The limit of open files under which one client may have `descriptors`: this turns
/// [`Capacity::within`] and [`Cost::of_one_client`] round.
pub(crate) fn files_for(descriptors: u64) -> u64 {
    let needed = 4 * descriptors.div_ceil(3) + OWN_DESCRIPTORS as u64;
    let share = PENDING_SHARE as u64;
    (share * needed).div_ceil(share - 1).min(needed + MOST_PENDING as u64)
}

/// The limit of threads under which one client may have `threads`.
pub(crate) const fn threads_for(threads: u64) -> u64 {
    2 * threads + OWN_THREADS as u64
}

const MOST_PENDING: usize = 4096;
/// Flows at one time. They have no more than one of so many parts of the open files and threads.
pub(crate) const MOST_FLOWS: usize = 256;
const FLOWS_SHARE: usize = 8;
/// What a flow takes: its socket, and what its worker waits with.
const FLOW_DESCRIPTORS: usize = 4;
const FLOW_THREADS: usize = 2;
/// They have no more than one of so many parts of the open files.
const PENDING_SHARE: usize = 4;
/// The listeners, the log, what the tests do not need.
const OWN_DESCRIPTORS: usize = 64;
/// What a server and one client need that tests with one stream.
const LEAST_DESCRIPTORS: usize = 16;
/// The acceptor, the log, the metrics, and other processes of the user.
const OWN_THREADS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flows_leave_most_of_a_small_limit_to_tests() {
        let flows = |files, threads| Capacity::within(files, threads, 0).flows;
        assert_eq!(
            [(16, 99), (1_024, 9_999), (65_536, 400)].map(|(f, t)| flows(f, t)),
            [1, 32, 25]
        );
        assert_eq!(flows(65_536, 100_000), MOST_FLOWS);
    }

    #[test]
    fn the_limits_that_are_told_are_enough_and_not_much_more() {
        let part = |files: u64, threads: u64| {
            let files = usize::try_from(files).expect("small");
            let threads = usize::try_from(threads).expect("small");
            Capacity::within(files, threads, 0).most.of_one_client()
        };
        for need in (1..70_000).step_by(7) {
            let (files, threads) = (files_for(need), threads_for(need));
            assert!(part(files, threads).descriptors >= need, "{need}: {files}");
            let is_weighed = files - 4 >= FEW_FILES as u64;
            assert!(!is_weighed || part(files - 4, threads).descriptors < need, "{need}: {files}");
            assert!(part(files, threads).threads >= need, "{need}: {threads}");
            assert!(part(files, threads - 1).threads < need, "{need}: {threads}");
        }
    }
}
