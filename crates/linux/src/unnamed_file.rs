//! Files without a name: the kernel removes one with the process that has it open.

use std::ffi::CString;
use std::fs::{File, OpenOptions};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

/// Opens a new file without a name in a folder, to be written and read (`O_TMPFILE`, open(2)). `mode`
/// is that of a file with a name.
///
/// # Errors
/// `EOPNOTSUPP` or `EISDIR` where the file system has none, and the errors of creating a file there.
pub fn create(folder: &Path, mode: u32) -> io::Result<File> {
    let mut options = OpenOptions::new();
    options.read(true).write(true).custom_flags(libc::O_TMPFILE).mode(mode).open(folder)
}

/// Gives an unnamed file a name in its file system (linkat(2)).
///
/// # Errors
/// `EEXIST` if something has the name, `ENOENT` if `/proc` is not mounted, and `EPERM` if a filter denies
/// the call.
pub fn name(file: &File, path: &Path) -> io::Result<()> {
    let from = CString::new(format!("/proc/self/fd/{}", file.as_raw_fd()))?;
    let to = CString::new(path.as_os_str().as_bytes())?;
    let (here, follow) = (libc::AT_FDCWD, libc::AT_SYMLINK_FOLLOW);
    // SAFETY: both paths end in a null byte and live until the call returns.
    let failed = unsafe { libc::linkat(here, from.as_ptr(), here, to.as_ptr(), follow) } != 0;
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use std::io::Write;
    use std::{env, fs, process};

    use super::*;

    #[test]
    fn a_file_has_no_name_until_it_is_given_one() {
        let folder = env::temp_dir().join(format!("linerate-unnamed-{}", process::id()));
        fs::create_dir(&folder).expect("a folder");
        let count = || fs::read_dir(&folder).expect("a folder").count();
        let Ok(mut file) = create(&folder, 0o600) else {
            return fs::remove_dir(&folder).expect("removed");
        };
        file.write_all(b"text").expect("written");
        assert_eq!(count(), 0);
        let path = folder.join("named");
        name(&file, &path).expect("named");
        assert_eq!(fs::read_to_string(&path).expect("a file"), "text");
        let again = name(&file, &path).expect_err("it is there");
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        fs::remove_dir_all(&folder).expect("removed");
    }
}
