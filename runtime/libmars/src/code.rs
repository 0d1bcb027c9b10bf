//! The result codes (`mars/error.h`).

use runtime::TaskError;

/// Reason for which a call failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Code {
    Null = 1,
    Params,
    Internal,
    Memory,
    Align,
    Limit,
    State,
    Format,
    Busy,
}

/// Return value of a call for C: zero, or the code.
pub(crate) fn returned(result: Result<(), Code>) -> i32 {
    result.err().map_or(0, |code| code as i32)
}

impl From<TaskError> for Code {
    fn from(error: TaskError) -> Self {
        match error {
            TaskError::RunComplete => Self::Format,
            TaskError::Unscheduled => Self::State,
        }
    }
}

/// The code unless `holds`.
pub(crate) fn require(holds: bool, code: Code) -> Result<(), Code> {
    if holds { Ok(()) } else { Err(code) }
}

/// The address of what was to be given.
pub(crate) fn require_address(ea: u64, align: u64) -> Result<(), Code> {
    require(ea != 0, Code::Null)?;
    require(ea.is_multiple_of(align), Code::Align)
}
