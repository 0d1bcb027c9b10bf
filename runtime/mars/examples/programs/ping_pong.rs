//! Two tasks wake each other by signals; three signals before a wait wake once.

use std::sync::{Arc, OnceLock};

use linerate_mars::{Context, Priority, Program, Task, TaskError, TaskHandle, Time};

use super::{Extent, Seen, begin, verdict};

type Pair = Arc<OnceLock<[TaskHandle; 2]>>;

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let rounds = extent.of(2_000, 50_000);
    let pair: Pair = Arc::default();
    let player = |own: usize| {
        let pair = Arc::downgrade(&pair);
        let program = Program::new(move |task| {
            let Some(pair) = pair.upgrade() else { return 1 };
            let Some(pair) = pair.get() else { return 2 };
            i32::from(play(task, &pair[1 - own], own == 0, rounds).is_err())
        });
        TaskHandle::new(context, "", program)
    };
    let players = pair.get_or_init(|| [player(0), player(1)]);
    let start = Time::now();
    // Who waits first is scheduled first: a signal to a task that has finished is lost.
    players.iter().rev().for_each(|player| begin(player, Priority::NORMAL));
    let codes = [players[0].wait().code, players[1].wait().code];
    let nanos = Time::now().since(start).as_nanos() / rounds as u128;
    let wakes = once(context);
    let text = format!("{nanos} ns for each round trip; three signals wake {wakes} time(s)");
    verdict(codes == [0, 0] && wakes == 1, text)
}

fn play(
    task: &mut Task<'_>,
    other: &TaskHandle,
    serves: bool,
    rounds: usize,
) -> Result<(), TaskError> {
    for _ in 0..rounds {
        if serves {
            other.signal();
        }
        task.wait_for_signal()?;
        if !serves {
            other.signal();
        }
    }
    Ok(())
}

/// How often a task wakes to which three signals were sent before it waits.
fn once(context: &Context) -> i32 {
    let own: Arc<OnceLock<TaskHandle>> = Arc::default();
    let weak = Arc::downgrade(&own);
    let program = Program::new(move |task| {
        let Some(own) = weak.upgrade() else { return -1 };
        let Some(own) = own.get() else { return -2 };
        (0..3).for_each(|_| own.signal());
        if task.wait_for_signal().is_err() {
            return -3;
        }
        1 + i32::from(task.try_signal())
    });
    let task = own.get_or_init(|| TaskHandle::new(context, "once", program));
    begin(task, Priority::NORMAL);
    task.wait().code
}
