//! Restriction of this process's access to files and network (landlock(7)).
//!
//! Open descriptors stay usable. It is meant for a process with a single thread; threads that are started later inherit the restriction.

use std::path::Path;

use landlock::{
    ABI, Access as _, AccessFs, AccessNet, NetPort, PathBeneath, PathFd, Ruleset, RulesetAttr,
    RulesetCreatedAttr, RulesetError, RulesetStatus, Scope,
};

/// How much of the restriction that [`restrict`] requests the kernel enforces (landlock(7)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Restriction {
    /// All requested restrictions are in effect.
    Full,
    /// The part that this kernel's Landlock supports.
    Partial,
    /// No restriction is in effect.
    Absent {
        /// The reason, for a log.
        reason: String,
    },
}

/// Access to files and connections that a process keeps.
#[derive(Clone, Copy, Debug, Default)]
pub struct Access<'a> {
    /// Directories below which it reads files.
    pub reads: &'a [&'a Path],
    /// Directories below which it writes, makes and removes files as well.
    pub writes: &'a [&'a Path],
    /// A directory in which it removes files.
    pub removes: Option<&'a Path>,
    /// Whether it opens TCP connections.
    pub connects: bool,
}

/// Restricts this process with landlock(7) for good to what `access` names: it executes no file,
/// binds no TCP port except those that the kernel chooses, and neither signals other processes
/// nor connects to their abstract Unix sockets. An older kernel enforces only a part, or nothing,
/// which is not an error.
pub fn restrict(access: &Access<'_>) -> Restriction {
    match apply(access) {
        Ok(RulesetStatus::FullyEnforced) => Restriction::Full,
        Ok(RulesetStatus::PartiallyEnforced) => Restriction::Partial,
        Ok(RulesetStatus::NotEnforced) => Restriction::Absent {
            reason: "this kernel has no Landlock, or it is switched off".to_owned(),
        },
        Err(error) => Restriction::Absent { reason: error.to_string() },
    }
}

fn apply(access: &Access<'_>) -> Result<RulesetStatus, RulesetError> {
    let reading = AccessFs::ReadFile | AccessFs::ReadDir;
    let writing = AccessFs::from_write(NEWEST);
    let network =
        if access.connects { AccessNet::BindTcp.into() } else { AccessNet::from_all(NEWEST) };
    let mut rules = Ruleset::default()
        .handle_access(writing | AccessFs::Execute | reading)?
        .handle_access(network)?
        .scope(Scope::from_all(NEWEST))?
        .create()?;
    // Further ports of a test, which are chosen by the kernel (port 0).
    rules = rules.add_rule(NetPort::new(0, AccessNet::BindTcp))?;
    let read = access.reads.iter().map(|path| (*path, reading));
    let written = access.writes.iter().map(|path| (*path, reading | writing));
    let removed = access.removes.map(|path| (path, AccessFs::RemoveFile.into()));
    for (path, allowed) in read.chain(written).chain(removed) {
        // One that is not there has nothing to read or to remove.
        if let Ok(directory) = PathFd::new(path) {
            rules = rules.add_rule(PathBeneath::new(directory, allowed))?;
        }
    }
    Ok(rules.restrict_self()?.ruleset)
}

/// The newest ABI that is requested (Linux 6.12). The two after it restrict nothing more.
const NEWEST: ABI = ABI::V6;

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream};
    use std::{fs, io, process};

    use super::*;

    #[test]
    fn a_sealed_thread_reads_what_it_may_and_neither_writes_nor_connects() {
        // Landlock holds for one thread, so that the others of this test go on as before.
        std::thread::spawn(|| {
            let name = format!("seal-{}", process::id());
            let directory = std::env::temp_dir().join(name);
            fs::create_dir_all(&directory).expect("a directory");
            let file = directory.join("file");
            fs::write(&file, "text").expect("a file");
            let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
            let address = listener.local_addr().expect("an address");

            let written = directory.join("written");
            fs::create_dir(&written).expect("a directory");
            let sealed = restrict(&Access {
                reads: &[Path::new("/proc")],
                writes: &[&written],
                removes: Some(&directory),
                connects: false,
            });
            if let Restriction::Absent { reason } = &sealed {
                return eprintln!("skipped: {reason}");
            }
            let refused = |result: io::Result<()>| {
                assert_eq!(result.map_err(|e| e.kind()), Err(io::ErrorKind::PermissionDenied));
            };
            refused(fs::write(&file, "other text"));
            refused(fs::write(directory.join("other"), "text"));
            refused(fs::create_dir(directory.join("inner")));
            refused(process::Command::new("/bin/true").status().map(drop));
            if sealed == Restriction::Full {
                refused(TcpStream::connect(address).map(drop));
                refused(TcpListener::bind(("127.0.0.1", 5201)).map(drop));
                TcpListener::bind("127.0.0.1:0").expect("what the kernel chooses");
            }
            refused(fs::read_to_string(&file).map(drop));
            refused(fs::read_to_string("/etc/passwd").map(drop));
            refused(fs::read_dir("/etc").map(drop));
            assert!(fs::read_to_string("/proc/self/stat").is_ok());
            fs::remove_file(&file).expect("removed");
            fs::write(written.join("other"), "text").expect("written");
            assert!(fs::read_to_string(written.join("other")).is_ok_and(|text| text == "text"));
        })
        .join()
        .expect("no panic");
    }
}
