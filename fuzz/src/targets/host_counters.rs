//! What the files of a host say, as a tree that was captured elsewhere may have them.
//! Every parser gets every text.

use crate::memory;
use host::Reading;
use host::collectors::{PARSERS, Parser};
use measurement::Series;

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    for (_, parser) in PARSERS {
        memory::bounded_to(PER_BYTE, input.len(), || judge(parser, input));
    }
}

/// Three looks at the same text, of which the second is cut in the middle.
fn judge(parser: Parser, input: &[u8]) {
    let text = String::from_utf8_lossy(input);
    let half = text.char_indices().map(|(at, _)| at).nth(input.len() / 2);
    let looks = [&text, &text[..half.unwrap_or_default()], &text];
    let mut reading = Reading::default();
    for (row, text) in looks.into_iter().enumerate() {
        reading.begin(2 * row);
        parser(text, &mut reading);
    }
    let at = (0..ROWS as u64).map(measurement::Timestamp::from_nanos);
    let mut series = Series::new(at.collect());
    reading.append_to(ROWS, &mut series, &mut Vec::new());
    assert!(series.is_whole());
}

/// A parser that takes a text for two looks begins one more.
const ROWS: usize = 6;
/// A number of one digit and the space before it may become a counter, with a name of up to
/// a hundred bytes.
const PER_BYTE: usize = 512;
