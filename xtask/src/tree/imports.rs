//! What `use` declarations bring in.

/// Every path of every `use`, with the number of the line where the `use` begins.
pub(super) fn imports(code: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (at, _) in code.match_indices("use ") {
        let opens =
            code[..at].chars().next_back().is_none_or(|c| !(c.is_alphanumeric() || c == '_'));
        let Some(end) = code[at..].find(';').filter(|_| opens) else { continue };
        let number = 1 + code[..at].matches('\n').count();
        let tree: String = code[at + 4..at + end].split_whitespace().collect::<Vec<_>>().join(" ");
        expand("", &tree, &mut |path| found.push((number, path)));
    }
    found
}

/// Takes `a::{b, c::d}` apart into `a::b` and `a::c::d`.
fn expand(prefix: &str, tree: &str, found: &mut impl FnMut(String)) {
    let tree = tree.trim();
    if let Some((head, rest)) = tree.split_once('{') {
        let prefix = format!("{prefix}{}", head.trim());
        let inside = rest.trim_end().strip_suffix('}').unwrap_or(rest);
        for part in parts(inside) {
            expand(&prefix, part, found);
        }
        return;
    }
    let name = tree.split(" as ").next().unwrap_or(tree).trim();
    match name {
        "" => {}
        "self" => found(prefix.trim_end_matches("::").to_owned()),
        _ => found(format!("{prefix}{name}")),
    }
}

/// Splits at the commas that are not inside of braces.
fn parts(list: &str) -> Vec<&str> {
    let mut depth = 0_i32;
    list.split(|next: char| {
        depth += i32::from(next == '{') - i32::from(next == '}');
        next == ',' && depth == 0
    })
    .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_is_taken_apart() {
        let found = imports("use a::b;\npub use std::{\n    fs::{self, File},\n    io as x,\n};\n");
        let expected = [(1, "a::b"), (2, "std::fs"), (2, "std::fs::File"), (2, "std::io")];
        assert_eq!(found, expected.map(|(number, path)| (number, path.to_owned())));
    }

    #[test]
    fn a_word_that_ends_in_use_is_not_one() {
        assert!(imports("fn cause () { reuse x; }").is_empty());
    }
}
