//! The accounting of an MPU's time.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::sync::atomic::Ordering::SeqCst;
use std::time::Duration;

use linerate_mars::{Builder, Context, Module, Mpu, Next, Placement, Priority, Time, Utilisation};
use linerate_mars::{Wait, Workload};

/// Works for a while, then stalls for as long, over and over.
struct Mix {
    stop: Arc<AtomicBool>,
    works: Duration,
    stalls: Duration,
}

struct Mixed;

impl Module for Mixed {
    const NAME: &'static str = "mixed";
}

impl Workload for Mix {
    type Module = Mixed;

    fn run(&mut self, mpu: &mut Mpu<'_, Mixed>) -> Next {
        if self.stop.load(SeqCst) {
            return Next::Finished;
        }
        let end = mpu.clock().after(self.works);
        while Time::now() < end {
            std::hint::spin_loop();
        }
        Next::Stalled(Wait::until(mpu.clock().after(self.stalls)))
    }
}

fn measured(workloads: usize, works: u64, stalls: u64) -> (Context, Vec<Utilisation>) {
    let context = Builder::new(2).module(|_| Ok(Mixed)).start().expect("starts");
    let stop = Arc::new(AtomicBool::new(false));
    for number in 0..workloads {
        let (works, stalls) = (Duration::from_micros(works), Duration::from_micros(stalls));
        let mix = Mix { stop: Arc::clone(&stop), works, stalls };
        context.spawn(mix, Priority::NORMAL, Placement::Mpu(number % 2));
    }
    std::thread::sleep(Duration::from_millis(20));
    let before = context.utilisation();
    std::thread::sleep(Duration::from_millis(200));
    let after = context.utilisation();
    stop.store(true, SeqCst);
    let spans = after.iter().zip(&before).map(|(after, before)| after.since(before)).collect();
    (context, spans)
}

/// Four workloads for each MPU, each ready half of the time: an MPU always has one.
#[test]
fn mpus_are_busy_while_workloads_are_ready() {
    let (_context, spans) = measured(8, 50, 50);
    for span in spans {
        assert!(span.share() >= 0.8, "{span:?}");
        assert!(span.ready_wait > Duration::from_millis(20), "others were ready: {span:?}");
        let kind = span.kinds.iter().find(|kind| kind.name == "mixed").expect("its kind");
        assert!(kind.run > Duration::from_millis(100) && kind.turns > 100, "{span:?}");
        let all: u64 = span.kinds.iter().map(|kind| kind.turns).sum();
        assert_eq!(all, span.turns);
    }
}

#[test]
fn mpus_are_idle_while_all_stall() {
    let (_context, spans) = measured(2, 10, 50_000);
    for span in spans {
        assert!(span.share() <= 0.2, "{span:?}");
        assert!(span.sleeps > 0 && span.spun == Duration::ZERO, "{span:?}");
    }
}
