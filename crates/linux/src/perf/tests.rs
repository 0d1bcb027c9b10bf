//! The kernel takes samples of a thread that works, where it lets this user look.

use std::time::Duration;

use super::*;
use crate::clock::{monotonic, thread_cpu};
use crate::process::thread_id;

#[test]
fn a_frequency_is_neither_nothing_nor_too_much() {
    assert_eq!(SampleFrequency::new(0), None);
    assert_eq!(SampleFrequency::new(MOST_HERTZ + 1), None);
    assert_eq!(SampleFrequency::new(997).map(SampleFrequency::per_second), Some(997));
}

#[test]
fn a_thread_that_works_is_found_at_it() {
    let hertz = SampleFrequency::new(997).expect("a frequency");
    let mut sampler = match Sampler::new(hertz, &[thread_id()]) {
        Ok(sampler) => sampler,
        Err(refusal) => return eprintln!("skipped: {refusal}"),
    };
    sampler.start().expect("enabled");
    work(Duration::from_millis(300));
    sampler.stop().expect("disabled");
    let own = std::process::id().cast_signed();
    let (mut found, mut in_kernel) = (0, 0);
    sampler.drain(|sample| {
        found += u32::from(sample.thread == thread_id() && sample.process == own);
        in_kernel += u32::from(sample.mode == Mode::Kernel && sample.chain().next().is_some());
    });
    assert!(found >= 10, "{found} of some 300");
    assert!(in_kernel > 0, "system calls were made");
    sampler.drain(|sample| panic!("nothing is new: {sample:?}"));
}

#[test]
fn a_ring_that_nobody_reads_loses_and_counts_and_goes_on() {
    let hertz = SampleFrequency::new(4999).expect("a frequency");
    let attributes = Attributes::new(Event::CpuClock, hertz);
    let Ok(file) = attributes.open(thread_id(), ANY) else {
        return eprintln!("skipped: not permitted here");
    };
    let rings = vec![Ring::new(file, 1).expect("a page")];
    let (event, scope) = (Event::CpuClock, Scope::Threads);
    let mut sampler = Sampler { rings, event, scope, hertz, lost: 0, text: Vec::new() };
    sampler.start().expect("enabled");
    let mut found = 0;
    // The kernel tells what it lost when it has room again.
    for _ in 0..20 {
        work(Duration::from_millis(100));
        sampler.drain(|_| found += 1);
        if sampler.lost() > 0 {
            break;
        }
    }
    assert!(found > 0 && sampler.lost() > 0, "{found} found, {} lost", sampler.lost());
}

#[test]
fn a_refusal_says_what_helps() {
    let of = |number| PerfError::from_io(io::Error::from_raw_os_error(number)).to_string();
    assert!(of(libc::EACCES).contains("kernel.perf_event_paranoid=1"));
    assert!(of(libc::EPERM).contains("CAP_PERFMON"));
    assert!(of(libc::ENOENT).contains("CONFIG_PERF_EVENTS"));
    assert!(of(libc::EMFILE).contains("failed"));
}

/// In the kernel and out of it, for so much CPU time.
fn work(time: Duration) {
    let end = thread_cpu() + time;
    while thread_cpu() < end {
        for _ in 0..50 {
            _ = std::fs::metadata("/proc/self/status");
            _ = monotonic();
        }
    }
}
