//! The programs of the example of that name, each in its short form.

#[path = "../examples/programs/catalogue.rs"]
mod catalogue;

use catalogue::{Extent, MPUS, PROGRAMS};
use linerate_mars::{Builder, TaskStacks};

#[test]
fn every_program_passes() {
    for (name, _, program) in PROGRAMS {
        let context = Builder::new(MPUS).tasks(TaskStacks::default()).start().expect("threads");
        let seen = program(&context, Extent::new(false));
        assert!(seen.is_ok(), "{name}: {seen:?}");
        context.close().expect("no MPU failed");
    }
}
