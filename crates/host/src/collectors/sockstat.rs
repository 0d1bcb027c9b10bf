//! Gauges `sockstat.PROTOCOL.NAME`: how many sockets there are, and what memory they hold,
//! e.g. `sockstat.UDP.mem_pages`, from `/proc/net/sockstat` (`sockstat_seq_show` in
//! net/ipv4/proc.c).
//!
//! `mem` are pages, of the host as a whole, `memory` of fragments are bytes.

use measurement::Gap;
use measurement::host::{Family, Gauge};

use super::softirqs::LONGEST;
use super::{Collector, ReadOutcome};
use crate::source::Source;
use crate::{Reading, Tree};

pub(super) struct Sockstat {
    source: Source,
}

impl Default for Sockstat {
    fn default() -> Self {
        Self { source: Source::new("proc/net/sockstat") }
    }
}

impl Collector for Sockstat {
    fn family(&self) -> Family {
        Family::SOCKSTAT
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let text = self.source.text_or_gap(tree, "memory of sockets", "there is no /proc/net")?;
        parse(&text, into);
        Ok(ReadOutcome::Complete)
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    for line in text.lines() {
        let Some((protocol, rest)) = line.split_once(':') else { continue };
        if protocol.len() > LONGEST {
            continue;
        }
        let mut words = rest.split_ascii_whitespace();
        while let (Some(name), Some(value)) = (words.next(), words.next()) {
            let name = match name {
                "mem" => "mem_pages",
                "memory" => "memory_bytes",
                other => other,
            };
            if let Ok(value) = value.parse() {
                let name = format_args!("sockstat.{protocol}.{name}");
                into.gauge(Gauge::from_text(name), value);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::reading;
    use super::*;

    #[test]
    fn memory_has_its_unit() {
        let text = "sockets: used 10\nTCP: inuse 1 orphan 0 tw 0 alloc 1 mem 78\n\
                    UDP: inuse 0 mem 98\nFRAG: inuse 0 memory 4096\n";
        let reading = reading(|into| parse(text, into));
        let gauges: Vec<_> = reading.gauges().collect();
        for expected in [
            ("sockstat.sockets.used", 10),
            ("sockstat.TCP.mem_pages", 78),
            ("sockstat.UDP.mem_pages", 98),
            ("sockstat.FRAG.memory_bytes", 4096),
        ] {
            assert!(gauges.contains(&expected), "{gauges:?}");
        }
    }
}
