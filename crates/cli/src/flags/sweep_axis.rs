//! The value of `--over`: an axis of a sweep, and its settings.

use std::fmt;
use std::str::FromStr;

use clap::ValueEnum;
use measurement::engine::{Engine, choosable_engines};
use measurement::remedy::{Ring, Setting as HostSetting, Switch};
use measurement::{BitRate, ByteSize, PayloadPages};
use report::plot::Unit;
use report::sweep::{Dimension, Setting};

use super::cpus::usable_cpus;
use super::points::parse_points;

/// What a sweep varies, and its settings in the order in which they were typed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Over {
    pub(crate) axis: Axis,
    /// None was typed: the usual ones.
    pub(crate) settings: Option<Vec<Setting>>,
}

/// An option of a test that a sweep varies.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Axis {
    Rate,
    Size,
    Streams,
    Buffer,
    Write,
    Mss,
    Pages,
    Congestion,
    Engine,
    Placement,
    Direction,
    Mtu,
    Offload,
    Ring,
    Qdisc,
}

/// Reads `rate=10M,20M`, or `rate` alone.
pub(super) fn parse_over(text: &str) -> Result<Over, String> {
    let (name, list) = text.split_once('=').map_or((text, None), |(name, list)| (name, Some(list)));
    let axis = Axis::from_str(name, true).map_err(|_| {
        let names: Vec<_> = Axis::value_variants().iter().map(ToString::to_string).collect();
        format!("there is no axis '{name}': type {}", names.join(", "))
    })?;
    let settings = list.map(|list| axis.settings(list)).transpose()?;
    Ok(Over { axis, settings })
}

impl Axis {
    /// How the axis is shown.
    pub(crate) const fn dimension(self) -> Dimension {
        let (title, key, unit) = match self {
            Self::Rate => ("rate", "rate_bits_per_second", Some(Unit::BitsPerSecond)),
            Self::Size => ("size", "datagram_bytes", Some(Unit::Bytes)),
            Self::Streams => ("streams", "streams", Some(Unit::Count)),
            Self::Buffer => ("buffer", "buffer_bytes", Some(Unit::Bytes)),
            Self::Write => ("write", "write_bytes", Some(Unit::Bytes)),
            Self::Mss => ("MSS", "mss_bytes", Some(Unit::Bytes)),
            Self::Pages => ("pages", "payload_pages", None),
            Self::Congestion => ("congestion", "congestion", None),
            Self::Engine => ("engine", "engine", None),
            Self::Placement => ("CPUs", "cpus", None),
            Self::Direction => ("test", "test_direction", None),
            Self::Mtu => ("MTU", "mtu_bytes", Some(Unit::Bytes)),
            Self::Offload => ("offloads", "offloads", None),
            Self::Ring => ("ring", "ring_entries", Some(Unit::Count)),
            Self::Qdisc => ("qdisc", "qdisc", None),
        };
        Dimension { title, key, unit, shows_packets: matches!(self, Self::Size) }
    }

    /// The settings of this host that a point of this axis has while it runs, at an interface; empty: the
    /// axis is one of the test.
    pub(crate) fn of_host(self, interface: &str, point: &Setting) -> Vec<HostSetting> {
        let interface = || interface.to_owned();
        match (self, point) {
            (Self::Mtu, Setting::Number(bytes)) => {
                let bytes = u32::try_from(*bytes).unwrap_or(u32::MAX);
                vec![HostSetting::Mtu { interface: interface(), bytes }]
            }
            (Self::Ring, Setting::Number(entries)) => vec![HostSetting::Ring {
                interface: interface(),
                ring: Ring::Rx,
                entries: *entries,
            }],
            (Self::Qdisc, Setting::Name(kind)) => {
                vec![HostSetting::RootQdisc { interface: interface(), kind: kind.clone() }]
            }
            (Self::Offload, Setting::Name(name)) => {
                let states = offloads(name).unwrap_or_default().into_iter();
                let feature = |(feature, state)| HostSetting::Feature {
                    interface: interface(),
                    feature,
                    state,
                };
                states.map(feature).collect()
            }
            _ => Vec::new(),
        }
    }

    /// Whether its points are settings of this host.
    pub(crate) const fn is_of_host(self) -> bool {
        matches!(self, Self::Mtu | Self::Offload | Self::Ring | Self::Qdisc)
    }

    /// The settings in a list.
    fn settings(self, list: &str) -> Result<Vec<Setting>, String> {
        let numbers = |read: &dyn Fn(&str) -> Result<u64, String>| {
            let points = parse_points(list, read)?;
            Ok(points.into_iter().map(Setting::Number).collect())
        };
        match self {
            Self::Rate => numbers(&|text| Ok(read::<BitRate>(text)?.bits_per_second())),
            Self::Size | Self::Buffer | Self::Write => {
                numbers(&|text| Ok(read::<ByteSize>(text)?.bytes()))
            }
            Self::Streams | Self::Mss | Self::Mtu | Self::Ring => {
                numbers(&|text| text.parse().map_err(|_| format!("'{text}' is not a whole number")))
            }
            Self::Pages => names(list, |name| match PayloadPages::named(name) {
                Some(_) => Ok(()),
                None => Err(format!("there are no pages '{name}': type base or huge")),
            }),
            Self::Congestion | Self::Qdisc => names(list, |_| Ok(())),
            Self::Offload => names(list, |name| offloads(name).map(drop)),
            Self::Engine => names(list, is_engine),
            Self::Placement => names(list, |name| placement(name).map(drop)),
            Self::Direction => names(list, |name| match name {
                SEND | RECEIVE | BOTH => Ok(()),
                _ => Err(format!("there is no direction '{name}': type send, receive or both")),
            }),
        }
    }
}

