//! `messages`: what the program says to people, in one list to read.

use anyhow::Result;
use clap::Args;

use crate::check::literals;
use crate::output::say;
use crate::tree::Tree;
use crate::workspace::Workspace;

/// Prints every sentence that a user can see, by file
#[derive(Debug, Args)]
pub(crate) struct Messages {
    /// Only files whose paths contain this
    #[arg(long, value_name = "PART")]
    only: Option<String>,
}

impl Messages {
    pub(crate) fn run(self) -> Result<String> {
        let tree = Tree::read(&Workspace::find()?)?;
        let wanted = |path: &str| self.only.as_ref().is_none_or(|part| path.contains(part));
        let mut count = 0;
        for source in tree.shipped().filter(|source| wanted(&source.path)) {
            let sentences: Vec<_> =
                literals(&source.items).into_iter().filter(|text| is_sentence(text)).collect();
            if !sentences.is_empty() {
                say(format!("\n{}", source.path));
            }
            for text in &sentences {
                say(format!("  {}", one_line(text)));
            }
            count += sentences.len();
        }
        Ok(format!("messages: {count}"))
    }
}

/// Whether a text is for people: some words.
fn is_sentence(text: &str) -> bool {
    text.split_whitespace().filter(|word| word.chars().any(char::is_alphabetic)).count() >= 3
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_that_programs_exchange_are_no_sentences() {
        assert!(is_sentence("cannot read {}: {reason}; choose another file"));
        assert!(
            !is_sentence("udp-receive-buffer") && !is_sentence("{} / {}") && !is_sentence("a b")
        );
    }
}
