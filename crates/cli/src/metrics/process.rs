//! Resources that this process uses, from /proc/self (proc(5)).

use std::fs;
use std::time::Duration;

/// Resource use of this process, as far as it could be read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Usage {
    pub(super) cpu: Duration,
    /// Resident memory in bytes.
    pub(super) resident: Option<u64>,
    pub(super) threads: Option<u64>,
    pub(super) open_files: Option<u64>,
    pub(super) most_files: Option<u64>,
}

impl Usage {
    /// Reads the current values.
    pub(super) fn now() -> Self {
        let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
        let limits = fs::read_to_string("/proc/self/limits").unwrap_or_default();
        let time = linux::host::cpu_time();
        Self {
            cpu: time.user + time.system,
            resident: number_after(&status, "VmRSS:").map(|kibibytes| kibibytes * 1024),
            threads: number_after(&status, "Threads:"),
            open_files: open_files(),
            most_files: number_after(&limits, "Max open files"),
        }
    }
}

fn open_files() -> Option<u64> {
    let entries = fs::read_dir("/proc/self/fd").ok()?;
    // One of them is the directory itself, which is closed again.
    u64::try_from(entries.count().saturating_sub(1)).ok()
}

/// The first number of the line that begins with `title`.
fn number_after(text: &str, title: &str) -> Option<u64> {
    let rest = text.lines().find_map(|line| line.strip_prefix(title))?;
    rest.split_whitespace().next()?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_found_by_their_titles() {
        let status = "Name:\tlinerate\nVmRSS:\t    5252 kB\nThreads:\t3\n";
        assert_eq!(number_after(status, "VmRSS:"), Some(5252));
        assert_eq!(number_after(status, "Threads:"), Some(3));
        assert_eq!(number_after(status, "VmSwap:"), None);
        let limits =
            "Max processes  unlimited  unlimited  processes\nMax open files  1024  4096  files\n";
        assert_eq!(number_after(limits, "Max open files"), Some(1024));
        assert_eq!(number_after(limits, "Max processes"), None);
    }

    #[test]
    fn this_process_takes_something() {
        let usage = Usage::now();
        assert!(usage.resident > Some(1 << 16), "{usage:?}");
        assert!(usage.threads >= Some(1) && usage.open_files >= Some(3), "{usage:?}");
        assert!(usage.most_files >= usage.open_files, "{usage:?}");
    }
}