/// The CPUs of a placement, with `+` between them; empty: any.
pub(crate) fn placement(name: &str) -> Result<Vec<usize>, String> {
    if name == ANY {
        return Ok(Vec::new());
    }
    Ok(usable_cpus(&name.replace('+', ","))?.0)
}

/// The offloads that a name switches: `gro+tso` those on and the other usual ones off, `none` all of these
/// off, `all` on. Others than the usual ones are switched on by their name.
fn offloads(names: &str) -> Result<Vec<(String, Switch)>, String> {
    let usual = |is_on: &dyn Fn(&str) -> bool| {
        let state = |name: &str| if is_on(name) { Switch::On } else { Switch::Off };
        USUAL_OFFLOADS.map(|name| (name.to_owned(), state(name))).to_vec()
    };
    if matches!(names, "none" | "all") {
        return Ok(usual(&|_| names == "all"));
    }
    let listed: Vec<_> = names.split('+').collect();
    let is_word = |name: &&str| {
        !name.is_empty()
            && name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '-')
    };
    if let Some(other) = listed.iter().find(|name| !is_word(name)) {
        return Err(format!("there is no offload '{other}': type none, all, or tso+gso+gro"));
    }
    let mut all = usual(&|name| listed.contains(&name));
    let further = listed.iter().filter(|name| !USUAL_OFFLOADS.contains(name));
    all.extend(further.map(|name| ((*name).to_owned(), Switch::On)));
    Ok(all)
}

/// Usual sets of offloads.
pub(crate) const OFFLOADS: [&str; 4] = ["none", "gro", "tso", "all"];
/// Offloads of the documents and forums, in the order in which they are switched.
const USUAL_OFFLOADS: [&str; 3] = ["gso", "tso", "gro"];

fn read<T: FromStr<Err: fmt::Display>>(text: &str) -> Result<T, String> {
    text.parse().map_err(|error: T::Err| error.to_string())
}

/// Names between commas, each once.
fn names(list: &str, check: impl Fn(&str) -> Result<(), String>) -> Result<Vec<Setting>, String> {
    let mut settings = Vec::new();
    for name in list.split(',').map(str::trim) {
        if name.is_empty() {
            return Err("a name is missing between two commas".to_owned());
        }
        check(name)?;
        let setting = Setting::Name(name.to_owned());
        if !settings.contains(&setting) {
            settings.push(setting);
        }
    }
    Ok(settings)
}

/// Several engines, of the sender and the receiver, have `+` between them.
fn is_engine(names: &str) -> Result<(), String> {
    let unknown = names.split('+').find(|name| {
        Engine::named(name).is_none_or(|one| choosable_engines().all(|engine| engine != one))
    });
    unknown.map_or(Ok(()), |name| Err(format!("there is no engine '{name}': see --engine")))
}

impl fmt::Display for Axis {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.to_possible_value();
        f.pad(value.as_ref().map_or("", |value| value.get_name()))
    }
}

/// Any CPU on which the process may run.
pub(crate) const ANY: &str = "any";
pub(crate) const SEND: &str = "send";
pub(crate) const RECEIVE: &str = "receive";
pub(crate) const BOTH: &str = "both";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn axes_have_lists_of_their_own_kind() {
        let numbers = |text: &str| parse_over(text).map(|over| over.settings);
        let list = |numbers: &[u64]| Some(numbers.iter().copied().map(Setting::Number).collect());
        assert_eq!(numbers("rate=1M,2M"), Ok(list(&[1_000_000, 2_000_000])));
        assert_eq!(numbers("write=1K..4K"), Ok(list(&[1_024, 2_048, 4_096])));
        assert_eq!(numbers("streams=1..8"), Ok(list(&[1, 2, 4, 8])));
        assert_eq!(parse_over("direction").map(|over| over.settings), Ok(None));
        let engines = parse_over("engine=write,sendfile+msg-trunc,write").expect("engines");
        assert_eq!(engines.settings.map(|settings| settings.len()), Some(2));
    }

    #[test]
    fn axes_of_the_host_have_settings_of_an_interface() {
        let shown = |text: &str| {
            let over = parse_over(text).expect(text);
            let points = over.settings.expect("typed");
            let each = points.iter().map(|point| {
                let settings = over.axis.of_host("eth0", point);
                settings.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
            });
            each.collect::<Vec<_>>()
        };
        assert_eq!(shown("mtu=1500"), ["ip link set dev eth0 mtu 1500"]);
        assert_eq!(shown("ring=256"), ["ethtool -G eth0 rx 256"]);
        assert_eq!(shown("qdisc=fq"), ["tc qdisc replace dev eth0 root fq"]);
        let k = "ethtool -K eth0";
        assert_eq!(
            shown("offload=none,gro+lro"),
            [
                format!("{k} gso off; {k} tso off; {k} gro off"),
                format!("{k} gso off; {k} tso off; {k} gro on; {k} lro on"),
            ]
        );
        assert_eq!(shown("streams=2"), [""]);
    }

    #[test]
    fn what_is_no_setting_is_refused() {
        for (text, words) in [
            ("speed", "no axis 'speed': type rate, size, streams, buffer, write, mss,"),
            ("rate=fast", "is not a rate"),
            ("streams=1K", "not a whole number"),
            ("engine=magic", "no engine 'magic'"),
            ("direction=up", "type send, receive or both"),
            ("pages=4K", "no pages '4K': type base or huge"),
            ("congestion=", "a name is missing"),
            ("placement=1023", "no CPU 1023"),
            ("offload=gro+", "no offload ''"),
            ("mtu=big", "not a whole number"),
        ] {
            let error = parse_over(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
