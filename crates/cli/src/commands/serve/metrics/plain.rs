//! The text format of Prometheus 0.0.4 from OpenMetrics 1.0, whose lines it shares but
//! for the families' heads. No I/O.

/// Counters have their suffix in the head too, an info is a gauge, and there are neither
/// units nor an end.
pub(super) fn from_open_metrics(text: &str) -> String {
    let mut plain = String::with_capacity(text.len());
    let mut family = String::new();
    let mut help = "";
    for line in text.lines() {
        let words: Vec<_> = line.splitn(4, ' ').collect();
        match words[..] {
            ["#", "HELP", _, words] => help = words,
            ["#", "TYPE", name, kind] => {
                let (suffix, kind) = match kind {
                    "counter" => ("_total", kind),
                    "info" => ("_info", "gauge"),
                    _ => ("", kind),
                };
                family = format!("{name}{suffix}");
                for part in ["# HELP ", &family, " ", help, "\n# TYPE ", &family, " ", kind, "\n"] {
                    plain.push_str(part);
                }
            }
            ["#", ..] => {}
            _ => {
                debug_assert!(line.starts_with(&family), "{line} is not of {family}");
                plain.push_str(line);
                plain.push('\n');
            }
        }
    }
    plain
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
}
