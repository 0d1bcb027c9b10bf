//! Numbers as the C library reads them: they end where their digits end, and what is no number is 0.

/// atoi(3) where a `long` has 64 bits: what does not fit saturates, and is cut to 32 bits.
#[expect(clippy::cast_possible_truncation, reason = "atoi(3) casts what strtol(3) gives to an int")]
pub(super) fn atoi(text: &str) -> i32 {
    strtol(text, 10).map_or(0, |number| number as i32)
}

/// strtol(3) with base 0: decimal, 0 for octal, 0x for hexadecimal; none: no digit came.
pub(super) fn of_any_base(text: &str) -> Option<i64> {
    let (_, digits) = sign(text);
    let prefixed = digits.as_bytes();
    let is_hexadecimal = prefixed.len() > 2
        && prefixed[0] == b'0'
        && prefixed[1].eq_ignore_ascii_case(&b'x')
        && prefixed[2].is_ascii_hexdigit();
    strtol(
        text,
        if is_hexadecimal {
            16
        } else if digits.starts_with('0') {
            8
        } else {
            10
        },
    )
}

fn strtol(text: &str, base: u32) -> Option<i64> {
    let (is_negative, digits) = sign(text);
    let digits = if base == 16 { digits.get(2..)? } else { digits };
    let values = digits.chars().map_while(|digit| digit.to_digit(base));
    let number = values.fold(None, |number: Option<i128>, digit| {
        let number = number.unwrap_or(0) * i128::from(base) + i128::from(digit);
        Some(number.min(i128::from(i64::MAX) + 1))
    })?;
    let number = if is_negative { -number } else { number };
    Some(i64::try_from(number).unwrap_or(i64::MAX))
}

/// atof(3), but that infinity is NaN.
pub(super) fn atof(text: &str) -> f64 {
    let word = sign(text).1.get(..3).unwrap_or_default().to_ascii_lowercase();
    if word == "inf" || word == "nan" {
        f64::NAN
    } else {
        strtod(text).map_or(0.0, |found| found.0)
    }
}

/// strtod(3): the number, and the text behind it; none: there is no number. Infinity and NaN are
/// none here.
pub(super) fn strtod(text: &str) -> Option<(f64, &str)> {
    let (is_negative, digits) = sign(text);
    let (number, rest) = hexadecimal(digits).or_else(|| decimal(digits))?;
    Some((if is_negative { -number } else { number }, rest))
}

fn decimal(text: &str) -> Option<(f64, &str)> {
    let whole = digits(text, 10);
    let fraction = text[whole..].strip_prefix('.').map_or(0, |rest| 1 + digits(rest, 10));
    if whole + fraction.saturating_sub(1) == 0 {
        return None;
    }
    let mantissa = whole + fraction;
    let end = mantissa + exponent(&text[mantissa..]);
    Some((text[..end].parse().ok()?, &text[end..]))
}

fn hexadecimal(text: &str) -> Option<(f64, &str)> {
    let text = text.strip_prefix("0x").or_else(|| text.strip_prefix("0X"))?;
    let end = digits(text, 16);
    if end == 0 {
        return None;
    }
    let values = text[..end].chars().filter_map(|digit| digit.to_digit(16));
    Some((values.fold(0.0, |number, digit| number * 16.0 + f64::from(digit)), &text[end..]))
}

/// Length of an exponent that `text` begins with; 0: it begins with none.
fn exponent(text: &str) -> usize {
    let Some(behind) = text.strip_prefix(['e', 'E']) else { return 0 };
    let signs = usize::from(behind.starts_with(['+', '-']));
    match digits(&behind[signs..], 10) {
        0 => 0,
        count => 1 + signs + count,
    }
}

/// How many digits `text` begins with.
fn digits(text: &str, base: u32) -> usize {
    text.find(|digit: char| !digit.is_digit(base)).unwrap_or(text.len())
}

/// Whether a number is negative, and the text behind blanks and sign.
fn sign(text: &str) -> (bool, &str) {
    // isspace(3) of the C locale.
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text.strip_prefix('+').unwrap_or(text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_whole_number_ends_where_its_digits_end() {
        for (text, number) in [("10s", 10), ("ten", 0), (" +7", 7), ("-1", -1), ("", 0), ("-", 0)] {
            assert_eq!(atoi(text), number, "{text}");
        }
        // glibc: LONG_MAX is all ones, of which the lower half is -1.
        let long = [("4294967296", 0), ("2147483648", i32::MIN), ("99999999999999999999", -1)];
        for (text, number) in long {
            assert_eq!(atoi(text), number, "{text}");
        }
    }

    #[test]
    fn the_base_is_in_the_number() {
        let cases = [("0x34", 52), ("064", 52), ("52", 52), ("0X1g", 1), ("08", 0), ("0x", 0)];
        for (text, number) in cases {
            assert_eq!(of_any_base(text), Some(number), "{text}");
        }
        assert_eq!((of_any_base("-5"), of_any_base("x")), (Some(-5), None));
    }

    #[test]
    fn a_real_number_is_the_longest_that_the_text_begins_with() {
        let cases = [
            ("1.5K", 1.5, "K"),
            (".5m", 0.5, "m"),
            ("1e3", 1000.0, ""),
            ("1ex", 1.0, "ex"),
            ("0x10", 16.0, ""),
            ("0x", 0.0, "x"),
            (" -5", -5.0, ""),
            ("2.", 2.0, ""),
            ("1.2.3", 1.2, ".3"),
        ];
        for (text, number, rest) in cases {
            assert_eq!(strtod(text), Some((number, rest)), "{text}");
        }
        for none in ["", ".", "K", "nan", "inf", "\u{fffd}", "-", "e3"] {
            assert_eq!(strtod(none), None, "{none}");
        }
        assert_eq!([atof("x"), atof("2x")].map(f64::to_bits), [0.0_f64, 2.0].map(f64::to_bits));
        assert!(atof("inf").is_nan() && atof("-NaN").is_nan());
    }
}
