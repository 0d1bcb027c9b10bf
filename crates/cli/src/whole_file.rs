//! Files that are there whole or not at all: written without a name in the same folder, or under
//! another one where the file system knows no other way, and renamed (rename(2)). A full disk or a kill
//! in between leaves what was there.

use std::fs::{self, File, Metadata, Permissions};
use std::io::{self, BufWriter, ErrorKind, Read, Seek, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};

use linux::unnamed_file;

/// Who may read a file that was not there before. One that was there keeps its mode and owner.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Readers {
    /// Whom umask(2) leaves.
    Usual,
    /// Everybody, whatever the mask: the file is there to be read.
    All,
    /// Its owner.
    Owner,
}

/// Device and inode of a file: another process may make its name its own.
pub(crate) type Identity = (u64, u64);

/// The identity of a file that was found.
pub(crate) fn identity(found: &Metadata) -> Identity {
    (found.dev(), found.ino())
}

/// Writes a file by `write`, which replaces the one at `path` when all of it is on the disk. Of a
/// link that is the file that it leads to.
pub(crate) fn replace(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<Identity> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    let draft = Draft::create(&target, readers, known(&target))?;
    draft.fill(write)?;
    let draft = draft.named(&target)?;
    let identity = identity(&draft.file.metadata()?);
    fs::rename(&draft.path, &target)?;
    Ok(identity)
}

/// Writes a file by `write` that is not there yet, when all of it is on the disk. What has the name
/// stays as it is, also if it came meanwhile (`EEXIST`, link(2)).
pub(crate) fn create(
    path: &Path,
    readers: Readers,
    write: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        return Err(ErrorKind::AlreadyExists.into());
    }
    let draft = Draft::create(path, readers, None)?;
    draft.fill(write)?;
    fs::hard_link(&draft.named(path)?.path, path)
}

/// The file that is there already.
fn known(target: &Path) -> Option<Metadata> {
    fs::metadata(target).ok().filter(Metadata::is_file)
}

/// Whether a file at `path` could be replaced now; nothing is.
pub(crate) fn check(path: &Path) -> io::Result<()> {
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
    Draft::create(&target, Readers::Usual, known(&target)).map(drop)
}

/// The file before it has its name.
enum Draft {
    /// A kill leaves nothing of it.
    Unnamed(File),
    Named(Named),
}

/// The file under another name, which is removed with this value, unless it has been renamed: a link to
/// it stays.
struct Named {
    path: PathBuf,
    file: File,
}

impl Named {
    /// The file that `make` makes under the first free name beside `target`. A file that has such a name
    /// already is somebody else's, and so is the file that a link there leads to.
    fn beside(target: &Path, make: &dyn Fn(&Path) -> io::Result<File>) -> io::Result<Self> {
        let process = std::process::id();
        let mut names = (0..MOST_NAMES).map(|number| format!(".linerate.{process}.{number}"));
        let first = names.find_map(|name| {
            let path = target.with_file_name(name);
            match make(&path) {
                Err(error) if error.kind() == ErrorKind::AlreadyExists => None,
                file => Some(file.map(|file| Self { path, file })),
            }
        });
        first.unwrap_or_else(|| Err(ErrorKind::AlreadyExists.into()))
    }

    /// A new file (`O_EXCL`, open(2)).
    fn create(target: &Path, mode: u32) -> io::Result<Self> {
        let mut options = File::options();
        options.write(true).create_new(true).mode(mode);
        Self::beside(target, &|path| options.open(path))
    }
}

impl Draft {
    fn create(target: &Path, readers: Readers, known: Option<Metadata>) -> io::Result<Self> {
        let mode = match (&known, readers) {
            (Some(_), _) | (None, Readers::Owner) => 0o600,
            (None, Readers::Usual | Readers::All) => 0o666,
        };
        let folder = target.parent().filter(|folder| *folder != Path::new(""));
        let draft = match unnamed_file::create(folder.unwrap_or(Path::new(".")), mode) {
            Ok(file) => Self::Unnamed(file),
            Err(_) => Self::Named(Named::create(target, mode)?),
        };
        match known {
            Some(known) => draft.take_after(&known)?,
            None if readers == Readers::All => {
                draft.file().set_permissions(Permissions::from_mode(0o644))?;
            }
            None => {}
        }
        Ok(draft)
    }

