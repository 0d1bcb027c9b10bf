//! What the binary is built from: licences that allow it to be handed out, and no crate twice.
//!
//! `cargo deny` would say the same, but takes longer to build than the project.

use std::collections::BTreeSet;

use super::Finding;
use crate::tree::Tree;

/// Crates of other licences, and crates in two versions.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    let packages: BTreeSet<_> =
        tree.packages.iter().filter_map(|line| Package::read(line)).collect();
    let licences =
        packages.iter().filter(|package| !is_permitted(package.licence)).map(|package| {
            let what =
                format!("its licence `{}` is not among those that are known", package.licence);
            Finding::of(package.name, what)
        });
    let pairs = packages.iter().zip(packages.iter().skip(1));
    let twice = pairs.filter(|(one, next)| one.name == next.name && !TWICE.contains(&one.name));
    let twice = twice.map(|(one, next)| {
        Finding::of(one.name, format!("is built twice, {} and {}", one.version, next.version))
    });
    licences.chain(twice).collect()
}

#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Package<'a> {
    name: &'a str,
    version: &'a str,
    licence: &'a str,
}

impl<'a> Package<'a> {
    /// Of a line such as `caps v0.5.6 | MIT`; those that are repeated end with `(*)`.
    fn read(line: &'a str) -> Option<Self> {
        let (package, licence) = line.trim_end_matches(" (*)").split_once(" | ")?;
        let (name, version) = package.split_once(' ')?;
        Some(Self { name, version: version.split(' ').next()?, licence })
    }
}

/// An expression of SPDX: one choice of its alternatives that is known in all its parts. With
/// parentheses, which alternatives hold together is not worked out, and all parts must be known.
fn is_permitted(expression: &str) -> bool {
    let are_known = |text: &str| text.split(" AND ").all(|licence| LICENCES.contains(&licence));
    if expression.contains('(') {
        let flat = expression.replace(['(', ')'], "").replace(" OR ", " AND ");
        return are_known(&flat);
    }
    // Older manifests write a slash for OR.
    expression.split(" OR ").flat_map(|one| one.split('/')).any(are_known)
}

/// Those that ask for no more than their text and a name.
const LICENCES: [&str; 11] = [
    "0BSD",
    "Apache-2.0",
    "Apache-2.0 WITH LLVM-exception",
    "BSD-2-Clause",
    "BSD-3-Clause",
    "ISC",
    "MIT",
    "MIT-0",
    "OpenSSL",
    "Unicode-3.0",
    "Zlib",
];
/// Some derive macros are built upon the second syn, some upon the third; the binary has neither.
const TWICE: [&str; 1] = ["syn"];

#[cfg(test)]
mod tests {
    use super::*;

    fn found(packages: &[&str]) -> Vec<String> {
        let found = find(&Tree::of_packages(packages));
        found.into_iter().map(|finding| format!("{} {}", finding.place, finding.what)).collect()
    }

    #[test]
    fn fires_on_an_unknown_licence_and_on_two_versions() {
        assert_eq!(
            found(&["a v1.0.0 | GPL-3.0", "b v1.0.0 | MIT", "b v2.0.0 | MIT"]),
            [
                "a its licence `GPL-3.0` is not among those that are known",
                "b is built twice, v1.0.0 and v2.0.0"
            ]
        );
        assert_eq!(found(&["a v1.0.0 | MIT AND (GPL-3.0 OR MIT)"]).len(), 1);
    }

    #[test]
    fn is_silent_on_what_may_be_chosen_and_on_what_is_repeated() {
        let lines = ["a v1.0.0 | GPL-3.0 OR MIT", "a v1.0.0 | GPL-3.0 OR MIT (*)"];
        assert!(found(&lines).is_empty());
        assert!(found(&["a v1.0.0 (/w/crates/a) | (MIT OR ISC) AND Zlib"]).is_empty());
    }
}
