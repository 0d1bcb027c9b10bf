//! The command line of iperf2, read as getopt_long(3) reads it. What iperf2 has and linerate does
//! not is refused in one sentence.

use std::ffi::OsString;
use std::time::Duration;

use measurement::{BitRate, ByteSize};
use report::iperf2::Form;
use report::iperf3::UnitFormat;

use super::values;

/// Help, the version, or a test, as a command line asks for it.
pub(super) enum Asked {
    Help,
    Version,
    Run(Box<Arguments>),
}

/// A test as it was asked for.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "they are switches of the command line")]
pub(super) struct Arguments {
    pub(super) host: String,
    pub(super) server: bool,
    pub(super) port: u16,
    pub(super) udp: bool,
    pub(super) reverse: bool,
    pub(super) dual: Option<Dual>,
    /// Where the client listens for the server [default: the port of the server].
    pub(super) listen_port: Option<u16>,
    pub(super) time: Option<Duration>,
    /// Bytes of each stream.
    pub(super) amount: Option<u64>,
    /// Rate of each stream; zero: unlimited.
    pub(super) rate: Option<BitRate>,
    pub(super) length: Option<ByteSize>,
    pub(super) interval: Duration,
    pub(super) streams: u32,
    pub(super) bind: Option<String>,
    pub(super) ipv6: bool,
    pub(super) unit: UnitFormat,
    pub(super) form: Form,
    pub(super) socket: SocketArguments,
}

/// How the server sends over connections of its own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Dual {
    /// While the client sends (`-d`).
    AtOnce,
    /// After that (`-r`).
    Later,
}

/// Options of the sockets.
#[derive(Clone, Debug, Default)]
pub(super) struct SocketArguments {
    pub(super) window: Option<ByteSize>,
    pub(super) mss: Option<u32>,
    pub(super) no_delay: bool,
    pub(super) congestion: Option<String>,
    pub(super) type_of_service: u8,
    pub(super) hop_limit: Option<u8>,
}

impl Default for Arguments {
    fn default() -> Self {
        Self {
            host: String::new(),
            server: false,
            port: DEFAULT_PORT,
            udp: false,
            reverse: false,
            dual: None,
            listen_port: None,
            time: None,
            amount: None,
            rate: None,
            length: None,
            interval: Duration::ZERO,
            streams: 1,
            bind: None,
            ipv6: false,
            unit: UnitFormat::Adaptive,
            form: Form::Text,
            socket: SocketArguments::default(),
        }
    }
}