    const fn file(&self) -> &File {
        match self {
            Self::Unnamed(file) | Self::Named(Named { file, .. }) => file,
        }
    }

    /// It with a name beside `target`, under which it can be renamed.
    fn named(self, target: &Path) -> io::Result<Named> {
        let file = match self {
            Self::Named(named) => return Ok(named),
            Self::Unnamed(file) => file,
        };
        let name = |path: &Path| {
            unnamed_file::name(&file, path)?;
            file.try_clone()
        };
        // Without /proc, or where a filter denies linkat(2), it is written once more.
        Named::beside(target, &name).or_else(|_| copied(&file, target))
    }

    /// Writes all of it to the disk.
    fn fill(&self, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<()> {
        let mut buffered = BufWriter::new(self.file());
        write(&mut buffered)?;
        buffered.flush()?;
        drop(buffered);
        self.file().sync_all()
    }

    /// Makes it as accessible as the file that it is to replace.
    fn take_after(&self, known: &Metadata) -> io::Result<()> {
        // Only root may give files away. Without, the file is the user's, as a new one is.
        _ = fchown(self.file(), Some(known.uid()), Some(known.gid()));
        self.file().set_permissions(Permissions::from_mode(known.mode() & 0o777))
    }
}

/// A named copy of an unnamed file.
fn copied(mut unnamed: &File, target: &Path) -> io::Result<Named> {
    let (known, mode) = (unnamed.metadata()?, 0o600);
    let draft = Draft::Named(Named::create(target, mode)?);
    draft.take_after(&known)?;
    unnamed.rewind()?;
    let mut all = Vec::new();
    unnamed.read_to_end(&mut all)?;
    draft.fill(|out| out.write_all(&all))?;
    draft.named(target)
}

impl Drop for Named {
    fn drop(&mut self) {
        // It has another name by now, or could not be written.
        _ = fs::remove_file(&self.path);
    }
}

/// So many processes of one number, on hosts that share a folder, may be killed here.
const MOST_NAMES: u32 = 100;

#[cfg(test)]
mod tests {
    use std::io::{BufRead, BufReader};
    use std::os::unix::fs::symlink;
    use std::process::{Command, Stdio};
    use std::time::Duration;

    use super::*;

    fn folder(name: &str) -> PathBuf {
        let name = format!("linerate-whole-file-{name}-{}", std::process::id());
        let folder = std::env::temp_dir().join(name);
        _ = fs::remove_dir_all(&folder);
        fs::create_dir(&folder).expect("a folder");
        folder
    }

    fn put(path: &Path, readers: Readers, text: &str) -> io::Result<Identity> {
        replace(path, readers, |out| out.write_all(text.as_bytes()))
    }

    fn mode(path: &Path) -> u32 {
        fs::metadata(path).expect("a file").mode() & 0o777
    }

    fn names(folder: &Path) -> Vec<String> {
        let entries = fs::read_dir(folder).expect("a folder");
        let name = |entry: io::Result<fs::DirEntry>| entry.expect("an entry").file_name();
        entries.map(|entry| name(entry).to_string_lossy().into_owned()).collect()
    }

