//! The command line of iperf2, read as getopt_long(3) reads it. What iperf2 has and linerate does
//! not is refused in one sentence.

use std::ffi::OsString;
use std::net::IpAddr;
use std::time::Duration;

use measurement::{BitRate, ByteSize};
use report::iperf2::Form;
use report::iperf3::UnitFormat;

use super::getopt::{
    BOUNCE, BOUNCE_HOLD, BOUNCE_PERIOD, BOUNCE_PLAIN, FULL_DUPLEX, ISOCHRONOUS, TRIP_TIMES, options,
};
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
    pub(super) full_duplex: bool,
    pub(super) bounce: Option<BounceArguments>,
    /// Where the client listens for the server [default: the port of the server].
    pub(super) listen_port: Option<u16>,
    pub(super) time: Option<Duration>,
    /// Bytes of each stream.
    pub(super) amount: Option<u64>,
    /// Rate of each stream; zero: unlimited.
    pub(super) rate: Option<BitRate>,
    pub(super) length: Option<ByteSize>,
    pub(super) interval: Duration,
    /// Streams of a client [default: 1], or after how many a server ends [default: it does not].
    pub(super) parallel: Option<u32>,
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

/// Requests and answers in place of what one end sends (`--bounceback`).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BounceArguments {
    /// Requests in each period.
    pub(super) count: u32,
    /// Zero: one request after another.
    pub(super) period: Duration,
    /// How long the server waits before it answers.
    pub(super) hold: Duration,
}

impl BounceArguments {
    /// Whether requests can be so far apart.
    fn is_possible(self) -> bool {
        let pause = self.period / self.count;
        let range = Duration::from_micros(100)..=Duration::from_secs(5);
        self.period.is_zero() || range.contains(&pause)
    }
}

impl Default for BounceArguments {
    fn default() -> Self {
        Self { count: 10, period: Duration::from_secs(1), hold: Duration::ZERO }
    }
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
    /// The one sender to the multicast group that `-B` names.
    pub(super) source: Option<IpAddr>,
    /// Datagrams tell when they were sent, and the server how long they took.
    pub(super) trip_times: bool,
    pub(super) frames: Option<values::Frames>,
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
            full_duplex: false,
            bounce: None,
            listen_port: None,
            time: None,
            amount: None,
            rate: None,
            length: None,
            interval: Duration::ZERO,
            parallel: None,
            bind: None,
            ipv6: false,
            unit: UnitFormat::Adaptive,
            form: Form::Text,
            socket: SocketArguments::default(),
        }
    }
}

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

    /// Streams of a client.
    pub(super) fn streams(&self) -> u32 {
        self.parallel.unwrap_or(1)
    }

    /// After how many streams a server ends; none: it does not.
    pub(super) fn served_streams(&self) -> Option<u32> {
        self.parallel.filter(|_| self.server)
    }

    /// Options of a client alone, which a server does without.
    pub(super) fn ignored_by_a_server(&self) -> impl Iterator<Item = &'static str> {
        let given = [
            (self.reverse, "-R"),
            (self.listen_port.is_some(), "-L"),
            (self.amount.is_some(), "-n"),
            (self.rate.is_some(), "-b"),
            (self.socket.trip_times, "--trip-times"),
            (self.socket.frames.is_some(), "--isochronous"),
        ];
        given.into_iter().filter(|(is_given, _)| *is_given).map(|(_, option)| option)
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
            FULL_DUPLEX => self.full_duplex = true,
            BOUNCE | BOUNCE_PLAIN | BOUNCE_PERIOD | BOUNCE_HOLD => {
                let bounce = self.bounce.get_or_insert_default();
                match letter {
                    BOUNCE if !value.is_empty() => {
                        bounce.count = values::count("--bounceback", &value)?;
                    }
                    BOUNCE_PERIOD if !value.is_empty() => {
                        bounce.period = values::seconds("--bounceback-period", &value)?;
                    }
                    BOUNCE_HOLD => bounce.hold = values::millis("--bounceback-hold", &value)?,
                    _ => {}
                }
            }
            TRIP_TIMES => socket.trip_times = true,
            ISOCHRONOUS if value.is_empty() => socket.frames = Some(values::Frames::default()),
            ISOCHRONOUS => socket.frames = Some(values::frames(&value)?),
            'L' => self.listen_port = Some(values::port(&value)?),
            't' => self.time = Some(values::seconds("-t", &value)?),
            'n' => self.amount = Some(values::size("-n", &value)?),
            'b' => self.rate = Some(values::rate(&value)?),
            'l' => self.length = Some(ByteSize::from_bytes(values::size("-l", &value)?)),
            'i' => self.interval = values::seconds("-i", &value)?,
            'P' => self.parallel = Some(values::count("-P", &value)?),
            'B' => self.bind = Some(value),
            'V' => self.ipv6 = true,
            'H' => socket.source = Some(values::address(&value)?),
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
        if self.socket.frames.is_some() && (!self.udp || self.rate.is_some()) {
            return Err(
                "--isochronous is there over UDP, and has its own rate: add -u, and leave -b \
                        out"
                .to_owned(),
            );
        }
        if self.socket.source.is_some() && !(self.server && self.udp && self.bind.is_some()) {
            return Err(
                "-H is of a server of a multicast group: -s -u -B GROUP -H SENDER".to_owned()
            );
        }
        let has_other_way = self.reverse || self.full_duplex || self.dual.is_some();
        let is_one_way = self.socket.trip_times || self.socket.frames.is_some();
        if is_one_way && (has_other_way || self.bounce.is_some()) {
            return Err(
                "--trip-times and --isochronous are of what the client sends alone: leave \
                        out -R, -d, -r, --full-duplex and --bounceback"
                    .to_owned(),
            );
        }
        if self.full_duplex {
            self.check_full_duplex()?;
        }
        if self.bounce.is_some() {
            self.check_bounce()?;
        }
        match self.dual {
            Some(_) if self.server => {
                Err("-d and -r are options of the client: add -c HOST".to_owned())
            }
            Some(_) if self.reverse => {
                Err("-R is one direction, -d and -r are two: choose one".to_owned())
            }
            _ => Ok(()),
        }
    }

    fn check_full_duplex(&self) -> Result<(), String> {
        let wrong = if self.server {
            "--full-duplex is an option of the client: add -c HOST"
        } else if self.reverse || self.dual.is_some() {
            "--full-duplex has both directions: leave out -R, -d and -r"
        } else if self.amount.is_some() {
            "--full-duplex ends by time: type -t in place of -n"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }

    fn check_bounce(&self) -> Result<(), String> {
        let wrong = if self.server {
            "--bounceback is an option of the client: add -c HOST"
        } else if self.udp {
            "--bounceback is there over TCP alone; type linerate latency HOST --udp with a linerate \
             server"
        } else if self.reverse || self.full_duplex || self.dual.is_some() {
            "--bounceback has both directions: leave out -R, -d, -r and --full-duplex"
        } else if self.amount.is_some() || self.rate.is_some() {
            "--bounceback ends by time, and --bounceback-period is its rate: leave out -n and -b"
        } else if self.length.is_some_and(|length| length > MOST_OF_REQUEST) {
            "-l: requests of --bounceback have at most 256K"
        } else if self.bounce.is_some_and(|bounce| bounce.hold > LONGEST_HOLD) {
            "--bounceback-hold: a server waits 10000 ms at most"
        } else if self.bounce.is_some_and(|bounce| !bounce.is_possible()) {
            "--bounceback: from one request to the next 0.1 ms to 5 s may pass, or nothing \
             (--bounceback-period=0)"
        } else {
            return Ok(());
        };
        Err(wrong.to_owned())
    }
}

