//! `linerate undo`.

use host::tuning::Tuning;

use crate::support::{Directory, linerate, linerate_on, link, run};

#[test]
fn what_a_killed_linerate_has_left_is_restored() {
    let Some(link) = link() else { return };
    let directory = Directory::new("undo");
    let (state, journal) = (directory.0.clone(), directory.file("tuning.journal"));
    let mtu = |bytes: u32| format!("ip link set dev {} mtu {bytes}", link.near.interface());
    let before = link.near.link().expect("its MTU").mtu;
    // As after SIGKILL: the journal is there, and the setting is changed.
    let copy = link.near.run(|| {
        let mut tuning = Tuning::open(&state).expect("it opens");
        tuning.apply(&mtu(9_000).parse().expect("a command")).expect("it is changed");
        std::fs::read(&journal).expect("a journal")
    });
    std::fs::write(&journal, copy.expect("in the namespace")).expect("written");
    let changed = link.near.run(|| {
        let mut route = linux::netlink::RouteSocket::open()?;
        route.set_mtu(link.near.interface(), 9_000)
    });
    changed.expect("in the namespace").expect("changed");

    let undo = |options: &str| {
        run(linerate_on(&link.near, &format!("undo --state {} {options}", state.display())))
    };
    let dry = undo("--dry-run");
    dry.assert_success();
    assert_eq!(dry.stdout, format!("{}\n", mtu(before)));
    assert_eq!(link.near.link().expect("its MTU").mtu, 9_000);
    // The changes are of another network namespace.
    let elsewhere = run(linerate(&format!("undo --state {}", state.display())));
    assert_eq!(elsewhere.code, Some(1), "{elsewhere:?}");
    assert!(elsewhere.stderr.contains("type linerate undo there"), "{elsewhere:?}");
    let done = undo("");
    done.assert_success();
    assert_eq!(done.stdout, format!("{}: 9000 -> {before}\n", mtu(9_000)));
    assert_eq!(link.near.link().expect("its MTU").mtu, before);
    assert_eq!(undo("").stdout, "nothing to undo\n");
}

#[test]
fn without_a_journal_nothing_is_undone() {
    let finished = run(linerate("undo --state /nonexistent/linerate"));
    finished.assert_success();
    assert_eq!(finished.stdout, "nothing to undo\n");
}

#[test]
fn a_journal_that_is_no_journal_is_told_in_a_sentence() {
    let directory = Directory::new("undo-odd");
    let (state, journal) = (directory.0.display(), directory.file("tuning.journal"));
    let undo = || run(linerate(&format!("undo --state {state}")));
    let is_refused = |words: &str| {
        let finished = undo();
        finished.assert_complaint(1, &[words]);
        assert_eq!(finished.stderr.matches(words).count(), 1, "{finished:?}");
    };
    std::fs::create_dir(&journal).expect("a folder");
    is_refused("it is no regular file");
    std::fs::remove_dir(&journal).expect("removed");
    std::os::unix::fs::symlink("/etc/passwd", &journal).expect("a link");
    is_refused("it is no regular file");
    std::fs::remove_file(&journal).expect("removed");
    // Nobody writes to it: to read it would take forever.
    let made = std::process::Command::new("mkfifo").arg(&journal).status().expect("mkfifo");
    assert!(made.success());
    is_refused("it is no regular file");
    std::fs::remove_file(&journal).expect("removed");
    std::fs::write(&journal, [0; 1_000]).expect("written");
    is_refused("1 line damaged");
    assert!(directory.file("tuning.damaged").exists() && !journal.exists());
    assert_eq!(undo().stdout, "nothing to undo\n");
}
