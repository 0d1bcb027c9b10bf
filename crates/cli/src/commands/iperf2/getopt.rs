//! Words of a command line as getopt_long(3) reads them, and the options that there are.

/// One option: its letter, its name, and whether it has a value.
struct Known(char, &'static str, Value);

/// Whether an option has a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Value {
    None,
    /// After `=` alone.
    Optional,
    Needed,
}

/// The options of one word, with their values, which may be the next of `words`.
pub(super) fn options(
    word: &str,
    words: &mut impl Iterator<Item = String>,
) -> Result<Vec<(char, Option<String>)>, String> {
    if let Some(long) = word.strip_prefix("--") {
        let (name, given) = match long.split_once('=') {
            Some((name, value)) => (name, Some(value.to_owned())),
            None => (long, None),
        };
        let Known(letter, _, takes) = by_name(name)?;
        let value = match (takes, given) {
            (Value::Needed, None) => Some(words.next().ok_or_else(|| lacks_value(word))?),
            (_, given) => given,
        };
        return Ok(vec![(*letter, value)]);
    }
    let Some(letters) = word.strip_prefix('-').filter(|letters| !letters.is_empty()) else {
        return Err(format!("'{word}' belongs to no option; the server follows -c"));
    };
    let mut found = Vec::new();
    for (at, letter) in letters.char_indices() {
        let Known(_, _, takes) = by_letter(letter)?;
        if *takes != Value::Needed {
            found.push((letter, None));
            continue;
        }
        let rest = &letters[at + letter.len_utf8()..];
        let value = if rest.is_empty() { words.next() } else { Some(rest.to_owned()) };
        found.push((letter, Some(value.ok_or_else(|| lacks_value(&format!("-{letter}")))?)));
        break;
    }
    Ok(found)
}

fn by_letter(letter: char) -> Result<&'static Known, String> {
    let known = KNOWN.iter().find(|known| known.0 == letter);
    known.ok_or_else(|| match LACKING.iter().find(|lacking| lacking.0 == letter) {
        Some(_) => lacks(&format!("-{letter}")),
        None => format!("iperf has no option -{letter}; iperf -h lists those that there are"),
    })
}

/// An option by its name, or by the begin of one name alone.
fn by_name(name: &str) -> Result<&'static Known, String> {
    let mut begun = KNOWN.iter().filter(|known| known.1.starts_with(name));
    let exact = KNOWN.iter().find(|known| known.1 == name);
    let only = match (begun.next(), begun.next()) {
        (Some(only), None) => Some(only),
        _ => None,
    };
    exact.or(only).ok_or_else(|| {
        if LACKING.iter().any(|lacking| lacking.1 == name) {
            lacks(&format!("--{name}"))
        } else {
            format!("iperf has no option --{name}; iperf -h lists those that there are")
        }
    })
}

fn lacks(option: &str) -> String {
    format!("{option} is an option of iperf that linerate does not have")
}

fn lacks_value(option: &str) -> String {
    format!("{option} needs a value; iperf -h lists the options")
}

/// The options that are there. Those whose effect is here what it always is come last.
const KNOWN: [Known; 37] = [
    Known('c', "client", Value::Needed),
    Known('s', "server", Value::None),
    Known('p', "port", Value::Needed),
    Known('u', "udp", Value::None),
    Known('R', "reverse", Value::None),
    Known('d', "dualtest", Value::None),
    Known('r', "tradeoff", Value::None),
    Known('L', "listenport", Value::Needed),
    Known(FULL_DUPLEX, "full-duplex", Value::None),
    Known(BOUNCE, "bounceback", Value::Optional),
    Known(BOUNCE_PERIOD, "bounceback-period", Value::Optional),
    Known(BOUNCE_HOLD, "bounceback-hold", Value::Needed),
    Known(BOUNCE_PLAIN, "bounceback-no-quickack", Value::None),
    Known(TRIP_TIMES, "trip-times", Value::None),
    Known(ISOCHRONOUS, "isochronous", Value::Optional),
    Known('t', "time", Value::Needed),
    Known('n', "num", Value::Needed),
    Known('b', "bandwidth", Value::Needed),
    Known('l', "len", Value::Needed),
    Known('i', "interval", Value::Needed),
    Known('P', "parallel", Value::Needed),
    Known('B', "bind", Value::Needed),
    Known('V', "ipv6_domain", Value::None),
    Known('H', "ssm-host", Value::Needed),
    Known('f', "format", Value::Needed),
    Known('y', "reportstyle", Value::Needed),
    Known('w', "window", Value::Needed),
    Known('M', "mss", Value::Needed),
    Known('N', "nodelay", Value::None),
    Known('Z', "tcp-congestion", Value::Needed),
    Known('Z', "linux-congestion", Value::Needed),
    Known('S', "tos", Value::Needed),
    Known('T', "ttl", Value::Needed),
    Known('h', "help", Value::None),
    Known('v', "version", Value::None),
    Known('e', "enhanced", Value::None),
    Known('m', "print_mss", Value::None),
];

/// Options of iperf 2.1.8 that are not there.
const LACKING: [(char, &str); 33] = [
    ('D', "daemon"),
    ('1', "singleclient"),
    ('U', "single_udp"),
    ('C', "compatibility"),
    ('F', "fileinput"),
    ('I', "stdin"),
    ('o', "output"),
    ('x', "reportexclude"),
    ('z', "realtime"),
    ('X', "peer-detect"),
    ('\0', "bounceback-congest"),
    ('\0', "connect-only"),
    ('\0', "connect-retries"),
    ('\0', "fq-rate"),
    ('\0', "hide-ips"),
    ('\0', "histograms"),
    ('\0', "incr-dstip"),
    ('\0', "incr-dstport"),
    ('\0', "incr-srcip"),
    ('\0', "incr-srcport"),
    ('\0', "ipg"),
    ('\0', "local-only"),
    ('\0', "near-congestion"),
    ('\0', "no-connect-sync"),
    ('\0', "no-udp-fin"),
    ('\0', "permit-key"),
    ('\0', "sum-only"),
    ('\0', "tap-dev"),
    ('\0', "tcp-quickack"),
    ('\0', "tcp-write-prefetch"),
    ('\0', "tcp-write-times"),
    ('\0', "txdelay-time"),
    ('\0', "txstart-time"),
];

/// In place of letters, of options that have a name alone.
pub(super) const FULL_DUPLEX: char = '\u{1}';
pub(super) const BOUNCE: char = '\u{2}';
pub(super) const BOUNCE_PERIOD: char = '\u{3}';
pub(super) const BOUNCE_HOLD: char = '\u{4}';
pub(super) const BOUNCE_PLAIN: char = '\u{5}';
pub(super) const TRIP_TIMES: char = '\u{6}';
pub(super) const ISOCHRONOUS: char = '\u{7}';

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_option_is_both_there_and_not() {
        for lacking in &LACKING {
            assert!(KNOWN.iter().all(|known| known.0 != lacking.0 && known.1 != lacking.1));
        }
    }
}
