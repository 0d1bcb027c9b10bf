//! The programs by name, and what they share.

mod barrier;
mod fft;
mod fill;
mod grayscale;
mod hello;
mod host_call;
mod mandelbrot;
mod mix;
mod ping_pong;
mod pipeline;
mod ring;
mod semaphore;
mod square;
mod unschedule;
mod vectors;

use std::sync::Arc;

use linerate_mars::{Args, Context, Ending, Priority, Program, Task, TaskHandle, Utilisation};

/// What a program found, in words; as an error what was wrong.
pub(crate) type Seen = Result<String, String>;

/// A program, which runs its tasks on the MPUs of a context.
pub(crate) type Run = fn(&Context, Extent) -> Seen;

/// Name, purpose and function of each program.
pub(crate) const PROGRAMS: [(&str, &str, Run); 14] = [
    ("hello", "a task is scheduled a thousand times", hello::run),
    ("barrier", "more tasks than MPUs meet", barrier::run),
    ("semaphore", "tasks count one by one, and three at a time", semaphore::run),
    ("ring", "a token goes round by event flag", ring::run),
    ("pipeline", "entries pass two tasks", pipeline::run),
    ("ping-pong", "two tasks signal each other", ping_pong::run),
    ("host-call", "who waits for the host holds up nobody", host_call::run),
    ("grayscale", "pictures pass the local stores", grayscale::run),
    ("mandelbrot", "rows of uneven cost keep all MPUs busy", mandelbrot::run),
    ("fft", "the stages of transforms are separated by barriers", fft::run),
    ("fill", "many tasks at once, the most urgent first", fill::run),
    ("unschedule", "tasks that are ready, wait or run are ended", unschedule::run),
    ("mix", "tasks without a stack among others", mix::run),
    ("square", "vectors of numbers are squared in the local stores", square::run),
];

/// Number of MPUs of each program's context.
pub(crate) const MPUS: usize = 2;

/// How much a program does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Extent {
    /// For a test: as much as shows that it works.
    Short,
    /// As much as shows how fast it is; it also fails if it is slow.
    Full,
}

impl Extent {
    pub(crate) const fn new(is_full: bool) -> Self {
        if is_full { Self::Full } else { Self::Short }
    }

    pub(crate) fn of<T>(self, short: T, full: T) -> T {
        if self == Self::Full { full } else { short }
    }
}

/// Runs a task of each program; all have to return 0.
pub(crate) fn run(context: &Context, programs: Vec<Program>) -> Result<(), String> {
    let task = |program| TaskHandle::new(context, "", program);
    let tasks: Vec<_> = programs.into_iter().map(task).collect();
    for task in &tasks {
        begin(task, Priority::NORMAL);
    }
    for (number, task) in tasks.iter().enumerate() {
        let exit = task.wait();
        if exit.ending != Ending::Finished || exit.code != 0 {
            return Err(format!("task {number}: {:?}, exit code {}", exit.ending, exit.code));
        }
    }
    Ok(())
}

/// Schedules a task that has finished.
pub(crate) fn begin(task: &TaskHandle, priority: Priority) {
    assert!(task.schedule(Args::default(), priority), "{} has not finished", task.name());
}

/// `count` programs of a function, which has its number.
pub(crate) fn several<F>(count: usize, function: F) -> Vec<Program>
where
    F: Fn(&mut Task<'_>, usize) -> i32 + Send + Sync + 'static,
{
    let function = Arc::new(function);
    let program = |number| {
        let function = Arc::clone(&function);
        Program::new(move |task| function(task, number))
    };
    (0..count).map(program).collect()
}

/// `text`, if all was right.
pub(crate) fn verdict(is_right: bool, text: String) -> Seen {
    if is_right { Ok(text) } else { Err(text) }
}

/// The share of the time since `before` in which the MPU that slept most did not.
pub(crate) fn least_used(context: &Context, before: &[Utilisation]) -> f64 {
    let now = context.utilisation();
    now.iter().zip(before).map(|(now, then)| now.since(then).share()).fold(1.0, f64::min)
}
