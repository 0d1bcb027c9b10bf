//! Prints what a sample of this host costs, in all and by collector, as CPU time.
//!
//! `cargo run --release -p linerate-host --example look [INTERFACE…]`

#![forbid(unsafe_code)]
#![expect(clippy::print_stdout, reason = "printing is what an example is for")]

use std::time::Duration;

use linerate_host::{Reading, Subject, Tree, Watch, collectors};
use linux::clock::thread_cpu;
use measurement::{Role, Timestamp};

fn main() {
    let threads = vec![i32::try_from(std::process::id()).unwrap_or_default()];
    let subject = Subject { interfaces: std::env::args().skip(1).collect(), threads };
    for mut collector in collectors::all(&subject) {
        let mut reading = Reading::default();
        let mut look = |row| {
            reading.begin(row);
            collector.read(&Tree::live(), &mut reading)
        };
        let outcome = look(0);
        let started = thread_cpu();
        let failed = (1..=LOOKS).any(|row| look(row).is_err());
        let cost = thread_cpu().saturating_sub(started) / LOOKS_TAKEN;
        let counters = reading.counters().count() + reading.gauges().count();
        let outcome = outcome.map_or_else(|gap| gap.why, |outcome| format!("{outcome:?}"));
        let failed = if failed { "failed" } else { "" };
        println!(
            "{:>12} {cost:>12.1?} {counters:>6} {outcome} {failed}",
            collector.family().as_str()
        );
    }
    let mut watch = Watch::new(Tree::live(), subject);
    let started = thread_cpu();
    for look in 0..LOOKS_TAKEN {
        watch.sample_all(Timestamp::from_nanos(u64::from(look)));
    }
    let cost: Duration = thread_cpu().saturating_sub(started) / LOOKS_TAKEN;
    let evidence = watch.finish(Role::Here);
    let changed = evidence.series.counters().len();
    println!("a look takes {cost:.1?}; {changed} counters changed; {:?}", evidence.gaps);
}

const LOOKS: usize = 200;
const LOOKS_TAKEN: u32 = 200;
