//! The heat map as a page of HTML: a table, whose cells have their rates as text for screen readers,
//! and a colour by their share of the typical rate. It needs no program.

use std::io::{self, Write};

use measurement::MeshRecord;

use super::{Rates, over_all, rate, shown};

/// Writes the page.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_page(record: &MeshRecord, out: &mut dyn Write) -> io::Result<()> {
    write!(out, "{HEAD}<h1>Mesh of {} hosts</h1>", record.hosts.len())?;
    write!(out, "<p>{}.</p>", escaped(&rate(record)))?;
    if let Some(links) = &record.links {
        write!(out, "<p>{}.</p>", escaped(&over_all(links)))?;
    }
    if record.culprits.is_empty() && record.missing.untested == 0 {
        write!(out, "<p>No host, pair or switch is slower than the others.</p>")?;
    } else if record.culprits.is_empty() {
        write!(out, "<p>{} pairs have no result.</p>", record.missing.untested)?;
    } else {
        write!(out, "<h2>Slow</h2><ol>")?;
        for culprit in &record.culprits {
            write!(out, "<li>{}", escaped(&shown(culprit)))?;
            for text in &culprit.evidence {
                write!(out, "<br>{}", escaped(text))?;
            }
            write!(out, "</li>")?;
        }
        write!(out, "</ol>")?;
    }
    table(record, out)?;
    writeln!(out, "</main></body></html>")
}

fn table(record: &MeshRecord, out: &mut dyn Write) -> io::Result<()> {
    let rates = Rates::of(record);
    if !rates.has_any() {
        return Ok(());
    }
    write!(
        out,
        "<h2>Rates</h2>{SIZES}<div><table><caption>Percent of {}; rows send, columns receive</caption>",
        record.typical
    )?;
    write!(out, "<thead><tr><td></td>")?;
    for to in &record.hosts {
        write!(out, "<th scope=\"col\">{}</th>", escaped(to))?;
    }
    write!(out, "</tr></thead><tbody>")?;
    for from in &record.hosts {
        write!(out, "<tr><th scope=\"row\">{}</th>", escaped(from))?;
        for to in &record.hosts {
            match rates.get(from, to) {
                Some(share) => {
                    let title = format!("{} to {}", escaped(from), escaped(to));
                    let (percent, class) = (share * 100.0, class(share));
                    write!(out, "<td class=\"{class}\" title=\"{title}\">{percent:.0}</td>")?;
                }
                None if from == to => write!(out, "<td></td>")?,
                None => write!(out, "<td>unknown</td>")?,
            }
        }
        write!(out, "</tr>")?;
    }
    write!(out, "</tbody></table></div>")
}

/// One of five colours.
fn class(share: f64) -> &'static str {
    match share {
        share if share >= 0.9 => "a",
        share if share >= 0.8 => "b",
        share if share >= 0.65 => "c",
        share if share >= 0.4 => "d",
        _ => "e",
    }
}

fn escaped(text: &str) -> String {
    let letters = text.chars().map(|letter| match letter {
        '&' => "&amp;".to_owned(),
        '<' => "&lt;".to_owned(),
        '>' => "&gt;".to_owned(),
        '"' => "&quot;".to_owned(),
        letter => letter.to_string(),
    });
    letters.collect()
}

const HEAD: &str = "<!doctype html><html lang=\"en\"><head><meta charset=\"utf-8\">\
<meta name=\"viewport\" content=\"width=device-width\"><title>linerate mesh</title><style>\
:root{color-scheme:light dark}body{font:16px system-ui;margin:2em}div{overflow:auto}\
table{border-collapse:collapse}caption{text-align:left}td,th{padding:.2em .5em;text-align:right}\
td.a{background:#1a7f3733}td.b{background:#d4a72c55}td.c{background:#fb850055}\
td.d{background:#e5533c77}td.e{background:#a40e26aa;color:#fff}\
td:hover,tr:hover>th{outline:2px solid}\
body:has(#small:checked) table{font-size:.5rem}body:has(#large:checked) table{font-size:1.5rem}</style></head><body><main>";

/// Sizes of the table, by CSS alone.
const SIZES: &str = "<fieldset><legend>Size</legend>\
<label><input type=\"radio\" name=\"size\" id=\"small\">small</label> \
<label><input type=\"radio\" name=\"size\" checked>normal</label> \
<label><input type=\"radio\" name=\"size\" id=\"large\">large</label></fieldset>";

#[cfg(test)]
mod tests {
    use super::super::tests::record;
    use super::*;

    #[test]
    fn each_pair_is_a_cell_and_names_cannot_be_markup() {
        let mut record = record(4);
        record.hosts.push("<b>".to_owned());
        let mut out = Vec::new();
        write_page(&record, &mut out).expect("a vector takes all");
        let page = String::from_utf8(out).expect("text");
        assert_eq!(page.matches(" title=\"").count(), record.rates.len());
        assert!(page.contains("<td class=\"d\" title=\"n1 to n3\">60</td>"), "{page}");
        assert!(page.contains("&lt;b&gt;") && !page.contains("<b>"));
    }
}
