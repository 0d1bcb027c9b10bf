//! Folded stacks, as `stackcollapse-perf.pl` and `linerate explain --folded` write them: frames
//! between semicolons, the outermost first, and how many samples had them.

use measurement::profile::{Mode, is_generic};
use measurement::{Profile, ProfileRow};

use super::plain::plain;
use super::samples::{Samples, bare_symbol};
use super::{Content, Import, ImportError, Imported, head, profile};

/// Folded stacks, the input format of flame graphs.
pub(super) struct Folded;

impl Import for Folded {
    fn name(&self) -> &'static str {
        "file of folded stacks"
    }

    fn content(&self) -> Content {
        Content::Profile
    }

    /// Almost any line with a number at its end could be a stack: all have to be, and one has to
    /// have several frames.
    fn recognises(&self, bytes: &[u8]) -> bool {
        let head = head(bytes);
        let mut lines = head.lines().filter(|line| !line.trim().is_empty()).take(RECOGNISED);
        let has_frames = head.lines().next().is_some_and(|line| line.contains(';'));
        has_frames && lines.all(|line| stack(line).is_some())
    }

    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        profile(read(&plain(bytes)))
    }

    fn unread(&self, bytes: &[u8]) -> Vec<usize> {
        let text = plain(bytes);
        let lines = text.lines().enumerate().filter(|(_, line)| !line.trim().is_empty());
        lines.filter(|(_, line)| stack(line).is_none()).map(|(at, _)| at + 1).collect()
    }
}

/// None: no line is a stack. Where frames are marked as the kernel's
/// (`_[k]`, as stackcollapse-perf.pl does) those without a mark are programs'.
fn read(text: &str) -> Option<Profile> {
    let marked = text.contains(KERNEL);
    let mut samples = Samples::default();
    for (frames, count) in text.lines().filter_map(stack) {
        let mut innermost = frames.rsplit(';');
        let leaf = innermost.next().unwrap_or("");
        let mode = if marked && !leaf.ends_with(KERNEL) { Mode::User } else { Mode::Kernel };
        let symbol = bare(leaf);
        let mut callers = innermost.map(bare);
        let within =
            if is_generic(&symbol) { callers.find(|caller| !is_generic(caller)) } else { None };
        samples.add(ProfileRow { mode, symbol, within, ..ProfileRow::default() }, count);
        samples.add_stack(frames.split(';').map(bare).collect::<Vec<_>>().join(";"), count);
    }
    let count = samples.count();
    (!samples.is_empty()).then(|| samples.profile("folded stacks", count))
}

fn stack(line: &str) -> Option<(&str, u64)> {
    let (frames, count) = line.trim().rsplit_once(' ')?;
    let frames = frames.trim();
    Some((frames, count.parse().ok()?)).filter(|_| frames.rsplit(';').all(|one| !one.is_empty()))
}

fn bare(frame: &str) -> String {
    bare_symbol(frame.trim_end_matches(KERNEL))
}

const KERNEL: &str = "_[k]";
/// Lines by which the format is recognised.
const RECOGNISED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folded::write;

    #[test]
    fn stacks_survive_the_way_there_and_back() {
        let text = "iperf3;do_syscall_64;tcp_sendmsg;memcpy 40\nswapper;do_idle 7\n";
        let profile = read(text).expect("stacks");
        assert_eq!(profile.samples, 47);
        assert_eq!(profile.rows[0].within.as_deref(), Some("tcp_sendmsg"));
        let mut out = Vec::new();
        write(&profile, &mut out).expect("a vector takes all");
        assert_eq!(String::from_utf8(out).expect("text"), text);
    }

    #[test]
    fn marks_tell_the_kernel_from_programs() {
        let profile = read("iperf3;send;tcp_sendmsg_[k] 2\niperf3;main 1\n").expect("stacks");
        let modes: Vec<_> =
            profile.rows.iter().map(|row| (row.symbol.as_str(), row.mode)).collect();
        assert_eq!(modes, [("tcp_sendmsg", Mode::Kernel), ("main", Mode::User)]);
    }

    #[test]
    fn a_line_that_is_no_stack_is_not_read() {
        assert_eq!(Folded.unread(b"a;b 3\n\n> a;c 4\nand so on\n"), [4]);
    }

    #[test]
    fn a_text_without_stacks_is_none() {
        assert_eq!(read("no number\n;; 3\n"), None);
        assert!(!Folded.recognises(b"no number\n;; 3\n"));
        assert!(!Folded.recognises(b"chapter 3\n"));
        assert!(
            Folded.recognises(b"iperf3;do_syscall_64;tcp_sendmsg;memcpy 40\nswapper;do_idle 7\n")
        );
    }
}
