//! Files that are read over and over: opened once, into memory that is kept, once for a thread.

use std::borrow::Cow;
use std::cell::Cell;
use std::fs::File;
use std::io;
use std::mem;
use std::ops::Deref;
use std::os::unix::fs::FileExt;

use measurement::{Gap, Order};

use crate::Tree;

/// A file of a host. What belongs to a network namespace is that of the thread that read it
/// first, whichever reads it later.
#[derive(Debug)]
pub(crate) struct Source {
    path: Cow<'static, str>,
    file: Option<File>,
}

/// What a file contained. Its memory is used again for the next one that this thread reads.
#[derive(Debug)]
pub(crate) struct Text(String);

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl Drop for Text {
    fn drop(&mut self) {
        let bytes = mem::take(&mut self.0).into_bytes();
        if bytes.capacity() <= MOST_KEPT {
            SPARE.set(bytes);
        }
    }
}

impl Source {
    /// A source for the file at `path`, below the root of a tree.
    pub(crate) fn new(path: impl Into<Cow<'static, str>>) -> Self {
        Self { path: path.into(), file: None }
    }

    /// The text of the file now; bytes that are not UTF-8 are replaced.
    ///
    /// # Errors
    /// The error of open(2) or read(2); as for [`Tree::text`] if the tree is not live.
    pub(crate) fn text(&mut self, tree: &Tree) -> io::Result<Text> {
        if !tree.is_live() {
            return tree.text(&self.path).map(Text);
        }
        if self.file.is_none() {
            self.file = Some(tree.open(&self.path)?);
        }
        let mut bytes = SPARE.take();
        let read = self.file.as_ref().map_or(Ok(()), |file| read_whole(file, &mut bytes));
        match read {
            Ok(()) => {
                Ok(Text(String::from_utf8(bytes).unwrap_or_else(|error| {
                    String::from_utf8_lossy(error.as_bytes()).into_owned()
                })))
            }
            Err(error) => {
                // What it was may be gone, and another there in its place.
                self.file = None;
                Err(error)
            }
        }
    }

    /// Reads the text of the source.
    ///
    /// # Errors
    /// A gap that names `what` could not be read; `absent` is the reason if the file does
    /// not exist.
    pub(crate) fn text_or_gap(
        &mut self,
        tree: &Tree,
        what: &str,
        absent: &str,
    ) -> Result<Text, Gap> {
        self.text(tree).map_err(|error| gap(what, &error, absent))
    }
}

/// Reads a file whole. Files of the kernel have no length, and a read from the start generates
/// the content anew.
fn read_whole(file: &File, bytes: &mut Vec<u8>) -> io::Result<()> {
    let mut length = 0;
    bytes.resize(bytes.capacity(), 0);
    loop {
        if bytes.len() - length < LEAST_ROOM {
            bytes.resize((bytes.len() * 2).max(FIRST_ROOM), 0);
        }
        match file.read_at(&mut bytes[length..], length as u64) {
            Ok(0) => {
                bytes.truncate(length);
                return Ok(());
            }
            Ok(read) => length += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
}

/// A gap with the reason why `what` could not be read, and a remedy.
pub(crate) fn gap(what: &str, error: &io::Error, absent: &str) -> Gap {
    let why = match error.kind() {
        io::ErrorKind::NotFound => absent.to_owned(),
        io::ErrorKind::PermissionDenied => "not permitted: run it as root".to_owned(),
        _ => error.to_string(),
    };
    Gap { what: what.to_owned(), why }
}

/// Numbers `n` of the entries `prefix`*n* of a folder, in order; none if it cannot be listed.
pub(crate) fn numbered(tree: &Tree, folder: &str, prefix: &str) -> Vec<u32> {
    let number = |name: &str| name.strip_prefix(prefix)?.parse().ok();
    let names = tree.names(folder).unwrap_or_default();
    let mut found: Vec<u32> = names.iter().filter_map(|name| number(name)).collect();
    found.order();
    found
}

/// A list of all symbols is not read over and over.
const MOST_KEPT: usize = 256 * 1024;
thread_local! {
    /// Room for the next text.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Most files of the kernel are shorter.
const FIRST_ROOM: usize = 4096;
/// So that no read ends after a few bytes.
const LEAST_ROOM: usize = 1024;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_read_again_and_again_from_its_start() {
        let mut source = Source::new("proc/self/stat");
        let tree = Tree::live();
        for _ in 0..3 {
            let text = source.text(&tree).expect("there");
            assert!(text.starts_with(&std::process::id().to_string()), "{}", &*text);
        }
    }

    #[test]
    fn a_long_file_is_read_whole() {
        let mut source = Source::new("proc/kallsyms");
        let tree = Tree::live();
        let Ok(text) = source.text(&tree) else { return };
        let text = text.to_string();
        assert_eq!(
            text.lines().count(),
            tree.text("proc/kallsyms").expect("there").lines().count()
        );
    }

    #[test]
    fn what_is_not_there_is_a_gap_with_a_reason() {
        let mut source = Source::new("proc/no-such-file");
        let gap =
            source.text_or_gap(&Tree::live(), "things", "this kernel has none").expect_err("none");
        assert_eq!((gap.what.as_str(), gap.why.as_str()), ("things", "this kernel has none"));
    }
}
