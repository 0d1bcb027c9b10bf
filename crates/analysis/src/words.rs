//! Numbers and hosts as sentences have them.

use measurement::Role;
pub(crate) use measurement::units::group_thousands as count;

/// Who a host is in a sentence.
pub(crate) fn host(role: &Role) -> String {
    match role {
        Role::Here => "this host".to_owned(),
        Role::Peer => "the server".to_owned(),
        Role::Observed(name) => name.clone(),
    }
}

/// A share from 0 to 1 in percent, with two digits that tell something: `0.042 %`, `1.2 %`.
pub(crate) fn percent(share: f64) -> String {
    let percent = 100.0 * share;
    match percent {
        _ if percent < 0.1 => format!("{percent:.3} %"),
        _ if percent < 1.0 => format!("{percent:.2} %"),
        _ if percent < 10.0 => format!("{percent:.1} %"),
        _ => format!("{percent:.0} %"),
    }
}

/// `1 datagram`, `2 datagrams`.
pub(crate) fn counted(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", count(number))
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
    fn shares_have_two_digits_that_tell_something() {
        let shown = [0.000_42, 0.0042, 0.012, 0.42, 1.0].map(percent);
        assert_eq!(shown, ["0.042 %", "0.42 %", "1.2 %", "42 %", "100 %"]);
        assert!(share(1, 0).abs() < f64::EPSILON);
    }

    #[test]
    fn one_is_not_many() {
        assert_eq!(counted(1, "datagram"), "1 datagram");
        assert_eq!(counted(1_234, "datagram"), "1,234 datagrams");
    }
}
