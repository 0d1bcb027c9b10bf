//! Rows of very uneven cost that workloads take themselves, in steps that a barrier
//! separates, with more workloads than MPUs; at the end, how busy each MPU was:
//! `cargo run --release -p linerate-mars --example mandelbrot`.

#![expect(clippy::print_stdout, reason = "it is an example")]

use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::sync::atomic::Ordering::Relaxed;

use linerate_mars::{Barrier, Builder, Module, Mpu, Next, Priority, Wait, Workload};

/// What each MPU keeps: one row, always hot in its cache.
struct Row(Vec<u32>);

impl Module for Row {
    const NAME: &'static str = "rows";
}

struct Painter {
    frame: u32,
    has_arrived: bool,
    /// The next row of each frame.
    rows: Arc<[AtomicU32]>,
    barrier: Arc<Barrier>,
    inside: u64,
}

impl Painter {
    fn paint(&mut self, row: u32, buffer: &mut [u32]) {
        for (x, steps) in (0..).zip(buffer.iter_mut()) {
            let re = f64::from(x) / f64::from(SIDE) * 3.0 - 2.25;
            let im = f64::from(row) / f64::from(SIDE) * 2.5 - 1.25;
            *steps = steps_of(re, im, 100 * (self.frame + 1));
        }
        self.inside += buffer.iter().map(|steps| u64::from(*steps)).sum::<u64>();
    }

    /// Meets all others at the end of a frame.
    fn meet(&mut self, mpu: &mut Mpu<'_, Row>) -> Result<(), Wait> {
        if !self.has_arrived {
            self.barrier.notify(mpu)?;
            self.has_arrived = true;
        }
        self.barrier.wait(mpu)?;
        self.has_arrived = false;
        self.frame += 1;
        Ok(())
    }
}

impl Workload for Painter {
    type Module = Row;

    fn run(&mut self, mpu: &mut Mpu<'_, Row>) -> Next {
        let Some(rows) = self.rows.get(self.frame as usize) else { return Next::Finished };
        let row = rows.fetch_add(1, Relaxed);
        if row < SIDE {
            self.paint(row, &mut mpu.module.0);
            return Next::Yield;
        }
        self.meet(mpu).map_or_else(Next::Stalled, |()| Next::Yield)
    }
}

fn steps_of(re: f64, im: f64, most: u32) -> u32 {
    let (mut x, mut y) = (0.0, 0.0);
    for step in 0..most {
        if x * x + y * y > 4.0 {
            return step;
        }
        (x, y) = (x * x - y * y + re, 2.0 * x * y + im);
    }
    most
}

fn main() -> std::io::Result<()> {
    let mpus = std::thread::available_parallelism().map_or(2, usize::from);
    let row = |_| Ok(Row(vec![0; SIDE as usize]));
    let context = Builder::new(mpus).name("painter").module(row).start()?;
    let count = u32::try_from(4 * mpus).unwrap_or(u32::MAX);
    let barrier = Arc::new(Barrier::new(&context, count));
    let rows: Arc<[_]> = (0..FRAMES).map(|_| AtomicU32::new(0)).collect();
    let painter = || Painter {
        frame: 0,
        has_arrived: false,
        rows: Arc::clone(&rows),
        barrier: Arc::clone(&barrier),
        inside: 0,
    };
    let mut painters: Vec<_> = (0..count).map(|_| context.add(painter())).collect();
    for painter in &mut painters {
        painter.schedule(Priority::NORMAL);
    }
    for painter in &painters {
        _ = painter.wait();
    }
    for (number, mpu) in context.utilisation().iter().enumerate() {
        println!("MPU {number}: {:.1} % busy, {} turns", mpu.share() * 100.0, mpu.turns);
    }
    let steps: u64 = painters.into_iter().map(|painter| painter.into_inner().inside).sum();
    println!("{steps} steps");
    context.close()
}

const SIDE: u32 = 400;
const FRAMES: u32 = 5;
