//! The file of the key by which one host lets another tune it.

use std::fs::File;
use std::io::Read;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use session::tuning::SharedKey;

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
        .map_err(|why| format!("{shown} is no key: {why}: type {MAKE} > {shown}"))
}

/// The bits of group and others (chmod(2)).
const FOR_OTHERS: u32 = 0o077;
/// More than any key has.
const MOST: u64 = 4096;
/// Makes a key; 32 bytes are as many as the code has.
const MAKE: &str = "head -c 32 /dev/urandom | base64";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

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
        assert!(read_with("short", 0o400).is_err_and(|told| told.contains("/dev/urandom")));
        fs::remove_file(&path).expect("removed");
        assert!(read(&path).is_err_and(|told| told.starts_with("cannot read the key ")));
    }
}
