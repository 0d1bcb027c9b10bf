//! Lines of styled text as a picture for light or dark pages.

use super::screen::{Color, Span, Style};

/// For which pages a picture is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Scheme {
    Light,
    Dark,
    /// What the reader's browser prefers.
    OfTheReader,
}

impl Scheme {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::Light => "light",
            Self::Dark => "dark",
            Self::OfTheReader => "either",
        }
    }

    fn style(self) -> String {
        match self {
            Self::Light => LIGHT.to_owned(),
            Self::Dark => DARK.to_owned(),
            Self::OfTheReader => {
                format!("{LIGHT}@media (prefers-color-scheme: dark) {{{DARK}}}\n")
            }
        }
    }
}

/// The picture of `lines`, called `title`.
pub(super) fn draw(title: &str, lines: &[Vec<Span>], scheme: Scheme) -> String {
    let columns = lines.iter().filter_map(|line| line.last()).map(end).max().unwrap_or(0);
    let width = columns as f64 * CHARACTER + 2.0 * MARGIN;
    let height = lines.len() as f64 * LINE + 2.0 * MARGIN;
    let head = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {width:.1} {height:.1}\" \
         width=\"{width:.0}\" role=\"img\">\n<title>{}</title>\n<style>{FONT}{}</style>\n\
         <rect class=\"back\" width=\"100%\" height=\"100%\" rx=\"8\"/>\n",
        escaped(title),
        scheme.style()
    );
    let rows = lines.iter().enumerate().filter(|(_, line)| !line.is_empty());
    let texts: String = rows.map(|(row, line)| text(row, line)).collect();
    head + &texts + "</svg>\n"
}

fn text(row: usize, line: &[Span]) -> String {
    let y = MARGIN + LINE * (row as f64 + BASELINE);
    let spans: String = line.iter().map(span).collect();
    format!("<text y=\"{y:.1}\">{spans}</text>\n")
}

fn end(span: &Span) -> usize {
    span.column + span.text.chars().count()
}

/// Its place and its length are given, so that columns stand whatever the reader's font is.
fn span(span: &Span) -> String {
    let x = MARGIN + span.column as f64 * CHARACTER;
    let length = span.text.chars().count() as f64 * CHARACTER;
    let class = classes(span.style);
    let class = if class.is_empty() { class } else { format!(" class=\"{class}\"") };
    let text = escaped(&span.text);
    format!("<tspan x=\"{x:.1}\" textLength=\"{length:.1}\"{class}>{text}</tspan>")
}

fn classes(style: Style) -> String {
    let color = style.color.map(|color| match color {
        Color::Red => "red",
        Color::Green => "green",
        Color::Yellow => "yellow",
        Color::Blue => "blue",
        Color::Cyan => "cyan",
    });
    let bold = style.is_bold.then_some("bold");
    let faint = style.is_faint.then_some("faint");
    [bold, faint, color].into_iter().flatten().collect::<Vec<_>>().join(" ")
}

/// Text as XML has it, with the spaces between words kept.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace(' ', "\u{a0}")
}

/// Width of a character and height of a line, in pixels.
const CHARACTER: f64 = 8.4;
const LINE: f64 = 18.0;
/// Where in its line a text stands.
const BASELINE: f64 = 0.75;
const MARGIN: f64 = 16.0;
const FONT: &str = "
text { font: 14px ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
.bold { font-weight: bold; }";
const LIGHT: &str = "
text { fill: #1f2328; }
.back { fill: #f6f8fa; }
.faint { fill: #656d76; }
.red { fill: #cf222e; }
.green { fill: #1a7f37; }
.yellow { fill: #9a6700; }
.blue { fill: #0969da; }
.cyan { fill: #1b7c83; }
";
const DARK: &str = "
text { fill: #e6edf3; }
.back { fill: #0d1117; }
.faint { fill: #8d96a0; }
.red { fill: #ff7b72; }
.green { fill: #56d364; }
.yellow { fill: #e3b341; }
.blue { fill: #79c0ff; }
.cyan { fill: #76e3ea; }
";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::picture::screen;

    #[test]
    fn a_picture_is_well_formed_and_has_every_word() {
        let lines = screen::lines("$ a <b> & \"c\"\n\n  \x1b[1;31mINVALID\x1b[0m  100 %", 80);
        let svg = draw("a & b", &lines, Scheme::Dark);
        let document = roxmltree::Document::parse(&svg).expect("well-formed");
        let text = |tag: &str| -> Vec<String> {
            let nodes = document.descendants().filter(|node| node.has_tag_name(tag));
            nodes.map(|node| node.text().unwrap_or_default().replace('\u{a0}', " ")).collect()
        };
        assert_eq!(text("title"), ["a & b"]);
        assert_eq!(text("tspan"), ["$ a <b> & \"c\"", "INVALID", "100 %"]);
        let invalid = document.descendants().find(|node| node.text() == Some("INVALID"));
        assert_eq!(invalid.and_then(|node| node.attribute("class")), Some("bold red"));
    }

    #[test]
    fn light_and_dark_pages_have_their_colours() {
        for class in ["text", ".back", ".faint", ".red", ".green", ".yellow", ".blue", ".cyan"] {
            let rule = format!("{class} {{");
            let line = |scheme: Scheme| {
                let style = scheme.style();
                style.lines().find(|line| line.starts_with(&rule)).expect(class).to_owned()
            };
            let (light, dark) = (line(Scheme::Light), line(Scheme::Dark));
            assert_ne!(light, dark, "{class}");
            let either = Scheme::OfTheReader.style();
            let (usual, preferred) = either.split_once("@media").expect("both");
            assert!(usual.contains(&light) && preferred.contains(&dark), "{class}");
        }
    }
}
