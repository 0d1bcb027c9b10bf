//! All parameters of those queueing disciplines that have no classes: read, written again, and as
//! the words of tc(8). A discipline is known whole, or it is not known.

use super::message::{Message, attributes, u32_at};

/// The parameters of a queueing discipline, by the names of tc(8), in the units of its messages:
/// all that the kernel tells of it, so that the same discipline can be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    layout: &'static Layout,
    values: Vec<(&'static Known, u32)>,
}

impl Parameters {
    /// Reads `TCA_OPTIONS` of a qdisc of this kind. None: the kind, or one of its parameters, is
    /// not known here.
    pub fn read(kind: &str, options: &[u8]) -> Option<Self> {
        let layout = LAYOUTS.iter().find(|layout| layout.kind == kind)?;
        let values = match layout.form {
            Form::None => Vec::new(),
            Form::Limit => vec![(&layout.known[0], u32_at(options, 0..4)?)],
            Form::Attributes => {
                let read = |(number, value): (u16, &[u8])| {
                    let known = layout.known.iter().find(|known| known.attribute == number)?;
                    Some((known, known.read(value)?))
                };
                attributes(options).map(read).collect::<Option<_>>()?
            }
        };
        Some(Self { layout, values })
    }

    /// Reads what [`Self::text`] wrote of this kind.
    pub fn parse(kind: &str, text: &str) -> Option<Self> {
        let layout = LAYOUTS.iter().find(|layout| layout.kind == kind)?;
        let parse = |word: &str| {
            let (name, value) = word.split_once('=')?;
            let known = layout.known.iter().find(|known| known.name == name)?;
            Some((known, value.parse().ok()?))
        };
        let words = text.split(' ').filter(|word| !word.is_empty());
        Some(Self { layout, values: words.map(parse).collect::<Option<_>>()? })
    }

    /// Kind of the queueing discipline.
    pub const fn kind(&self) -> &'static str {
        self.layout.kind
    }

    /// The parameters as `name=value`, separated by spaces.
    pub fn text(&self) -> String {
        let words = self.values.iter().map(|(known, value)| format!("{}={value}", known.name));
        words.collect::<Vec<_>>().join(" ")
    }

    /// The parameters as tc(8) takes them, e.g. `limit 1000`.
    pub fn words(&self) -> String {
        let words = self.values.iter().filter_map(|(known, value)| known.words(*value));
        words.collect::<Vec<_>>().join(" ")
    }

    /// Appends them to a message as `TCA_OPTIONS` has them.
    pub(super) fn append(&self, message: Message, options: u16) -> Message {
        match self.layout.form {
            Form::None => message,
            Form::Limit => {
                let limit = self.values.first().map_or(0, |(_, limit)| *limit);
                message.attribute(options, &limit.to_ne_bytes())
            }
            Form::Attributes => message.nested(options, |message| {
                self.values.iter().fold(message, |message, (known, value)| {
                    message.attribute(known.attribute, &known.write(*value))
                })
            }),
        }
    }
}

/// How the options of a kind are written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    /// There are none that can be set.
    None,
    /// `struct tc_fifo_qopt`.
    Limit,
    /// An attribute each.
    Attributes,
}

/// The parameters of a kind.
#[derive(Debug, PartialEq, Eq)]
struct Layout {
    kind: &'static str,
    form: Form,
    known: &'static [Known],
}

/// A parameter.
#[derive(Debug, PartialEq, Eq)]
struct Known {
    attribute: u16,
    name: &'static str,
    unit: Unit,
}

/// What a number means, and how it is told and set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    /// A number.
    Plain,
    /// A number of 8 bits that is a flag: its name, or its name behind `no`.
    Flag,
    /// A flag of 32 bits.
    WideFlag,
    /// Microseconds, which the kernel keeps in units of 1024 ns (`codel_time_t`,
    /// include/net/codel.h): the same number would be rounded down once more.
    Codel,
    /// Microseconds.
    Micros,
    /// Nanoseconds.
    Nanos,
    /// Bytes per second; all bits set is no limit.
    Rate,
    /// The logarithm of a number.
    Log,
}

impl Known {
    fn read(&self, value: &[u8]) -> Option<u32> {
        match self.unit {
            Unit::Flag => value.first().copied().map(u32::from),
            _ => u32_at(value, 0..4),
        }
    }

    fn write(&self, value: u32) -> Vec<u8> {
        match self.unit {
            Unit::Flag => vec![u8::from(value != 0)],
            Unit::Codel => codel(value).to_ne_bytes().to_vec(),
            _ => value.to_ne_bytes().to_vec(),
        }
    }

    /// None: it is not to be told.
    fn words(&self, value: u32) -> Option<String> {
        let name = self.name;
        Some(match self.unit {
            Unit::Plain => format!("{name} {value}"),
            Unit::Flag | Unit::WideFlag if value == 0 => format!("no{name}"),
            Unit::Flag | Unit::WideFlag => name.to_owned(),
            Unit::Codel => format!("{name} {}us", codel(value)),
            Unit::Micros | Unit::Rate if value == u32::MAX => return None,
            Unit::Micros => format!("{name} {value}us"),
            Unit::Nanos => format!("{name} {value}ns"),
            Unit::Rate => format!("{name} {}bit", u64::from(value) * 8),
            Unit::Log => format!("{name} {}", 1_u64 << value.min(63)),
        })
    }
}

