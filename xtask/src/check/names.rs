//! A name that several crates share is spelled once, in its registry, and a constant elsewhere: a
//! misspelt name then does not compile.
//!
//! Only the code that runs is looked at; tests of the record's form spell names as files have them.

use std::collections::BTreeSet;

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::Visit;
use syn::{Attribute, Item, Lit, LitStr, Macro};

use super::Finding;
use crate::tree::{Source, Tree};

/// Literals that are names of a registry, outside of it.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    REGISTRIES.iter().flat_map(|registry| registry.find(tree)).collect()
}

/// Where the names of a kind are spelled.
struct Registry {
    kind: &'static str,
    /// The file that has them, or the folder.
    home: &'static str,
    /// Tells names from other literals there.
    is_name: fn(&str) -> bool,
    /// Folders that may spell them too, since they translate.
    exempt: &'static [&'static str],
}

impl Registry {
    fn find(&self, tree: &Tree) -> Vec<Finding> {
        let (home, others): (Vec<&Source>, Vec<_>) =
            tree.shipped().partition(|source| source.path.starts_with(self.home));
        let mut names: BTreeSet<String> =
            home.into_iter().flat_map(|source| literals(&source.items)).collect();
        names.retain(|name| (self.is_name)(name));
        let is_exempt = |source: &Source| self.exempt.iter().any(|at| source.path.starts_with(at));
        let others = others.into_iter().filter(|source| !is_exempt(source));
        others.flat_map(|source| self.find_in(source, &names)).collect()
    }

    fn find_in(&self, source: &Source, names: &BTreeSet<String>) -> Vec<Finding> {
        let used = literals(&source.items);
        let finding = |name: &String| {
            let what =
                format!("\"{name}\" is a name ({}): use its constant in {}", self.kind, self.home);
            Finding::of(&source.path, what)
        };
        names.intersection(&used).map(finding).collect()
    }
}

/// The string literals of code, those of macros like format! among them, but for attributes.
pub(crate) fn literals(items: &[Item]) -> BTreeSet<String> {
    let mut literals = Literals::default();
    for item in items {
        literals.visit_item(item);
    }
    literals.0
}

#[derive(Default)]
struct Literals(BTreeSet<String>);

impl Visit<'_> for Literals {
    fn visit_attribute(&mut self, _: &Attribute) {}

    fn visit_lit_str(&mut self, literal: &LitStr) {
        self.0.insert(literal.value());
    }

    fn visit_macro(&mut self, called: &Macro) {
        self.take(called.tokens.clone());
    }
}

impl Literals {
    /// Macros have forms of their own.
    fn take(&mut self, tokens: TokenStream) {
        for token in tokens {
            match token {
                TokenTree::Group(group) => self.take(group.stream()),
                TokenTree::Literal(literal) => {
                    if let Lit::Str(text) = Lit::new(literal) {
                        self.0.insert(text.value());
                    }
                }
                TokenTree::Ident(_) | TokenTree::Punct(_) => {}
            }
        }
    }
}

const REGISTRIES: [Registry; 3] = [
    Registry {
        kind: "counter",
        home: "crates/measurement/src/host/counter",
        // Plain words, as "bytes", mean other things elsewhere.
        is_name: |text| is_word(text) && text.contains(|c: char| c.is_uppercase() || c == '_'),
        exempt: &["crates/host/src/collectors/", "crates/host/src/inventory/", "crates/linux/src/"],
    },
    Registry {
        kind: "engine",
        home: "crates/measurement/src/engine/registry.rs",
        is_name: |text| is_word(text) && !PLAIN_ENGINES.contains(&text),
        // Keys of iperf3's JSON, and the offloads of ethtool(8).
        exempt: &[
            "crates/analysis/src/bottleneck/rules/",
            "crates/cli/src/flags/sweep_axis.rs",
            "crates/host/src/tuning/",
            "crates/protocol/src/iperf3/",
            "crates/report/src/iperf3/",
        ],
    },
    Registry {
        kind: "rule",
        home: "crates/measurement/src/rule.rs",
        is_name: |text| is_word(text) && (text.contains('-')),
        exempt: &[],
    },
];

fn is_word(text: &str) -> bool {
    text.len() > 1 && text.chars().all(|c| c.is_alphanumeric() || matches!(c, '.' | '_' | '-'))
}

/// Engines whose names are words for other things too.
const PLAIN_ENGINES: [&str; 3] = ["read", "send", "write"];

#[cfg(test)]
mod tests {
    use super::*;

    const HOME: (&str, &str) = (
        "crates/measurement/src/host/counter.rs",
        "const A: Counter = Counter::new(\"snmp.Udp.InErrors\"); const B: &str = \"cpu\";",
    );

    fn count(path: &str, text: &str) -> usize {
        find(&Tree::of_sources(&[HOME, (path, text)])).len()
    }

    #[test]
    fn fires_on_a_name_outside_of_its_registry() {
        let text = "fn f() { g(\"snmp.Udp.InErrors\"); }";
        assert_eq!(count("crates/analysis/src/ledger.rs", text), 1);
        let text = "fn f() { println!(\"{}\", \"snmp.Udp.InErrors\"); }";
        assert_eq!(count("crates/analysis/src/ledger.rs", text), 1);
    }

    #[test]
    fn fires_on_the_slug_of_a_rule() {
        let home = ("crates/measurement/src/rule.rs", "rules! { A = \"link-speed-low\", }");
        let text = "fn f() { g(\"link-speed-low\"); }";
        assert_eq!(find(&Tree::of_sources(&[home, ("crates/report/src/page.rs", text)])).len(), 1);
    }

    #[test]
    fn is_silent_on_tests_translators_and_plain_words() {
        let text = "fn f() { g(\"snmp.Udp.InErrors\"); }";
        assert_eq!(count("crates/host/src/collectors/snmp.rs", text), 0);
        assert_eq!(count("crates/analysis/tests/ledger.rs", text), 0);
        assert_eq!(count("crates/analysis/src/ledger.rs", "fn f() { g(\"cpu\"); }"), 0);
    }
}
