//! The interfaces and threads of a test, which a host is watched for.

/// What is watched beside what concerns the host as a whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Subject {
    /// Interfaces that carry the test.
    pub interfaces: Vec<String>,
    /// Threads that run it (gettid(2)), of this process.
    pub threads: Vec<i32>,
}
