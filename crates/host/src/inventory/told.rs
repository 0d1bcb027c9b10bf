//! What no file tells, but the kernel does when it is asked; a captured tree has the answers
//! in a file of its own.

use std::collections::BTreeMap;

use measurement::Gap;
use measurement::host::{Interface, Route};
use serde::{Deserialize, Serialize};

use super::asked;
use crate::Tree;

/// Answers of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Told {
    /// Node name, as of uname(2).
    pub host: String,
    /// Kernel release.
    pub kernel: String,
    /// Machine.
    pub architecture: String,
    /// What netlink and ethtool tell of each interface.
    pub interfaces: Vec<ToldInterface>,
    /// Routes.
    pub routes: Vec<Route>,
    /// RISC-V: how fast each CPU takes accesses that are not aligned.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub misaligned: BTreeMap<u32, String>,
    /// What the kernel refused.
    pub gaps: Vec<Gap>,
}

/// What is told of one interface.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ToldInterface {
    /// Its address on the link, as sysfs writes it: `02:00:00:00:00:01`.
    pub hardware: String,
    /// The rest.
    #[serde(flatten)]
    pub interface: Interface,
}

/// Asks the kernel, or looks into the captured tree what it answered.
pub fn told(tree: &Tree) -> Told {
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

/// Where a captured tree has the answers.
pub const PATH: &str = "linerate/told.json";
