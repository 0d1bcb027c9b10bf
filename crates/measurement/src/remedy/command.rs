//! Settings as shell commands, and back. Names come from hosts that may lie: every word of a
//! command is quoted where a shell would read more than a word in it.

use std::borrow::Cow;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

use super::{
    Channels, Coalescing, CpuMask, DuplexMode, HugePages, Pacing, Ring, Setting, Side, Switch,
};
use crate::units::ByteSize;

impl Display for Setting {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let words = self.words();
        let shown = |(at, word)| {
            let is_redirection = at == REDIRECTION && words[0] == "echo" && word == ">";
            if is_redirection { Cow::Borrowed(">") } else { quoted(word) }
        };
        let shown: Vec<_> = words.iter().map(String::as_str).enumerate().map(shown).collect();
        f.pad(&shown.join(" "))
    }
}

impl Setting {
    /// The words of its command.
    fn words(&self) -> Vec<String> {
        match self {
            Self::Sysctl { name, value } => words(["sysctl", "-w"], [format!("{name}={value}")]),
            Self::RootQdisc { interface, kind } => {
                words(["tc", "qdisc", "replace", "dev", interface, "root", kind], [])
            }
            Self::DefaultQdisc { interface } => {
                words(["tc", "qdisc", "del", "dev", interface, "root"], [])
            }
            Self::Mtu { interface, bytes } => {
                words(["ip", "link", "set", "dev", interface, "mtu"], [bytes.to_string()])
            }
            Self::BigTcp { interface, bytes } => words(
                ["ip", "link", "set", "dev", interface, GSO],
                [bytes.to_string(), GRO.to_owned(), bytes.to_string()],
            ),
            Self::QueueLength { interface, packets } => {
                words(["ip", "link", "set", "dev", interface, "txqueuelen"], [packets.to_string()])
            }
            Self::CpuGovernor { governor } => {
                words(["cpupower", "frequency-set", "-g", governor], [])
            }
            Self::StoppedService { service } => words(["systemctl", "stop", service], []),
            Self::Length(size) => words(["-l"], [bytes(*size)]),
            Self::SegmentSize(bytes) => words(["-M"], [bytes.to_string()]),
            Self::Window(size) => words(["-w"], [bytes(*size)]),
            Self::Streams(count) => words(["-P"], [count.to_string()]),
            Self::Seconds(seconds) => words(["-t"], [seconds.to_string()]),
            Self::Pacing(pacing) => words(["--pacing", pacing.name()], []),
            Self::Congestion(name) => words(["-C", name], []),
            Self::Cpus(cpus) => words(["--cpus"], [list(cpus)]),
            Self::Engine(name) => words(["--engine", name.as_str()], []),
            Self::FixedSpeed { interface, mbps, duplex } => {
                let (mbps, duplex) = (mbps.to_string(), duplex.name());
                words(
                    [
                        "ethtool", "-s", interface, "speed", &mbps, "duplex", duplex, "autoneg",
                        "off",
                    ],
                    [],
                )
            }
            _ => self.file().unwrap_or_else(|| self.ethtool()),
        }
    }

    /// The words of a command that writes a file; none: it is not one.
    fn file(&self) -> Option<Vec<String>> {
        Some(match self {
            Self::IrqAffinity { irq, cpus } => echo(cpus, format!("/proc/irq/{irq}/smp_affinity")),
            Self::RpsCpus { interface, queue, cpus } => {
                echo(cpus, format!("{NETWORK}{interface}/queues/rx-{queue}/rps_cpus"))
            }
            Self::RpsFlows { interface, queue, entries } => {
                echo(entries, format!("{NETWORK}{interface}/queues/rx-{queue}/rps_flow_cnt"))
            }
            Self::XpsCpus { interface, queue, cpus } => {
                echo(cpus, format!("{NETWORK}{interface}/queues/tx-{queue}/xps_cpus"))
            }
            Self::ThreadedNapi { interface, state } => {
                echo(&u8::from(*state == Switch::On), format!("{NETWORK}{interface}/threaded"))
            }
            Self::TransparentHugePages { pages } => echo(&pages.name(), HUGE_PAGES.to_owned()),
            _ => return None,
        })
    }