/// One option: its letter, its name, and whether it has a value.
struct Known(char, &'static str, bool);

impl Arguments {
    /// Reads a command line without the program's name.
    ///
    /// # Errors
    /// A sentence that says which argument is wrong, and why.
    pub(super) fn read(arguments: Vec<OsString>) -> Result<Asked, String> {
        let mut read = Self::default();
        let mut words = arguments.into_iter().map(|word| word.to_string_lossy().into_owned());
        while let Some(word) = words.next() {
            for (letter, value) in options(&word, &mut words)? {
                match letter {
                    'h' => return Ok(Asked::Help),
                    'v' => return Ok(Asked::Version),
                    letter => read.set(letter, value.unwrap_or_default())?,
                }
            }
        }
        read.check()?;
        Ok(Asked::Run(Box::new(read)))
    }

    fn set(&mut self, letter: char, value: String) -> Result<(), String> {
        let socket = &mut self.socket;
        match letter {
            'c' => self.host = value,
            's' => self.server = true,
            'p' => self.port = values::port(&value)?,
            'u' => self.udp = true,
            'R' => self.reverse = true,
            'd' => self.dual = Some(Dual::AtOnce),
            'r' => self.dual = Some(Dual::Later),
            'L' => self.listen_port = Some(values::port(&value)?),
            't' => self.time = Some(values::seconds("-t", &value)?),
            'n' => self.amount = Some(values::size("-n", &value)?),
            'b' => self.rate = Some(values::rate(&value)?),
            'l' => self.length = Some(ByteSize::from_bytes(values::size("-l", &value)?)),
            'i' => self.interval = values::seconds("-i", &value)?,
            'P' => self.streams = values::count("-P", &value)?,
            'B' => self.bind = Some(value),
            'V' => self.ipv6 = true,
            'f' => self.unit = values::unit(&value)?,
            'y' if value.eq_ignore_ascii_case("c") => self.form = Form::Csv,
            'y' => return Err(format!("-y {value}: of report styles there is C alone")),
            'w' => socket.window = Some(ByteSize::from_bytes(values::size("-w", &value)?)),
            'M' => socket.mss = Some(values::count("-M", &value)?),
            'N' => socket.no_delay = true,
            'Z' => socket.congestion = Some(value),
            'S' => socket.type_of_service = values::type_of_service(&value)?,
            'T' => socket.hop_limit = Some(values::hop_limit(&value)?),
            // Asks for more columns than there are here.
            _ => {}
        }
        Ok(())
    }

    fn check(&self) -> Result<(), String> {
        if self.host.is_empty() != self.server {
            return Err("choose one: a server (-s), or a client of one (-c HOST)".to_owned());
        }
        if self.udp && self.reverse {
            return Err(
                "-R is there over TCP alone; type linerate test HOST --udp --receive with a \
                        linerate server"
                    .to_owned(),
            );
        }
        match self.dual {
            Some(_) if self.server => {
                Err("-d and -r are options of the client: add -c HOST".to_owned())
            }
            Some(_) if self.udp => {
                Err("-d and -r are there over TCP alone: leave out -u".to_owned())
            }
            Some(_) if self.reverse => {
                Err("-R is one direction, -d and -r are two: choose one".to_owned())
            }
            _ => Ok(()),
        }
    }
}

/// The options of one word, with their values, which may be the next of `words`.
fn options(
    word: &str,
    words: &mut impl Iterator<Item = String>,
) -> Result<Vec<(char, Option<String>)>, String> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, given) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let Known(letter, _, takes) = by_name(name)?;
        let value = match (takes, given) {
            (true, None) => Some(words.next().ok_or_else(|| lacks_value(word))?),
            (_, given) => given,
        };
        return Ok(vec![(*letter, value)]);
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return Err(format!("'{word}' belongs to no option; the server follows -c"));
    };
    let mut found = Vec::new();
    for (at, letter) in letters.char_indices() {
        let Known(_, _, takes) = by_letter(letter)?;
        if !takes {
            found.push((letter, None));
            continue;
        }
        let rest = &letters[at + letter.len_utf8()..];
        let value = if rest.is_empty() { words.next() } else { Some(rest.to_owned()) };
        found.push((letter, Some(value.ok_or_else(|| lacks_value(&format!("-{letter}")))?)));
        break;
    }
    Ok(found)
}

fn by_letter(letter: char) -> Result<&'static Known, String> {
    let known = KNOWN.iter().find(|known| known.0 == letter);
    known.ok_or_else(|| match LACKING.iter().find(|lacking| lacking.0 == letter) {
        Some(_) => lacks(&format!("-{letter}")),
        None => format!("iperf has no option -{letter}; iperf -h lists those that there are"),
    })
}

/// An option by its name, or by the begin of one name alone.
fn by_name(name: &str) -> Result<&'static Known, String> {
    let mut begun = KNOWN.iter().filter(|known| known.1.starts_with(name));
    let exact = KNOWN.iter().find(|known| known.1 == name);
    let only = match (begun.next(), begun.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    exact.or(only).ok_or_else(|| {
        if LACKING.iter().any(|lacking| lacking.1 == name) {
            lacks(&format!("--{name}"))
        } else {
            format!("iperf has no option --{name}; iperf -h lists those that there are")
        }
    })
}

fn lacks(option: &str) -> String {
    match option {
        "--full-duplex" => format!("{option} is not there: -d has both directions at once"),
        _ => format!("{option} is an option of iperf that linerate does not have"),
    }
}

fn lacks_value(option: &str) -> String {
    format!("{option} needs a value; iperf -h lists the options")
}

/// The options that are there. Those whose effect is here what it always is come last.
const KNOWN: [Known; 29] = [
    Known('c', "client", true),
    Known('s', "server", false),
    Known('p', "port", true),
    Known('u', "udp", false),
    Known('R', "reverse", false),
    Known('d', "dualtest", false),
    Known('r', "tradeoff", false),
    Known('L', "listenport", true),
    Known('t', "time", true),
    Known('n', "num", true),
    Known('b', "bandwidth", true),
    Known('l', "len", true),
    Known('i', "interval", true),
    Known('P', "parallel", true),
    Known('B', "bind", true),
    Known('V', "ipv6_domain", false),
    Known('f', "format", true),
    Known('y', "reportstyle", true),
    Known('w', "window", true),
    Known('M', "mss", true),
    Known('N', "nodelay", false),
    Known('Z', "tcp-congestion", true),
    Known('Z', "linux-congestion", true),
    Known('S', "tos", true),
    Known('T', "ttl", true),
    Known('h', "help", false),
    Known('v', "version", false),
    Known('e', "enhanced", false),
    Known('m', "print_mss", false),
];

