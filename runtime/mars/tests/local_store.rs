//! Local stores: buffers, transfers with tags, and blocks that pass them.

use std::sync::{Arc, Mutex};

use linerate_mars::{
    Args, Buffers, Builder, Context, Ending, LocalStore, Placement, Priority, Program, Tag, Task,
    TaskHandle, TaskStacks,
};

const ONE: Tag = Tag::new(0).expect("below 32");
const OTHER: Tag = Tag::new(31).expect("below 32");

fn context(mpus: usize, bytes: usize) -> Context {
    // A panic takes more of a stack where each access is checked.
    let stacks = if cfg!(tsan) { TaskStacks::new(1 << 20) } else { TaskStacks::default() };
    let builder = Builder::new(mpus).tasks(stacks).local_store(bytes);
    builder.start().expect("threads")
}

/// How a task of a context with so many bytes of local store ends that calls `function`.
fn ending(bytes: usize, function: impl Fn(&LocalStore) + Send + Sync + 'static) -> Ending {
    let context = context(1, bytes);
    let program = Program::new(move |task| {
        function(&store(task));
        0
    });
    let task = TaskHandle::new(&context, "", program);
    assert!(task.schedule(Args::default(), Priority::NORMAL));
    task.wait().ending
}

fn in_a_task(bytes: usize, function: impl Fn(&LocalStore) + Send + Sync + 'static) {
    assert_eq!(ending(bytes, function), Ending::Finished);
}

fn store(task: &mut Task<'_>) -> LocalStore {
    task.local_store().expect("memory")
}

/// The first so many bytes that begin at a multiple of 16.
fn aligned(memory: &mut [u8], length: usize) -> &mut [u8] {
    let skipped = memory.as_ptr().align_offset(16);
    &mut memory[skipped..][..length]
}

fn numbered(length: usize) -> Vec<u8> {
    (0..length + 16).map(|place| (place % 251).to_le_bytes()[0]).collect()
}

#[test]
fn buffers_are_aligned_and_there_are_no_more_than_there_is_room_for() {
    in_a_task(64 << 10, |store| {
        assert_eq!((store.size(), store.free()), (64 << 10, 64 << 10));
        let buffers: Vec<_> = (0..).map_while(|_| store.buffer(1_000)).collect();
        assert_eq!((buffers.len(), store.free()), (64, 0));
        assert!(buffers.iter().all(|buffer| buffer.as_ptr().addr().is_multiple_of(128)));
        drop(buffers);
        assert_eq!(store.free(), 64 << 10);
    });
}

#[test]
fn without_a_size_a_store_is_as_large_as_a_cache() {
    let context = Builder::new(1).tasks(TaskStacks::default()).start().expect("threads");
    let program = Program::new(|task| i32::try_from(store(task).size() >> 10).expect("small"));
    let task = TaskHandle::new(&context, "", program);
    assert!(task.schedule(Args::default(), Priority::NORMAL));
    let kibibytes = task.wait().code;
    assert!((64..1 << 20).contains(&kibibytes), "{kibibytes} KiB");
}

#[test]
fn what_is_got_is_the_source_and_what_is_put_the_buffer() {
    in_a_task(64 << 10, |store| {
        let (mut from, mut to) = (numbered(4_096), vec![0; 4_096 + 16]);
        let from = aligned(&mut from, 4_096);
        let to = aligned(&mut to, 4_096);
        for steps in [&[][..], &[1], &[4_095, 1], &[100, 100, 100_000, 7]] {
            to.fill(0);
            let mut transfers = store.transfers();
            transfers.get(store.buffer(5_000).expect("room"), from, ONE);
            for bytes in steps {
                transfers.advance(*bytes);
            }
            let buffer = transfers.wait(ONE).expect("it was begun");
            assert!(buffer[..4_096] == *from && buffer.len() == 5_000, "{steps:?}");
            transfers.put(buffer, to, OTHER);
            for bytes in steps {
                transfers.advance(*bytes);
            }
            assert!(transfers.wait(OTHER).is_some() && transfers.is_empty());
            assert!(*to == *from, "{steps:?}");
        }
    });
}

#[test]
fn a_tag_is_waited_for_in_the_order_of_its_transfers_and_other_tags_are_not() {
    in_a_task(64 << 10, |store| {
        let mut from = numbered(64);
        let (first, second) = aligned(&mut from, 64).split_at(32);
        let mut transfers = store.transfers();
        transfers.get(store.buffer(32).expect("room"), first, ONE);
        transfers.get(store.buffer(32).expect("room"), second, OTHER);
        transfers.get(store.buffer(32).expect("room"), second, ONE);
        assert_eq!(transfers.len(), 3);
        assert_eq!(transfers.wait(ONE).as_deref(), Some(first));
        assert_eq!(transfers.wait(ONE).as_deref(), Some(second));
        assert!(transfers.wait(ONE).is_none());
        assert_eq!((transfers.len(), transfers.wait(OTHER).as_deref()), (1, Some(second)));
    });
}

#[test]
fn tags_end_at_31() {
    assert_eq!(Tag::new(31).map(Tag::number), Some(31));
    assert_eq!(Tag::new(32), None);
}

