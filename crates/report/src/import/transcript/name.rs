//! Names and sentences that are kept of what a text has.

/// The begin of a name or sentence, without letters that do something to a terminal.
pub(super) fn shortened(text: &str) -> String {
    measurement::Foreign::begin(text, LONGEST_NAME).into_text().trim().to_owned()
}

/// Letters.
pub(super) const LONGEST_NAME: usize = 120;
