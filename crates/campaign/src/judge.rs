//! Has a record, or a profile alone, judged.

use measurement::{Attribution, BitRate, Profile, TestRecord};

/// Puts into `record` where everything went, and whether to believe it.
pub fn judge(record: &mut TestRecord) {
    record.judgement = Some(analysis::judge(record));
}

/// Tells where CPU time went by a profile that was read from elsewhere, of a kernel on
/// `architecture` in the words of uname(2), if that is known; with the `rate` that was reached
/// meanwhile also what could be.
pub fn attribute(
    profile: &Profile,
    architecture: Option<&str>,
    rate: Option<BitRate>,
) -> Attribution {
    analysis::attribute(profile, architecture, rate)
}
