//! The form of `/proc/net/snmp` and `/proc/net/netstat`: a line with names and, under it, one
//! with values, both with the protocol before them.

/// Hands over protocol, name and value of everything in `text`.
pub(super) fn each<'a>(text: &'a str, mut tell: impl FnMut(&'a str, &'a str, i128)) {
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
            tell(protocol, name, value);
        }
    }
}

/// A counter of the kernel as far as it is one.
pub(super) fn count(value: i128) -> Option<u64> {
    u64::try_from(value).ok()
}

/// A gauge.
pub(super) fn level(value: i128) -> Option<i64> {
    i64::try_from(value).ok()
}
