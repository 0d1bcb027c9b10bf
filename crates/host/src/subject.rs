//! The interfaces and threads of a test, for which a host is sampled.

/// The interfaces and threads of a test. Their counters are read in addition to those of the whole
/// host.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Names of the interfaces that carry the test.
    pub interfaces: Vec<String>,
    /// Ids of the threads of this process that run the test (gettid(2)).
    pub threads: Vec<i32>,
}
