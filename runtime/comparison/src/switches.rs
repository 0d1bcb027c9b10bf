//! From one ready workload to another.

use mars::{Builder, Next, Priority};

use crate::calls::calls;
use crate::{Row, Sink, Target, in_turns, nanos_each};

pub(crate) fn rows(sink: Sink) {
    let context = Builder::new(1).start().expect("starts");
    let mut pair = [0; 2].map(|_| {
        let mut left = SWITCHES / 2;
        context.add(calls(move |_| {
            left -= 1;
            if left > 0 {
                return Next::Yield;
            }
            left = SWITCHES / 2;
            Next::Finished
        }))
    });
    let mut mars = || {
        nanos_each(SWITCHES, || {
            for one in &mut pair {
                one.schedule(Priority::NORMAL);
            }
            for one in &pair {
                _ = one.wait();
            }
        })
    };
    let mut runtime = tokio::runtime::Builder::new_multi_thread();
    let runtime = runtime.worker_threads(1).build().expect("starts");
    let mut tokio = || {
        nanos_each(SWITCHES, || {
            let yields = || async {
                for _ in 0..SWITCHES / 2 {
                    tokio::task::yield_now().await;
                }
            };
            let pair = [runtime.spawn(yields()), runtime.spawn(yields())];
            for one in pair {
                runtime.block_on(one).expect("ends");
            }
        })
    };
    let [mars, tokio] = in_turns(7, [&mut mars, &mut tokio]);
    sink(Row::new("switch", mars, "ns").aims(Target::AtMost(60.0)));
    sink(Row::new("switch, tokio with 1 worker", tokio, "ns"));
}

const SWITCHES: u32 = 400_000;
