//! Command lines of iperf3 and iperf, as people paste them above what they printed.

use std::time::Duration;

use measurement::units::parse_count;
use measurement::{BitRate, ByteSize};

use super::ends::Tool;

/// A command line that runs a client or a server.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Command<'a> {
    pub(super) tool: Tool,
    /// The server that a client is to reach; none: this runs a server.
    pub(super) host: Option<&'a str>,
    pub(super) asked: Asked,
}

/// What the options of a client ask for.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Asked {
    pub(super) udp: bool,
    /// Rate of each stream; none: not limited, or not typed.
    pub(super) rate: Option<BitRate>,
    pub(super) streams: Option<u32>,
    pub(super) time: Option<Duration>,
    pub(super) bytes: Option<u64>,
    pub(super) block: Option<ByteSize>,
    pub(super) window: Option<ByteSize>,
    pub(super) omit: Option<Duration>,
    pub(super) reverse: bool,
    pub(super) both: bool,
}

impl<'a> Command<'a> {
    /// The command line in a text, e.g. behind the prompt of a shell; none: there is none.
    pub(super) fn find(text: &'a str) -> Option<Self> {
        let (at, _) = text.match_indices("iperf").find(|(at, _)| is_program(text, *at))?;
        let line = text[at..].split(['|', ';', '&', '`', '#', '"']).next()?;
        let mut words = line.split_whitespace();
        let name = words.next()?;
        let tool = if name.starts_with("iperf3") { Tool::Iperf3 } else { Tool::Iperf2 };
        let mut command = Self { tool, host: None, asked: Asked::default() };
        let mut is_server = false;
        let mut words = words.peekable();
        while let Some(word) = words.next() {
            let Some((option, glued)) = option(word) else { continue };
            let takes = TAKES_VALUE.contains(&option);
            let value = match glued {
                Some(glued) => Some(glued),
                None if takes => words.next_if(|next| !next.starts_with('-')),
                None => None,
            };
            match option {
                "-c" | "--client" => command.host = value,
                "-s" | "--server" => is_server = true,
                _ => command.asked.set(tool, option, value.unwrap_or("")),
            }
        }
        (is_server || command.host.is_some()).then_some(command)
    }

    /// Rate of each stream that the client keeps; none: it is not limited.
    pub(super) fn rate(&self) -> Option<BitRate> {
        let usual = || {
            let rate = match self.tool {
                Tool::Iperf3 => IPERF3_UDP_RATE,
                Tool::Iperf2 => IPERF2_UDP_RATE,
            };
            self.asked.udp.then(|| BitRate::from_bits_per_second(rate))
        };
        self.asked.rate.or_else(usual).filter(|rate| rate.bits_per_second() > 0)
    }
}

impl Asked {
    fn set(&mut self, tool: Tool, option: &str, value: &str) {
        match option {
            "-u" | "--udp" => self.udp = true,
            "-R" | "--reverse" => self.reverse = true,
            "--bidir" | "-d" | "--dualtest" | "--full-duplex" if is_both(tool, option) => {
                self.both = true;
            }
            "-b" | "--bitrate" | "--bandwidth" => self.rate = rate(value).or(self.rate),
            "-P" | "--parallel" => self.streams = value.parse().ok(),
            "-t" | "--time" => self.time = seconds(value),
            "-O" | "--omit" => self.omit = seconds(value),
            "-n" | "--bytes" | "--num" => self.bytes = parse_count(value).ok(),
            "-l" | "--length" | "--len" => self.block = size(value),
            "-w" | "--window" => self.window = size(value),
            _ => {}
        }
    }
}

/// `-d` of iperf3 prints what a developer needs.
fn is_both(tool: Tool, option: &str) -> bool {
    tool == Tool::Iperf2 || option == "--bidir"
}

