//! Chains of calls, one a line, as programs that draw flame graphs take them: frames between
//! semicolons, the outermost first, and how often they were found.

use std::io::{self, Write};

use measurement::profile::{Mode, is_generic};
use measurement::{Profile, ProfileRow};

use crate::import::Samples;

/// Writes the stacks of a profile; one that has none gives a line for each row.
///
/// # Errors
/// What the writer reports.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    for stack in &profile.stacks {
        writeln!(out, "{} {}", stack.frames, stack.count)?;
    }
    if !profile.stacks.is_empty() {
        return Ok(());
    }
    let rows = profile.rows.iter();
    rows.filter(|row| !row.symbol.is_empty()).try_for_each(|row| write_row(row, out))
}

fn write_row(row: &ProfileRow, out: &mut dyn Write) -> io::Result<()> {
    if let Some(caller) = &row.within {
        write!(out, "{};", frame(caller))?;
    }
    writeln!(out, "{} {}", frame(&row.symbol), row.count)
}

/// A symbol of a program in another language may have what stands between frames here.
fn frame(symbol: &str) -> String {
    symbol.replace(';', ":")
}

/// Reads such lines; none: there is not one in the text. Where frames are marked as the kernel's
/// (`_[k]`, as stackcollapse-perf.pl does) those without a mark are programs'.
pub fn read(text: &str) -> Option<Profile> {
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
    crate::import::bare_symbol(frame.trim_end_matches(KERNEL))
}

const KERNEL: &str = "_[k]";

#[cfg(test)]
mod tests {
    use super::*;

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
    fn without_stacks_rows_are_written_and_without_lines_nothing_is_read() {
        let row = |symbol: &str, within: Option<&str>| ProfileRow {
            symbol: symbol.to_owned(),
            within: within.map(str::to_owned),
            count: 3,
            ..ProfileRow::default()
        };
        let rows = vec![row("memcpy", Some("stmmac_rx")), row("tcp_ack", None)];
        let mut out = Vec::new();
        write(&Profile { rows, ..Profile::default() }, &mut out).expect("a vector takes all");
        assert_eq!(out, b"stmmac_rx;memcpy 3\ntcp_ack 3\n");
        assert_eq!(read("no number\n;; 3\n"), None);
    }
}
