//! Writes manual pages of analysis rules: for a terminal, and in Markdown for docs/rules.

use std::io::{self, Write};

use measurement::{Order, Page};

use crate::columns::{Emphasis, paint};
use crate::width::Width;

/// Writes the manual page of a rule of the analysis for a terminal, as `linerate explain RULE`
/// does.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(page: &Page, width: Width, out: &mut dyn Write) -> io::Result<()> {
    write_wrapped(0, &format!("{}: {}", name(page), page.title), width, out)?;
    for (name, text) in parts(page) {
        writeln!(out)?;
        for (number, line) in wrap(text, width.of_prose(BESIDE)).iter().enumerate() {
            let name = if number == 0 { name } else { "" };
            writeln!(out, "  {name:<9} {line}")?;
        }
    }
    Ok(())
}

/// Writes the rules of the analysis by layer, a line for each: its identifier, e.g.
/// `udp-receive-buffer`, and its title.
///
/// # Errors
/// An error of writing to `out`.
pub fn write_list(pages: &[&Page], width: Width, out: &mut dyn Write) -> io::Result<()> {
    let widest = pages.iter().map(|page| page.id.slug().len()).max().unwrap_or(0);
    let mut layer = "";
    for page in by_layer(pages) {
        if page.id.layer() != layer {
            let before = if layer.is_empty() { "" } else { "\n" };
            layer = page.id.layer();
            writeln!(out, "{before}{}", paint(layer, Emphasis::Strong))?;
        }
        for (number, line) in wrap(page.title, width.of_prose(widest + 4)).iter().enumerate() {
            let id = if number == 0 { page.id.slug() } else { "" };
            writeln!(out, "  {id:<widest$}  {line}")?;
        }
    }
    Ok(())
}

/// The manual page of a rule of the analysis in Markdown, for docs/rules.
pub fn markdown(page: &Page) -> String {
    let heading = format!("# {}: {}\n", name(page), page.title);
    let part = |(name, text)| format!("\n**{}.** {text}\n", capitalised(name));
    std::iter::once(heading).chain(parts(page).map(part)).collect()
}

fn capitalised(word: &str) -> String {
    let mut letters = word.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    first.into_iter().chain(letters).collect()
}

/// The list of the rules of the analysis in Markdown, with a link to the page of each, for
/// docs/rules.
pub fn markdown_list(pages: &[&Page]) -> String {
    let mut lines = vec![OPENING.to_owned()];
    let mut layer = "";
    for page in by_layer(pages) {
        if page.id.layer() != layer {
            layer = page.id.layer();
            lines.push(format!("\n## {layer}\n\n"));
        }
        let old = page.id.old_name().map(|old| format!(" ({old})")).unwrap_or_default();
        lines.push(format!("- [{id}]({id}.md){old}: {}\n", page.title, id = page.id));
    }
    lines.concat()
}

/// In the order of a packet's path.
fn by_layer<'a>(pages: &[&'a Page]) -> Vec<&'a Page> {
    let mut pages = pages.to_vec();
    pages.order_by_key(|page| page.id);
    pages
}

/// `udp-receive-buffer (U1)`.
fn name(page: &Page) -> String {
    match page.id.old_name() {
        Some(old) => format!("{} ({old})", page.id),
        None => page.id.to_string(),
    }
}

fn parts(page: &Page) -> impl Iterator<Item = (&'static str, &'static str)> {
    let parts = [
        ("what", page.what),
        ("why", page.why),
        ("evidence", page.evidence),
        ("remedy", page.remedy),
        ("source", page.source),
    ];
    parts.into_iter().filter(|(_, text)| !text.is_empty())
}

/// Breaks a text at spaces into lines of at most `width` characters.
pub(crate) fn wrap(text: &str, width: usize) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if line.chars().count() + 1 + word.chars().count() <= width => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}

/// A text behind `indent` spaces, in lines of at most the `width`; those after the first stand a
/// little further in.
pub(crate) fn write_wrapped(
    indent: usize,
    text: &str,
    width: Width,
    out: &mut dyn Write,
) -> io::Result<()> {
    let room = width.most().saturating_sub(indent + HANGING);
    for (number, line) in wrap(text, room).iter().enumerate() {
        let indent = if number == 0 { indent } else { indent + HANGING };
        writeln!(out, "{:indent$}{line}", "")?;
    }
    Ok(())
}

/// Columns of the names of parts.
const BESIDE: usize = 12;
/// Spaces before the later lines of a text, after its indent.
const HANGING: usize = 2;
const OPENING: &str = "\
# Rules

What linerate looks at when it names what limits a test or a host, and when it says whether to
believe a result. `linerate explain udp-receive-buffer` prints the page of a rule. In brackets
stands the older name of a rule, which `explain` accepts too. Generated by `cargo xtask rules` from
`crates/analysis`.
";

#[cfg(test)]
mod tests {
    use measurement::RuleId;

    use super::*;

    const PAGE: Page = Page {
        id: RuleId::UdpReceiveBuffer,
        title: "Something limits",
        what: "It does.",
        why: "Since it is slow, and since a line that is longer than the width of the text has \
              to be broken somewhere between two words of it.",
        evidence: "`a.counter` grew.",
        remedy: "Another.",
        source: "",
    };

    #[test]
    fn a_page_is_broken_into_lines() {
        let mut text = Vec::new();
        write(&PAGE, Width::of(80), &mut text).expect("a vector takes all");
        let text = String::from_utf8(text).expect("it is text");
        assert!(
            text.starts_with("udp-receive-buffer (U1): Something limits\n\n  what      It does.\n"),
            "{text}"
        );
        assert!(text.lines().all(|line| line.chars().count() <= 80), "{text}");
        assert!(!text.contains("source"), "{text}");
    }

    #[test]
    fn a_page_is_markdown() {
        assert!(markdown(&PAGE).ends_with("**Remedy.** Another.\n"));
        assert!(markdown_list(&[&PAGE]).ends_with(
            "\n## UDP\n\n- [udp-receive-buffer](udp-receive-buffer.md) (U1): Something limits\n"
        ));
    }
}