/// Options of iperf 2.1.8 that are not there.
const LACKING: [(char, &str); 41] = [
    ('D', "daemon"),
    ('1', "singleclient"),
    ('U', "single_udp"),
    ('C', "compatibility"),
    ('F', "fileinput"),
    ('I', "stdin"),
    ('o', "output"),
    ('x', "reportexclude"),
    ('z', "realtime"),
    ('H', "ssm-host"),
    ('X', "peer-detect"),
    ('\0', "full-duplex"),
    ('\0', "bounceback"),
    ('\0', "bounceback-congest"),
    ('\0', "bounceback-hold"),
    ('\0', "bounceback-period"),
    ('\0', "bounceback-no-quickack"),
    ('\0', "connect-only"),
    ('\0', "connect-retries"),
    ('\0', "fq-rate"),
    ('\0', "hide-ips"),
    ('\0', "histograms"),
    ('\0', "incr-dstip"),
    ('\0', "incr-dstport"),
    ('\0', "incr-srcip"),
    ('\0', "incr-srcport"),
    ('\0', "ipg"),
    ('\0', "isochronous"),
    ('\0', "local-only"),
    ('\0', "near-congestion"),
    ('\0', "no-connect-sync"),
    ('\0', "no-udp-fin"),
    ('\0', "permit-key"),
    ('\0', "sum-only"),
    ('\0', "tap-dev"),
    ('\0', "tcp-quickack"),
    ('\0', "tcp-write-prefetch"),
    ('\0', "tcp-write-times"),
    ('\0', "trip-times"),
    ('\0', "txdelay-time"),
    ('\0', "txstart-time"),
];

const DEFAULT_PORT: u16 = session::client::IPERF2_PORT;

#[cfg(test)]
mod tests {
    use super::*;

    fn read(line: &str) -> Result<Arguments, String> {
        match Arguments::read(line.split(' ').map(OsString::from).collect())? {
            Asked::Run(arguments) => Ok(*arguments),
            Asked::Help | Asked::Version => Err("no test".to_owned()),
        }
    }

    #[test]
    fn options_are_read_as_getopt_reads_them() {
        for line in
            ["-uc here -t2.5 -p 7 -P2", "--udp --client=here --time 2.5 --po 7 --parallel 2"]
        {
            let read = read(line).expect(line);
            assert_eq!((read.host.as_str(), read.port, read.streams), ("here", 7, 2), "{line}");
            assert!(read.udp && read.time == Some(Duration::from_millis(2_500)), "{line}");
        }
        let read = read("-c here -n 1m -l 8K -b 10M -w 64K -y c -e").expect("a test");
        assert_eq!((read.amount, read.form), (Some(1_000_000), Form::Csv));
        assert_eq!(read.length, Some(ByteSize::from_bytes(8_192)));
        assert_eq!(read.rate, Some(BitRate::from_bits_per_second(10 << 20)));
        assert_eq!(read.port, 5_001);
    }

    #[test]
    fn what_is_not_there_is_told_in_a_sentence() {
        for (line, words) in [
            ("-c here -F x", "-F is an option of iperf that linerate does not have"),
            ("-c here --trip-times", "--trip-times is an option"),
            ("-c here --full-duplex", "-d has both directions at once"),
            ("-c here -u -d", "over TCP alone"),
            ("-c here -R -r", "choose one"),
            ("-s -d", "options of the client"),
            ("-s -c here", "choose one"),
            ("-s -D", "-D is an option of iperf"),
            ("-c here --foo", "iperf has no option --foo"),
            ("-c here -q", "iperf has no option -q"),
            ("-c", "-c needs a value"),
            ("-u", "a client of one (-c HOST)"),
            ("here", "'here' belongs to no option"),
            ("-c here -u -R", "-R is there over TCP alone"),
            ("-c here -y X", "C alone"),
            ("-c here -b 10pps", "-b 10pps"),
            ("-c here -p 0", "-p 0"),
            ("-c here -t x", "-t x"),
            ("-c here -f q", "-f q"),
        ] {
            let error = read(line).expect_err(line);
            assert!(error.contains(words) && !error.ends_with('.'), "{line}: {error}");
        }
    }

    #[test]
    fn no_option_is_both_there_and_not() {
        for lacking in &LACKING {
            assert!(KNOWN.iter().all(|known| known.0 != lacking.0 && known.1 != lacking.1));
        }
    }
}
