//! What somebody asks the port for metrics.

use crate::memory;

/// The program's own file: the program is no library.
#[path = "../../../crates/cli/src/http/request.rs"]
mod request;

use request::{Asked, Request};

/// Judges one input.
pub(super) fn run(bytes: &[u8]) {
    memory::bounded(bytes.len(), || judge(bytes));
}

fn judge(bytes: &[u8]) {
    let whole = Request::read(bytes);
    if let Asked::Request(request) = &whole {
        assert!(!request.path.contains('?') && request.path.len() < bytes.len());
    }
    // Piece by piece it is the same, and what was wrong stays so.
    let mut invalid = false;
    for end in 0..bytes.len() {
        let part = Request::read(&bytes[..end]);
        assert!(!invalid || part == Asked::Invalid, "after {end} bytes");
        invalid = part == Asked::Invalid;
        if matches!(part, Asked::Request(_)) {
            assert_eq!(part, whole, "after {end} bytes");
            return;
        }
    }
    assert!(!invalid || whole == Asked::Invalid);
}
