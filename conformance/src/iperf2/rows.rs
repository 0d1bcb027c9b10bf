//! The rows that iperf2 prints.

use std::collections::BTreeMap;

/// All that is told to have been moved, in KBytes: of each stream the last row, which is that of the
/// whole test; of a program that tells of all streams together alone, that.
pub(super) fn kilobytes(text: &str) -> f64 {
    let mut is_report = false;
    let (mut streams, mut sums) = (BTreeMap::new(), 0.0);
    // A number may be given again to a later stream.
    let mut connected = 0;
    for line in text.lines() {
        connected += usize::from(line.contains(" connected with "));
        // The row after it is that of the other end.
        if line.contains("Server Report") {
            is_report = true;
            continue;
        }
        let Some((label, moved)) = moved(line) else { continue };
        if std::mem::take(&mut is_report) {
            continue;
        }
        if label.contains("SUM") {
            sums += moved;
        } else {
            streams.insert((connected, label), moved);
        }
    }
    if streams.is_empty() { sums } else { streams.values().sum() }
}

/// `[  1] 0.0000-1.0012 sec   123 KBytes   123 KBytes/sec`: `[  1`, 123; none: it is no row.
fn moved(line: &str) -> Option<(&str, f64)> {
    let (head, rest) = line.split_once(" sec ")?;
    let (label, _) = head.split_once(']').filter(|(label, _)| label.starts_with('['))?;
    let mut words = rest.split_whitespace();
    let (number, unit) = (words.next()?.parse::<f64>().ok()?, words.next()?);
    let kilobytes = match unit {
        "Bytes" => number / 1_024.0,
        "KBytes" => number,
        "MBytes" => number * 1_024.0,
        "GBytes" => number * 1_048_576.0,
        _ => return None,
    };
    Some((label, kilobytes))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_streams_are_added_once() {
        let text = "\
[ ID] Interval       Transfer     Bandwidth
[  1] 0.0000-0.5000 sec  50.0 KBytes   100 KBytes/sec
[  1] 0.0000-1.0012 sec   100 KBytes   100 KBytes/sec
[ *1] 0.0000-1.0012 sec  1.00 MBytes  1.00 MBytes/sec
[SUM] 0.0000-1.0012 sec  1124 KBytes  1124 KBytes/sec
[  3]  0.0- 1.0 sec   512 Bytes   512 Bytes/sec
[  1] Server Report:
[  1] 0.0000-1.0012 sec   100 KBytes   100 KBytes/sec   0.012 ms    0/   72 (0%)
";
        assert!((kilobytes(text) - 1_124.5).abs() < 1e-9);
        let sums = "[SUM] 0.0000-0.0019 sec  2.00 MBytes  8.65 Gbits/sec\n".repeat(2);
        assert!((kilobytes(&sums) - 4_096.0).abs() < 1e-9);
    }
}
