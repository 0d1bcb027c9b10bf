//! How a test counts for the limits on concurrent tests.

use measurement::TestPlan;

/// How a test counts for the limits on concurrent tests.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TestClass {
    /// The test runs in one of the places for concurrent tests, or waits for one.
    Regular,
    /// The test is a probe of the round-trip time, which runs beside these.
    Probe,
}

impl TestClass {
    /// The class of a test.
    pub(crate) fn for_plan(plan: &TestPlan) -> Self {
        let is_probe = plan.exchange.is_some_and(|exchange| exchange.is_probe());
        if is_probe && plan.streams == 1 { Self::Probe } else { Self::Regular }
    }
}
