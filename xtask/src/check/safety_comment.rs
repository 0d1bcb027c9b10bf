//! Invariant G: every `unsafe` block and implementation says why it is sound,
//! in a comment `SAFETY:` right above it or above the statement that it is in.

use super::Finding;
use super::unsafe_code::may_be_unsafe;
use crate::tree::{Source, Tree};

/// Blocks and implementations without that comment.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().filter(|source| may_be_unsafe(source)).flat_map(unexplained).collect()
}

fn unexplained(source: &Source) -> impl Iterator<Item = Finding> {
    source
        .lines()
        .filter(|(number, line)| opens_unsafe(&line.code) && !is_explained(source, *number))
        .map(|(number, _)| {
            Finding::at(&source.path, number, "say in `// SAFETY:` what upholds this `unsafe`")
        })
}

fn opens_unsafe(code: &str) -> bool {
    code.match_indices("unsafe").any(|(at, word)| {
        let after = code[at + word.len()..].trim_start();
        after.starts_with('{') || after.starts_with("impl ") || after.starts_with("impl<")
    })
}

/// Walks up from the line to where its statement begins, and on through the comment above.
fn is_explained(source: &Source, number: usize) -> bool {
    let mut begun = false;
    for (_, line) in source.lines().rev().skip_while(|(above, _)| *above > number) {
        if line.comment.contains("SAFETY:") {
            return true;
        }
        let code = line.code.trim();
        if !code.is_empty() && !code.starts_with("#[") {
            // Code above the line at hand that ends a statement is not part of this one.
            if begun && code.ends_with([';', '{', '}', ',']) {
                return false;
            }
            begun = true;
        }
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        find(&Tree::of_source("crates/linux/src/x.rs", text)).len()
    }

    #[test]
    fn fires_without_a_reason() {
        assert_eq!(count("fn f() {\n    unsafe { g() }\n}\n"), 1);
        assert_eq!(count("unsafe impl Send for X {}\n"), 1);
        assert_eq!(count("// SAFETY: yes.\nlet a = unsafe { g() };\nlet b = unsafe { g() };\n"), 1);
    }

    #[test]
    fn is_silent_with_one_above_the_block_or_its_statement() {
        assert_eq!(count("// SAFETY: a\n// b.\nunsafe { g() }\n"), 0);
        assert_eq!(count("// SAFETY: a.\nlet x =\n    unsafe { g() };\n"), 0);
        assert_eq!(count("// SAFETY: a.\n#[inline]\nunsafe impl Send for X {}\n"), 0);
        assert_eq!(count("pub unsafe fn f();\n"), 0);
    }
}