    /// The words of a command of ethtool(8).
    fn ethtool(&self) -> Vec<String> {
        let (option, interface, name, value) = match self {
            Self::Ring { interface, ring, entries } => {
                ("-G", interface, ring.name(), entries.to_string())
            }
            Self::Channels { interface, kind, count } => {
                ("-L", interface, kind.name(), count.to_string())
            }
            Self::Feature { interface, feature, state } => {
                ("-K", interface, feature.as_str(), state.name().to_owned())
            }
            Self::Coalescing { interface, parameter } => {
                ("-C", interface, parameter.name(), parameter.value())
            }
            Self::PauseFrames { interface, side, state } => {
                ("-A", interface, side.name(), state.name().to_owned())
            }
            Self::Eee { interface, state } => {
                ("--set-eee", interface, "eee", state.name().to_owned())
            }
            Self::Autonegotiation { interface, state } => {
                ("-s", interface, "autoneg", state.name().to_owned())
            }
            Self::RssQueues { interface, queues } => ("-X", interface, "equal", queues.to_string()),
            _ => return Vec::new(),
        };
        words(["ethtool", option, interface, name], [value])
    }
}

fn words<const N: usize, const M: usize>(first: [&str; N], last: [String; M]) -> Vec<String> {
    first.into_iter().map(str::to_owned).chain(last).collect()
}

fn echo(value: &impl Display, path: String) -> Vec<String> {
    words(["echo"], [value.to_string(), ">".to_owned(), path])
}

/// As `--cpus` takes them: `0,2`.
fn list(cpus: &CpuMask) -> String {
    cpus.cpus().map(|cpu| cpu.to_string()).collect::<Vec<_>>().join(",")
}

/// As `-l` and `-w` take it: with a binary suffix where it is a multiple of one.
fn bytes(size: ByteSize) -> String {
    let bytes = size.bytes();
    match bytes {
        0 => "0".to_owned(),
        _ if bytes.is_multiple_of(1 << 20) => format!("{}M", bytes >> 20),
        _ if bytes.is_multiple_of(1 << 10) => format!("{}K", bytes >> 10),
        _ => bytes.to_string(),
    }
}

/// A word as a POSIX shell reads it (sh(1), 2.2.2); the redirection stays one.
fn quoted(word: &str) -> Cow<'_, str> {
    let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_./,:=+@%".contains(letter);
    if !word.is_empty() && word.chars().all(is_plain) {
        return Cow::Borrowed(word);
    }
    Cow::Owned(format!("'{}'", word.replace('\'', r"'\''")))
}

/// Place of `>` among the words of `echo VALUE > FILE`.
const REDIRECTION: usize = 2;

/// Error of parsing a [`Setting`]: the text is not a command that a setting is written as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NoCommand(String);

impl Display for NoCommand {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "no command that linerate knows: {}", self.0)
    }
}

impl std::error::Error for NoCommand {}

impl FromStr for Setting {
    type Err = NoCommand;

    fn from_str(text: &str) -> Result<Self, NoCommand> {
        let setting = split(text).and_then(|words| {
            let words: Vec<_> = words.iter().map(String::as_str).collect();
            read(&as_written(&words))
        });
        setting.ok_or_else(|| NoCommand(text.to_owned()))
    }
}

