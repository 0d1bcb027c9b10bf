//! What a client hears of what a server has too little of: what is needed, what there is, and
//! what to raise, and to how much.

use measurement::units::group_thousands;
use measurement::{ByteSize, Direction, TestPlan};

use super::capacity::{files_for, threads_for};
use super::cost::Cost;
use super::limits::Excess;
use super::metrics::Refusal;
use crate::error::SessionError;

/// Why the test of `plan`, which needs `cost`, was not taken in, where one client may have
/// `part`.
pub(crate) fn words(why: Refusal, cost: &Cost, part: &Cost, plan: &TestPlan) -> String {
    match why {
        Refusal::Descriptors if cost.descriptors > part.descriptors => format!(
            "the test needs {} open files at the server, which has {} for one client: raise its \
             limit of open files ({FILES}) to {}{}",
            group_thousands(cost.descriptors),
            group_thousands(part.descriptors),
            group_thousands(files_for(cost.descriptors)),
            fewer_streams(cost.descriptors - part.descriptors, plan)
        ),
        Refusal::Threads if cost.threads > part.threads => format!(
            "the test needs {} threads at the server, which has {} for one client: raise its \
             limit of threads ({THREADS}) to {}",
            group_thousands(cost.threads),
            group_thousands(part.threads),
            group_thousands(threads_for(cost.threads))
        ),
        Refusal::Memory if cost.memory > part.memory => format!(
            "the test needs {} at the server, which has {} for one client: raise its \
             --max-memory or ask for less",
            ByteSize::from_bytes(cost.memory),
            ByteSize::from_bytes(part.memory)
        ),
        _ => why.to_string(),
    }
}

/// What the client may ask for, which needs `excess` open files less: one for each stream.
fn fewer_streams(excess: u64, plan: &TestPlan) -> String {
    let ways = if plan.direction == Direction::Both { 2 } else { 1 };
    let left = u64::from(plan.streams).saturating_sub(excess.div_ceil(ways));
    if left == 0 { String::new() } else { format!(" or lower -P to {}", group_thousands(left)) }
}

/// What the system did not give although it should have had it; none: it is not that.
pub(crate) fn of_system(error: &SessionError) -> Option<Excess> {
    let SessionError::System { error, .. } = error else { return None };
    let (why, words) = match error.raw_os_error()? {
        EAGAIN => (Refusal::Threads, threads()),
        EMFILE | ENFILE => (
            Refusal::Descriptors,
            format!("the server has no open file left: raise its limit ({FILES})"),
        ),
        ENOMEM => (Refusal::Memory, "the server has no memory left: ask for less".to_owned()),
        _ => return None,
    };
    Some(Excess { why, words })
}

/// Whether the kernel is short of descriptors or memory.
pub(crate) fn is_shortage(error: &std::io::Error) -> bool {
    matches!(error.raw_os_error(), Some(ENFILE | EMFILE | ENOMEM | ENOBUFS))
}

/// The system gives no thread.
pub(crate) fn threads() -> String {
    format!("the server gets no more threads from its system: raise its limit ({THREADS})")
}

const FILES: &str = "ulimit -n, LimitNOFILE=";
const THREADS: &str = "ulimit -u, TasksMax=, pids.max";
/// `asm-generic/errno-base.h`; pthread_create(3) fails with the first.
const EAGAIN: i32 = 11;
const ENOMEM: i32 = 12;
const ENFILE: i32 = 23;
const EMFILE: i32 = 24;
/// `asm-generic/errno.h`.
const ENOBUFS: i32 = 105;

#[cfg(test)]
mod tests {
    use measurement::Transport;
    use measurement::plan::PlanDraft;

    use super::*;

    const PART: Cost = Cost { memory: 1 << 20, descriptors: 96, threads: 4 };

    fn plan(direction: Direction, streams: u32) -> TestPlan {
        let mut draft = PlanDraft::new(Transport::Tcp, direction);
        draft.streams = streams;
        draft.check().expect("a plan")
    }

    #[test]
    fn what_is_short_is_told_with_what_to_raise_to_how_much() {
        let cost = Cost { memory: 2 << 20, descriptors: 213, threads: 5 };
        let one_way = plan(Direction::Send, 200);
        let told = |why, plan: &TestPlan| words(why, &cost, &PART, plan);
        assert_eq!(
            told(Refusal::Descriptors, &one_way),
            "the test needs 213 open files at the server, which has 96 for one client: raise its \
             limit of open files (ulimit -n, LimitNOFILE=) to 464 or lower -P to 83"
        );
        let both = told(Refusal::Descriptors, &plan(Direction::Both, 100));
        assert!(both.ends_with("to 464 or lower -P to 41"), "{both}");
        let few = told(Refusal::Descriptors, &plan(Direction::Send, 10));
        assert!(few.ends_with("LimitNOFILE=) to 464"), "{few}");
        let threads = told(Refusal::Threads, &one_way);
        assert!(threads.ends_with("(ulimit -u, TasksMax=, pids.max) to 42"), "{threads}");
        assert!(told(Refusal::Memory, &one_way).contains("--max-memory"));
    }

    #[test]
    fn what_others_have_taken_is_told_as_such() {
        let cost = Cost { memory: 1, descriptors: 1, threads: 1 };
        let told = words(Refusal::Descriptors, &cost, &PART, &plan(Direction::Send, 1));
        assert_eq!(told, Refusal::Descriptors.to_string());
    }
}
