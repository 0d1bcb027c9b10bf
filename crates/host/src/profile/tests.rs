//! The profile of a process that works, where this kernel permits it.

use linux::perf::SampleFrequency;
use linux::process::thread_id;
use measurement::Task;
use measurement::profile::Mode;

use super::*;

/// Copies within the kernel, for so long.
fn work(time: Duration) {
    let end = linux::clock::monotonic() + time;
    while linux::clock::monotonic() < end {
        _ = std::fs::read("/proc/self/maps");
    }
}

#[test]
fn a_process_finds_itself_and_names_the_kernels_functions() {
    let perf_access = Arc::new(PerfAccess::new(SampleFrequency::new(997).expect("a frequency")));
    let mut profiler = match Profiler::new(Arc::clone(&perf_access), &[thread_id()]) {
        Ok(profiler) => profiler,
        Err(gap) => return eprintln!("skipped: {}", gap.why),
    };
    profiler.begin();
    work(Duration::from_millis(100));
    profiler.forget();
    work(Duration::from_millis(1200));
    profiler.end();
    let (profile, gaps) = profiler.finish();
    let profile = profile.expect("it was long enough");
    let rows = |task| profile.rows.iter().filter(move |row| row.task == task);
    let own: u64 = rows(Task::Own).map(|row| row.count).sum();
    assert!(own > 100, "{own} of {}", profile.samples);
    assert!(rows(Task::Own).any(|row| row.mode == Mode::User && row.module.is_some()));
    assert!(profile.rows.is_sorted_by(|a, b| a.count >= b.count));
    assert!(profile.span >= SHORTEST && !profile.stacks.is_empty());
    if gaps.iter().all(|gap| gap.why != HIDDEN) {
        assert!(rows(Task::Own).any(|row| row.symbol.contains("show_map")), "{:?}", profile.rows);
    }
}

#[test]
fn a_short_test_has_none_and_says_so() {
    let perf_access = Arc::new(PerfAccess::new(SampleFrequency::default()));
    let Ok(mut profiler) = Profiler::new(perf_access, &[thread_id()]) else {
        return eprintln!("skipped: not permitted here");
    };
    profiler.begin();
    let (profile, gaps) = profiler.finish();
    assert_eq!(profile, None);
    assert!(gaps.iter().any(|gap| gap.why.contains("second")), "{gaps:?}");
}
