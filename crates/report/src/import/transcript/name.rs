//! Names and sentences that are kept of what a text has.

/// The begin of a name or sentence, without letters that do something to a terminal.
pub(super) fn shortened(text: &str) -> String {
    let shown = text.chars().map(|one| if measurement::host::is_shown(one) { one } else { ' ' });
    shown.take(LONGEST_NAME).collect::<String>().trim().to_owned()
}

/// Letters.
pub(super) const LONGEST_NAME: usize = 120;
