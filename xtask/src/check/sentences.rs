//! README.md is read in passing: its sentences are short.

use super::Finding;
use crate::tree::Tree;

/// Sentences that are too long.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let prose = prose(tree.document("README.md"));
    let sentences = prose.iter().flat_map(|text| sentences(text));
    let long = sentences.filter(|sentence| words(sentence) > MOST_WORDS);
    let finding = |sentence: &str| {
        let begin: Vec<_> = sentence.split_whitespace().take(6).collect();
        let (count, begin) = (words(sentence), begin.join(" "));
        Finding::of("README.md", format!("{count} words, {MOST_WORDS} at most: \"{begin} ...\""))
    };
    long.map(finding).collect()
}

/// Paragraphs, items of lists and cells of tables, without blocks of code.
fn prose(text: &str) -> Vec<String> {
    let mut parts = vec![String::new()];
    let mut is_code = false;
    for line in text.lines().map(str::trim) {
        if line.starts_with("```") {
            is_code = !is_code;
        }
        let is_item = line.starts_with(['-', '#', '!']);
        if line.is_empty() || is_code || is_item {
            parts.push(String::new());
        }
        if let Some(cells) = line.strip_prefix('|').filter(|_| !is_code) {
            parts.extend(cells.split('|').map(str::to_owned));
        } else if let Some(part) = parts.last_mut().filter(|_| !is_code) {
            part.push_str(line);
            part.push(' ');
        }
    }
    parts
}

fn sentences(text: &str) -> impl Iterator<Item = &str> {
    text.split(". ").flat_map(|part| part.split("? "))
}

/// Words of a text; a sign alone is none.
pub(super) fn words(sentence: &str) -> usize {
    let is_word = |word: &&str| word.contains(char::is_alphanumeric);
    sentence.split_whitespace().filter(is_word).count()
}

const MOST_WORDS: usize = 30;

#[cfg(test)]
mod tests {
    use super::*;

    fn count(readme: &str) -> usize {
        find(&Tree::of_documents(&[("README.md", readme)])).len()
    }

    #[test]
    fn fires_on_a_sentence_of_more_words() {
        let long = "word ".repeat(MOST_WORDS + 1);
        assert_eq!(count(&format!("Short. {long}. Short.\n")), 1);
        assert_eq!(count(&format!("- {long}\n\n| a | {long} |\n")), 2);
        let broken = "word ".repeat(MOST_WORDS).replace("word word word", "word word\nword");
        assert_eq!(count(&format!("{broken}word.\n")), 1, "a line is not a sentence");
    }

    #[test]
    fn is_silent_at_the_limit_and_on_code() {
        let just = "word ".repeat(MOST_WORDS);
        assert_eq!(count(&format!("{just}. {just}.\n")), 0);
        assert_eq!(count(&format!("```\n{just}{just}\n```\n")), 0);
        assert_eq!(count(&format!("{just}\n\n{just}\n")), 0);
    }
}
