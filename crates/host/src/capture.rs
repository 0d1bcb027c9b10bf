//! A host as one file: the files that inventory and collectors read, once, and what the
//! kernel answered beside them. Whoever has it sees what this host has.

use std::io::{self, Write};

use measurement::Timestamp;

use crate::inventory::answers::answers;
use crate::inventory::told::{self, Told};
use crate::{Entry, Subject, Tree, Watch, inventory};

mod mask;

use mask::Mask;

/// What was captured.
#[derive(Clone, Debug)]
pub struct Capture {
    entries: Vec<(String, Entry)>,
    told: Told,
}

impl Capture {
    /// Reads this host, as the calling thread sees it.
    pub fn take() -> Self {
        let tree = Tree::recording();
        let told = answers(&tree);
        // Whatever these read is kept; what they make of it is not.
        _ = inventory::with(&tree, told.clone());
        let interfaces = told.interfaces.iter().map(|one| one.interface.name.clone());
        let subject = Subject { interfaces: interfaces.collect(), ..Subject::default() };
        Watch::new(tree.clone(), subject).look(Timestamp::from_nanos(0));
        let mut entries = tree.recorded();
        for (path, entry) in &mut entries {
            if let (MOUNTS, Entry::File(bytes)) = (path.as_str(), entry) {
                *bytes = only_groups(bytes);
            }
        }
        Self { entries, told }
    }

    /// Replaces what tells whose host it is: names, addresses and the boot id. The same
    /// address has the same stand-in everywhere.
    #[must_use]
    pub fn masked(mut self) -> Self {
        let mut mask = Mask::default();
        mask.host(&mut self.told);
        for (path, entry) in &mut self.entries {
            mask.entry(path, entry);
        }
        self
    }

    /// How many files there are.
    pub fn files(&self) -> usize {
        let is_file = |entry: &&(String, Entry)| matches!(entry.1, Entry::File(_));
        self.entries.iter().filter(is_file).count() + 1
    }

    /// Writes the archive (tar(5)). The same capture is always the same bytes.
    ///
    /// # Errors
    /// What the writer reports.
    pub fn write(&self, out: impl Write) -> io::Result<()> {
        let mut archive = tar::Builder::new(out);
        for (path, entry) in &self.entries {
            append(&mut archive, path, entry)?;
        }
        let mut told = serde_json::to_vec_pretty(&self.told)?;
        told.push(b'\n');
        append(&mut archive, told::PATH, &Entry::File(told))?;
        archive.into_inner()?.flush()
    }
}

fn append(archive: &mut tar::Builder<impl Write>, path: &str, entry: &Entry) -> io::Result<()> {
    let mut header = tar::Header::new_gnu();
    header.set_mode(if matches!(entry, Entry::Folder) { 0o755 } else { 0o644 });
    header.set_mtime(0);
    header.set_size(0);
    match entry {
        Entry::File(bytes) => {
            header.set_size(u64::try_from(bytes.len()).unwrap_or(u64::MAX));
            archive.append_data(&mut header, path, bytes.as_slice())
        }
        Entry::Link(target) => {
            header.set_entry_type(tar::EntryType::Symlink);
            archive.append_link(&mut header, path, target)
        }
        Entry::Folder => {
            header.set_entry_type(tar::EntryType::Directory);
            archive.append_data(&mut header, path, io::empty())
        }
    }
}

/// What else is mounted, and from which servers, is nobody's business.
fn only_groups(mounts: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(mounts);
    let is_group = |line: &&str| line.contains(" - cgroup");
    text.lines().filter(is_group).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

const MOUNTS: &str = "proc/self/mountinfo";