/// A word of its own that names the program: `iperf3`, `./iperf`, `C:\iperf3.exe`.
fn is_program(text: &str, at: usize) -> bool {
    let before = text[..at].chars().next_back();
    let begins =
        before.is_none_or(|letter| letter.is_whitespace() || "/\\`$#>'\"(".contains(letter));
    let rest = text[at + "iperf".len()..].trim_start_matches(['2', '3']);
    let rest = rest.strip_prefix(".exe").unwrap_or(rest);
    begins && rest.starts_with(char::is_whitespace) && rest.contains(" -")
}

/// `-c`, `-b10M` as `-b` and `10M`, `--time=3` as `--time` and `3`; none: it is no option.
fn option(word: &str) -> Option<(&str, Option<&str>)> {
    if word.starts_with("--") {
        return Some(
            word.split_once('=').map_or((word, None), |(name, value)| (name, Some(value))),
        );
    }
    let letter = word.strip_prefix('-')?.chars().next()?;
    let (option, glued) = word.split_at(1 + letter.len_utf8());
    let has_glued = !glued.is_empty() && TAKES_VALUE.contains(&option);
    Some((option, has_glued.then_some(glued)))
}

/// `100M`, `100M/10` with a burst.
fn rate(value: &str) -> Option<BitRate> {
    value.split('/').next()?.parse().ok()
}

fn size(value: &str) -> Option<ByteSize> {
    value.parse().ok()
}

fn seconds(value: &str) -> Option<Duration> {
    Duration::try_from_secs_f64(value.parse().ok()?).ok()
}

/// Options whose value may be the next word.
const TAKES_VALUE: [&str; 40] = [
    "-c",
    "--client",
    "-b",
    "--bitrate",
    "--bandwidth",
    "-P",
    "--parallel",
    "-t",
    "--time",
    "-O",
    "--omit",
    "-n",
    "--bytes",
    "--num",
    "-l",
    "--length",
    "--len",
    "-w",
    "--window",
    "-p",
    "--port",
    "-i",
    "--interval",
    "-f",
    "--format",
    "-B",
    "--bind",
    "-k",
    "--blockcount",
    "-M",
    "--set-mss",
    "-C",
    "--congestion",
    "-S",
    "--tos",
    "-A",
    "--affinity",
    "-T",
    "--title",
    "-y",
];
/// What a UDP test of iperf3 keeps without `-b` (`UDP_RATE` in iperf.h).
const IPERF3_UDP_RATE: u64 = 1024 * 1024;
/// What a UDP test of iperf 2 keeps without `-b` (`kDefault_UDPRate` in Settings.hpp).
const IPERF2_UDP_RATE: u64 = 1024 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_found_behind_a_prompt() {
        let line = "root@board:~# iperf3 -c 192.168.0.10 -u -b 4M -P2 -t 5 | tee log";
        let command = Command::find(line).expect("a command");
        assert_eq!((command.tool, command.host), (Tool::Iperf3, Some("192.168.0.10")));
        assert_eq!(command.rate(), Some(BitRate::from_bits_per_second(4_000_000)));
        assert_eq!(command.asked.streams, Some(2));
        assert_eq!(command.asked.time, Some(Duration::from_secs(5)));
        let server = Command::find("C:\\net\\iperf3.exe -s -V").expect("a server");
        assert_eq!(server.host, None);
    }

    #[test]
    fn without_an_option_udp_keeps_its_usual_rate() {
        let command = Command::find("$ iperf3 -c a -u").expect("a command");
        assert_eq!(command.rate(), Some(BitRate::from_bits_per_second(1_048_576)));
        assert_eq!(Command::find("$ iperf3 -c a").expect("a command").rate(), None);
        assert_eq!(Command::find("$ iperf3 -c a -u -b 0").expect("a command").rate(), None);
    }

    #[test]
    fn prose_is_no_command() {
        for line in ["I ran iperf3 and it was slow", "iperf3 -V", "myiperf3 -c a", "iperf Done."] {
            assert_eq!(Command::find(line), None, "{line}");
        }
    }
}
