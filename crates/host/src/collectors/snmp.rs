//! `snmp.PROTOCOL.NAME`: what the protocols of IPv4 count, e.g. `snmp.Udp.RcvbufErrors`, from
//! `/proc/net/snmp` (proc_net(5), Documentation/networking/snmp_counter.rst).
//!
//! Some of it are no counters: whether it forwards, how many connections there are. Those
//! are gauges. Types of ICMP messages (`IcmpMsg`) are reported only once there was one.

use measurement::Gap;
use measurement::host::{Counter, Family, Gauge};

use super::pairs;
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Snmp {
    source: Source,
}

impl Default for Snmp {
    fn default() -> Self {
        Self { source: Source::new("proc/net/snmp") }
    }
}

impl Collector for Snmp {
    fn family(&self) -> Family {
        Family::SNMP
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let text = self.source.text_or_gap(tree, "counters of IPv4", "there is no /proc/net")?;
        parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    pairs::each(text, |protocol, name, value| {
        let full = format_args!("snmp.{protocol}.{name}");
        if GAUGES.contains(&(protocol, name)) {
            if let Some(value) = pairs::level(value) {
                into.gauge(Gauge::from_text(full), value);
            }
        } else if let Some(value) = pairs::count(value) {
            match protocol {
                "IcmpMsg" => into.counter_from_zero(Counter::from_text(full), value),
                _ => into.counter(Counter::from_text(full), value),
            }
        }
    });
}

const GAUGES: [(&str, &str); 7] = [
    ("Ip", "Forwarding"),
    ("Ip", "DefaultTTL"),
    ("Tcp", "RtoAlgorithm"),
    ("Tcp", "RtoMin"),
    ("Tcp", "RtoMax"),
    ("Tcp", "MaxConn"),
    ("Tcp", "CurrEstab"),
];

#[cfg(test)]
mod tests {
    use super::super::tests::{counted, reading};
    use super::*;

    const TEXT: &str = "\
Ip: Forwarding DefaultTTL InReceives InHdrErrors
Ip: 1 64 30452387 0
IcmpMsg: InType3 OutType3
IcmpMsg: 128 130
Tcp: RtoAlgorithm RtoMin RtoMax MaxConn ActiveOpens CurrEstab
Tcp: 1 200 120000 -1 30591 7
Udp: InDatagrams NoPorts InErrors OutDatagrams RcvbufErrors SndbufErrors InCsumErrors IgnoredMulti MemErrors
Udp: 6171404 108 152 16182437 149 0 0 0 3
";

    #[test]
    fn counters_are_counted_and_levels_are_gauges() {
        let counted = counted(|into| parse(TEXT, into));
        assert_eq!(counted["snmp.Udp.RcvbufErrors"], 149);
        assert_eq!(counted["snmp.Udp.MemErrors"], 3);
        assert_eq!(counted["snmp.Ip.InReceives"], 30_452_387);
        assert!(!counted.contains_key("snmp.Tcp.CurrEstab"));
        let reading = reading(|into| parse(TEXT, into));
        let gauges: Vec<_> = reading.gauges().collect();
        assert!(gauges.contains(&("snmp.Tcp.CurrEstab", 7)), "{gauges:?}");
        assert!(gauges.contains(&("snmp.Tcp.MaxConn", -1)), "{gauges:?}");
    }

    #[test]
    fn an_older_kernel_has_fewer_and_a_torn_text_what_is_whole() {
        let old = "Udp: InDatagrams NoPorts InErrors OutDatagrams\nUdp: 1 2 3 4\n";
        assert_eq!(counted(|into| parse(old, into)).len(), 4);
        let torn = &TEXT[..TEXT.find("-1").expect("there")];
        assert!(counted(|into| parse(torn, into)).contains_key("snmp.IcmpMsg.OutType3"));
        assert!(counted(|into| parse("Ip: A\nTcp: 1\nTcp: B\nTcp: 2\n", into)).is_empty());
    }
}