#[test]
fn a_source_that_is_longer_than_the_buffer_ends_the_task() {
    let ends = |length: usize| {
        ending(64 << 10, move |store| {
            let mut from = vec![0; 256 + 16];
            let buffer = store.buffer(128).expect("room");
            store.transfers().get(buffer, aligned(&mut from, length), ONE);
        })
    };
    assert_eq!([ends(128), ends(144)], [Ending::Finished, Ending::Panicked]);
}

#[test]
#[cfg(debug_assertions)]
fn debug_builds_tell_transfers_that_are_not_aligned() {
    let ends = |from: usize, to: usize| {
        ending(64 << 10, move |store| {
            let mut source = vec![0; 256 + 16];
            let buffer = store.buffer(128).expect("room");
            store.transfers().get(buffer, &aligned(&mut source, 200)[from..to], ONE);
        })
    };
    let endings = [ends(0, 64), ends(1, 16), ends(8, 72), ends(0, 65)];
    let panicked = Ending::Panicked;
    assert_eq!(endings, [Ending::Finished, Ending::Finished, panicked, panicked]);
}

#[test]
fn every_block_passes_once_with_any_number_of_buffers() {
    in_a_task(64 << 10, |store| {
        for buffers in [Buffers::Single, Buffers::Double, Buffers::Triple] {
            for length in [0, 16, 4_096, 10 * 4_096, 10 * 4_096 + 32] {
                let (mut from, mut to) = (numbered(length), vec![0; length / 4 + 16]);
                let (from, to) = (aligned(&mut from, length), aligned(&mut to, length / 4));
                sums(store, buffers, from, to);
                let sum = |four: &[u8]| four.iter().fold(0, |sum: u8, one| sum.wrapping_add(*one));
                assert!(from.chunks(4).map(sum).eq(to.iter().copied()), "{buffers:?} {length}");
                assert_eq!(store.free(), store.size());
            }
        }
    });
}

/// Sums four bytes each.
fn sums(store: &LocalStore, buffers: Buffers, from: &[u8], to: &mut [u8]) {
    let jobs = from.chunks(4_096).zip(to.chunks_mut(1_024));
    let mut blocks = store.blocks(buffers, jobs).expect("room");
    while let Some(mut block) = blocks.next() {
        for (input, output) in block.pieces(512, 128) {
            for (four, sum) in input.chunks(4).zip(output) {
                *sum = four.iter().fold(0, |sum, one| sum.wrapping_add(*one));
            }
        }
    }
}

#[test]
fn blocks_may_only_be_read_or_seen_as_a_whole() {
    in_a_task(64 << 10, |store| {
        let from = numbered(4_096);
        let jobs = from[..4_096].chunks(1_024).map(|source| (source, &mut [][..]));
        let mut blocks = store.blocks(Buffers::Double, jobs).expect("room");
        let mut sum = 0;
        while let Some(mut block) = blocks.next() {
            let (input, output) = block.both();
            assert!(input.len() == 1_024 && output.is_empty());
            sum += input.iter().map(|byte| u32::from(*byte)).sum::<u32>();
            assert_eq!(block.pieces(1_000, 1).map(|(input, _)| input.len()).sum::<usize>(), 1_024);
        }
        assert_eq!(sum, from[..4_096].iter().map(|byte| u32::from(*byte)).sum());
        let jobs = [(&from[..64 << 4], &mut [][..])];
        assert!(store.blocks(Buffers::Triple, jobs).is_some());
        let large = vec![0; 64 << 10];
        let jobs = [(&large[..], &mut [][..])];
        assert!(store.blocks(Buffers::Double, jobs).is_none(), "there is room for one buffer");
    });
}

#[test]
fn the_tasks_of_an_mpu_share_a_store_and_those_of_another_have_their_own() {
    let context = context(2, 128 << 10);
    let buffers = Arc::new(Mutex::new(Vec::new()));
    let tasks: Vec<_> = [0, 0, 1]
        .into_iter()
        .map(|mpu| {
            let buffers = Arc::clone(&buffers);
            let program = Program::new(move |task| {
                let buffer = store(task).buffer(64 << 10).expect("room for two");
                buffers.lock().expect("lock").push((task.mpu_index(), buffer));
                0
            });
            let task = TaskHandle::new(&context, "", program);
            assert!(task.schedule_at(Args::default(), Priority::NORMAL, Placement::Mpu(mpu)));
            task
        })
        .collect();
    assert!(tasks.iter().all(|task| task.wait().ending == Ending::Finished));
    // The buffers outlive the tasks, and the context.
    context.close().expect("no MPU failed");
    let mut buffers = buffers.lock().expect("lock");
    buffers.iter_mut().for_each(|(mpu, buffer)| buffer.fill(mpu.to_le_bytes()[0]));
    let is_own = |(mpu, buffer): &(usize, _)| -> bool {
        let buffer: &linerate_mars::LocalBuffer = buffer;
        buffer.iter().all(|byte| usize::from(*byte) == *mpu)
    };
    assert!(buffers.len() == 3 && buffers.iter().all(is_own));
}
