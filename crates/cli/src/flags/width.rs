//! Help in the width of the terminal: clap wraps what it knows of options, and this the examples and
//! remarks below them, so that columns stay columns.

use clap::Command;

use crate::terminal;

/// The command with help that fits the terminal; 80 columns where that is none.
pub(super) fn fit(command: Command) -> Command {
    fit_to(terminal::width().min(WIDEST), command)
}

fn fit_to(width: usize, command: Command) -> Command {
    let below = command.get_after_help().map(ToString::to_string);
    let command = match below {
        Some(text) => command.after_help(fitted(&text, width)),
        None => command,
    };
    command.term_width(width).mut_subcommands(|sub| fit_to(width, sub))
}

/// The text in so many columns: a paragraph of which a line is too long is broken anew, and what
/// stands beside an example goes on below itself.
fn fitted(text: &str, width: usize) -> String {
    let mut lines = Vec::new();
    let mut paragraph: Vec<&str> = Vec::new();
    for line in text.lines() {
        let is_prose = !line.is_empty() && !line.starts_with(' ');
        let is_new = paragraph.last().is_none_or(|last| last.ends_with(['.', ':']));
        if !is_prose || is_new {
            lines.extend(joined(&std::mem::take(&mut paragraph), width));
        }
        if is_prose {
            paragraph.push(line);
        } else {
            lines.extend(beside(line, width));
        }
    }
    lines.extend(joined(&paragraph, width));
    lines.join("\n")
}

fn joined(paragraph: &[&str], width: usize) -> Vec<String> {
    if paragraph.iter().all(|line| line.chars().count() <= width) {
        return paragraph.iter().map(|line| (*line).to_owned()).collect();
    }
    wrapped(String::new(), &paragraph.join(" "), 0, width)
}

/// An example, and what it does in a column of its own.
fn beside(line: &str, width: usize) -> Vec<String> {
    if line.chars().count() <= width {
        return vec![line.to_owned()];
    }
    let indent = line.len() - line.trim_start().len();
    let within = indent + HANGING;
    match line.rfind("  ").map(|at| at + 2).filter(|column| *column > indent) {
        Some(column) if column <= width * 2 / 3 => {
            wrapped(line[..column].to_owned(), &line[column..], column, width)
        }
        Some(column) => {
            let below = wrapped(" ".repeat(within), &line[column..], within, width);
            std::iter::once(line[..column].trim_end().to_owned()).chain(below).collect()
        }
        None => {
            // That far in it is text beside an example already.
            let column = if indent > 2 * HANGING { indent } else { within };
            wrapped(" ".repeat(indent), line.trim_start(), column, width)
        }
    }
}

/// Words behind `first`, in lines whose later ones begin at `column`.
fn wrapped(first: String, words: &str, column: usize, width: usize) -> Vec<String> {
    let (mut lines, mut line, mut is_first) = (Vec::new(), first, true);
    for word in words.split_whitespace() {
        if is_first {
            line.push_str(word);
        } else if line.chars().count() + 1 + word.chars().count() <= width {
            line = line + " " + word;
        } else {
            lines.push(line);
            line = " ".repeat(column) + word;
        }
        is_first = false;
    }
    lines.push(line);
    lines
}

/// Columns of help on a terminal that has more.
const WIDEST: usize = 100;
/// By how much the rest of a long line stands further in.
const HANGING: usize = 4;

#[cfg(test)]
mod tests {
    use super::*;

    const TEXT: &str = "\
Examples:
  linerate test HOST        four rows: TCP and UDP
  linerate test HOST --require suspect   a code
                            and what stands for it

Trust: VALID, the numbers mean
what they say.
Exit codes: 0 done; 1 failed; 2 usage; 3 a result is INVALID";

    #[test]
    fn what_fits_stays_as_it_is() {
        assert_eq!(fitted(TEXT, 80), TEXT);
    }

    #[test]
    fn columns_stay_columns() {
        let expected = "\
Examples:
  linerate test HOST        four rows: TCP
                            and UDP
  linerate test HOST --require suspect
      a code
                            and what
                            stands for it

Trust: VALID, the numbers mean
what they say.
Exit codes: 0 done; 1 failed; 2 usage; 3 a
result is INVALID";
        assert_eq!(fitted(TEXT, 42), expected);
    }

    #[test]
    fn no_help_is_wider_than_a_terminal_of_80_columns() {
        let mut command = fit_to(80, super::super::command());
        command.build();
        for sub in std::iter::once(&mut command.clone()).chain(command.get_subcommands_mut()) {
            let help = sub.render_long_help().to_string();
            let long = help.lines().find(|line| line.chars().count() > 80);
            assert_eq!(long, None, "{}", sub.get_name());
        }
    }
}
