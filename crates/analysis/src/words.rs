//! Numbers and hosts as sentences have them.

use measurement::Role;
pub(crate) use measurement::units::{counted, group_thousands as count};

/// The name of a host in a sentence: `this host`, `the server`, or that of an observed one.
pub(crate) fn host(role: &Role) -> String {
    match role {
        Role::Here => "this host".to_owned(),
        Role::Peer => "the server".to_owned(),
        Role::Observed(name) => name.clone(),
    }
}

/// A share from 0 to 1 in percent, to two significant digits: `0.042 %`, `1.2 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent < 0.1 => format!("{percent:.3} %"),
        _ if percent < 1.0 => format!("{percent:.2} %"),
        _ if percent < 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// CPU time as a number of CPUs: `0.41 CPUs`, `1.3 CPUs`.
pub(crate) fn cpus(number: f64) -> String {
    if number < 1.0 { format!("{number:.2} CPUs") } else { format!("{number:.1} CPUs") }
}

/// A large number to three significant digits, with thousands grouped: `81,300`.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the cast saturates")]
pub(crate) fn rounded(number: f64) -> String {
    let digits = 10_f64.powf((number.max(1.0).log10() - 2.0).floor().max(0.0));
    count(((number / digits).round() * digits) as u64)
}

/// `part` of `whole`, 0 to 1; 0 of nothing.
pub(crate) fn share(part: u64, whole: u64) -> f64 {
    if whole == 0 { 0.0 } else { part as f64 / whole as f64 }
}

/// Whether more than 2 % are missing: less is what clocks and the last block explain.
pub(crate) fn is_short(got: u64, wanted: u64) -> bool {
    u128::from(got) * 100 < u128::from(wanted) * 98
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_have_two_significant_digits() {
        let shown = [0.000_42, 0.0042, 0.012, 0.42, 1.0].map(percent);
        assert_eq!(shown, ["0.042 %", "0.42 %", "1.2 %", "42 %", "100 %"]);
        assert!(share(1, 0).abs() < f64::EPSILON);
    }

    #[test]
    fn cpu_time_is_a_number_of_cpus() {
        assert_eq!([0.414, 1.31, 12.0].map(cpus), ["0.41 CPUs", "1.3 CPUs", "12.0 CPUs"]);
    }

    #[test]
    fn large_numbers_are_rounded() {
        let shown = [0.0, 81.0, 1_907.3, 81_274.4, 999_999.0].map(rounded);
        assert_eq!(shown, ["0", "81", "1,910", "81,300", "1,000,000"]);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "datagram"), "1 datagram");
        assert_eq!(counted(1_234, "datagram"), "1,234 datagrams");
    }
}