    #[test]
    fn a_file_keeps_its_mode_and_a_link_what_it_leads_to() {
        let folder = folder("mode");
        let (file, link) = (folder.join("file"), folder.join("link"));
        fs::write(&file, "old").expect("a file");
        fs::set_permissions(&file, Permissions::from_mode(0o604)).expect("its owner");
        symlink(&file, &link).expect("a link");
        put(&link, Readers::All, "new").expect("written");
        assert_eq!(
            (fs::read_to_string(&file).expect("a file"), mode(&file)),
            ("new".into(), 0o604)
        );
        assert!(fs::symlink_metadata(&link).expect("a link").is_symlink());
        let [own, all] = ["own", "all"].map(|name| folder.join(name));
        put(&own, Readers::Owner, "").expect("written");
        let made = put(&all, Readers::All, "").expect("written");
        assert_eq!((mode(&own), mode(&all)), (0o600, 0o644));
        assert_eq!(identity(&fs::metadata(&all).expect("a file")), made);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn what_has_the_name_of_a_draft_stays_as_it_is() {
        let folder = folder("draft");
        let victim = folder.join("victim");
        fs::write(&victim, "precious").expect("a file");
        symlink(&victim, folder.join(format!(".linerate.{}.0", std::process::id())))
            .expect("a link");
        put(&folder.join("file"), Readers::Usual, "text").expect("written");
        check(&folder.join("file")).expect("it can be");
        assert_eq!(fs::read_to_string(&victim).expect("a file"), "precious");
        assert_eq!(names(&folder).len(), 3, "{:?}", names(&folder));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_file_that_cannot_be_linked_is_copied() {
        let folder = folder("copied");
        let (target, wanted) = (folder.join("file"), 0o640);
        let Ok(mut unnamed) = unnamed_file::create(&folder, 0o600) else {
            return fs::remove_dir_all(folder).expect("removed");
        };
        unnamed.write_all(b"text").expect("written");
        unnamed.set_permissions(Permissions::from_mode(wanted)).expect("its owner");
        let named = copied(&unnamed, &target).expect("copied");
        assert_eq!(fs::read_to_string(&named.path).expect("a file"), "text");
        assert_eq!(mode(&named.path), wanted);
        drop(named);
        assert!(names(&folder).is_empty(), "{:?}", names(&folder));
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn an_error_leaves_the_old_file_and_nothing_else() {
        let folder = folder("error");
        let file = folder.join("file");
        fs::write(&file, "old").expect("a file");
        let failed = replace(&file, Readers::Usual, |out| {
            out.write_all(b"half")?;
            Err(ErrorKind::StorageFull.into())
        });
        assert_eq!(failed.expect_err("full").kind(), ErrorKind::StorageFull);
        assert_eq!(fs::read_to_string(&file).expect("a file"), "old");
        assert_eq!(names(&folder), ["file"]);
        fs::remove_dir_all(folder).expect("removed");
    }

    #[test]
    fn a_kill_leaves_the_old_file() {
        // The test runs itself once more, as the process to be killed.
        if let Some(file) = std::env::var_os(FILE_OF_THE_KILLED) {
            return write_a_half(Path::new(&file));
        }
        let folder = folder("kill");
        let file = folder.join("file");
        fs::write(&file, "old").expect("a file");
        let mut writer = Command::new(std::env::current_exe().expect("this program"));
        writer.args(["--exact", "whole_file::tests::a_kill_leaves_the_old_file", "--nocapture"]);
        let writer = writer.env(FILE_OF_THE_KILLED, &file).stdout(Stdio::piped());
        let mut writer = writer.spawn().expect("it runs");
        let mut lines = BufReader::new(writer.stdout.take().expect("piped")).lines();
        assert!(lines.any(|line| line.is_ok_and(|line| line.ends_with("half"))));
        writer.kill().expect("it runs");
        writer.wait().expect("it ran");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "old");
        if unnamed_file::create(&folder, 0o600).is_ok() {
            assert_eq!(names(&folder), ["file"], "nothing is left");
        }
        put(&file, Readers::Usual, "new").expect("written");
        assert_eq!(fs::read_to_string(&file).expect("a file"), "new");
        fs::remove_dir_all(folder).expect("removed");
    }

    fn write_a_half(file: &Path) {
        let written = replace(file, Readers::Usual, |out| {
            out.write_all(b"half")?;
            out.flush()?;
            writeln!(io::stdout(), "half")?;
            std::thread::sleep(Duration::from_secs(60));
            Ok(())
        });
        written.expect("it is killed before");
    }

    const FILE_OF_THE_KILLED: &str = "LINERATE_TEST_FILE";
}
