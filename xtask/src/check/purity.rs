//! Invariant A: the crates that only think do no I/O and read no clock,
//! no environment, and start no thread.
//!
//! Address types are words, not sockets; what a macro reads at compile time is a constant.

use super::Finding;
use crate::tree::{Source, Tree};

/// Mentions of what those crates do without.
pub(super) fn find(tree: &Tree) -> Vec<Finding> {
    tree.sources.iter().filter(|source| is_bound(source)).flat_map(mentions).collect()
}

fn is_bound(source: &Source) -> bool {
    source.is_shipped() && source.folder().is_some_and(|folder| PURE.contains(&folder))
}

fn mentions(source: &Source) -> impl Iterator<Item = Finding> {
    FOREIGN.iter().flat_map(move |path| {
        source.mentions(path).into_iter().map(move |number| {
            let what =
                format!("`{path}`: same input, same bytes; take what it gives as an argument");
            Finding::at(&source.path, number, what)
        })
    })
}

const PURE: [&str; 5] = ["analysis", "authentication", "measurement", "protocol", "report"];
const FOREIGN: [&str; 8] = [
    "std::fs",
    "std::thread",
    "std::env",
    "std::net::TcpStream",
    "std::net::TcpListener",
    "std::net::UdpSocket",
    "Instant::now",
    "SystemTime::now",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fires_on_files_sockets_threads_and_environment() {
        let text = "use std::net::{IpAddr, TcpStream};\nuse std::{env, fs};\nfn f() { std::thread::yield_now() }\n";
        let found = find(&Tree::of_source("crates/report/src/json.rs", text));
        let places: Vec<_> = found.iter().map(|one| one.place.rsplit(':').next()).collect();
        assert_eq!(places, [Some("2"), Some("3"), Some("2"), Some("1")]);
    }

    #[test]
    fn is_silent_on_addresses_macros_and_other_crates() {
        let text = "use std::net::{IpAddr, SocketAddr};\nconst V: &str = env!(\"V\");\n";
        assert!(find(&Tree::of_source("crates/report/src/json.rs", text)).is_empty());
        assert!(find(&Tree::of_source("crates/session/src/lib.rs", "use std::fs;\n")).is_empty());
    }
}
