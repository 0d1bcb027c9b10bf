//! Records in the text format of Prometheus 0.0.4, which the textfile collector of `node_exporter`
//! reads; it takes no OpenMetrics.

use std::io::{self, Write};

use measurement::RecordSet;

use super::{Export, OpenMetrics, SummaryWriter, Width};

/// Output format `prometheus`: the samples of [`OpenMetrics`] in the text format of Prometheus,
/// version 0.0.4.
#[derive(Clone, Copy, Debug)]
pub struct Prometheus;

impl Export for Prometheus {
    fn name(&self) -> &'static str {
        "prometheus"
    }

    fn summary(&self) -> &'static str {
        "Prometheus text 0.0.4, for node_exporter's textfile collector"
    }

    fn write(&self, records: &RecordSet, _: Width, out: &mut dyn Write) -> io::Result<()> {
        let mut text = Vec::new();
        OpenMetrics.write(records, Width::UNKNOWN, &mut text)?;
        out.write_all(from_open_metrics(&String::from_utf8_lossy(&text)).as_bytes())
    }

    fn summary_writer(&self) -> Option<SummaryWriter> {
        Some(|summary, out| {
            let mut text = Vec::new();
            summary.grid().write_open_metrics(summary.name(), &mut text)?;
            out.write_all(from_open_metrics(&String::from_utf8_lossy(&text)).as_bytes())
        })
    }
}

/// Converts OpenMetrics 1.0 to the text format of Prometheus 0.0.4, whose lines differ in the
/// heads of families only: counters have their suffix there too, an info and a state set are
/// gauges, and there are neither units nor an end.
pub fn from_open_metrics(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut head = Head::default();
    for line in text.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", name, help] => head.of(name).help = help,
            ["#", "TYPE", name, kind] => head.of(name).kind = kind,
            ["#", ..] => {}
            _ => {
                head.write(&mut plain);
                plain.push_str(line);
                plain.push('\n');
            }
        }
    }
    plain
}

/// What is known of a family before its first sample.
#[derive(Default)]
struct Head<'a> {
    name: &'a str,
    help: &'a str,
    kind: &'a str,
}

impl<'a> Head<'a> {
    /// The head of this family; a name that is new begins another one.
    fn of(&mut self, name: &'a str) -> &mut Self {
        if self.name != name {
            *self = Self { name, ..Self::default() };
        }
        self
    }

    /// Writes the head once.
    fn write(&mut self, plain: &mut String) {
        let (suffix, kind) = match std::mem::take(&mut self.kind) {
            "" => return,
            kind @ "counter" => ("_total", kind),
            "info" => ("_info", "gauge"),
            "stateset" => ("", "gauge"),
            "unknown" => ("", "untyped"),
            kind => ("", kind),
        };
        let Self { name, help, .. } = self;
        let lines =
            ["# HELP ", name, suffix, " ", help, "\n# TYPE ", name, suffix, " ", kind, "\n"];
        plain.extend(lines);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads_of_families_are_put_into_old_words() {
        let text = "\
# HELP a_bytes Bytes of a.
# TYPE a_bytes counter
# UNIT a_bytes bytes
a_bytes_total{way=\"up\"} 1
# HELP b A thing.
# TYPE b info
b_info{version=\"1\"} 1
# HELP c Some c.
# TYPE c gauge
c 2
# EOF
";
        let plain = "\
# HELP a_bytes_total Bytes of a.
# TYPE a_bytes_total counter
a_bytes_total{way=\"up\"} 1
# HELP b_info A thing.
# TYPE b_info gauge
b_info{version=\"1\"} 1
# HELP c Some c.
# TYPE c gauge
c 2
";
        assert_eq!(from_open_metrics(text), plain);
    }

    #[test]
    fn a_state_set_is_a_gauge_and_a_family_without_samples_is_left_out() {
        let text = "# TYPE d stateset\n# HELP d A d.\nd{d=\"on\"} 1\nd{d=\"off\"} 0\n\
                    # TYPE e gauge\n# HELP e An e.\n# EOF\n";
        let plain = "# HELP d A d.\n# TYPE d gauge\nd{d=\"on\"} 1\nd{d=\"off\"} 0\n";
        assert_eq!(from_open_metrics(text), plain);
    }
}
