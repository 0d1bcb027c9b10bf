//! Facts of a host that are in no file of `/proc` or `/sys`: the replies of rtnetlink(7), ethtool
//! and uname(2), from the running kernel or from a file of a capture (a copy of a host's `/proc`
//! and `/sys`).

use std::collections::BTreeMap;

use measurement::Gap;
use measurement::host::{Interface, Route};
use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::value::RawValue;

use crate::Tree;

/// Facts on a host that the kernel reports by system calls only: uname(2), rtnetlink(7) and
/// ethtool(8), for the network namespace of the calling thread.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct KernelAnswers {
    /// Node name (`nodename` of uname(2)); empty: not known.
    pub host: String,
    /// Kernel release (`release` of uname(2)); empty: not known.
    pub kernel: String,
    /// Architecture (`machine` of uname(2)); empty: not known.
    pub architecture: String,
    /// Network interfaces, as netlink and ethtool report them.
    pub interfaces: Vec<InterfaceAnswers>,
    /// Unicast routes of the main table (rtnetlink(7)), at most 64; for a captured tree without
    /// such a report all routes of IPv4.
    pub routes: Vec<Route>,
    /// RISC-V only: speed of misaligned memory accesses by CPU number
    /// (Documentation/arch/riscv/hwprobe.rst).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub misaligned: BTreeMap<u32, String>,
    /// Queries that the kernel refused, with the reasons.
    pub gaps: Vec<Gap>,
}

/// A network interface, as netlink and ethtool report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct InterfaceAnswers {
    /// Link-layer address, as sysfs writes it: `02:00:00:00:00:01`.
    pub hardware: String,
    /// All other attributes of the interface.
    #[serde(flatten)]
    pub interface: Interface,
}

impl<'de> Deserialize<'de> for InterfaceAnswers {
    /// Reads the object twice: `flatten` would read it through a buffer of untyped values, and
    /// compile all of [`Interface`] a second time for it.
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Default, Deserialize)]
        #[serde(default)]
        struct Own {
            hardware: String,
        }

        let text = Box::<RawValue>::deserialize(deserializer)?;
        let Own { hardware } = measurement::json::read(text.get()).map_err(D::Error::custom)?;
        let interface = measurement::json::read(text.get()).map_err(D::Error::custom)?;
        Ok(Self { hardware, interface })
    }
}

impl KernelAnswers {
    /// Reads the kernel's answers from the file [`PATH`] of a captured tree (a copy of a host's
    /// `/proc` and `/sys`). If it is missing or damaged, the result has what other files contain of
    /// them, and a gap.
    pub fn from_capture(tree: &Tree) -> Self {
        let text = tree.text(PATH);
        // Nothing that a capture writes has such letters; they would reach a terminal.
        let text = text.map(|text| if text.contains("\\u") { String::new() } else { text });
        match text.map(|text| measurement::json::read(&text)) {
            Ok(Ok(answers)) => answers,
            Ok(Err(error)) => from_files(tree, format!("{PATH} is damaged: {error}")),
            Err(_) => {
                from_files(tree, format!("the tree has no {PATH}: linerate capture writes it"))
            }
        }
    }
}

/// The part of the answers that files of the tree have too.
fn from_files(tree: &Tree, why: String) -> KernelAnswers {
    let gap = Gap { what: "what only netlink and ethtool report of interfaces".to_owned(), why };
    let value = |name| tree.value(&format!("proc/sys/kernel/{name}"));
    let version = tree.value("proc/version").unwrap_or_default();
    // `Linux version 5.4.75 (…`
    let of_version = || version.split(' ').nth(2).map(str::to_owned);
    // Since Linux 6.1.
    let architecture = value("arch").unwrap_or_default();
    let routes = tree.text("proc/net/route").unwrap_or_default();
    KernelAnswers {
        host: value("hostname").unwrap_or_default(),
        kernel: value("osrelease").or_else(of_version).unwrap_or_default(),
        routes: super::routes::routes(&routes, !is_big_endian(&architecture)),
        architecture,
        gaps: vec![gap],
        ..KernelAnswers::default()
    }
}

/// Whether an architecture of `uname -m` is big-endian. An unknown one is taken to be
/// little-endian.
fn is_big_endian(architecture: &str) -> bool {
    let names = ["mips", "mips64", "ppc", "ppc64", "s390x", "parisc", "m68k", "armv7b", "sparc64"];
    names.contains(&architecture)
}

/// Path of the file with the kernel's reports (netlink, ethtool, uname(2)), below the root of a
/// captured tree (a copy of a host's `/proc` and `/sys`).
pub const PATH: &str = "linerate/told.json";
