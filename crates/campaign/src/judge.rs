//! Judges a record, or a profile alone, by the rules of `analysis`.

use measurement::{Attribution, BitRate, Profile, TestRecord};

/// Judges `record` anew: its judgement accounts for every datagram, and holds the stamp and the verdict.
pub fn judge(record: &mut TestRecord) {
    record.judgement = Some(analysis::judge(record));
}

/// Attributes CPU time by an imported profile. `architecture` is the machine's as uname(2) names
/// it, if known; with the `rate` that was reached meanwhile the attribution has estimates without
/// each kind of work.
pub fn attribute(
    profile: &Profile,
    architecture: Option<&str>,
    rate: Option<BitRate>,
) -> Attribution {
    analysis::attribute(profile, architecture, rate)
}
