//! A moment as RFC 1123 (5.2.14) writes it, in GMT.

/// `millis` after 1970 as `Sat, 21 Nov 2026 23:45:23 GMT`.
pub(super) fn rfc1123(millis: u64) -> String {
    let seconds = millis / 1000;
    let (days, second) = (seconds / SECONDS_PER_DAY, seconds % SECONDS_PER_DAY);
    let (year, month, day) = civil(days);
    format!(
        "{}, {day:02} {} {year} {:02}:{:02}:{:02} GMT",
        WEEKDAYS[(days % 7) as usize],
        MONTHS[month],
        second / 3600,
        second / 60 % 60,
        second % 60
    )
}

/// Year, month from 0 and day from 1 of a day after 1970.
fn civil(mut days: u64) -> (u64, usize, u64) {
    let mut year = 1970 + days / DAYS_PER_ERA * YEARS_PER_ERA;
    days %= DAYS_PER_ERA;
    while days >= days_of_year(year) {
        days -= days_of_year(year);
        year += 1;
    }
    let mut month = 0;
    while days >= days_of_month(year, month) {
        days -= days_of_month(year, month);
        month += 1;
    }
    (year, month, days + 1)
}

const fn is_leap(year: u64) -> bool {
    year.is_multiple_of(4) && (!year.is_multiple_of(100) || year.is_multiple_of(400))
}

const fn days_of_year(year: u64) -> u64 {
    if is_leap(year) { 366 } else { 365 }
}

const fn days_of_month(year: u64, month: usize) -> u64 {
    match month {
        1 if is_leap(year) => 29,
        1 => 28,
        3 | 5 | 8 | 10 => 30,
        _ => 31,
    }
}

const SECONDS_PER_DAY: u64 = 86_400;
/// The Gregorian calendar repeats after 400 years.
const YEARS_PER_ERA: u64 = 400;
const DAYS_PER_ERA: u64 = 146_097;
/// The first of January 1970 was a Thursday.
const WEEKDAYS: [&str; 7] = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn moments_read_as_date_prints_them() {
        let cases = [
            (0, "Thu, 01 Jan 1970 00:00:00 GMT"),
            (951_782_400, "Tue, 29 Feb 2000 00:00:00 GMT"),
            (1_795_304_723, "Sat, 21 Nov 2026 23:45:23 GMT"),
            (4_107_542_399, "Sun, 28 Feb 2100 23:59:59 GMT"),
            (4_107_542_400, "Mon, 01 Mar 2100 00:00:00 GMT"),
            (13_601_088_000, "Mon, 01 Jan 2401 00:00:00 GMT"),
        ];
        for (seconds, text) in cases {
            assert_eq!(rfc1123(seconds * 1000 + 999), text);
        }
    }

    #[test]
    fn the_end_of_time_is_reached_at_once() {
        assert!(rfc1123(u64::MAX).ends_with(" GMT"));
    }
}
