//! What the program says to a command line without sense.

use std::process::Command;

#[test]
fn a_task_that_does_not_exist_is_refused_with_the_tasks_that_do() {
    let mut conformance = Command::new(env!("CARGO_BIN_EXE_conformance"));
    let ended = conformance.arg("guess").output().expect("starts");
    let complaint = String::from_utf8(ended.stderr).expect("text");
    assert_eq!(ended.status.code(), Some(2), "{complaint}");
    assert!(complaint.contains("unrecognized subcommand 'guess'"), "{complaint}");
}

#[test]
fn help_names_every_task() {
    let mut conformance = Command::new(env!("CARGO_BIN_EXE_conformance"));
    let ended = conformance.arg("--help").output().expect("starts");
    let help = String::from_utf8(ended.stdout).expect("text");
    for task in ["matrix", "golden", "siege", "shaped", "consumers"] {
        assert!(help.contains(task), "{help}");
    }
}
