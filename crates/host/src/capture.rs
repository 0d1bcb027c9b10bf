//! Captures of a host ([`Capture`]): one archive of the files below `/proc` and `/sys` that
//! inventory and collectors read, and of the kernel's answers to queries. [`Tree::archived`] reads
//! it.

use std::io::{self, Write};

use measurement::{Timestamp, json};

use crate::inventory::answers::{self, KernelAnswers};
use crate::inventory::memory;
use crate::{Subject, Tree, TreeEntry, Watch, inventory};

mod mask;

use mask::Mask;

/// Capture of a host: the files below `/proc` and `/sys` that linerate reads, and what the kernel
/// reports by netlink and ethtool.
#[derive(Clone, Debug)]
pub struct Capture {
    entries: Vec<(String, TreeEntry)>,
    answers: KernelAnswers,
}

impl Capture {
    /// Captures this host, as the calling thread sees it (its network namespace, its permissions).
    /// What cannot be read is left out.
    pub fn take() -> Self {
        let tree = Tree::recording();
        let answers = inventory::kernel_answers(&tree);
        // Whatever these read is kept; what they make of it is not.
        _ = inventory::read_with(&tree, answers.clone());
        let interfaces = answers.interfaces.iter().map(|one| one.interface.name.clone());
        let subject = Subject { interfaces: interfaces.collect(), ..Subject::default() };
        Watch::new(tree.clone(), subject).sample(Timestamp::from_nanos(0));
        let mut entries = tree.recorded();
        for (path, entry) in &mut entries {
            match entry {
                TreeEntry::File(bytes) if path.ends_with(MOUNTS) => *bytes = only_groups(bytes),
                TreeEntry::File(bytes) if path == memory::PATH => {
                    *bytes = memory::only_modules(bytes);
                }
                _ => (),
            }
        }
        Self { entries, answers }
    }

    /// The capture without what identifies the host: name, network addresses, hardware addresses and
    /// boot id are replaced, each value by the same replacement everywhere.
    #[must_use]
    pub fn masked(mut self) -> Self {
        let mut mask = Mask::default();
        mask.host(&mut self.answers);
        for (path, entry) in &mut self.entries {
            mask.entry(path, entry);
        }
        self
    }

    /// Number of files in the capture, including the one with the kernel's reports by netlink and
    /// ethtool.
    pub fn files(&self) -> usize {
        let is_file = |entry: &&(String, TreeEntry)| matches!(entry.1, TreeEntry::File(_));
        self.entries.iter().filter(is_file).count() + 1
    }

    /// Writes the capture as a tar(5) archive; equal captures give equal bytes.
    ///
    /// # Errors
    /// An error of writing to `out`.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut archive = tar::Builder::new(out);
        for (path, entry) in &self.entries {
            append(&mut archive, path, entry)?;
        }
        let mut answers = Vec::new();
        json::write_indented(&self.answers, &mut answers)?;
        append(&mut archive, answers::PATH, &TreeEntry::File(answers))?;
        archive.into_inner()?.flush()
    }
}

fn append(archive: &mut tar::Builder<impl Write>, path: &str, entry: &TreeEntry) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(if matches!(entry, TreeEntry::Folder) { 0o755 } else { 0o644 });
    header.set_mtime(0);
    header.set_size(0);
    match entry {
        TreeEntry::File(bytes) => {
            header.set_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            archive.append_data(&mut header, path, bytes.as_slice())
        }
        TreeEntry::Link(target) => {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, path, target)
        }
        TreeEntry::Folder => {
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, path, io::empty())
        }
    }
}

/// Keeps the mounts of control groups only: others may name servers and paths that are private.
fn only_groups(mounts: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(mounts);
    let is_group = |line: &&str| line.contains(" - cgroup");
    text.lines().filter(is_group).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

/// Of this process and of its ancestors.
const MOUNTS: &str = "/mountinfo";
