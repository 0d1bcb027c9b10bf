//! Writes records as one page of HTML that needs no network ([`Report`]): what the page shows goes
//! into it as JSON (`html/page.rs`), and `web/` has the program that draws it. What is computed from
//! several records is an argument.

use std::io::{self, Read, Write};

use flate2::read::ZlibDecoder;
use measurement::{Comparison, LoadCurve, RecordSet, SearchRecord, json};

mod command;
mod comparison;
mod embedded;
mod host;
mod page;
mod search;
mod test;
mod text_table;
mod throughput;
mod traffic;
mod verdict;

use embedded::Embedded;

/// Content of a page. Records that were judged have their verdicts.
#[derive(Clone, Copy, Debug)]
pub struct Report<'a> {
    /// Title of the page; none: by the ends of the first test.
    pub title: Option<&'a str>,
    /// Tests, in the order in which they are shown.
    pub records: &'a RecordSet,
    /// Curves over the load that these tests make.
    pub curves: &'a [LoadCurve],
    /// Searches for throughput.
    pub searches: &'a [SearchRecord],
    /// Comparison with runs before them; none: there are none.
    pub comparison: Option<&'a Comparison>,
}

/// Writes `report` as a page of HTML: UTF-8, at most 400 KB beside its data.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(report: &Report<'_>, out: &mut dyn Write) -> io::Result<()> {
    let shell = shell()?;
    let (before, after) = shell.split_once(PLACE).unwrap_or((&shell, ""));
    out.write_all(before.as_bytes())?;
    json::write(&page::Page::new(report), &mut Embedded(&mut *out))?;
    out.write_all(after.as_bytes())
}

/// The page without data.
fn shell() -> io::Result<String> {
    let mut shell = String::new();
    ZlibDecoder::new(SHELL).read_to_string(&mut shell)?;
    Ok(shell)
}

/// `html/shell.html`, which `cargo xtask web` builds, as `build.rs` compresses it.
const SHELL: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/shell.html.zlib"));
/// Where its data go.
const PLACE: &str = "<!--data-->";

#[cfg(test)]
mod tests {
    use super::*;

    fn written(text: &[u8]) -> String {
        let records = crate::import::record::read(text).expect("records");
        let report =
            Report { title: None, records: &records, curves: &[], searches: &[], comparison: None };
        let mut out = Vec::new();
        write(&report, &mut out).expect("a vector takes all");
        String::from_utf8(out).expect("it is text")
    }

    fn data(page: &str) -> &str {
        let begin = page.find("type=\"application/json\"").expect("data");
        let begin = begin + page[begin..].find('>').expect("its end") + 1;
        &page[begin..begin + page[begin..].find("</script>").expect("the end")]
    }

    const ROWS: &str = include_str!("../tests/records/four-rows.json");

    #[test]
    fn the_page_without_data_is_small_and_has_one_place_for_them() {
        let shell = shell().expect("it was compressed here");
        assert!(shell.len() <= 400_000, "{} bytes", shell.len());
        assert_eq!(shell.matches(PLACE).count(), 1);
        assert!(shell.contains("default-src 'none'"));
        assert_eq!(shell, include_str!("html/shell.html"));
    }

    #[test]
    fn the_data_are_the_tests_of_the_records() {
        let page = written(ROWS.as_bytes());
        let data: serde_json::Value = serde_json::from_str(data(&page)).expect("JSON");
        assert_eq!(data["schema"], "linerate/report/1");
        assert_eq!(data["tests"].as_array().map(Vec::len), Some(4));
        let first = &data["tests"][0];
        assert_eq!(first["title"], "TCP send");
        assert!(first["throughput"][0]["rates"].as_array().is_some_and(|all| !all.is_empty()));
    }

    #[test]
    fn no_text_of_a_record_becomes_markup() {
        let evil = "</script><img onerror=alert(1)><!--<script>";
        let mut record: serde_json::Value = serde_json::from_str(ROWS).expect("JSON");
        for one in record["records"].as_array_mut().expect("records") {
            one["outcome"]["notes"] = serde_json::json!([evil]);
            one["tags"] = serde_json::json!({ evil: evil });
        }
        let page = written(record.to_string().as_bytes());
        assert!(!page.contains("<img") && !data(&page).contains(['<', '>', '&']));
        let data: serde_json::Value = serde_json::from_str(data(&page)).expect("JSON");
        let notes = data["tests"][0]["notes"].as_array().expect("notes");
        assert!(notes.iter().any(|note| note == evil), "{notes:?}");
        let shell = shell().expect("it was compressed here");
        assert_eq!(page.matches("</script>").count(), shell.matches("</script>").count());
    }
}