/// The words of a command as [`Display`] writes it, where people type another form of it: with `sudo`,
/// long options, or another order.
fn as_written<'a>(words: &[&'a str]) -> Vec<&'a str> {
    match words {
        ["sudo", rest @ ..] => as_written(rest),
        ["sysctl", assignment] if assignment.contains('=') => vec!["sysctl", "-w", assignment],
        ["ethtool", option, rest @ ..] => {
            let short = LONG.iter().find(|(long, _)| long == option);
            let option = short.map_or(*option, |(_, short)| short);
            let mut words = vec!["ethtool", option];
            match (option, rest) {
                ("-s", [interface, rest @ ..]) if rest.contains(&"speed") => {
                    words.extend(fixed_speed(interface, rest).unwrap_or_default());
                }
                _ => words.extend(rest),
            }
            words
        }
        ["ip", "link", "set", rest @ ..] => {
            let mut words = vec!["ip", "link", "set", "dev"];
            match rest {
                ["dev", ..] => words = [&["ip", "link", "set"], rest].concat(),
                [.., "dev", interface] => {
                    words.extend([&[*interface], &rest[..rest.len() - 2]].concat());
                }
                _ => words.extend(rest),
            }
            words
        }
        ["tc", "qdisc", "add", rest @ ..] => [&["tc", "qdisc", "replace"], rest].concat(),
        _ => words.to_vec(),
    }
}

