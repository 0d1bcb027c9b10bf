//! A captured tree in the one file in which it travels, read into memory.
//!
//! It comes from anywhere: nothing of it is written to this host, links lead nowhere out of
//! it, and it takes so much memory and no more.

use std::collections::BTreeMap;
use std::io::{self, Read};

use super::recording::{MOST_FILE_BYTES, TreeEntry};

/// A captured tree (a copy of a host's files below `/proc` and `/sys`) in memory, read from a
/// tar(5) archive.
#[derive(Clone, Debug, Default)]
pub struct Archive {
    entries: BTreeMap<String, TreeEntry>,
}

impl Archive {
    /// Reads a tar(5) archive. Entries whose paths lead out of the tree are left out.
    ///
    /// # Errors
    /// `InvalidData` if an entry has more than 1 MiB, or all entries together more than 64 MiB, or
    /// there are more than 200,000; the error of `from`, or of the format.
    pub fn read(from: impl Read) -> io::Result<Self> {
        let mut entries = BTreeMap::new();
        // What is skipped, and long names, count too.
        let mut archive = tar::Archive::new(from.take(MOST_LENGTH));
        let mut bytes = 0;
        for entry in archive.entries()? {
            let mut entry = entry?;
            let Some(path) = entry.path()?.to_str().and_then(normal) else { continue };
            bytes += entry.size();
            if entry.size() > MOST_FILE_BYTES || bytes > MOST_BYTES || entries.len() == MOST_ENTRIES
            {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "too large"));
            }
            let kept = match entry.header().entry_type() {
                tar::EntryType::Regular => {
                    let mut content = Vec::new();
                    entry.read_to_end(&mut content)?;
                    TreeEntry::File(content)
                }
                tar::EntryType::Symlink => {
                    let target = entry.link_name()?.unwrap_or_default();
                    TreeEntry::Link(target.to_string_lossy().into_owned())
                }
                tar::EntryType::Directory => TreeEntry::Folder,
                _ => continue,
            };
            entries.insert(path, kept);
        }
        Ok(Self { entries })
    }

    /// An archive of `entries`, each with its path below the root: `proc/stat`. The last entry with
    /// a path replaces earlier ones.
    pub fn from_entries(entries: impl IntoIterator<Item = (String, TreeEntry)>) -> Self {
        Self { entries: entries.into_iter().collect() }
    }

    /// Whether the archive has no entries.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    pub(super) fn bytes(&self, path: &str) -> io::Result<&[u8]> {
        let place = self.place(path).ok_or(io::ErrorKind::NotFound)?;
        match self.entries.get(&place) {
            Some(TreeEntry::File(bytes)) => Ok(bytes),
            Some(_) => Err(io::ErrorKind::InvalidInput.into()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    pub(super) fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let place = self.place(path).ok_or(io::ErrorKind::NotFound)? + "/";
        let below = self.entries.range(place.clone()..);
        let below = below.take_while(|(path, _)| path.starts_with(&place));
        let name = |path: &String| path[place.len()..].split('/').next().map(str::to_owned);
        let mut names: Vec<_> = below.filter_map(|(path, _)| name(path)).collect();
        names.dedup();
        let is_there = !names.is_empty() || self.entries.contains_key(place.trim_end_matches('/'));
        if is_there { Ok(names) } else { Err(io::ErrorKind::NotFound.into()) }
    }

    pub(super) fn link(&self, path: &str) -> Option<&str> {
        let (folder, name) = path.rsplit_once('/')?;
        match self.entries.get(&join(&self.place(folder)?, name))? {
            TreeEntry::Link(target) => Some(target),
            _ => None,
        }
    }

    /// Follows links; none if they lead out, or in circles.
    fn place(&self, path: &str) -> Option<String> {
        let mut left: Vec<String> = parts(path);
        let mut at = String::new();
        let mut links = 0;
        while let Some(part) = left.pop() {
            if part == ".." {
                at.truncate(at.rfind('/').unwrap_or(0));
                continue;
            }
            let next = join(&at, &part);
            let Some(TreeEntry::Link(target)) = self.entries.get(&next) else {
                at = next;
                continue;
            };
            links += 1;
            if links > MOST_LINKS || target.starts_with('/') {
                return None;
            }
            left.extend(parts(target));
        }
        Some(at)
    }
}

/// The parts of a path, the last one first.
fn parts(path: &str) -> Vec<String> {
    let parts = path.split('/').filter(|part| !part.is_empty() && *part != ".");
    parts.rev().map(str::to_owned).collect()
}

fn join(folder: &str, name: &str) -> String {
    if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") }
}

/// A path of an archive as this one is asked for it; none if it leads out.
fn normal(path: &str) -> Option<String> {
    let parts = parts(path);
    let leads_out = parts.iter().any(|part| part == "..");
    let path = parts.into_iter().rev().collect::<Vec<_>>().join("/");
    (!leads_out && !path.is_empty()).then_some(path)
}

/// A capture of a large server has some thousand files of some hundred bytes.
const MOST_BYTES: u64 = 64 << 20;
const MOST_ENTRIES: usize = 200_000;
/// Longest archive in bytes; its entries are padded.
const MOST_LENGTH: u64 = 2 * MOST_BYTES;
/// As many as path_resolution(7) follows.
const MOST_LINKS: usize = 40;

#[cfg(test)]
mod tests {
    use super::*;

    fn archive() -> Archive {
        let file = |text: &str| TreeEntry::File(text.as_bytes().to_vec());
        let link = |target: &str| TreeEntry::Link(target.to_owned());
        let entries = [
            ("sys/class/net/eth0", link("../../devices/pci/0000:01/net/eth0")),
            ("sys/devices/pci/0000:01/net/eth0/mtu", file("1500\n")),
            ("sys/devices/pci/0000:01/net/eth0/device", link("../../../0000:01")),
            ("sys/devices/pci/0000:01/driver", link("../../../bus/pci/drivers/r8169")),
            ("sys/devices/pci/numa_node", file("1\n")),
            ("sys/circle", link("circle")),
            ("sys/out", link("/etc/hostname")),
        ];
        Archive::from_entries(entries.map(|(path, entry)| (path.to_owned(), entry)))
    }

    #[test]
    fn links_lead_within_the_tree() {
        let tree = super::super::Tree::archived(archive());
        assert_eq!(tree.number::<u32>("sys/class/net/eth0/mtu"), Some(1500));
        assert_eq!(tree.link("sys/class/net/eth0/device/driver").as_deref(), Some("r8169"));
        assert_eq!(tree.link("sys/class/net/eth0/device").as_deref(), Some("0000:01"));
        assert_eq!(tree.number::<u32>("sys/class/net/eth0/device/../numa_node"), Some(1));
        assert_eq!(tree.names("sys/class/net").expect("there"), ["eth0"]);
        assert!(tree.text("sys/circle").is_err() && tree.text("sys/out").is_err());
        assert!(tree.names("proc").is_err());
    }

    #[test]
    fn what_is_no_archive_is_refused() {
        assert!(Archive::read(&[7_u8; 2048][..]).is_err());
        assert!(Archive::read(&[][..]).is_ok_and(|archive| archive.entries.is_empty()));
        assert_eq!(normal("./proc//stat").as_deref(), Some("proc/stat"));
        assert_eq!(normal("proc/../../etc/shadow"), None);
    }
}
