//! Which program printed a line of a log, where the log says so before each line. Programs that run
//! at the same time have their lines mixed there.

/// A program as a log names it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Speaker<'a> {
    pub(super) name: &'a str,
    /// Where what it printed begins.
    pub(super) end: usize,
}

impl<'a> Speaker<'a> {
    /// The program that a line begins with: `server-1  | ` of docker compose, `iperf3[4242]: ` of
    /// syslog, `[pod/iperf3-7c9f/iperf3] ` of kubectl; none: it names none.
    pub(super) fn of(line: &'a str) -> Option<Self> {
        Self::of_compose(line).or_else(|| Self::of_pod(line)).or_else(|| Self::of_process(line))
    }

    fn of_compose(line: &'a str) -> Option<Self> {
        let at = line.bytes().take(LONGEST).position(|byte| byte == b'|')?;
        let name = line[..at].trim_end();
        let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
            && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
        (is_name && name.len() < at).then_some(Self { name, end: at + 1 })
    }

    fn of_pod(line: &'a str) -> Option<Self> {
        let rest = line.strip_prefix("[pod/")?;
        let length = rest.bytes().take(LONGEST).position(|byte| byte == b']')?;
        Some(Self { name: &rest[..length], end: line.len() - rest.len() + length + 1 })
    }

    fn of_process(line: &'a str) -> Option<Self> {
        let (before, _) = line.split_once("]: ").filter(|(before, _)| before.len() < LONGEST)?;
        let (_, number) = before.rsplit_once('[')?;
        let is_number = !number.is_empty() && number.bytes().all(|byte| byte.is_ascii_digit());
        let start = before.rfind(' ').map_or(0, |at| at + 1);
        let is_named = is_number && !before[start..].starts_with('[');
        let name = &line[start..=before.len()];
        is_named.then_some(Self { name, end: before.len() + "]: ".len() })
    }
}

/// Bytes of a name with what stands before it.
const LONGEST: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_name_programs_in_three_ways() {
        let name = |line| Speaker::of(line).map(|one| one.name);
        assert_eq!(name("client-1  | [  5] 0.00-1.00"), Some("client-1"));
        assert_eq!(name("[pod/iperf3-7c9f/iperf3] [  5] 0.00"), Some("iperf3-7c9f/iperf3"));
        assert_eq!(name("Nov 25 01:57:30 host iperf3[42]: [  5] 0.00"), Some("iperf3[42]"));
    }

    #[test]
    fn other_lines_name_none() {
        for line in ["", "| [  5] 0.00 |", "a b | c", "[  5]: 3", "[  5] 0.00-1.00 sec", "\u{e4}|"]
        {
            assert_eq!(Speaker::of(line), None, "{line}");
        }
    }
}
