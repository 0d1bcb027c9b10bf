//! The shape of a line of text: what is left when everything that differs between two
//! runs of one program is taken out.

use std::net::IpAddr;

/// Takes out of lines what differs between runs.
#[derive(Clone, Debug)]
pub(crate) struct Shaper {
    /// The path under which the program was started, which some of its errors repeat.
    program: String,
    units: Units,
}

/// What to do with the prefix of a unit of rates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Units {
    /// The command line fixes it, so it has to be the same.
    Fixed,
    /// It follows the rate.
    Free,
}

impl Shaper {
    pub(crate) fn new(program: &str, units: Units) -> Self {
        Self { program: program.to_owned(), units }
    }

    /// The line as it would read if the program were called iperf3 and nothing else.
    pub(crate) fn plain(&self, line: &str) -> String {
        let line = line.replace(&self.program, NAME);
        match (line.find(OURS), line.find(OURS).and_then(|start| line[start..].find(')'))) {
            (Some(start), Some(length)) => {
                format!("{}{}", &line[..start], &line[start + length + 1..])
            }
            _ => line,
        }
    }

    /// The shape of a line.
    pub(crate) fn shape(&self, line: &str) -> String {
        let plain = self.plain(line);
        let words = plain.split_whitespace().map(|word| self.word(word));
        words.collect::<Vec<_>>().join(" ")
    }

    fn word(&self, word: &str) -> String {
        let start = word.len() - word.trim_start_matches('"').len();
        let core = word[start..].trim_end_matches(PUNCTUATION);
        let (before, after) = (&word[..start], &word[start + core.len()..]);
        format!("{before}{}{after}", self.core(core))
    }

    fn core(&self, core: &str) -> String {
        match core.parse::<IpAddr>() {
            Ok(IpAddr::V4(_)) => return "ADDR4".to_owned(),
            Ok(IpAddr::V6(_)) => return "ADDR6".to_owned(),
            Err(_) => {}
        }
        if is_cookie(core) {
            return "COOKIE".to_owned();
        }
        if DAYS.contains(&core) {
            return "Day".to_owned();
        }
        if MONTHS.contains(&core) {
            return "Month".to_owned();
        }
        self.unit(core).unwrap_or_else(|| without_numbers(core))
    }

    fn unit(&self, core: &str) -> Option<String> {
        let (quantity, per_second) = match core.strip_suffix("/sec") {
            Some(quantity) => (quantity, "/sec"),
            None => (core, ""),
        };
        let base = BASES.iter().find(|base| quantity.ends_with(**base))?;
        let prefix = &quantity[..quantity.len() - base.len()];
        if self.units == Units::Fixed && !per_second.is_empty() {
            return Some(core.to_owned());
        }
        PREFIXES.contains(&prefix).then(|| format!("_{base}{per_second}"))
    }
}

/// Numbers become `0`, also those with fractions, an exponent, or the sign by which
/// some versions say that they are later than their number.
fn without_numbers(word: &str) -> String {
    let mut shape = String::new();
    let mut rest = word;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        shape += &rest[..start];
        shape.push('0');
        rest = after_number(&rest[start..]);
    }
    shape + rest
}

fn after_number(text: &str) -> &str {
    let digits =
        |text: &str| text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let mut end = digits(text);
    while text[end..].starts_with('.') && digits(&text[end + 1..]) > 0 {
        end += 1 + digits(&text[end + 1..]);
    }
    for sign in ["e+", "e-"] {
        let exponent = text[end..].strip_prefix(sign).map_or(0, digits);
        if exponent > 0 {
            return &text[end + sign.len() + exponent..];
        }
    }
    if &text[end..] == LATER { "" } else { &text[end..] }
}

/// 36 letters of base 32 (clause 2.3).
fn is_cookie(word: &str) -> bool {
    word.len() == COOKIE_LENGTH && word.bytes().all(|b| matches!(b, b'a'..=b'z' | b'2'..=b'7'))
}

const PUNCTUATION: [char; 4] = [',', ':', ';', '"'];
const COOKIE_LENGTH: usize = 36;
/// `3.16+` (clause 6.4).
const LATER: &str = "+";
const NAME: &str = "iperf3";
/// What linerate adds to its version.
const OURS: &str = " (linerate ";
const BASES: [&str; 2] = ["Bytes", "bits"];
const PREFIXES: [&str; 6] = ["", "K", "M", "G", "T", "P"];
const DAYS: [&str; 7] = ["Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    fn shape(line: &str) -> String {
        Shaper::new("/opt/x/iperf3-9.9", Units::Free).shape(line)
    }

    #[test]
    fn rows_of_different_magnitude_have_one_shape() {
        let slow = "[  5]   0.00-1.00   sec   160 KBytes  1.31 Mbits/sec  0.012 ms  0/5 (0%)  ";
        let fast = "[ 15]   1.00-2.00   sec  5.04 GBytes  43.2 Gbits/sec  1 ms  10/50 (1e+02%)  ";
        assert_eq!(shape(slow), shape(fast));
        assert_eq!(shape(slow), "[ 0] 0-0 sec 0 _Bytes 0 _bits/sec 0 ms 0/0 (0%)");
    }

    #[test]
    fn a_fixed_unit_stays() {
        let shaper = Shaper::new("x", Units::Fixed);
        assert_eq!(shaper.shape("5 MBytes 7 Kbits/sec"), "0 _Bytes 0 Kbits/sec");
    }

    #[test]
    fn bits_are_not_bytes() {
        assert_ne!(shape("7 Kbits/sec"), shape("7 KBytes/sec"));
    }

    #[test]
    fn names_dates_addresses_and_cookies_are_taken_out() {
        assert_eq!(shape("Time: Sat, 21 Nov 2026 23:37:10 GMT"), "Time: Day, 0 Month 0 0:0:0 GMT");
        assert_eq!(shape("to ::1, port 7"), "to ADDR6, port 0");
        assert_eq!(shape("Cookie: f37pf2z4x5ujcg6skvlbcurlshodlcoo7liu"), "Cookie: COOKIE");
        assert_eq!(shape("\"version\": \"iperf 3.16+\","), "\"version\": \"iperf 0\",");
        assert_eq!(shape("iperf 3.16+"), shape("iperf 3.19.1"));
        assert_eq!(shape("/opt/x/iperf3-9.9: bad"), shape("iperf3: bad"));
        assert_eq!(shape("iperf 3.21 (linerate 0.1.0)"), "iperf 0");
    }
}
