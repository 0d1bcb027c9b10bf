//! Entries go from the host through two tasks back to the host, in queues of several sizes and depths.
//! An entry is read and filled where it lies, and meanwhile others use the queue.

use std::sync::Arc;

use linerate_mars::{Context, EntryQueue, Program, Task, TaskError};

use super::{Extent, Seen, verdict};

pub(crate) fn run(context: &Context, extent: Extent) -> Seen {
    let entries = extent.of(100, 2_000);
    let mut wrong = 0;
    for size in [16, 1_024, 16_384] {
        for depth in [1, 7, 1_024] {
            wrong += pass(context, (size, depth), entries)?;
        }
    }
    verdict(wrong == 0, format!("9 pipelines of {entries} entries each: {wrong} came out wrong"))
}

/// Entries that came out wrong.
fn pass(context: &Context, (size, depth): (usize, usize), entries: usize) -> Result<usize, String> {
    let queues: Vec<_> = (0..3).map(|_| Arc::new(EntryQueue::new(context, size, depth))).collect();
    let stages = queues.windows(2).map(|pair| {
        let [from, to] = [0, 1].map(|end| Arc::clone(&pair[end]));
        Program::new(move |task| i32::from(stage(task, &from, &to, entries).is_err()))
    });
    let (first, last) = (Arc::clone(&queues[0]), Arc::clone(&queues[2]));
    let pusher = std::thread::spawn(move || {
        for number in 0..entries {
            let entry = first.on_host(None, EntryQueue::try_begin_push);
            let Some(mut entry) = entry else { return };
            entry.bytes.fill(byte(number));
            first.end_push(entry);
        }
    });
    let popper = std::thread::spawn(move || {
        let is_wrong = |number: &usize| {
            let entry = last.on_host(None, EntryQueue::try_begin_pop);
            entry.is_none_or(|entry| {
                let is_right = entry.bytes.iter().all(|one| *one == byte(*number + 2));
                last.end_pop(entry);
                !is_right
            })
        };
        (0..entries).filter(is_wrong).count()
    });
    super::run(context, stages.collect())?;
    pusher.join().map_err(|_| "the host that pushes panicked")?;
    Ok(popper.join().map_err(|_| "the host that pops panicked")?)
}

/// Adds one to each byte of each entry.
fn stage(
    task: &mut Task<'_>,
    from: &EntryQueue,
    to: &EntryQueue,
    entries: usize,
) -> Result<(), TaskError> {
    for _ in 0..entries {
        let source = task.block(|mpu| from.begin_pop(mpu))?;
        let mut target = task.block(|mpu| to.begin_push(mpu))?;
        for (one, other) in source.bytes.iter().zip(&mut target.bytes) {
            *other = one.wrapping_add(1);
        }
        from.end_pop(source);
        to.end_push(target);
    }
    Ok(())
}

const fn byte(number: usize) -> u8 {
    number.to_le_bytes()[0]
}
