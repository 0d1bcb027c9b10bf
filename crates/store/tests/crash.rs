//! A store outlives what happens to its writers: kills at any instant, eight at once, a full disk.

use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use fastrand::Rng;
use linerate_store::{About, Filter, Keep, RunId, Store, StoreError};
use measurement::RecordSet;

/// The four rows of a run.
fn four_rows() -> RecordSet {
    let text = include_bytes!("../../report/tests/records/four-rows.json");
    report::import::record::read(text).expect("records")
}

/// A new folder for a test.
fn folder(name: &str) -> PathBuf {
    let folder = env::temp_dir().join(format!("linerate-store-{name}-{}", std::process::id()));
    _ = fs::remove_dir_all(&folder);
    fs::create_dir_all(&folder).expect("a folder");
    folder
}

const ABOUT: About<'_> = About { command: "test", now_millis: 1_000 };

/// This program once more, as one that keeps runs in `file` and prints the number of each.
fn writer(file: &Path, runs: u32) -> Child {
    let mut writer = Command::new(env::current_exe().expect("this program"));
    writer.args(["--exact", "a_writer_that_is_killed_leaves_every_run_whole", "--nocapture"]);
    writer.env(FILE_OF_THE_WRITER, file).env(RUNS_OF_THE_WRITER, runs.to_string());
    writer.stdout(Stdio::piped()).spawn().expect("it runs")
}

/// What such a program does.
fn write(file: &Path) {
    let runs = env::var(RUNS_OF_THE_WRITER).expect("set").parse().expect("a number");
    let records = four_rows();
    for _ in 0..runs {
        let mut store = Store::open(file).expect("it is a store");
        let id = store.keep(&records, ABOUT).expect("there is room");
        writeln!(std::io::stdout(), "kept {id}").expect("the test reads it");
    }
}

/// The numbers of the runs that a writer says it keeps, as it says them.
fn kept(writer: &mut Child) -> impl Iterator<Item = i64> + use<> {
    let lines = BufReader::new(writer.stdout.take().expect("piped")).lines();
    let number = |line: std::io::Result<String>| line.ok()?.strip_prefix("kept ")?.parse().ok();
    lines.filter_map(number)
}

/// Every run in a store is whole; their number.
fn runs(file: &Path) -> Vec<i64> {
    let Some(store) = Store::open_to_read(file).expect("it is a store") else { return Vec::new() };
    store.verify().expect("it is whole");
    let runs = store.runs(&Filter::default()).expect("runs");
    assert!(runs.iter().all(|run| run.rows.len() == 4), "a run lacks rows");
    let ids: Vec<_> = runs.iter().map(|run| run.id).collect();
    if let Some(last) = ids.first() {
        let text = store.records(RunId::from_number(*last)).expect("its records");
        assert_eq!(report::import::record::read(&text).expect("records"), four_rows());
    }
    ids
}

#[test]
fn a_writer_that_is_killed_leaves_every_run_whole() {
    if let Some(file) = env::var_os(FILE_OF_THE_WRITER) {
        return write(Path::new(&file));
    }
    let kills =
        env::var("LINERATE_TEST_KILLS").map_or(50, |kills| kills.parse().expect("a number"));
    let (folder, mut random) = (folder("kill"), Rng::with_seed(1));
    let file = folder.join("history.db");
    let (mut promised, mut cut_short) = (Vec::new(), 0);
    for number in 0..kills {
        if number % 10 == 0 {
            // Also while the first tables are made.
            fs::remove_dir_all(&folder).expect("removed");
            fs::create_dir(&folder).expect("a folder");
            promised.clear();
        }
        let mut writer = writer(&file, 1_000);
        let mut numbers = kept(&mut writer);
        // At any instant from its start on, and from a run that is kept on, whatever the machine's speed.
        promised.extend(numbers.by_ref().take(number % 3));
        thread::sleep(Duration::from_micros(random.u64(0..20_000)));
        writer.kill().expect("a child");
        writer.wait().expect("a child");
        promised.extend(numbers);
        let there = runs(&file);
        assert!(promised.iter().all(|id| there.contains(id)), "a run that was kept is gone");
        // At most the one of which the writer could not tell any more.
        assert!(there.len() <= promised.len() + cut_short % 10 + 1, "there are runs of nobody");
        cut_short = if number % 10 == 9 { 0 } else { there.len() - promised.len() };
    }
    assert!(!promised.is_empty(), "no writer came so far as to keep a run");
    eprintln!("{kills} kills, {} runs in the last store", promised.len());
    fs::remove_dir_all(folder).expect("removed");
}

#[test]
fn eight_writers_at_once_lose_nothing() {
    let folder = folder("eight");
    let file = folder.join("history.db");
    let mut writers: Vec<_> = (0..8).map(|_| writer(&file, 10)).collect();
    let mut all: Vec<i64> = writers.iter_mut().flat_map(kept).collect();
    for writer in &mut writers {
        assert!(writer.wait().expect("a child").success());
    }
    all.sort_unstable();
    assert_eq!(all, (1..=80).collect::<Vec<_>>());
    assert_eq!(runs(&file).len(), 80);
    fs::remove_dir_all(folder).expect("removed");
}

/// Mounts a file system of so many KiB in a namespace of its own and runs this program's test there.
fn with_little_room(name: &str, folder: &Path) -> Option<std::process::Output> {
    let script = "mount -t tmpfs -o size=400k none \"$1\" && shift && exec \"$@\"";
    let mut shell = Command::new("unshare");
    shell.args(["--map-root-user", "--user", "--mount", "sh", "-c", script, "sh"]).arg(folder);
    shell.arg(env::current_exe().expect("this program")).args(["--exact", name, "--nocapture"]);
    let output = shell.env(FOLDER_OF_LITTLE_ROOM, folder).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.contains("running 1 test").then_some(output)
}

#[test]
fn a_full_disk_is_told_and_leaves_what_is_there() {
    let name = "a_full_disk_is_told_and_leaves_what_is_there";
    let Some(folder) = env::var_os(FOLDER_OF_LITTLE_ROOM) else {
        let folder = folder("full");
        match with_little_room(name, &folder) {
            Some(output) => assert!(output.status.success(), "{output:?}"),
            None => eprintln!("skipped: no file system can be mounted here"),
        }
        return fs::remove_dir_all(folder).expect("removed");
    };
    let file = Path::new(&folder).join("history.db");
    let mut store = Store::open(&file).expect("there is room for the tables");
    let records = four_rows();
    let mut count = 0;
    let error = loop {
        match store.keep(&records, ABOUT) {
            Ok(_) => count += 1,
            Err(error) => break error,
        }
        assert!(count < 1_000, "it never fills");
    };
    assert!(matches!(error, StoreError::Full { .. }), "{error}");
    assert!(error.to_string().contains("no space left"), "{error}");
    drop(store);
    assert_eq!(runs(&file).len(), count, "{count} runs were kept");
    assert!(count > 0);
    // What is deleted makes room.
    let mut store = Store::open(&file).expect("a store");
    if store.prune(Keep::Runs(1), 0).is_ok() {
        store.keep(&records, ABOUT).expect("there is room again");
    }
}

const FILE_OF_THE_WRITER: &str = "LINERATE_TEST_STORE";
const RUNS_OF_THE_WRITER: &str = "LINERATE_TEST_RUNS";
const FOLDER_OF_LITTLE_ROOM: &str = "LINERATE_TEST_FOLDER";