/// The microseconds that make the kernel tell so many.
fn codel(told: u32) -> u32 {
    let kept = (u64::from(told) * 1_000).div_ceil(1_024);
    u32::try_from((kept * 1_024).div_ceil(1_000)).unwrap_or(u32::MAX)
}

const fn known(attribute: u16, name: &'static str, unit: Unit) -> Known {
    Known { attribute, name, unit }
}

/// linux/pkt_sched.h; tc-pfifo(8), tc-bfifo(8), tc-fq(8), tc-fq_codel(8), tc-codel(8).
const LAYOUTS: [Layout; 7] = [
    Layout { kind: "noqueue", form: Form::None, known: &[] },
    // Its map of priorities cannot be set.
    Layout { kind: "pfifo_fast", form: Form::None, known: &[] },
    Layout { kind: "pfifo", form: Form::Limit, known: &[known(0, "limit", Unit::Plain)] },
    Layout { kind: "bfifo", form: Form::Limit, known: &[known(0, "limit", Unit::Plain)] },
    Layout {
        kind: "codel",
        form: Form::Attributes,
        known: &[
            known(1, "target", Unit::Codel),
            known(2, "limit", Unit::Plain),
            known(3, "interval", Unit::Codel),
            known(4, "ecn", Unit::WideFlag),
            known(5, "ce_threshold", Unit::Codel),
        ],
    },
    Layout {
        kind: "fq_codel",
        form: Form::Attributes,
        known: &[
            known(1, "target", Unit::Codel),
            known(2, "limit", Unit::Plain),
            known(3, "interval", Unit::Codel),
            known(4, "ecn", Unit::WideFlag),
            known(5, "flows", Unit::Plain),
            known(6, "quantum", Unit::Plain),
            known(7, "ce_threshold", Unit::Codel),
            known(8, "drop_batch", Unit::Plain),
            known(9, "memory_limit", Unit::Plain),
        ],
    },
    // Weights and priorities (Linux 6.7) are structures, and not known here.
    Layout {
        kind: "fq",
        form: Form::Attributes,
        known: &[
            known(1, "limit", Unit::Plain),
            known(2, "flow_limit", Unit::Plain),
            known(3, "quantum", Unit::Plain),
            known(4, "initial_quantum", Unit::Plain),
            known(5, "pacing", Unit::WideFlag),
            known(7, "maxrate", Unit::Rate),
            known(8, "buckets", Unit::Log),
            known(9, "refill_delay", Unit::Micros),
            known(10, "orphan_mask", Unit::Plain),
            known(11, "low_rate_threshold", Unit::Rate),
            known(12, "ce_threshold", Unit::Micros),
            known(13, "timer_slack", Unit::Nanos),
            known(14, "horizon", Unit::Micros),
            known(15, "horizon_drop", Unit::Flag),
        ],
    },
];

#[cfg(test)]
mod tests {
    use super::super::message::{HEADER_BYTES, attribute};
    use super::*;

    const OPTIONS: u16 = 2;

    fn options(values: &[(u16, u32)]) -> Vec<u8> {
        let message = values.iter().fold(Message::new(0, 0, &[]), |message, (kind, value)| {
            message.attribute(*kind, &value.to_ne_bytes())
        });
        message.finish(1)[HEADER_BYTES..].to_vec()
    }

    #[test]
    fn what_is_read_is_written_again() {
        let all = options(&[(1, 10_000), (2, 100), (7, u32::MAX), (8, 10)]);
        let fq = Parameters::read("fq", &all).expect("known");
        assert_eq!(fq.text(), "limit=10000 flow_limit=100 maxrate=4294967295 buckets=10");
        assert_eq!(fq.words(), "limit 10000 flow_limit 100 buckets 1024");
        assert_eq!(Parameters::parse("fq", &fq.text()), Some(fq.clone()));
        let message = fq.append(Message::new(0, 0, &[]), OPTIONS).finish(1);
        assert_eq!(attribute(&message[HEADER_BYTES..], OPTIONS), Some(&all[..]));
        let fifo = Parameters::read("pfifo", &1_000_u32.to_ne_bytes()).expect("known");
        assert_eq!((fifo.kind(), fifo.words().as_str()), ("pfifo", "limit 1000"));
    }

    #[test]
    fn a_time_of_codel_is_the_one_that_the_kernel_rounds_to_the_same() {
        for micros in [1_u32, 999, 4_999, 5_000, 99_999, 100_000, 1_000_000] {
            let kept = (u64::from(micros) * 1_000) >> 10;
            let told = u32::try_from((kept << 10) / 1_000).expect("small");
            let again = (u64::from(codel(told)) * 1_000) >> 10;
            assert_eq!(again, kept, "{micros} us");
        }
    }

    #[test]
    fn what_is_not_known_whole_is_not_known() {
        assert_eq!(Parameters::read("tbf", &[]), None);
        assert_eq!(Parameters::read("fq", &options(&[(1, 10), (16, 0)])), None);
        assert_eq!(Parameters::read("pfifo", &[0; 3]), None);
        assert_eq!(Parameters::parse("fq", "limit=many"), None);
    }
}
