//! What a program prints for a terminal, as lines of styled text.

/// Characters of one line that look alike.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Span {
    /// Where it begins, in characters from the left.
    pub(super) column: usize,
    pub(super) text: String,
    pub(super) style: Style,
}

/// The look of characters: what SGR sequences of ECMA-48 select, as far as linerate uses them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Style {
    pub(super) is_bold: bool,
    pub(super) is_faint: bool,
    pub(super) color: Option<Color>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Color {
    Red,
    Green,
    Yellow,
    Blue,
    Cyan,
}

/// The lines of a `printed` text, as many as a screen of `width` columns has; longer ones are
/// continued on the next, as terminals do. Empty lines at the end are left out.
pub(super) fn lines(printed: &str, width: usize) -> Vec<Vec<Span>> {
    let mut style = Style::default();
    let mut lines: Vec<Vec<Span>> = Vec::new();
    for line in printed.lines() {
        lines.extend(wrapped(&characters(line, &mut style), width));
    }
    let rows = ROWS * USUAL_WIDTH / width.min(USUAL_WIDTH);
    if lines.len() > rows {
        lines.truncate(rows - 1);
        let style = Style { is_faint: true, ..Style::default() };
        lines.push(vec![Span { column: 2, text: CUT.to_owned(), style }]);
    }
    while lines.last().is_some_and(Vec::is_empty) {
        lines.pop();
    }
    lines
}

/// The characters of a line with their styles; `style` is that of the end of the line before.
fn characters(line: &str, style: &mut Style) -> Vec<(char, Style)> {
    let mut parts = line.split("\x1b[");
    let plain = parts.next().unwrap_or_default();
    let mut characters: Vec<_> = plain.chars().map(|one| (one, *style)).collect();
    for part in parts {
        let (codes, text) = part.split_once('m').unwrap_or((part, ""));
        codes.split(';').for_each(|code| style.select(code.parse().unwrap_or(0)));
        characters.extend(text.chars().map(|one| (one, *style)));
    }
    characters
}

fn wrapped(characters: &[(char, Style)], width: usize) -> Vec<Vec<Span>> {
    if characters.is_empty() {
        return vec![Vec::new()];
    }
    characters.chunks(width).map(spans).collect()
}

/// Runs of characters that look alike, without those of spaces only.
fn spans(characters: &[(char, Style)]) -> Vec<Span> {
    let mut column = 0;
    let mut spans = Vec::new();
    for run in characters.chunk_by(|one, next| one.1 == next.1) {
        let text: String = run.iter().map(|(one, _)| one).collect();
        let begin = column + text.chars().take_while(|one| *one == ' ').count();
        if !text.trim().is_empty() {
            spans.push(Span { column: begin, text: text.trim().to_owned(), style: run[0].1 });
        }
        column += run.len();
    }
    spans
}

impl Style {
    fn select(&mut self, code: u8) {
        match code {
            0 => *self = Self::default(),
            1 => self.is_bold = true,
            2 => self.is_faint = true,
            22 => (self.is_bold, self.is_faint) = (false, false),
            31 | 91 => self.color = Some(Color::Red),
            32 | 92 => self.color = Some(Color::Green),
            33 | 93 => self.color = Some(Color::Yellow),
            34 | 94 => self.color = Some(Color::Blue),
            36 | 96 => self.color = Some(Color::Cyan),
            39 => self.color = None,
            _ => {}
        }
    }
}

/// Of a screen, with what was typed; those of narrow ones are as many as fit its area.
const ROWS: usize = 24;
const USUAL_WIDTH: usize = 80;
/// In place of lines that do not fit.
pub(super) const CUT: &str = "[...]";

#[cfg(test)]
mod tests {
    use super::*;

    const COLUMNS: usize = 80;

    #[test]
    fn sequences_become_styles() {
        let lines = lines("a  \x1b[1mb\x1b[0;33mc \x1b[2md\x1b[0m\n  e\n\n", COLUMNS);
        let seen: Vec<Vec<_>> = lines
            .iter()
            .map(|line| line.iter().map(|span| (span.column, span.text.as_str())).collect())
            .collect();
        assert_eq!(seen, [vec![(0, "a"), (3, "b"), (4, "c"), (6, "d")], vec![(2, "e")]]);
        assert!(lines[0][1].style.is_bold);
        assert_eq!(lines[0][2].style.color, Some(Color::Yellow));
        assert!(lines[0][3].style.is_faint && !lines[0][3].style.is_bold);
        assert_eq!(lines[1][0].style, Style::default());
    }

    #[test]
    fn long_lines_continue_on_the_next() {
        let lines = lines(&"x".repeat(COLUMNS + 3), COLUMNS);
        assert_eq!(lines.iter().map(|line| line[0].text.len()).collect::<Vec<_>>(), [COLUMNS, 3]);
    }

    #[test]
    fn what_does_not_fit_is_cut_visibly() {
        assert_eq!(lines(&"x\n".repeat(ROWS), COLUMNS).len(), ROWS);
        let cut = lines(&"x\n".repeat(ROWS + 1), COLUMNS);
        assert_eq!((cut.len(), cut[ROWS - 1][0].text.as_str()), (ROWS, "[...]"));
    }
}
