//! Pages of the memory that a sender's payload lies on ([`PayloadPages`]).

use std::fmt;

use serde::{Deserialize, Serialize};

/// Size of the pages that a payload in memory lies on. A huge page is one fragment of a packet that
/// is sent without a copy, where 2 MiB of base pages are 512.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum PayloadPages {
    /// Base pages, of 4 KiB on most machines (`MADV_NOHUGEPAGE`, madvise(2)).
    Base,
    /// Transparent huge pages, of 2 MiB on most machines (`MADV_HUGEPAGE`, madvise(2)).
    Huge,
}

impl PayloadPages {
    /// All kinds of pages.
    pub const ALL: [Self; 2] = [Self::Base, Self::Huge];

    /// Name of the pages on the command line and in records.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Base => "base",
            Self::Huge => "huge",
        }
    }

    /// Finds a kind of pages by its name. None: no kind has this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|pages| pages.name() == name)
    }
}

impl fmt::Display for PayloadPages {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
