//! Judges a record, or a profile alone, by the rules of `analysis`.

use measurement::{Attribution, BitRate, LoadCurve, Profile, TestRecord};

/// Computes the judgement of `record` anew: account of its datagrams, stamp (how far the result can
/// be trusted) and verdict (what limited the test).
pub fn judge(record: &mut TestRecord) {
    record.judgement = Some(analysis::judge(record));
}

/// Refines the verdicts on the records of one run, each of which was judged before, by comparing
/// them: e.g. if all tests stop at the same rate on the wire, the path limits.
pub fn judge_together(records: &mut [TestRecord]) {
    analysis::judge_together(records);
}

/// Curves of what arrives of UDP over the load, of runs between the same hosts.
pub fn load_curves<'a>(records: impl IntoIterator<Item = &'a TestRecord>) -> Vec<LoadCurve> {
    analysis::load_curves(records)
}

/// Attributes the CPU time of an imported `profile` to kinds of work. `architecture` is that of the
/// machine (`uname -m`), if known. With the `rate` that was reached meanwhile the result contains
/// estimates of the rate without each kind of work.
pub fn attribute(
    profile: &Profile,
    architecture: Option<&str>,
    rate: Option<BitRate>,
) -> Attribution {
    analysis::attribute(profile, architecture, rate)
}
