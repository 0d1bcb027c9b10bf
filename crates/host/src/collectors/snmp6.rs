//! `snmp6.NAME`: what the protocols of IPv6 count, e.g. `snmp6.Udp6RcvbufErrors`, from
//! `/proc/net/snmp6` (`snmp6_seq_show` in net/ipv6/proc.c).
//!
//! Types of ICMP messages (`Icmp6InType135`) are reported only once there was one.

use measurement::Gap;
use measurement::host::{Counter, Family};

use super::softirqs::LONGEST;
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Snmp6 {
    source: Source,
}

impl Default for Snmp6 {
    fn default() -> Self {
        Self { source: Source::new("proc/net/snmp6") }
    }
}

impl Collector for Snmp6 {
    fn family(&self) -> Family {
        Family::SNMP6
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let absent = "this kernel has no IPv6, or it is off (ipv6.disable=1)";
        let text = self.source.text_or_gap(tree, "counters of IPv6", absent)?;
        parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    for line in text.lines() {
        let mut words = line.split_ascii_whitespace();
        let (Some(name), Some(value)) = (words.next(), words.next()) else { continue };
        let Ok(value) = value.parse() else { continue };
        if name.len() > LONGEST {
            continue;
        }
        let full = format_args!("snmp6.{name}");
        if name.starts_with("Icmp6InType") || name.starts_with("Icmp6OutType") {
            into.counter_from_zero(Counter::from_text(full), value);
        } else {
            into.counter(Counter::from_text(full), value);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn a_line_is_a_counter() {
        let text = "Ip6InReceives                   \t1250\n\
                    Icmp6InType135                  \t7\n\
                    Udp6RcvbufErrors                \t3\n";
        let counted = counted(|into| parse(text, into));
        assert_eq!(counted.len(), 3);
        assert_eq!(counted["snmp6.Udp6RcvbufErrors"], 3);
    }
}
