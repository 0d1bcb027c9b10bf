//! What the runtime promises, measured beside a bare thread, tokio and rayon, and programs of tasks on
//! it and on other runtimes: `cargo xtask bench mars`. Rivals take turns within a row; each figure is a
//! median. Names of groups limit it to these: `cargo bench -p linerate-comparison -- tasks`.

#![expect(clippy::print_stdout, reason = "it is what a bench is for")]
#![expect(clippy::disallowed_methods, reason = "a bench measures time")]

use std::fmt;
use std::process::ExitCode;

mod busy;
mod calls;
mod objects;
mod peers;
mod spawns;
mod switches;
mod tasks;
mod wakes;

fn main() -> ExitCode {
    let words: Vec<_> = std::env::args().skip(1).collect();
    if let [first, runtime, program] = words.as_slice()
        && first == "peer"
    {
        return peers::run(runtime, program);
    }
    // Cargo tells a bench that it is one; a test run of it has nothing to measure.
    if !words.iter().any(|word| word == "--bench") {
        return ExitCode::SUCCESS;
    }
    println!("{:<44} {:>12}  {:>12}  kept", "", "measured", "target");
    let wanted: Vec<_> = words.iter().filter(|word| !word.starts_with('-')).collect();
    for (name, measure) in GROUPS {
        if wanted.is_empty() || wanted.iter().any(|one| one == name) {
            measure(&mut |row| println!("{row}"));
        }
    }
    ExitCode::SUCCESS
}

type Measure = fn(Sink<'_>);

const GROUPS: &[(&str, Measure)] = &[
    ("switches", switches::rows),
    ("spawns", spawns::rows),
    ("objects", objects::rows),
    ("busy", busy::rows),
    ("wakes", wakes::rows),
    ("tasks", tasks::rows),
    ("peers", peers::rows),
];

/// Where rows go.
type Sink<'a> = &'a mut dyn FnMut(Row);

/// One figure.
struct Row {
    what: String,
    value: f64,
    unit: &'static str,
    target: Option<Target>,
}

#[derive(Clone, Copy)]
enum Target {
    AtMost(f64),
    AtLeast(f64),
}

impl Row {
    fn new(what: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { what: what.into(), value, unit, target: None }
    }

    fn aims(self, target: Target) -> Self {
        Self { target: Some(target), ..self }
    }
}

impl fmt::Display for Row {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:<44} {:>9.2} {:<3}", self.what, self.value, self.unit)?;
        let (sign, limit, is_kept) = match self.target {
            None => return Ok(()),
            Some(Target::AtMost(limit)) => ("<=", limit, self.value <= limit),
            Some(Target::AtLeast(limit)) => (">=", limit, self.value >= limit),
        };
        let verdict = if is_kept { "kept" } else { "MISSED" };
        write!(f, " {sign} {limit:>6.2} {:<3} {verdict}", self.unit)
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// Measures rivals in turns; each one's median.
fn in_turns<const N: usize>(rounds: usize, mut rivals: [&mut dyn FnMut() -> f64; N]) -> [f64; N] {
    let mut values = [const { Vec::new() }; N];
    for _ in 0..rounds {
        for (rival, values) in rivals.iter_mut().zip(&mut values) {
            values.push(rival());
        }
    }
    values.map(median)
}

/// Nanoseconds of each of `count` things that `act` does.
fn nanos_each(count: u32, act: impl FnOnce()) -> f64 {
    let start = std::time::Instant::now();
    act();
    start.elapsed().as_secs_f64() * 1e9 / f64::from(count)
}
