//! What a program printed, in the form that it has, and its comparison.

use std::fmt;

use report::import::transcript::runs;

use super::difference::{Change, What};
use super::keys::Tree;
use super::shape::Shaper;
use super::text::Text;

/// The forms of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Text,
    /// One JSON document (`-J`).
    Document,
    /// One JSON document a line (`--json-stream`).
    Events,
    /// Both (`--json-stream-full-output`).
    EventsAndDocument,
}

/// How `ours` differs from `theirs`, two outputs of one kind.
pub(crate) fn differences(theirs: (&str, &Shaper), ours: (&str, &Shaper)) -> Vec<What> {
    let forms = (Form::recognize(theirs.0), Form::recognize(ours.0));
    if forms.0 != forms.1 {
        return vec![What::Form(Change::new(&forms.0, &forms.1))];
    }
    let mut found = in_form(forms.0, theirs, ours);
    let runs = Change::new(&imported(theirs.0), &imported(ours.0));
    if runs.theirs != runs.ours {
        found.push(What::Runs(runs));
    }
    found
}

/// The rows of the runs that `linerate import` finds.
fn imported(text: &str) -> String {
    let runs = runs(&[text.as_bytes()]).runs;
    let rows = runs.iter().flat_map(|run| {
        let directions = &run.record.outcome.directions;
        directions.iter().map(|one| run.record.plan.row_of_direction(one.direction))
    });
    format!("[{}]", rows.collect::<Vec<_>>().join("; "))
}

fn in_form(form: Form, theirs: (&str, &Shaper), ours: (&str, &Shaper)) -> Vec<What> {
    match form {
        Form::Text => of_texts(theirs, ours),
        Form::Document => of_trees(document(theirs), document(ours)),
        Form::Events => of_trees(events(theirs), events(ours)),
        Form::EventsAndDocument => {
            let mut found = of_trees(events(theirs), events(ours));
            found.extend(of_trees(trailer(theirs), trailer(ours)));
            found
        }
    }
}

/// A text may have a document within it: the output of the server, if that is JSON.
fn of_texts(theirs: (&str, &Shaper), ours: (&str, &Shaper)) -> Vec<What> {
    let (their_text, their_document) = without_document(theirs.0);
    let (our_text, our_document) = without_document(ours.0);
    let mut found = Text::parse(&their_text, theirs.1).differences(&Text::parse(&our_text, ours.1));
    if let (Some(their_document), Some(our_document)) = (their_document, our_document) {
        let read = |text, shaper| document((text, shaper));
        found.extend(of_trees(read(their_document, theirs.1), read(our_document, ours.1)));
    }
    found
}

/// The lines around a document, with a mark in its place, and the document.
fn without_document(text: &str) -> (String, Option<&str>) {
    let start = trailer_start(text);
    match text[start..].find(END_OF_DOCUMENT) {
        Some(length) => {
            let end = start + length + END_OF_DOCUMENT.len();
            (format!("{}(document)\n{}", &text[..start], &text[end..]), Some(&text[start..end]))
        }
        None => (text.to_owned(), None),
    }
}

fn of_trees(theirs: anyhow::Result<Tree>, ours: anyhow::Result<Tree>) -> Vec<What> {
    match (theirs, ours) {
        (Ok(theirs), Ok(ours)) => theirs.differences(&ours),
        (Err(error), Ok(_)) => vec![What::Broken(format!("the reference: {error:#}"))],
        (_, Err(error)) => vec![What::Broken(format!("{error:#}"))],
    }
}

fn document((text, shaper): (&str, &Shaper)) -> anyhow::Result<Tree> {
    Tree::of_document(text, shaper)
}

fn events((text, shaper): (&str, &Shaper)) -> anyhow::Result<Tree> {
    Tree::of_events(text[..trailer_start(text)].lines(), shaper)
}

fn trailer((text, shaper): (&str, &Shaper)) -> anyhow::Result<Tree> {
    Tree::of_document(&text[trailer_start(text)..], shaper)
}

/// Where the document begins that follows the events: at a brace alone on its line.
fn trailer_start(text: &str) -> usize {
    text.find("\n{\n").map_or(text.len(), |end_of_events| end_of_events + 1)
}

impl Form {
    fn recognize(text: &str) -> Self {
        let first = text.lines().next().unwrap_or_default().trim_end();
        match first {
            "{" => Self::Document,
            _ if !first.starts_with('{') => Self::Text,
            _ if trailer_start(text) < text.len() => Self::EventsAndDocument,
            _ => Self::Events,
        }
    }
}

impl fmt::Display for Form {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            Self::Text => "text",
            Self::Document => "a JSON document",
            Self::Events => "JSON a line",
            Self::EventsAndDocument => "JSON a line and a JSON document",
        })
    }
}

const END_OF_DOCUMENT: &str = "\n}\n";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::shape::Units;

    fn compare(theirs: &str, ours: &str) -> Vec<What> {
        let shaper = Shaper::new("program", Units::Free);
        differences((theirs, &shaper), (ours, &shaper))
    }

    const DOCUMENT: &str = "{\n\t\"start\":\t{\n\t\t\"n\":\t1\n\t}\n}\n";
    const EVENTS: &str = "{\"event\":\"start\",\"data\":{\"n\":1}}\n";

    #[test]
    fn each_form_is_told_from_the_others() {
        let both = format!("{EVENTS}{DOCUMENT}");
        let all = ["iperf Done.\n", DOCUMENT, EVENTS, &both];
        for (i, one) in all.iter().enumerate() {
            for (j, other) in all.iter().enumerate() {
                assert_eq!(compare(one, other).is_empty(), i == j, "{one} {other}");
            }
        }
    }

    #[test]
    fn a_document_within_a_text_is_compared_as_one() {
        let text = format!("Server JSON output:\n{DOCUMENT}\niperf Done.\n");
        let other = text.replace("\"n\"", "\"m\"");
        assert_eq!(compare(&text, &text), []);
        let (missing, added) = ("start.n".to_owned(), "start.m".to_owned());
        let expected = [What::KeyMissing(missing), What::KeyAdded(added)];
        assert_eq!(compare(&text, &other), expected);
    }

    #[test]
    fn a_broken_document_is_found() {
        let broken = DOCUMENT.replace("1\n", "1,\n");
        assert!(matches!(compare(DOCUMENT, &broken)[..], [What::Broken(_)]));
    }

    #[test]
    fn another_way_to_indent_is_found() {
        let spaces = DOCUMENT.replace('\t', "  ");
        assert_eq!(compare(DOCUMENT, &spaces).len(), 1);
    }

    #[test]
    fn a_key_of_an_event_is_found() {
        let more = EVENTS.replace("\"n\":1", "\"n\":1,\"m\":1");
        assert_eq!(compare(EVENTS, &more), [What::KeyAdded("start.data.m".to_owned())]);
    }
}
