//! Runs of one row by version: where the rate changed.

use measurement::comparison::{Change, EffectSize, Side, Version, VersionChange, Versions};
use measurement::{Order, Quantity};

use super::{CONFIDENCE, effect};

/// A run of the row.
#[derive(Clone, Debug, PartialEq)]
pub struct Point {
    /// The version that it ran with.
    pub version: String,
    /// What was measured, in the unit of the quantity; more than zero.
    pub value: f64,
    /// Whether its stamp is SUSPECT.
    pub is_suspect: bool,
}

/// Where the runs of one row change between versions. `points` are the runs that count in the order
/// of time, `series` names the row.
///
/// Change points by wild binary segmentation (P. Fryzlewicz: Annals of Statistics 42, 2014), over all
/// stretches of versions: of all places in all stretches the one where Student's t of the runs on
/// both sides is least likely by chance; then the same on both sides of it. A change that is taken
/// back later is so found too. If nothing changed, all runs have one variance, and a change is told
/// in at most 5 of 100 series (Bonferroni over places and stretches). Versions are in the order in
/// which they were first run, and one that comes again counts where it was first.
pub fn by_version(series: String, quantity: Quantity, points: &[Point]) -> Versions {
    let groups = groups(points);
    let places = groups.len().saturating_sub(1).max(1);
    let mut cuts = Vec::new();
    let tests = stretches(groups.len()).count().max(1);
    search(&groups, 0, (1.0 - CONFIDENCE) / tests as f64, &mut cuts);
    cuts.order();
    let is_thin = |group: &Group<'_>| group.logarithms.len() < LEAST_RUNS;
    let needs_runs = groups.iter().any(is_thin) || groups.len() < 2;
    Versions {
        series,
        quantity,
        changes: changes(&groups, &cuts, quantity, places),
        versions: groups.iter().map(Group::version).collect(),
        needs_runs: needs_runs.then_some(u32::try_from(LEAST_RUNS).unwrap_or(u32::MAX)),
        confidence: CONFIDENCE,
    }
}

/// The runs with one version.
struct Group<'a> {
    name: &'a str,
    logarithms: Vec<f64>,
    suspect: u32,
}

impl Group<'_> {
    fn version(&self) -> Version {
        let side = Side {
            runs: u32::try_from(self.logarithms.len()).unwrap_or(u32::MAX),
            left_out: 0,
            suspect: self.suspect,
            mean: effect::mean(&self.logarithms).map_or(0.0, f64::exp),
        };
        Version { name: self.name.to_owned(), side }
    }
}

fn groups(points: &[Point]) -> Vec<Group<'_>> {
    let mut groups: Vec<Group<'_>> = Vec::new();
    for point in points {
        let place = groups.iter().position(|group| group.name == point.version);
        let place = place.unwrap_or_else(|| {
            groups.push(Group { name: &point.version, logarithms: Vec::new(), suspect: 0 });
            groups.len() - 1
        });
        groups[place].logarithms.push(point.value.ln());
        groups[place].suspect += u32::from(point.is_suspect);
    }
    groups
}

/// Adds the places of changes in `groups`, the first of which is that of number `offset`.
fn search(groups: &[Group<'_>], offset: usize, alpha: f64, cuts: &mut Vec<usize>) {
    let chance = |(begin, cut, end): (usize, usize, usize)| {
        let (before, after) = (runs(&groups[begin..cut]), runs(&groups[cut..end]));
        if before.len().min(after.len()) < LEAST_RUNS {
            return None;
        }
        Some((effect::chance(&before, &after)?, cut))
    };
    let found = stretches(groups.len()).filter_map(chance);
    let found = found.min_by(|one, other| one.0.total_cmp(&other.0));
    let Some((_, cut)) = found.filter(|(chance, _)| *chance < alpha) else { return };
    cuts.push(offset + cut);
    search(&groups[..cut], offset, alpha, cuts);
    search(&groups[cut..], offset + cut, alpha, cuts);
}

/// Begin, place of a cut, and end of each stretch of so many versions that has a cut.
fn stretches(count: usize) -> impl Iterator<Item = (usize, usize, usize)> {
    let ends = move |begin| (begin + 2..=count).map(move |end| (begin, end));
    let all = (0..count).flat_map(ends);
    all.flat_map(|(begin, end)| (begin + 1..end).map(move |cut| (begin, cut, end)))
}

fn runs(groups: &[Group<'_>]) -> Vec<f64> {
    groups.iter().flat_map(|group| group.logarithms.iter().copied()).collect()
}

/// What changed at each of `cuts`, between the runs since the cut before and until the next.
fn changes(
    groups: &[Group<'_>],
    cuts: &[usize],
    quantity: Quantity,
    places: usize,
) -> Vec<VersionChange> {
    let level = 1.0 - (1.0 - CONFIDENCE) / places as f64;
    let begins = [0].into_iter().chain(cuts.iter().copied());
    let ends = cuts.iter().copied().skip(1).chain([groups.len()]);
    let change = |((begin, cut), end): ((usize, usize), usize)| {
        let (before, after) = (runs(&groups[begin..cut]), runs(&groups[cut..end]));
        let effect: EffectSize = effect::welch(&before, &after, level)?;
        let is_better = quantity.gain(effect.ratio) > 1.0;
        Some(VersionChange {
            from: groups[cut - 1].name.to_owned(),
            to: groups[cut].name.to_owned(),
            effect,
            change: if is_better { Change::Better } else { Change::Worse },
        })
    };
    begins.zip(cuts.iter().copied()).zip(ends).filter_map(change).collect()
}

/// Of each version, and on each side of a change.
const LEAST_RUNS: usize = 3;
