//! The file of a key that two hosts share: for tests, or for a host that another one tunes.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use session::tuning::SharedKey;

use crate::whole_file::{self, Readers};

/// Reads a key that nobody but its owner can read.
///
/// # Errors
/// A sentence without a full stop.
pub(crate) fn read(path: &Path) -> Result<SharedKey, String> {
    let shown = path.display();
    let failed = |error| format!("cannot read the key {shown}: {}", session::reason(&error));
    let file = File::open(path).map_err(failed)?;
    let mode = file.metadata().map_err(failed)?.permissions().mode();
    if mode & FOR_OTHERS != 0 {
        return Err(format!("others may read the key {shown}: type chmod 600 {shown}"));
    }
    let mut text = String::new();
    file.take(MOST).read_to_string(&mut text).map_err(failed)?;
    SharedKey::parse(&text)
        .map_err(|why| format!("{shown} is no key: {why}: type linerate key new FILE"))
}

/// Reads the key in the file of an option.
///
/// # Errors
/// As [`read`].
pub(crate) fn parse(path: &str) -> Result<SharedKey, String> {
    read(Path::new(path))
}

/// Makes a new key, as the text of its file: 256 random bits in hexadecimal.
///
/// # Errors
/// The kernel gives no random bytes.
pub(crate) fn make() -> std::io::Result<String> {
    let random: [u8; 32] = linux::entropy::random()?;
    Ok(random.map(|byte| format!("{byte:02x}")).concat() + "\n")
}

/// Writes the text of a key to a new file that only its owner can read, whole or not at all.
///
/// # Errors
/// A sentence without a full stop.
pub(crate) fn write(path: &Path, text: &str) -> Result<(), String> {
    let written = whole_file::create(path, Readers::Owner, |out| out.write_all(text.as_bytes()));
    written.map_err(|error| {
        let shown = path.display();
        let hint = match error.kind() {
            ErrorKind::AlreadyExists => "; a key is never overwritten: give another file",
            _ => "",
        };
        format!("cannot write the key {shown}: {}{hint}", session::reason(&error))
    })
}

/// The bits of group and others (chmod(2)).
const FOR_OTHERS: u32 = 0o077;
/// More than any key has.
const MOST: u64 = 4096;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_key_that_was_made_can_be_read_and_is_never_overwritten() {
        let path = std::env::temp_dir().join(format!("linerate-new-key-{}", std::process::id()));
        let text = make().expect("random bytes");
        assert_ne!(text, make().expect("random bytes"));
        write(&path, &text).expect("written");
        assert!(read(&path).is_ok());
        assert!(write(&path, &text).is_err_and(|told| told.contains("never overwritten")));
        fs::remove_file(&path).expect("removed");
    }

    #[test]
    fn a_key_that_others_can_read_is_refused() {
        let path = std::env::temp_dir().join(format!("linerate-key-{}", std::process::id()));
        let read_with = |text: &str, mode| {
            fs::write(&path, text).expect("written");
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("set");
            read(&path)
        };
        let key = "x".repeat(43);
        assert!(read_with(&key, 0o600).is_ok());
        assert!(read_with(&key, 0o640).is_err_and(|told| told.contains("type chmod 600 ")));
        assert!(
            read_with("short", 0o400).is_err_and(|told| told.contains("type linerate key new "))
        );
        fs::remove_file(&path).expect("removed");
        assert!(read(&path).is_err_and(|told| told.starts_with("cannot read the key ")));
    }
}
