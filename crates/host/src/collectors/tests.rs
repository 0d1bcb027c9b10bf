//! Fixtures for the tests of collectors, and tests of all parsers together.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};

use measurement::host::Family;

use super::{PARSERS, all};
use crate::{Reading, Subject, Tree};

/// A reading of one look that `fill` fills.
pub(super) fn reading(fill: impl FnOnce(&mut Reading)) -> Reading {
    let mut reading = Reading::default();
    reading.begin(0);
    fill(&mut reading);
    reading
}

/// The counters that `fill` puts into a reading.
pub(super) fn counted(fill: impl FnOnce(&mut Reading)) -> BTreeMap<String, u64> {
    reading(fill).counters().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// A captured host with these files.
pub(super) fn captured(files: &[(&str, &str)]) -> Folder {
    static NEXT: AtomicU32 = AtomicU32::new(0);
    let number = NEXT.fetch_add(1, Ordering::Relaxed);
    let name = format!("linerate-captured-{}-{number}", std::process::id());
    let folder = Folder(std::env::temp_dir().join(name));
    fs::create_dir_all(folder.path()).expect("made");
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().expect("a folder")).expect("made");
        fs::write(path, text).expect("written");
    }
    folder
}

/// A folder that is removed when it is dropped.
pub(super) struct Folder(PathBuf);

impl Folder {
    pub(super) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn parsers_survive_a_text_that_is_cut_or_of_another_file() {
    let texts: Vec<String> =
        PARSERS.iter().filter_map(|(path, _)| Tree::live().text(path).ok()).collect();
    assert!(texts.len() > 5, "a host has most of them");
    for text in &texts {
        for (path, parser) in PARSERS {
            for end in (0..text.len()).step_by(text.len() / 40 + 1) {
                let Some(part) = text.get(..end) else { continue };
                let reading = reading(|into| parser(part, into));
                assert!(reading.counters().count() <= part.len() + 3, "{path}");
            }
        }
    }
}

#[test]
fn every_counter_is_of_its_family() {
    let subject = Subject {
        interfaces: vec!["lo".to_owned()],
        threads: vec![i32::try_from(std::process::id()).expect("a thread's number")],
    };
    let mut families = Vec::new();
    for mut collector in all(&subject) {
        let mut reading = Reading::default();
        reading.begin(0);
        if collector.read(&Tree::live(), &mut reading).is_err() {
            continue;
        }
        let family = collector.family();
        let names = reading.counters().map(|(name, _)| name);
        for name in names.chain(reading.gauges().map(|(name, _)| name)) {
            assert!(name.starts_with(&format!("{family}.")), "{name}");
        }
        families.push(family);
    }
    for family in [
        Family::CPU,
        Family::SNMP,
        Family::NETSTAT,
        Family::INTERFACE,
        Family::SOFTNET,
        Family::TASK,
        Family::PROCESS,
    ] {
        assert!(families.contains(&family), "{family} is on every host");
    }
}
