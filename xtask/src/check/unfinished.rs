//! Style: nothing is silenced and nothing is left for later. A lint that does not
//! fit is `#[expect]`ed with its reason; what is missing is an issue, not a comment.

use super::Finding;
use crate::tree::{Line, Source, Tree, has_word};

/// Silenced lints, placeholder macros and markers of unfinished work.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().flat_map(in_source).collect()
}

fn in_source(source: &Source) -> impl Iterator<Item = Finding> {
    source.lines().flat_map(move |(number, line)| {
        faults(line).map(move |what| Finding::at(&source.path, number, what))
    })
}

fn faults(line: &Line) -> impl Iterator<Item = String> {
    let silenced = line.code.contains("#[allow(") || line.code.contains("#![allow(");
    let silenced = silenced.then(|| "`allow`: use `#[expect(.., reason = ..)]`".to_owned());
    let placeholders = PLACEHOLDERS.iter().filter(|name| has_macro(&line.code, name));
    let markers = MARKERS.iter().filter(|marker| has_word(&line.comment, marker));
    silenced
        .into_iter()
        .chain(placeholders.map(|name| format!("`{name}!`: finish it")))
        .chain(markers.map(|marker| format!("`{marker}`: do it, or open an issue")))
}

fn has_macro(code: &str, name: &str) -> bool {
    code.match_indices(name).any(|(at, _)| {
        let before = code[..at].chars().next_back();
        let opens = !before.is_some_and(|c| c.is_alphanumeric() || c == '_');
        opens && code[at + name.len()..].starts_with('!')
    })
}

const PLACEHOLDERS: [&str; 3] = ["todo", "unimplemented", "dbg"];
const MARKERS: [&str; 4] = ["FIXME", "HACK", "TODO", "XXX"];

#[cfg(test)]
mod tests {
    use super::*;

    fn count(text: &str) -> usize {
        find(&Tree::of_source("crates/lab/src/lib.rs", text)).len()
    }

    #[test]
    fn fires_on_each() {
        assert_eq!(count("#[allow(dead_code)]\nfn f() {}\n"), 1);
        assert_eq!(count("#![allow(dead_code)]\n"), 1);
        assert_eq!(count("fn f() { todo!() }\nfn g() { std::unimplemented!() }\n"), 2);
        assert_eq!(count("/// FIXME: later.\nfn f() {} // XXX\n"), 2);
    }

    #[test]
    fn is_silent_in_texts_and_longer_words() {
        assert_eq!(count("const A: &str = \"FIXME todo!()\";\n"), 0);
        assert_eq!(count("// A name such as lab.XXXXXX.\nfn f() { mastodo!() }\n"), 0);
        assert_eq!(count("#[expect(dead_code, reason = \"x\")]\nfn f() {}\n"), 0);
    }
}
