//! What is kept is found again, by all that it is looked for by; and what is no store is refused.

use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::PathBuf;
use std::time::Duration;
use std::{env, fs};

use linerate_store::{About, Filter, Keep, RunId, Since, Store, StoreError, Tag};
use measurement::{Quantity, RecordSet};

/// A new folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("linerate-history-{name}-{}", std::process::id()));
    _ = fs::remove_dir_all(&folder);
    folder
}

/// The four rows of a run on a day of November 2026, with another kernel.
fn run(day: u32, kernel: &str) -> RecordSet {
    let text = include_bytes!("../../report/tests/records/four-rows.json");
    let mut set = report::import::record::read(text).expect("records");
    for record in &mut set.records {
        let environment = record.environment.as_mut().expect("a record has one");
        environment.started_at = format!("2026-11-{day:02}T12:00:00Z");
        kernel.clone_into(&mut environment.kernel);
    }
    set
}

fn about(command: &str) -> About<'_> {
    About { command, now_millis: 0 }
}

/// Numbers of the runs that a filter finds.
fn found(store: &Store, filter: &Filter) -> Vec<i64> {
    store.runs(filter).expect("runs").iter().map(|run| run.id).collect()
}

#[test]
fn a_run_is_found_by_what_is_known_of_it() {
    let folder = folder("filters");
    let mut store = Store::open(&folder.join("deep/history.db")).expect("a store");
    for (day, kernel) in [(1, "6.1"), (2, "6.6"), (3, "6.6")] {
        store.keep(&run(day, kernel), about("test")).expect("room");
    }
    store.tag(RunId::from_number(2), &Tag::read("before").expect("a tag")).expect("a run");
    store.tag(RunId::from_number(3), &Tag::read("site=lab").expect("a tag")).expect("a run");
    assert_eq!(found(&store, &Filter::default()), [3, 2, 1]);
    assert_eq!(found(&store, &Filter { most: Some(1), ..Filter::default() }), [3]);
    let since: Since = "2026-11-02".parse().expect("a day");
    let since_millis = Some(since.millis(0));
    assert_eq!(found(&store, &Filter { since_millis, ..Filter::default() }), [3, 2]);
    for (text, expected) in [("before", vec![2]), ("site", vec![3]), ("site=attic", vec![])] {
        let tag = Tag::read(text).ok();
        assert_eq!(found(&store, &Filter { tag, ..Filter::default() }), expected, "{text}");
    }
    let runs = store.runs(&Filter::default()).expect("runs");
    for host in [&runs[0].host, &runs[0].peer] {
        let filter = Filter { host: Some(host.clone()), ..Filter::default() };
        assert!(!host.is_empty() && found(&store, &filter).len() == 3, "{host}");
    }
    let other = Filter { host: Some("nobody".to_owned()), ..Filter::default() };
    assert!(found(&store, &other).is_empty());
    let row = Filter { row: Some("udp SEND".to_owned()), ..Filter::default() };
    let runs = store.runs(&row).expect("runs");
    assert!(runs.len() == 3 && runs.iter().all(|run| run.rows.len() == 1), "{runs:?}");
    let row = &runs[0].rows[0];
    assert!(row.row == "UDP send" && row.quantity == Quantity::Rate && row.value > 0.0);
    assert_eq!(runs[1].kernel, "6.6");
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn the_peer_of_an_import_is_that_of_its_streams() {
    let folder = folder("imports");
    let mut store = Store::open(&folder.join("history.db")).expect("a store");
    let mut set = run(1, "6.1");
    for record in &mut set.records {
        record.peer = None;
        for stream in &mut record.streams {
            stream.local = Some(SocketAddr::from(([192, 0, 2, 1], 40_000)));
            stream.peer = Some(SocketAddr::from(([192, 0, 2, 2], 5_201)));
        }
    }
    store.keep(&set, about("import")).expect("room");
    let runs = store.runs(&Filter::default()).expect("runs");
    assert_eq!(runs[0].peer, "192.0.2.2");
    let of_peer = Filter { host: Some("192.0.2.2".to_owned()), ..Filter::default() };
    assert_eq!(found(&store, &of_peer), [1]);
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_clock_that_was_set_back_leaves_one_order() {
    let folder = folder("clock");
    let mut store = Store::open(&folder.join("history.db")).expect("a store");
    for day in [8, 9, 2] {
        store.keep(&run(day, "6.1"), about("test")).expect("room");
    }
    let all = found(&store, &Filter::default());
    assert_eq!(all, [3, 2, 1]);
    for (back, id) in (0..).zip(all) {
        assert_eq!(store.last(back).expect("a store"), Some(RunId::from_number(id)));
    }
    assert_eq!(store.prune(Keep::Runs(2), 0).expect("pruned"), 1);
    assert_eq!(found(&store, &Filter::default()), [3, 2], "the last one kept stays");
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn a_label_with_several_values_has_none() {
    let folder = folder("labels");
    let mut store = Store::open(&folder.join("history.db")).expect("a store");
    let mut set = run(1, "6.1");
    for (record, side) in set.records.iter_mut().zip(["A", "B"].into_iter().cycle()) {
        record.tags.insert("ab".to_owned(), side.to_owned());
        record.tags.insert("site".to_owned(), "lab".to_owned());
    }
    store.keep(&set, about("ab")).expect("room");
    let runs = store.runs(&Filter::default()).expect("runs");
    assert_eq!(runs[0].tags, ["ab", "demo=100.0 Mbit/s", "site=lab"]);
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn records_come_back_as_they_were_kept() {
    let folder = folder("records");
    let mut store = Store::open(&folder.join("history.db")).expect("a store");
    let id = store.keep(&run(1, "6.1"), about("test")).expect("room");
    let text = store.records(id).expect("its records");
    assert_eq!(report::import::record::read(&text).expect("records"), run(1, "6.1"));
    assert_eq!(store.last(0).expect("a store"), Some(id));
    assert_eq!(store.last(1).expect("a store"), None);
    let missing = store.records(RunId::from_number(9)).expect_err("there is one run");
    assert!(matches!(missing, StoreError::NoRun { number: 9 }), "{missing}");
    let tag = Tag::read("x").expect("a tag");
    assert!(store.tag(RunId::from_number(9), &tag).is_err());
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn old_runs_are_deleted_and_numbers_not_used_again() {
    let folder = folder("prune");
    let file = folder.join("history.db");
    let mut store = Store::open(&file).expect("a store");
    for day in 1..=9 {
        store.keep(&run(day, "6.1"), about("test")).expect("room");
    }
    // A reader that is the last to close a store brings all that was written into this file.
    let size = |store: Store| {
        store.verify().expect("it is whole");
        drop(store);
        drop(Store::open_to_read(&file).expect("a store"));
        fs::metadata(&file).expect("a file").len()
    };
    assert_eq!(store.prune(Keep::Runs(6), 0).expect("pruned"), 3);
    assert_eq!(found(&store, &Filter::default()), [9, 8, 7, 6, 5, 4]);
    let two_days = Keep::Within(Duration::from_secs(2 * 86_400));
    assert_eq!(store.prune(two_days, NOON_OF_THE_9TH).expect("pruned"), 3);
    assert_eq!(found(&store, &Filter::default()), [9, 8, 7]);
    for _ in 0..100 {
        store.keep(&run(9, "6.1"), about("test")).expect("room");
    }
    let before = size(store);
    let mut store = Store::open(&file).expect("a store");
    store.prune(Keep::Runs(0), 0).expect("pruned");
    let after = size(store);
    assert!(after < before / 2, "deleted runs give their room back: {before}, {after}");
    let mut store = Store::open(&file).expect("a store");
    assert!(store.records(RunId::from_number(109)).is_err());
    assert_eq!(store.keep(&run(1, "6.1"), about("test")).expect("room").number(), 110);
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn only_the_owner_may_read_it() {
    let folder = folder("mode");
    let file = folder.join("linerate/history.db");
    let mut store = Store::open(&file).expect("a store");
    store.keep(&run(1, "6.1"), about("test")).expect("room");
    let mode = |path: &PathBuf| fs::metadata(path).expect("there").permissions().mode() & 0o777;
    assert_eq!((mode(&file), mode(&folder.join("linerate"))), (0o600, 0o700));
    // What SQLite keeps beside it is as private.
    let log = folder.join("linerate/history.db-wal");
    assert_eq!(mode(&log), 0o600);
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn what_is_no_store_of_this_version_is_refused_and_left_alone() {
    let folder = folder("foreign");
    fs::create_dir_all(&folder).expect("a folder");
    let text = folder.join("text");
    for length in [1, 15, 16, 99, 100, 511, 512, 2_000] {
        let before = "not a database ".repeat(150)[..length].to_owned();
        fs::write(&text, &before).expect("a file");
        for error in [Store::open(&text).err(), Store::open_to_read(&text).err()] {
            assert!(matches!(error, Some(StoreError::Foreign { .. })), "{error:?}");
        }
        assert_eq!(fs::read_to_string(&text).expect("a file"), before);
    }
    let newer = folder.join("newer.db");
    drop(Store::open(&newer).expect("a store"));
    // The header of the file has the version at byte 60 (https://sqlite.org/fileformat.html).
    let mut bytes = fs::read(&newer).expect("a file");
    bytes[60..64].copy_from_slice(&99_u32.to_be_bytes());
    fs::write(&newer, &bytes).expect("a file");
    let error = Store::open(&newer).expect_err("newer").to_string();
    assert!(error.contains("has version 99") && error.contains("update linerate"), "{error}");
    assert!(Store::open_to_read(&newer).is_err());
    let directory = Store::open(&folder).expect_err("a folder").to_string();
    assert!(directory.contains("is a directory") && !directory.contains("os error"), "{directory}");
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn nothing_kept_is_no_error_for_readers() {
    let folder = folder("absent");
    assert!(Store::open_to_read(&folder.join("history.db")).expect("no error").is_none());
    assert!(!folder.exists(), "a reader makes nothing");
}

/// 2026-11-09T12:00:00Z in milliseconds since the Unix epoch.
const NOON_OF_THE_9TH: u64 = 1_794_225_600_000;

#[test]
fn the_log_beside_the_file_stays_short_over_many_processes() {
    let folder = folder("log");
    let path = folder.join("history.db");
    let records = run(1, "6.1");
    let mut longest = 0;
    for _ in 0..150 {
        // As a process does that runs one test.
        let mut store = Store::open(&path).expect("a store");
        store.keep(&records, about("test")).expect("room");
        drop(store);
        longest =
            longest.max(fs::metadata(folder.join("history.db-wal")).map_or(0, |log| log.len()));
    }
    assert!((100_000..2 << 20).contains(&longest), "{longest} bytes");
    let store = Store::open_to_read(&path).expect("a store").expect("a file");
    assert_eq!(found(&store, &Filter::default()).len(), 150);
    fs::remove_dir_all(folder).expect("the folder is there");
}
