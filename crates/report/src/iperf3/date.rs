//! Formats an instant as RFC 1123 (5.2.14) writes it, in GMT; RFC 9110 (5.6.7) calls it an HTTP date.

use time::UtcDateTime;

/// `millis` after 1970 as `Sat, 21 Nov 2026 23:45:23 GMT`; what is later than the year 9999
/// is its end.
pub(super) fn rfc1123(millis: u64) -> String {
    let seconds = i64::try_from(millis / 1_000).unwrap_or(i64::MAX);
    let time = UtcDateTime::from_unix_timestamp(seconds).unwrap_or(UtcDateTime::MAX);
    let name = |text: String| text.chars().take(NAME).collect::<String>();
    format!(
        "{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
        name(time.weekday().to_string()),
        time.day(),
        name(time.month().to_string()),
        time.year(),
        time.hour(),
        time.minute(),
        time.second()
    )
}

/// Letters of the name of a day or a month, in English.
const NAME: usize = 3;

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
