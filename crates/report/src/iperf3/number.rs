//! Formats a number as C's `%g` (printf(3)), which Rust does not have.

/// `number` with at most `precision` significant digits, as `%.{precision}g` prints it.
pub(super) fn general(number: f64, precision: usize) -> String {
    let precision = precision.max(1);
    let digits = format!("{number:.*e}", precision - 1);
    let Some((mantissa, exponent)) = split_exponent(&digits) else { return digits };
    match usize::try_from(exponent) {
        Ok(exponent) if exponent < precision => {
            without_zeros(&format!("{number:.*}", precision - 1 - exponent)).to_owned()
        }
        Err(_) if exponent >= LEAST_FIXED => {
            let decimals = precision - 1 + exponent.unsigned_abs() as usize;
            without_zeros(&format!("{number:.decimals$}")).to_owned()
        }
        _ => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.unsigned_abs())
        }
    }
}

fn split_exponent(digits: &str) -> Option<(&str, i32)> {
    let (mantissa, exponent) = digits.split_once('e')?;
    Some((mantissa, exponent.parse().ok()?))
}

fn without_zeros(number: &str) -> &str {
    if number.contains('.') { number.trim_end_matches('0').trim_end_matches('.') } else { number }
}

/// Below this power of ten `%g` goes to the scientific form.
const LEAST_FIXED: i32 = -4;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_digits_print_as_in_c() {
        let cases = [
            (0.0, "0"),
            (0.5, "0.5"),
            (1.0, "1"),
            (12.5, "12"),
            (99.5, "1e+02"),
            (100.0, "1e+02"),
            (0.0123, "0.012"),
            (0.000_012_345, "1.2e-05"),
            (33.333, "33"),
            (-1.5, "-1.5"),
            (250.0, "2.5e+02"),
            (1234.0, "1.2e+03"),
        ];
        for (number, text) in cases {
            assert_eq!(general(number, 2), text);
        }
    }

    #[test]
    fn many_digits_print_as_in_c() {
        assert_eq!(general(0.1, 15), "0.1");
        assert_eq!(general(33.333, 17), "33.332999999999998");
        assert_eq!(general(0.000_012_345, 17), "1.2345e-05");
        assert_eq!(general(1e300, 15), "1e+300");
    }
}
