//! The form of an input for a machine: what the peer sends, with marks between.
//!
//! Every byte stands for itself, so that a recorded conversation is an input as it is. The
//! byte [`MARK`], which is neither in UTF-8 nor a state, and the letter after it say what
//! happens at that place.

/// One thing that happens to a machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Step<'a> {
    /// This comes in.
    Bytes(&'a [u8]),
    /// `s`: a second passes.
    Second,
    /// `t`: the time passes until the machine's deadline.
    Deadline,
    /// `c`: the peer closes the connection.
    Close,
    /// `r`: the peer resets the connection.
    Reset,
    /// `w`: from now on the host waits with its answers.
    Wait,
    /// `a`: the host answers all that it owes, and waits no more.
    Answer,
    /// `n`: the host will say no.
    Refuse,
    /// `x`: the host gives up.
    Terminate,
    /// `|` and every other letter: what came before and what comes after come apart.
    Cut,
}

/// The steps of an input.
pub(crate) fn steps(input: &[u8]) -> impl Iterator<Item = Step<'_>> {
    let mut parts = input.split(|byte| *byte == MARK);
    let first = parts.next().map(Step::Bytes);
    first.into_iter().chain(parts.flat_map(marked))
}

/// What a mark begins: its own step, and the bytes behind its letter.
fn marked(part: &[u8]) -> [Step<'_>; 2] {
    let (letter, bytes) = part.split_first().unwrap_or((&b'|', &[]));
    let step = match letter {
        b's' => Step::Second,
        b't' => Step::Deadline,
        b'c' => Step::Close,
        b'r' => Step::Reset,
        b'w' => Step::Wait,
        b'a' => Step::Answer,
        b'n' => Step::Refuse,
        b'x' => Step::Terminate,
        _ => Step::Cut,
    };
    [step, Step::Bytes(bytes)]
}

/// No byte of UTF-8 (RFC 3629, section 1), and no state (clause 4.2).
const MARK: u8 = 0xF5;
