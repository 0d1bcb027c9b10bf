//! Where the datagrams of a test were lost, against what the kernel counted there.

use measurement::Ledger;
use measurement::judgement::Place;
use serde::{Deserialize, Serialize};

use super::super::seen::{Counted, Seen};
use super::super::step::At;
use super::Judged;
use crate::hosts::{ledger, lost_in};

/// What a ledger says.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
pub(crate) struct Places {
    lost: Vec<Lost>,
    #[serde(skip_serializing_if = "Option::is_none")]
    remainder: Option<Remainder>,
}

/// What is lost in one place.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", deny_unknown_fields)]
struct Lost {
    /// None: wherever.
    #[serde(rename = "in", skip_serializing_if = "Option::is_none")]
    place: Option<Place>,
    counted: Witness,
    is: Closeness,
    /// Whether nothing is lost elsewhere.
    #[serde(default)]
    alone: bool,
    /// Of the datagrams that were sent.
    #[serde(skip_serializing_if = "Option::is_none")]
    share: Option<[f64; 2]>,
}

/// A counter of the kernel that a test which loses nothing leaves as it is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(in crate::faults) enum Witness {
    /// What the queueing discipline of an interface dropped (tc(8)).
    Queue(At),
    /// What the first rule of INPUT that drops did drop (iptables(8)).
    Firewall(At),
    /// Datagrams for which a socket had no room (`RcvbufErrors`, /proc/net/snmp).
    Socket(At),
}

/// How close what is said comes to what was counted.
#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Closeness {
    Exactly,
    /// As much or more.
    AtLeast,
    /// Within two in a hundred, or a handful.
    Near,
    /// Within this share of the datagrams that were sent.
    OfSent(f64),
}

/// What no counter explains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Remainder {
    Zero,
    /// Zero is within its bounds.
    MaybeZero,
}

impl Places {
    pub(super) fn shown(&self) -> String {
        let shown = |place: Place| format!("{place:?}");
        let places = self.lost.iter().map(|lost| lost.place.map_or("anywhere".to_owned(), shown));
        places.collect::<Vec<_>>().join(" and ")
    }

    pub(super) fn witnesses(&self) -> Vec<Witness> {
        self.lost.iter().map(|lost| lost.counted).collect()
    }

    pub(super) fn judge(&self, seen: &Seen) -> Judged {
        let ledger = match seen.records.first().map(ledger) {
            Some(Ok(ledger)) => ledger,
            Some(Err(error)) => return Judged::new(false, "nothing", error.to_string()),
            None => return Judged::new(false, "nothing", "no record".to_owned()),
        };
        let mut pairs = self.lost.iter().zip(&seen.counted);
        let is_right = matches!(seen.code, 0 | 3)
            && pairs.all(|(lost, counted)| lost.is_in(ledger, counted))
            && self.remainder.is_none_or(|remainder| remainder.is_in(ledger))
            && is_conserved(ledger);
        let told = self.lost.iter().zip(&seen.counted);
        let told =
            told.map(|(lost, counted)| format!("; {:?} counted {}", lost.counted, counted.number));
        let text = format!("{}{}", show(ledger), told.collect::<String>());
        Judged::new(is_right, "ledger", text)
    }
}

impl Lost {
    fn is_in(&self, ledger: &Ledger, counted: &Counted) -> bool {
        let all = ledger.lost();
        let said = self.place.map_or(all, |place| lost_in(ledger, place));
        let share = said as f64 / ledger.sent.max(1) as f64;
        counted.number > 0
            && self.is.holds(said, counted.number, ledger.sent)
            && (!self.alone || self.is.holds(said, all, ledger.sent))
            && self.share.is_none_or(|[least, most]| (least..most).contains(&share))
            && self.names(ledger, &counted.interface)
    }

    /// A queue is one of an interface.
    fn names(&self, ledger: &Ledger, interface: &str) -> bool {
        let own = ledger.drops.iter().find(|dropped| Some(dropped.place) == self.place);
        let is_named = own.is_some_and(|dropped| dropped.counter.contains(interface));
        is_named || !matches!(self.counted, Witness::Queue(_))
    }
}

impl Witness {
    pub(in crate::faults) const fn at(self) -> At {
        match self {
            Self::Queue(at) | Self::Firewall(at) | Self::Socket(at) => at,
        }
    }

    /// Prints its number; `$0` is the interface.
    pub(in crate::faults) const fn script(self) -> &'static str {
        match self {
            Self::Queue(_) => {
                "tc -s qdisc show dev $0 | sed -n 's/.*dropped \\([0-9]*\\).*/\\1/p' | head -n 1"
            }
            Self::Firewall(_) => {
                "iptables-legacy -L INPUT -v -x -n | awk '/DROP/ { print $1; exit }'"
            }
            Self::Socket(_) => "nstat -asz UdpRcvbufErrors | awk 'END { print $2 }'",
        }
    }
}

impl Closeness {
    fn holds(self, said: u64, counted: u64, sent: u64) -> bool {
        match self {
            Self::Exactly => said == counted,
            Self::AtLeast => said >= counted,
            Self::Near => said.abs_diff(counted) * 50 <= counted.max(250),
            Self::OfSent(share) => said.abs_diff(counted) as f64 <= share * sent as f64,
        }
    }
}

impl Remainder {
    const fn is_in(self, ledger: &Ledger) -> bool {
        match self {
            Self::Zero => ledger.remainder == 0 && ledger.remainder_most == 0,
            Self::MaybeZero => ledger.remainder_least == 0,
        }
    }
}

fn is_conserved(ledger: &Ledger) -> bool {
    let placed: u64 = ledger.drops.iter().map(|dropped| dropped.datagrams).sum();
    let sum = ledger.received + ledger.late + ledger.in_flight + placed + ledger.remainder;
    sum == ledger.sent
}

fn show(ledger: &Ledger) -> String {
    let drops = ledger.drops.iter().filter(|dropped| dropped.datagrams > 0);
    let drops: Vec<_> = drops
        .map(|dropped| format!("{} in {:?}", dropped.datagrams, dropped.place))
        .chain([format!("{}..{} elsewhere", ledger.remainder_least, ledger.remainder_most)])
        .collect();
    format!("{} of {} lost: {}", ledger.lost(), ledger.sent, drops.join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn near_is_two_in_a_hundred_or_a_handful() {
        let is_near = |said, counted| Closeness::Near.holds(said, counted, 0);
        assert!(is_near(1_020, 1_000) && !is_near(1_030, 1_000));
        assert!(is_near(0, 5) && !is_near(0, 6));
    }
}
