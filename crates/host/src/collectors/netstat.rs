//! `netstat.PROTOCOL.NAME`: what Linux counts beyond the standards, e.g.
//! `netstat.TcpExt.TCPLostRetransmit`, from `/proc/net/netstat` (`TcpExt`, `IpExt`, and
//! `MPTcpExt` since Linux 5.7; Documentation/networking/snmp_counter.rst).

use measurement::Gap;
use measurement::host::{Counter, Family, Gauge};

use super::pairs;
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Netstat {
    source: Source,
}

impl Default for Netstat {
    fn default() -> Self {
        Self { source: Source::new("proc/net/netstat") }
    }
}

impl Collector for Netstat {
    fn family(&self) -> Family {
        Family::NETSTAT
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let what = "further counters of TCP and IP";
        let text = self.source.text_or_gap(tree, what, "there is no /proc/net")?;
        parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    pairs::each(text, |protocol, name, value| {
        let full = format_args!("netstat.{protocol}.{name}");
        if GAUGES.contains(&name) {
            if let Some(value) = pairs::level(value) {
                into.gauge(Gauge::from_text(full), value);
            }
        } else if let Some(value) = pairs::count(value) {
            into.counter(Counter::from_text(full), value);
        }
    });
}

/// Connections of MPTCP that there are.
const GAUGES: [&str; 1] = ["MPCurrEstab"];

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn all_three_protocols_are_counted() {
        let text = "TcpExt: SyncookiesSent TCPTimeouts\nTcpExt: 0 12\n\
                    IpExt: InNoRoutes InOctets\nIpExt: 1 18446744073709551615\n\
                    MPTcpExt: MPCapableSYNRX MPCurrEstab\nMPTcpExt: 2 3\n";
        let counted = counted(|into| parse(text, into));
        assert_eq!(counted.len(), 5);
        assert_eq!(counted["netstat.TcpExt.TCPTimeouts"], 12);
        assert_eq!(counted["netstat.IpExt.InOctets"], u64::MAX);
    }
}