/// Longest request that a linerate server answers (clause 3.13 of docs/protocol/iperf2.md).
const MOST_OF_REQUEST: ByteSize = ByteSize::from_bytes(256 * 1024);
/// Longest time for which such a server waits before it answers, by the same clause.
const LONGEST_HOLD: Duration = Duration::from_secs(10);
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
            assert_eq!((read.host.as_str(), read.port, read.streams()), ("here", 7, 2), "{line}");
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
            ("-c here --trip-times --bounceback", "are of what the client sends alone"),
            ("-c here -u --isochronous -R", "leave out -R, -d, -r"),
            ("-c here --isochronous", "--isochronous is there over UDP"),
            ("-c here -u --isochronous=30:2M,100k", "leave the deviation out"),
            ("-c here -u --isochronous=30", "as 60:20m"),
            ("-c here --tcp-write-times", "--tcp-write-times is an option"),
            ("-c here --full-duplex -n 1M", "--full-duplex ends by time"),
            ("-c here --bounceback -u", "--bounceback is there over TCP alone"),
            ("-c here --bounceback --full-duplex", "leave out -R, -d, -r and --full-duplex"),
            ("-c here --bounceback-hold x", "--bounceback-hold x"),
            ("-c here --bounceback-hold 10001", "10000 ms at most"),
            ("-c here --bounceback=0", "--bounceback 0"),
            ("-c here --bounceback=100000", "0.1 ms to 5 s"),
            ("-c here --bounceback -l 257K", "at most 256K"),
            ("-c here -H 10.0.0.1", "-H is of a server"),
            ("-c here -R -r", "choose one"),
            ("-s -d", "options of the client"),
            ("-s -c here", "choose one"),
            ("-s -D", "-D is an option of iperf"),
            ("-c here --foo", "iperf has no option --foo"),
            ("-c here -q", "iperf has no option -q"),
            ("-c", "-c needs a value"),
            ("-u", "a client of one (-c HOST)"),
            ("here", "'here' belongs to no option"),
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
}