/// `eth0 speed 100 duplex full autoneg off`, whatever the order of the pairs; the duplex that is not named
/// is full. `None`: a pair is not known.
fn fixed_speed<'a>(interface: &&'a str, pairs: &[&'a str]) -> Option<Vec<&'a str>> {
    let (mut speed, mut duplex, mut negotiated) = ("", "full", "on");
    for pair in pairs.chunks(2) {
        match pair {
            ["speed", value] => speed = value,
            ["duplex", value] => duplex = value,
            ["autoneg", value] => negotiated = value,
            _ => return None,
        }
    }
    Some(vec![interface, "speed", speed, "duplex", duplex, "autoneg", negotiated])
}

/// Long options of ethtool(8).
const LONG: [(&str, &str); 9] = [
    ("--change", "-s"),
    ("--set-ring", "-G"),
    ("--set-channels", "-L"),
    ("--features", "-K"),
    ("--offload", "-K"),
    ("--coalesce", "-C"),
    ("--pause", "-A"),
    ("--rxfh", "-X"),
    ("--set-rxfh-indir", "-X"),
];

fn read(words: &[&str]) -> Option<Setting> {
    let owned = |word: &str| word.to_owned();
    Some(match *words {
        ["sysctl", "-w", assignment] => {
            let (name, value) = assignment.split_once('=')?;
            Setting::Sysctl { name: owned(name), value: owned(value) }
        }
        ["ethtool", option, interface, name, value] => {
            read_ethtool(option, interface.to_owned(), name, value)?
        }
        ["ethtool", "-s", interface, "speed", mbps, "duplex", duplex, "autoneg", "off"] => {
            let duplex = DuplexMode::from_name(duplex)?;
            Setting::FixedSpeed { interface: owned(interface), mbps: mbps.parse().ok()?, duplex }
        }
        ["echo", value, ">", path] => read_echo(value, path)?,
        ["tc", "qdisc", "replace", "dev", interface, "root", kind] => {
            Setting::RootQdisc { interface: owned(interface), kind: owned(kind) }
        }
        ["tc", "qdisc", "del", "dev", interface, "root"] => {
            Setting::DefaultQdisc { interface: owned(interface) }
        }
        ["ip", "link", "set", "dev", interface, "mtu", bytes] => {
            Setting::Mtu { interface: owned(interface), bytes: bytes.parse().ok()? }
        }
        ["ip", "link", "set", "dev", interface, "txqueuelen", packets] => {
            Setting::QueueLength { interface: owned(interface), packets: packets.parse().ok()? }
        }
        ["ip", "link", "set", "dev", interface, GSO, bytes, GRO, same] if bytes == same => {
            Setting::BigTcp { interface: owned(interface), bytes: bytes.parse().ok()? }
        }
        ["cpupower", "frequency-set", "-g", governor] => {
            Setting::CpuGovernor { governor: owned(governor) }
        }
        ["systemctl", "stop", service] => Setting::StoppedService { service: owned(service) },
        ["-l", size] => Setting::Length(size.parse().ok()?),
        ["-M", bytes] => Setting::SegmentSize(bytes.parse().ok()?),
        ["-w", size] => Setting::Window(size.parse().ok()?),
        ["-P", count] => Setting::Streams(count.parse().ok()?),
        ["-t", seconds] => Setting::Seconds(seconds.parse().ok()?),
        ["--pacing", pacing] => Setting::Pacing(Pacing::from_name(pacing)?),
        ["-C", name] => Setting::Congestion(owned(name)),
        ["--engine", name] => Setting::Engine(name.into()),
        ["--cpus", cpus] => {
            let cpus = cpus.split(',').map(|cpu| cpu.parse().ok());
            Setting::Cpus(cpus.collect::<Option<Vec<u32>>>()?.into_iter().collect())
        }
        _ => return None,
    })
}

fn read_ethtool(option: &str, interface: String, name: &str, value: &str) -> Option<Setting> {
    let switch = || Switch::from_name(value);
    Some(match (option, name) {
        ("-G", _) => {
            Setting::Ring { interface, ring: Ring::from_name(name)?, entries: value.parse().ok()? }
        }
        ("-L", _) => {
            let kind = Channels::from_name(name)?;
            Setting::Channels { interface, kind, count: value.parse().ok()? }
        }
        ("-K", _) => Setting::Feature { interface, feature: name.to_owned(), state: switch()? },
        ("-C", _) => {
            let parameter = Coalescing::from_words(name, value)?;
            Setting::Coalescing { interface, parameter }
        }
        ("-A", _) => {
            Setting::PauseFrames { interface, side: Side::from_name(name)?, state: switch()? }
        }
        ("--set-eee", "eee") => Setting::Eee { interface, state: switch()? },
        ("-s", "autoneg") => Setting::Autonegotiation { interface, state: switch()? },
        ("-X", "equal") => Setting::RssQueues { interface, queues: value.parse().ok()? },
        _ => return None,
    })
}

fn read_echo(value: &str, path: &str) -> Option<Setting> {
    if let Some(irq) = path.strip_prefix("/proc/irq/") {
        let irq = irq.strip_suffix("/smp_affinity")?.parse().ok()?;
        return Some(Setting::IrqAffinity { irq, cpus: value.parse().ok()? });
    }
    if path == HUGE_PAGES {
        return Some(Setting::TransparentHugePages { pages: HugePages::from_name(value)? });
    }
    let parts: Vec<_> = path.strip_prefix(NETWORK)?.split('/').collect();
    if let [interface, "threaded"] = parts[..] {
        let state = match value {
            "0" => Switch::Off,
            "1" => Switch::On,
            _ => return None,
        };
        return Some(Setting::ThreadedNapi { interface: interface.to_owned(), state });
    }
    let [interface, "queues", queue, file] = parts[..] else { return None };
    let interface = interface.to_owned();
    let (side, queue) = queue.split_once('-')?;
    let queue = queue.parse().ok()?;
    Some(match (side, file) {
        ("rx", "rps_cpus") => Setting::RpsCpus { interface, queue, cpus: value.parse().ok()? },
        ("rx", "rps_flow_cnt") => {
            Setting::RpsFlows { interface, queue, entries: value.parse().ok()? }
        }
        ("tx", "xps_cpus") => Setting::XpsCpus { interface, queue, cpus: value.parse().ok()? },
        _ => return None,
    })
}

/// The words of a command, as a shell splits it; none: a quotation has no end.
fn split(text: &str) -> Option<Vec<String>> {
    let (mut words, mut word, mut letters) = (Vec::new(), None::<String>, text.chars());
    while let Some(letter) = letters.next() {
        match letter {
            ' ' => words.extend(word.take()),
            '\'' => {
                let word = word.get_or_insert_default();
                loop {
                    match letters.next()? {
                        '\'' => break,
                        letter => word.push(letter),
                    }
                }
            }
            '\\' => word.get_or_insert_default().push(letters.next()?),
            letter => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    Some(words)
}

/// Where the kernel shows network interfaces (sysfs(5)).
const NETWORK: &str = "/sys/class/net/";
/// Which programs get transparent huge pages (Documentation/admin-guide/mm/transhuge.rst).
const HUGE_PAGES: &str = "/sys/kernel/mm/transparent_hugepage/enabled";
const GSO: &str = "gso_max_size";
const GRO: &str = "gro_max_size";

#[cfg(test)]
mod tests {
    use super::*;

    /// Each form of command, and each word that one may have.
    const COMMANDS: &[&str] = &[
        "sysctl -w net.core.rmem_max=4194304",
        "sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'",
        "ethtool -G eth0 rx 4096",
        "ethtool -G eth0 tx 64",
        "ethtool -L eth0 combined 4",
        "ethtool -L eth0 rx 4",
        "ethtool -L eth0 tx 4",
        "ethtool -K eth0 tx-udp-segmentation on",
        "ethtool -K eth0 gro off",
        "ethtool -C eth0 adaptive-rx on",
        "ethtool -C eth0 adaptive-tx off",
        "ethtool -C eth0 rx-usecs 30",
        "ethtool -C eth0 rx-frames 64",
        "ethtool -C eth0 tx-usecs 30",
        "ethtool -C eth0 tx-frames 64",
        "ethtool -s eth0 speed 1000 duplex full autoneg off",
        "ethtool -s eth0 speed 10 duplex half autoneg off",
        "echo 1 > /sys/class/net/eth0/threaded",
        "echo 0 > /sys/class/net/eth0/threaded",
        "echo madvise > /sys/kernel/mm/transparent_hugepage/enabled",
        "ip link set dev eth0 txqueuelen 10000",
        "ethtool -A eth0 rx off",
        "ethtool -A eth0 tx on",
        "ethtool --set-eee eth0 eee off",
        "ethtool -s eth0 autoneg on",
        "ethtool -X eth0 equal 4",
        "echo 10 > /proc/irq/27/smp_affinity",
        "echo 1,00000002 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
        "echo 4096 > /sys/class/net/eth0/queues/rx-1/rps_flow_cnt",
        "echo 2 > /sys/class/net/eth0.7/queues/tx-1/xps_cpus",
        "tc qdisc replace dev eth0 root fq",
        "tc qdisc del dev eth0 root",
        "ip link set dev eth0 mtu 9000",
        "ip link set dev eth0 gso_max_size 185000 gro_max_size 185000",
        "cpupower frequency-set -g performance",
        "systemctl stop irqbalance",
        "-l 1472",
        "-w 4M",
        "-P 4",
        "-t 30",
        "--pacing even",
        "--pacing smooth",
        "-w 0",
        "-C bbr",
        "--cpus 0",
        "--cpus 0,2,35",
    ];

    #[test]
    fn an_interface_of_any_name_is_a_word() {
        let mtu = |interface: &str| {
            Setting::Mtu { interface: interface.to_owned(), bytes: 9_000 }.to_string()
        };
        assert_eq!(mtu(">"), "ip link set dev '>' mtu 9000");
        assert_eq!(mtu("a b;c"), "ip link set dev 'a b;c' mtu 9000");
        assert_eq!(mtu(">").parse::<Setting>().map(|one| one.to_string()), Ok(mtu(">")));
    }

    #[test]
    fn what_is_read_is_written_again() {
        for command in COMMANDS {
            let setting: Setting = command.parse().expect(command);
            assert_eq!(setting.to_string(), *command);
        }
    }

    #[test]
    fn commands_are_read_as_people_type_them() {
        for (typed, written) in [
            (
                "ethtool -s eth0 speed 100 autoneg off",
                "ethtool -s eth0 speed 100 duplex full autoneg off",
            ),
            (
                "sudo ethtool --change eth0 autoneg off duplex half speed 10",
                "ethtool -s eth0 speed 10 duplex half autoneg off",
            ),
            ("ethtool --offload eth0 tso off", "ethtool -K eth0 tso off"),
            ("ethtool --set-ring eth0 rx 4096", "ethtool -G eth0 rx 4096"),
            ("sysctl net.core.rmem_max=1", "sysctl -w net.core.rmem_max=1"),
            ("sudo sysctl -w net.core.rmem_max=1", "sysctl -w net.core.rmem_max=1"),
            ("ip link set eth0 mtu 9000", "ip link set dev eth0 mtu 9000"),
            ("ip link set mtu 9000 dev eth0", "ip link set dev eth0 mtu 9000"),
            ("ip link set dev eth0 txqueuelen 9", "ip link set dev eth0 txqueuelen 9"),
            ("tc qdisc add dev eth0 root fq", "tc qdisc replace dev eth0 root fq"),
        ] {
            let setting: Setting = typed.parse().expect(typed);
            assert_eq!(setting.to_string(), written, "{typed}");
        }
        for text in ["ethtool -s eth0 speed 100", "ethtool -s eth0 speed 100 port tp autoneg off"] {
            assert!(text.parse::<Setting>().is_err(), "{text}");
        }
    }

    #[test]
    fn what_is_no_command_is_not_read() {
        let texts = [
            "",
            "reboot",
            "sysctl -w net.core.rmem_max",
            "ethtool -G eth0 rx many",
            "ethtool -K eth0 gro maybe",
            "echo 1 > /etc/passwd",
            "echo 1 > /sys/class/net/eth0/queues/rx-0/xps_cpus",
            "echo x > /proc/irq/27/smp_affinity",
            "echo 2 > /sys/class/net/eth0/threaded",
            "echo maybe > /sys/kernel/mm/transparent_hugepage/enabled",
            "ethtool -C eth0 rx-usecs-irq 30",
            "ethtool -s eth0 speed 1000 duplex full autoneg on",
            "ip link set dev 'eth0 mtu 9000",
            "-l",
        ];
        for text in texts {
            assert_eq!(text.parse::<Setting>(), Err(NoCommand(text.to_owned())));
        }
    }

    #[test]
    fn a_setting_is_told_by_what_it_is_a_value_of() {
        let target = |text: &str| text.parse::<Setting>().expect("a command").target();
        let same = [
            ["sysctl -w net.core.rmem_max=1", "sysctl -w net.core.rmem_max=2"],
            ["ethtool -K eth0 tso on", "ethtool -K eth0 tso off"],
            ["echo 1 > /proc/irq/7/smp_affinity", "echo 2 > /proc/irq/7/smp_affinity"],
            ["ip link set dev eth0 mtu 1500", "ip link set dev eth0 mtu 9000"],
        ];
        for [one, other] in same {
            assert_eq!(target(one), target(other));
        }
        let targets: std::collections::BTreeSet<_> =
            same.iter().map(|[one, _]| target(one)).collect();
        assert_eq!(targets.len(), same.len());
        assert_ne!(target("systemctl stop irqbalance"), target("systemctl stop tuned"));
    }

    #[test]
    fn no_name_of_an_interface_is_more_than_a_word_to_a_shell() {
        for name in ["eth0;reboot", "$(reboot)", "a'b", "`x`", "a b", "", "a\"b", "a\\b", "a>b"] {
            let setting = Setting::Mtu { interface: name.to_owned(), bytes: 1_400 };
            let command = setting.to_string();
            assert_eq!(command.parse(), Ok(setting), "{command}");
        }
        let setting = Setting::Mtu { interface: "a;b'c".to_owned(), bytes: 1_400 };
        assert_eq!(setting.to_string(), r"ip link set dev 'a;b'\''c' mtu 1400");
    }

    #[test]
    fn sizes_keep_every_byte() {
        for size in [0, 1, 1_472, 1_024, 65_536, 1 << 20, (1 << 30) + 1] {
            let setting = Setting::Window(ByteSize::from_bytes(size));
            assert_eq!(setting.to_string().parse(), Ok(setting));
        }
    }
}
