//! Attributions of records with profiles.

use measurement::ProfileRow;
use measurement::profile::{Mode, Task};

use super::*;
use crate::test_record;

fn row(cpu: u32, task: Task, symbol: &str, count: u64) -> ProfileRow {
    let mode = if symbol == "user" { Mode::User } else { Mode::Kernel };
    let (cpu, symbol) = (Some(cpu), symbol.to_owned());
    ProfileRow { cpu, task, mode, symbol, count, ..ProfileRow::default() }
}

/// One CPU that does nothing but the test, and one that is idle.
fn profile() -> Profile {
    let rows = vec![
        row(0, Task::Own, "rep_movs_alternative", 500),
        row(0, Task::Own, "tcp_v4_rcv", 300),
        row(0, Task::Own, "user", 100),
        row(0, Task::Own, "no_such_function", 60),
        row(0, Task::Idle, "pv_native_safe_halt", 40),
        row(1, Task::Idle, "pv_native_safe_halt", 1_000),
    ];
    let span = Duration::from_secs(10);
    let event = "cpu-clock".to_owned();
    Profile { event, hertz: 100, span, samples: 2_000, rows, ..Profile::default() }
}

fn near(a: f64, b: f64) -> bool {
    (a - b).abs() < 1e-6
}

#[test]
fn samples_become_shares_and_time_for_each_kib() {
    let mut record = test_record::tcp();
    test_record::host(&mut record, &Role::Peer).profile = Some(profile());
    let found = attributions(&record);
    let [one] = found.as_slice() else { panic!("one host was sampled: {found:?}") };
    assert_eq!((&one.host, one.samples), (&Role::Peer, 960));
    assert!(near(one.labelled, 900.0 / 960.0), "{one:?}");
    let copy = one.work[&Work::CopyUser];
    assert!(near(copy.share, 500.0 / 960.0));
    // 125 MB in 10 s, and 5 s of one CPU for copies.
    let each = copy.nanos_per_kib.expect("bytes and time are known");
    assert!(near(each, 5e9 / (125e6 / 1024.0)), "{each}");
    assert!(near(one.work.values().map(|cost| cost.share).sum(), 1.0));
}

#[test]
fn a_full_cpu_says_what_could_be_and_an_idle_one_does_not() {
    let mut record = test_record::tcp();
    test_record::host(&mut record, &Role::Peer).profile = Some(profile());
    let found = attributions(&record);
    let busy: Vec<_> = found[0].cpus.iter().map(|cpu| cpu.busy).collect();
    assert!(near(busy[0], 0.96) && near(busy[1], 0.0), "{busy:?}");
    let what_if = &found[0].what_if;
    assert_eq!(what_if[0].without, "copies to and from processes");
    assert!(what_if[0].at_most > what_if[0].from);
    let mut calm = profile();
    calm.rows[4].count += 1_000;
    calm.samples += 1_000;
    test_record::host(&mut record, &Role::Peer).profile = Some(calm);
    assert!(attributions(&record)[0].what_if.is_empty());
}

#[test]
fn a_cpu_of_which_no_idle_samples_came_is_not_full() {
    let mut record = test_record::tcp();
    let mut gappy = profile();
    gappy.rows[5] = row(1, Task::Own, "tcp_v4_rcv", 90);
    gappy.samples = 1_090;
    let host = test_record::host(&mut record, &Role::Peer);
    host.series = measurement::Series::default();
    host.profile = Some(gappy);
    let cpus = &attributions(&record)[0].cpus;
    assert!(near(cpus[0].busy, 0.96) && near(cpus[1].busy, 0.09), "{cpus:?}");
}

#[test]
fn the_driver_of_an_interface_is_known_by_the_inventory() {
    let strange = |inventory: &mut measurement::Inventory| {
        let driver = Some("strange-nic".to_owned());
        inventory.interfaces = vec![measurement::host::Interface { driver, ..Default::default() }];
    };
    let mut record = test_record::tcp();
    let mut strange_rows = profile();
    strange_rows.rows[3].module = Some("strange_nic".to_owned());
    test_record::host(&mut record, &Role::Peer).profile = Some(strange_rows);
    assert!(!attributions(&record)[0].work.contains_key(&Work::Driver));
    strange(&mut test_record::host(&mut record, &Role::Peer).inventory);
    assert!(near(attributions(&record)[0].work[&Work::Driver].share, 60.0 / 960.0));
}

#[test]
fn a_rate_that_was_asked_and_kept_promises_no_other() {
    let mut record = test_record::tcp_at_a_rate();
    test_record::host(&mut record, &Role::Here).profile = Some(profile());
    assert!(attributions(&record)[0].what_if.is_empty());
}

#[test]
fn samples_that_are_in_no_row_are_not_labelled() {
    let mut cut = profile();
    cut.samples += 960;
    let found = of_profile(&cut, Some("x86_64"), None);
    assert!(near(found.labelled, 900.0 / 1_920.0), "{found:?}");
    assert!(found.what_if.is_empty());
}

#[test]
fn a_host_without_samples_has_no_attribution() {
    assert!(attributions(&test_record::tcp()).is_empty());
    let empty = of_profile(&Profile::default(), None, Some(BitRate::from_bits_per_second(1)));
    assert!(near(empty.labelled, 0.0) && empty.what_if.is_empty());
}
