//! The unit for systemd.

use std::path::Path;
use std::process::Command;

use crate::support::{Directory, LINERATE, linerate, program, run, skip};

#[test]
fn systemd_has_nothing_to_say_against_the_unit() {
    let version = program(Command::new("systemd-analyze")).arg("--version").output();
    if !version.is_ok_and(|output| output.status.success()) {
        return skip("no systemd-analyze here").unwrap_or_default();
    }
    let directory = Directory::new("unit");
    let file = directory.file("linerate.service");
    std::fs::write(&file, unit().replace(INSTALLED, LINERATE)).expect("a file");
    let mut verify = program(Command::new("systemd-analyze"));
    verify.arg("verify").arg("--man=no").arg(&file);
    let finished = run(verify);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    // It also complains of units that this one has nothing to do with.
    assert!(!finished.stderr.contains("linerate"), "{finished:?}");
}

#[test]
fn the_unit_starts_the_server_with_flags_that_there_are() {
    let unit = unit();
    let line = unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("a command");
    let arguments = line.strip_prefix(INSTALLED).expect("the program").trim();
    // A second --help would hide nothing: a flag that is unknown is told of first.
    run(linerate(&format!("{arguments} --help"))).assert_success();
}

fn unit() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../contrib/linerate.service");
    std::fs::read_to_string(path).expect("the unit")
}

const INSTALLED: &str = "/usr/local/bin/linerate";
