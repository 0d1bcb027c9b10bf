//! `task.TID.{run,wait}_ns`: how long each thread of the test ran, and how long it waited
//! for a CPU, from `/proc/self/task/TID/schedstat`
//! (Documentation/scheduler/sched-stats.rst, since Linux 2.6.9).

use measurement::Gap;
use measurement::host::{Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::{Source, gap};
use crate::{Reading, Tree};

#[derive(Default)]
pub(super) struct Tasks {
    threads: Vec<Task>,
}

struct Task {
    thread: i32,
    source: Source,
}

impl Tasks {
    pub(super) fn for_threads(threads: &[i32]) -> Self {
        let mut tasks = Self::default();
        tasks.follow_threads(threads);
        tasks
    }
}

impl Collector for Tasks {
    fn family(&self) -> Family {
        Family::TASK
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let mut outcome = ReadOutcome::Nothing;
        let mut failure = None;
        for task in &mut self.threads {
            match task.source.text(tree) {
                Ok(text) => {
                    parse(&text, task.thread, into);
                    outcome = ReadOutcome::Complete;
                }
                Err(error) => failure = Some(error),
            }
        }
        match failure {
            // A thread that ended keeps what it had; that none can be read is the kernel's doing.
            Some(error) if outcome == ReadOutcome::Nothing && !into.has_any() => {
                Err(gap("time of threads", &error, ABSENT))
            }
            Some(_) => Ok(ReadOutcome::Complete),
            None => Ok(outcome),
        }
    }

    fn follow_threads(&mut self, threads: &[i32]) {
        for thread in threads {
            if self.threads.iter().all(|task| task.thread != *thread) {
                let source = Source::new(format!("proc/self/task/{thread}/schedstat"));
                self.threads.push(Task { thread: *thread, source });
            }
        }
    }
}

pub(super) fn parse(text: &str, thread: i32, into: &mut Reading) {
    let mut numbers = text.split_ascii_whitespace().map_while(|word| word.parse().ok());
    for each in [counter::TASK_RUN, counter::TASK_WAIT] {
        if let Some(nanos) = numbers.next() {
            into.counter(each.on(thread), nanos);
        }
    }
}

const ABSENT: &str =
    "the threads have ended, or this kernel does not report it (CONFIG_SCHED_INFO)";

#[cfg(test)]
mod tests {
    use super::super::tests::counted;
    use super::*;

    #[test]
    fn a_thread_has_run_and_waited() {
        let counted = counted(|into| parse("2571099 41 17\n", 7, into));
        assert_eq!((counted["task.7.run_ns"], counted["task.7.wait_ns"]), (2_571_099, 41));
    }

    #[test]
    fn a_thread_that_is_followed_twice_is_read_once_and_one_that_is_gone_stays() {
        let main = i32::try_from(std::process::id()).expect("a thread's number");
        let mut tasks = Tasks::for_threads(&[main]);
        tasks.follow_threads(&[main, i32::MAX]);
        assert_eq!(tasks.threads.len(), 2);
        let counted = counted(|into| {
            assert_eq!(tasks.read(&Tree::live(), into), Ok(ReadOutcome::Complete));
        });
        assert_eq!(counted.len(), 2);
    }

    #[test]
    fn without_threads_there_is_nothing_and_with_none_alive_a_gap() {
        counted(|into| {
            assert_eq!(Tasks::default().read(&Tree::live(), into), Ok(ReadOutcome::Nothing));
            let gap = Tasks::for_threads(&[i32::MAX]).read(&Tree::live(), into).expect_err("gone");
            assert_eq!(gap.what, "time of threads");
        });
    }
}
