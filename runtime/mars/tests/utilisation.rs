//! The accounting of an MPU's time: what load on the machine does not change. How the times are added
//! up is tested with [`Utilisation`] itself.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use linerate_mars::{Builder, Context, Module, Mpu, Next, Placement, Priority, Time, Utilisation};
use linerate_mars::{Wait, Workload};

#[expect(dead_code, reason = "what is for other tests")]
mod support;

use support::eventually;

/// Is ready all the time, or never again.
struct Turns {
    stop: Arc<AtomicBool>,
    stalls: bool,
}

struct Mixed;

impl Module for Mixed {
    const NAME: &'static str = "mixed";
}

impl Workload for Turns {
    type Module = Mixed;

    fn run(&mut self, mpu: &mut Mpu<'_, Mixed>) -> Next {
        // Time is accounted for when the clock is read.
        _ = mpu.clock();
        if self.stop.load(SeqCst) {
            Next::Finished
        } else if self.stalls {
            Next::Stalled(Wait::until(Time::from_nanos(u64::MAX)))
        } else {
            Next::Yield
        }
    }
}

fn started(workloads: usize, stalls: bool) -> (Context, Arc<AtomicBool>) {
    let context = Builder::new(2).module(|_| Ok(Mixed)).start().expect("starts");
    let stop = Arc::new(AtomicBool::new(false));
    for number in 0..workloads {
        let turns = Turns { stop: Arc::clone(&stop), stalls };
        context.spawn(turns, Priority::NORMAL, Placement::Mpu(number % 2));
    }
    (context, stop)
}

/// What the MPUs did from now until it `is_enough`.
fn measured(context: &Context, is_enough: impl Fn(&Utilisation) -> bool) -> Vec<Utilisation> {
    let before = context.utilisation();
    let mut spans = Vec::new();
    eventually("enough of it", || {
        let now = context.utilisation();
        spans = now.iter().zip(&before).map(|(now, then)| now.since(then)).collect();
        spans.iter().all(&is_enough)
    });
    spans
}

#[test]
fn mpus_are_busy_while_workloads_are_ready() {
    let (context, stop) = started(8, false);
    let many_turns = |span: &Utilisation| span.turns > 1_000;
    measured(&context, many_turns);
    let spans = measured(&context, many_turns);
    stop.store(true, SeqCst);
    for span in spans {
        assert!((span.share() - 1.0).abs() < 1e-9 && span.sleeps == 0, "{span:?}");
        let kind = span.kinds.iter().find(|kind| kind.name == "mixed").expect("its kind");
        assert!(span.ready_wait > Duration::ZERO, "three others were ready: {span:?}");
        assert!(kind.run > Duration::ZERO && kind.turns > 1_000, "{span:?}");
    }
    // Counters of an MPU that runs are read one after another.
    let runs = || context.utilisation().into_iter().map(|one| one.run).collect::<Vec<_>>();
    eventually("both sleep", || runs() == runs());
    for whole in context.utilisation() {
        let of_kinds: u64 = whole.kinds.iter().map(|kind| kind.turns).sum();
        assert_eq!(of_kinds, whole.turns, "{whole:?}");
    }
}

#[test]
fn mpus_are_idle_while_all_stall() {
    let (context, stop) = started(2, true);
    let runs = || context.utilisation().into_iter().map(|one| one.run).collect::<Vec<_>>();
    eventually("both sleep", || {
        context.utilisation().iter().all(|one| one.turns > 0) && runs() == runs()
    });
    for span in measured(&context, |span| span.idle > Duration::from_millis(20)) {
        assert!(span.share() < 1e-9 && span.turns == 0 && span.spun == Duration::ZERO, "{span:?}");
    }
    stop.store(true, SeqCst);
}
