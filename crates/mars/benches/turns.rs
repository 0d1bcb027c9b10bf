//! Turns and schedulings, with criterion's statistics, to see the effect of a change of the
//! kernel: `cargo bench -p linerate-mars --bench turns`.

use criterion::Criterion;
use linerate_mars::{Builder, Mpu, Next, Placement, Priority, Workload};

/// Yields so many times.
struct Yields(u32);

impl Workload for Yields {
    type Module = ();

    fn run(&mut self, _mpu: &mut Mpu<'_, ()>) -> Next {
        self.0 = self.0.saturating_sub(1);
        if self.0 == 0 { Next::Finished } else { Next::Yield }
    }
}

fn turns(criterion: &mut Criterion) {
    let context = Builder::new(1).start().expect("starts");
    let mut pair = [context.add(Yields(0)), context.add(Yields(0))];
    criterion.bench_function("10,000 turns of two", |bencher| {
        bencher.iter(|| {
            for one in &mut pair {
                let mut scheduling = one.begin();
                scheduling.0 = 5_000;
                scheduling.end(Priority::NORMAL, Placement::Anywhere);
            }
            for one in &pair {
                _ = one.wait();
            }
        });
    });
    let mut many: Vec<_> = (0..1_000).map(|_| context.add(Yields(1))).collect();
    criterion.bench_function("1,000 scheduled again", |bencher| {
        bencher.iter(|| {
            for one in &mut many {
                one.schedule(Priority::NORMAL);
            }
            for one in &many {
                _ = one.wait();
            }
        });
    });
}

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    turns(&mut criterion);
    criterion.final_summary();
}
