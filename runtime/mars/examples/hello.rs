//! One workload, scheduled a thousand times: `cargo run -p linerate-mars --example hello`.

#![expect(clippy::print_stdout, reason = "it is an example")]

use linerate_mars::{Builder, Ending, Mpu, Next, Placement, Priority, Workload};

/// Doubles a number.
struct Double {
    number: u64,
    doubled: u64,
}

impl Workload for Double {
    type Module = ();

    fn run(&mut self, _mpu: &mut Mpu<'_, ()>) -> Next {
        self.doubled = 2 * self.number;
        Next::Finished
    }
}

fn main() -> std::io::Result<()> {
    let context = Builder::new(2).start()?;
    let mut handle = context.add(Double { number: 0, doubled: 0 });
    let mut sum = 0;
    for number in 0..1_000 {
        let mut scheduling = handle.begin();
        scheduling.number = number;
        scheduling.end(Priority::NORMAL, Placement::Anywhere);
        assert_eq!(handle.wait(), Ending::Finished);
        sum += handle.begin().doubled;
    }
    println!("hello: {sum}");
    context.close()
}
