//! Words that users did not understand, or that the field has another word for, are not said.

use super::Finding;
use super::names::literals;
use crate::tree::Tree;

/// Sentences with such words.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let said = tree.shipped().flat_map(|source| {
        let found = literals(&source.items).into_iter().flat_map(|text| complaints(&text));
        found.map(|what| Finding::of(&source.path, what))
    });
    said.collect()
}

fn complaints(text: &str) -> Vec<String> {
    let lower = text.to_lowercase();
    let used = WORDS.iter().filter(|(word, _)| lower.contains(word));
    used.map(|(word, better)| format!("\"{word}\" in a message: say {better}")).collect()
}

const WORDS: [(&str, &str); 19] = [
    ("climbs the stack", "handles each segment separately"),
    ("sent by segment", "GSO sends"),
    ("received by coalesce", "GRO receives"),
    ("making and freeing packets", "allocates packets"),
    ("of them without need", "spurious retransmissions"),
    ("what was asked was sent", "reached the asked rate"),
    ("newcomer", "pending connection"),
    ("holds to its rate", "limited by a shaper"),
    ("queue is always full", "bottleneck on the path"),
    ("foreign traffic", "cross traffic"),
    ("under way", "in flight"),
    ("least round trip", "minimum round trip"),
    ("held up on the way back", "delayed or lost on the reverse path"),
    ("a cpu of an end", "a host's CPU"),
    ("of what it did", "of its busy time"),
    ("the card anew", "reseat the card"),
    ("in heaps", "in bursts"),
    ("mend what", "fix what"),
    ("nobody took samples", "no CPU profile"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_that_the_field_does_not_have_is_told() {
        assert_eq!(complaints("3 newcomers wait").len(), 1);
        assert!(complaints("3 pending connections").is_empty());
    }
}
