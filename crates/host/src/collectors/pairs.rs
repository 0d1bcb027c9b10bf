//! The form of `/proc/net/snmp` and `/proc/net/netstat`: a line with names and, under it, one
//! with values, both with the protocol before them.

/// Calls `record` with protocol, name and value of each pair in `text`.
pub(super) fn each<'a>(text: &'a str, mut record: impl FnMut(&'a str, &'a str, i128)) {
    let mut lines = text.lines();
    while let Some(names) = lines.next() {
        let Some((protocol, names)) = names.split_once(':') else { continue };
        // The line with values of this protocol follows; if it does not, this is out of step.
        let values = lines.next().and_then(|line| line.split_once(':'));
        let Some((_, values)) = values.filter(|(of, _)| *of == protocol) else { return };
        if protocol.len() > super::softirqs::LONGEST {
            continue;
        }
        let values = values.split_ascii_whitespace().map_while(|word| word.parse().ok());
        for (name, value) in names.split_ascii_whitespace().zip(values) {
            record(protocol, name, value);
        }
    }
}

/// The value of a counter; none if it is negative or too large.
pub(super) fn count(value: i128) -> Option<u64> {
    u64::try_from(value).ok()
}

/// The value of a gauge; none if it is out of range.
pub(super) fn level(value: i128) -> Option<i64> {
    i64::try_from(value).ok()
}
