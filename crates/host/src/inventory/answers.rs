//! Gets what netlink, ethtool and uname(2) report of a host: from its kernel, or from a
//! captured tree.

use measurement::Gap;

use super::asked;
use super::told::{PATH, Told};
use crate::Tree;

/// Asks the kernel, or looks into the captured tree what it answered.
pub fn answers(tree: &Tree) -> Told {
    if tree.is_live() {
        return asked::ask();
    }
    let text = tree.text(PATH);
    // Nothing that a capture writes has such letters; they would reach a terminal.
    let text = text.map(|text| if text.contains("\\u") { String::new() } else { text });
    match text.map(|text| serde_json::from_str(&text)) {
        Ok(Ok(told)) => told,
        Ok(Err(error)) => from_files(tree, format!("{PATH} is damaged: {error}")),
        Err(_) => from_files(tree, format!("the tree has no {PATH}: linerate capture writes it")),
    }
}

/// What files tell of it.
fn from_files(tree: &Tree, why: String) -> Told {
    let gap = Gap { what: "what only netlink and ethtool tell of interfaces".to_owned(), why };
    let value = |name| tree.value(&format!("proc/sys/kernel/{name}"));
    let version = tree.value("proc/version").unwrap_or_default();
    // `Linux version 5.4.75 (…`
    let of_version = || version.split(' ').nth(2).map(str::to_owned);
    // Since Linux 6.1.
    let architecture = value("arch").unwrap_or_default();
    let routes = tree.text("proc/net/route").unwrap_or_default();
    Told {
        host: value("hostname").unwrap_or_default(),
        kernel: value("osrelease").or_else(of_version).unwrap_or_default(),
        routes: super::routes::routes(&routes, !is_big_endian(&architecture)),
        architecture,
        gaps: vec![gap],
        ..Told::default()
    }
}

/// Whether an architecture of `uname -m` is big-endian. An unknown one is taken to be
/// little-endian.
fn is_big_endian(architecture: &str) -> bool {
    let names = ["mips", "mips64", "ppc", "ppc64", "s390x", "parisc", "m68k", "armv7b", "sparc64"];
    names.contains(&architecture)
}
