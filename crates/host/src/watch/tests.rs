//! A watch of this host, and of one without any files.

use std::time::Duration;

use measurement::host::{Family, counter};

use super::*;

fn at(millis: u64) -> Timestamp {
    Timestamp::from_nanos(millis * 1_000_000)
}

#[test]
fn a_watch_of_three_looks_has_whole_columns() {
    let mut watch = Watch::new(Tree::live(), Subject::default());
    for look in 0..3 {
        watch.sample(at(look * 250));
        std::thread::sleep(Duration::from_millis(20));
    }
    let evidence = watch.finish(Role::Here);
    assert_eq!(evidence.series.at, [at(0), at(250), at(500)]);
    assert!(evidence.series.is_whole(), "{evidence:?}");
    for family in [
        Family::CPU,
        Family::SNMP,
        Family::NETSTAT,
        Family::INTERFACE,
        Family::SOFTNET,
        Family::INTERRUPTS,
    ] {
        assert!(evidence.series.has_read(family), "{family}");
    }
    assert!(!evidence.series.has_read(Family::TASK), "none is followed");
    assert!(evidence.series.counters().all(|(_, values)| values.len() == 3));
    // The CPUs of this host ran or idled meanwhile.
    let grown = evidence
        .series
        .growth_of_all(counter::CPU_IDLE)
        .zip(evidence.series.growth_of_all(counter::CPU_USER));
    assert!(grown.is_some_and(|(idle, user)| idle + user > 0), "{evidence:?}");
    assert!(evidence.cost_seconds > 0.0);
}

#[test]
fn a_thread_that_is_followed_later_is_counted() {
    let mut watch = Watch::new(Tree::live(), Subject::default());
    watch.sample(at(0));
    let thread = i32::try_from(std::process::id()).expect("a thread's number");
    watch.follow_threads(&[thread]);
    watch.sample(at(250));
    watch.sample(at(500));
    let evidence = watch.finish(Role::Here);
    assert!(evidence.series.has_read(Family::TASK));
    assert!(evidence.series.growth(counter::TASK_RUN.on(thread)).is_some());
}

#[test]
fn a_host_without_files_is_all_gaps_each_reported_once() {
    let nowhere = std::env::temp_dir().join("linerate-no-such-host");
    let mut watch = Watch::new(Tree::captured(&nowhere), Subject::default());
    for look in 0..3 {
        watch.sample(at(look * 250));
    }
    let evidence = watch.finish(Role::Here);
    assert!(evidence.series.families().len() == 0, "{evidence:?}");
    let mut whats: Vec<&str> = evidence.gaps.iter().map(|gap| gap.what.as_str()).collect();
    assert!(whats.len() > 10, "{whats:?}");
    whats.dedup();
    assert_eq!(whats.len(), evidence.gaps.len());
}

#[test]
fn a_time_that_goes_back_does_not_and_no_look_is_no_row() {
    let mut watch = Watch::new(Tree::live(), Subject::default());
    watch.sample(at(500));
    watch.sample(at(400));
    assert_eq!(watch.finish(Role::Here).series.at, [at(500), at(500)]);
    let watch = Watch::new(Tree::live(), Subject::default());
    assert!(watch.finish(Role::Peer).series.at.is_empty());
}

#[test]
fn a_watch_that_is_thinned_keeps_first_last_and_what_is_marked() {
    let mut watch = Watch::new(Tree::live(), Subject::default());
    for look in 0..9 {
        watch.sample_all(at(look * 10));
    }
    watch.thin(&[at(30)]);
    watch.sample_all(at(90));
    assert_eq!((watch.readings(), watch.last()), (7, Some(at(90))));
    let evidence = watch.finish(Role::Here);
    assert_eq!(evidence.series.at, [0, 20, 30, 40, 60, 80, 90].map(at));
    assert!(evidence.series.is_whole());
}
