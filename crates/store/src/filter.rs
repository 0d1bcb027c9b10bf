//! Which runs are looked for, as a condition of SQL.

use std::fmt::{self, Display, Formatter};
use std::str::FromStr;
use std::time::Duration;

use measurement::is_shown;
use rusqlite::types::Value;
use time::UtcDateTime;
use time::format_description::well_known::Rfc3339;

/// A label of a run: `name=value`, or `name`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Tag {
    /// The name; not empty.
    pub name: String,
    /// The value; empty: it has none.
    pub value: String,
}

impl Tag {
    /// Reads `name` or `name=value`.
    ///
    /// # Errors
    /// The text is longer than 64 characters or has one that does not show ([`is_shown`]), the name
    /// is blank, or it names a run by itself: a number, or `last`.
    pub fn read(text: &str) -> Result<Self, String> {
        if text.chars().count() > LONGEST {
            return Err(format!("a tag has at most {LONGEST} characters: type for example before"));
        }
        if !text.chars().all(is_shown) {
            return Err("a tag has no control characters: type for example before".to_owned());
        }
        let (name, value) = text.split_once('=').unwrap_or((text, ""));
        let is_run = name == "last" || name.starts_with("last~") || name.parse::<u64>().is_ok();
        if name.trim().is_empty() || is_run {
            return Err(format!("'{text}' is no name of a tag: type for example before"));
        }
        Ok(Self { name: name.to_owned(), value: value.to_owned() })
    }

    /// As it is typed.
    pub(crate) fn shown(name: &str, value: &str) -> String {
        if value.is_empty() { name.to_owned() } else { format!("{name}={value}") }
    }
}

impl Display for Tag {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&Self::shown(&self.name, &self.value))
    }
}

/// Which runs are looked for: those that all of its parts hold for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Filter {
    /// Name of the host that tested, or address of its peer.
    pub host: Option<String>,
    /// Earliest start, in milliseconds since the Unix epoch.
    pub since_millis: Option<i64>,
    /// A label; without a value, any value of it.
    pub tag: Option<Tag>,
    /// Part of the title of a row, in whatever case; other rows of a run are left out.
    pub row: Option<String>,
    /// How many runs at most, the latest.
    pub most: Option<u32>,
}

impl Filter {
    /// The condition on the tables run, host and peer, and its parameters in order.
    pub(crate) fn condition(&self) -> (String, Vec<Value>) {
        let mut parts = vec!["1".to_owned()];
        let mut values: Vec<Value> = Vec::new();
        let mut add = |part: &str, more: Vec<String>| {
            parts.push(part.to_owned());
            values.extend(more.into_iter().map(Value::from));
        };
        if let Some(host) = &self.host {
            let text = "(run.host IN (SELECT id FROM host WHERE name = ?) \
                        OR run.peer IN (SELECT id FROM peer WHERE address = ?))";
            add(text, vec![host.clone(), host.clone()]);
        }
        if let Some(Tag { name, value }) = &self.tag {
            let text = "run.id IN (SELECT run FROM tag WHERE name = ? AND ? IN ('', value))";
            add(text, vec![name.clone(), value.clone()]);
        }
        if let Some(row) = &self.row {
            let text = "EXISTS (SELECT 1 FROM row WHERE run = run.id AND title LIKE ? ESCAPE '\\')";
            add(&text.replace("run = run.id", "row.run = run.id"), vec![like(row)]);
        }
        if let Some(since) = self.since_millis {
            parts.push("run.started_millis >= ?".to_owned());
            values.push(Value::from(since));
        }
        (parts.join(" AND "), values)
    }
}

/// A pattern of SQL for texts that contain `part`.
pub(crate) fn like(part: &str) -> String {
    let mut pattern = String::from("%");
    for letter in part.chars() {
        if matches!(letter, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(letter);
    }
    pattern + "%"
}

/// From when on runs are looked for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Since {
    /// So long before now.
    Ago(Duration),
    /// An instant, in milliseconds since the Unix epoch.
    At(i64),
}

impl Since {
    /// In milliseconds since the Unix epoch, at that time `now_millis`.
    pub fn millis(self, now_millis: u64) -> i64 {
        let ago = |span: Duration| u64::try_from(span.as_millis()).unwrap_or(u64::MAX);
        match self {
            Self::Ago(span) => {
                i64::try_from(now_millis.saturating_sub(ago(span))).unwrap_or(i64::MAX)
            }
            Self::At(millis) => millis,
        }
    }
}

impl FromStr for Since {
    type Err = String;

    /// Reads a number of days as in `7d`, a day, or an instant of RFC 3339; a day begins in UTC.
    fn from_str(text: &str) -> Result<Self, String> {
        let days = text.strip_suffix('d').and_then(|days| days.parse::<u32>().ok());
        if let Some(days) = days {
            return Ok(Self::Ago(Duration::from_secs(u64::from(days) * SECONDS_OF_A_DAY)));
        }
        let instant = millis(text).or_else(|| millis(&format!("{text}T00:00:00Z")));
        let wrong = || format!("'{text}' is no time: type 2026-11-01, or 7d");
        instant.map(Self::At).ok_or_else(wrong)
    }
}

/// An instant of RFC 3339 in milliseconds since the Unix epoch.
pub(crate) fn millis(text: &str) -> Option<i64> {
    let instant = UtcDateTime::parse(text, &Rfc3339).ok()?;
    i64::try_from(instant.unix_timestamp_nanos().div_euclid(1_000_000)).ok()
}

/// Characters of a tag at most, name and value: it is a cell of a table.
const LONGEST: usize = 64;
pub(crate) const SECONDS_OF_A_DAY: u64 = 86_400;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_is_days_or_a_date() {
        let at = |text: &str| text.parse::<Since>().map(|since| since.millis(86_400_000_000));
        assert_eq!(at("1d"), Ok(86_400_000_000 - 86_400_000));
        assert_eq!(at("1970-01-02"), Ok(86_400_000));
        assert_eq!(at("1970-01-01T00:00:01Z"), Ok(1_000));
        assert_eq!(at("1970-01-01T02:00:01.5+02:00"), Ok(1_500));
        for wrong in ["", "d", "yesterday", "2026-13-01", "-1d"] {
            assert!(at(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn what_names_a_run_is_no_tag() {
        for wrong in ["", "=x", "last", "last~1", "12"] {
            assert!(Tag::read(wrong).is_err(), "{wrong}");
        }
        let tag = Tag::read("site=a=b").expect("a tag");
        assert_eq!((tag.name.as_str(), tag.value.as_str()), ("site", "a=b"));
    }

    #[test]
    fn a_tag_fits_a_cell_of_a_table() {
        let long = "x".repeat(LONGEST + 1);
        for wrong in [" ", "\t=x", "a\nb", "a=\u{1b}[31mred", "a\u{202e}b", &long] {
            assert!(Tag::read(wrong).is_err(), "{wrong:?}");
        }
        assert!(Tag::read(&long[1..]).is_ok());
    }

    #[test]
    fn a_text_of_a_title_is_no_pattern() {
        assert_eq!(like("50%_\\"), "%50\\%\\_\\\\%");
    }
}
