//! A/B tests: what pairs of runs show when they are looked at more than once, and when it is enough.
//! The runs of a pair follow each other, so that a drift hits both.
//!
//! A test that is looked at after each pair, and ends when the interval excludes 1, is wrong far more
//! often than in 5 % of cases. Here the share of wrong decisions is spent over the looks by the
//! function alpha * t^2 of the share t of pairs that are there (K. K. G. Lan and D. L. DeMets: Biometrika 70,
//! 1983; K. Kim and D. L. DeMets: Biometrika 74, 1987). Each look has an interval of Student's t at
//! the level that it spends; that all of them hold follows from the sum of what is spent
//! (Bonferroni), without assumptions on how they depend on each other.

use measurement::alternation::{AbFinding, AbRule};
use measurement::comparison::{EffectSize, RatioInterval};
use measurement::{BitRate, Order};

use super::{effect, student};

/// Confidence with which the interval of an A/B test holds, over all of its looks.
pub const AB_CONFIDENCE: f64 = 0.95;

/// Result of pairs of runs: which side is faster, and by how much.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Which side is faster.
    pub finding: AbFinding,
    /// Rates of B by those of A; none: there are fewer than three pairs.
    pub effect: Option<EffectSize>,
}

impl Look {
    /// The look at the rates of A and B, in bit/s and above zero, pair by pair.
    pub fn at(pairs: &[(f64, f64)], rule: &AbRule) -> Self {
        let logarithms: Vec<_> = pairs.iter().map(|(a, b)| (a.ln(), b.ln())).collect();
        let effect = effect::paired(&logarithms, level(pairs.len(), rule));
        let interval = effect.and_then(|effect| effect.interval);
        let finding = interval.map_or(AbFinding::TooFew, |it| finding(it, rule.margin_ratio));
        Self { finding, effect }
    }

    /// Whether the test ends with so many pairs, and what they show; none: it goes on.
    pub fn end(pairs: &[(f64, f64)], rule: &AbRule) -> Option<Self> {
        let count = pairs.len();
        let is_last = count >= most(rule);
        if !is_last && !looks(rule).contains(&count) {
            return None;
        }
        let look = Self::at(pairs, rule);
        let is_decided = !matches!(look.finding, AbFinding::NotShown | AbFinding::TooFew);
        (is_last || is_decided).then_some(look)
    }
}

fn finding(interval: RatioInterval, margin: f64) -> AbFinding {
    match interval {
        // However sure a difference is, one within the margin does not matter.
        _ if interval.widest() <= margin => AbFinding::Equivalent,
        RatioInterval { low, .. } if low > 1.0 => AbFinding::Faster,
        RatioInterval { high, .. } if high < 1.0 => AbFinding::Slower,
        _ => AbFinding::NotShown,
    }
}

/// Level of the interval of so many pairs: 1 less what the looks before them have left.
fn level(count: usize, rule: &AbRule) -> f64 {
    let before = looks(rule).into_iter().filter(|look| *look < count).max().unwrap_or(0);
    let spent = |count: usize| (count.min(most(rule)) as f64 / most(rule) as f64).powi(2);
    1.0 - (1.0 - rule.confidence) * (spent(count) - spent(before))
}

/// Pairs at which is looked: each quarter, but not before an interval can be of use.
fn looks(rule: &AbRule) -> Vec<usize> {
    let quarters = (1..=LOOKS).map(|part| (most(rule) * part).div_ceil(LOOKS));
    quarters.filter(|count| *count >= LEAST).collect()
}

fn most(rule: &AbRule) -> usize {
    usize::try_from(rule.most_pairs).unwrap_or(usize::MAX)
}

/// Properties of the runs that the interval takes no account of, a sentence each: a drift of both
/// sides, and rates on two levels.
pub fn remarks(pairs: &[(f64, f64)]) -> Vec<String> {
    let logarithms =
        |side: fn(&(f64, f64)) -> f64| pairs.iter().map(|pair| side(pair).ln()).collect::<Vec<_>>();
    let (a, b) = (logarithms(|pair| pair.0), logarithms(|pair| pair.1));
    let both: Vec<_> = a.iter().zip(&b).map(|(a, b)| f64::midpoint(*a, *b)).collect();
    let levels = [("A", &a), ("B", &b)].into_iter().filter_map(|(name, side)| levels(name, side));
    drift(&both).into_iter().chain(levels).collect()
}

/// Both sides became faster or slower: the slope of a line through their means is not zero by
/// Student's t, at 99 %.
fn drift(means: &[f64]) -> Option<String> {
    let count = means.len() as f64;
    let (center, mean) = ((count - 1.0) / 2.0, effect::mean(means)?);
    let places = || means.iter().enumerate().map(|(place, value)| (place as f64 - center, *value));
    let width: f64 = places().map(|(place, _)| place * place).sum();
    let slope = places().map(|(place, value)| place * (value - mean)).sum::<f64>() / width;
    let rest: f64 =
        places().map(|(place, value)| (value - mean - slope * place).powi(2)).sum::<f64>();
    let error = (rest / (count - 2.0) / width).sqrt();
    let change = (slope * (count - 1.0)).exp();
    let is_one = means.len() >= LEAST_OF_REMARKS
        && slope.abs() > error * student::two_sided(0.99, count - 2.0)
        && !(1.0 - LEAST_DRIFT..=1.0 + LEAST_DRIFT).contains(&change);
    let percent = (change - 1.0).abs() * 100.0;
    let word = if change > 1.0 { "faster" } else { "slower" };
    is_one.then(|| {
        format!("both sides became {percent:.0} % {word} during the test, which pairs level out")
    })
}

/// Rates of one side on two levels: the best split of them into two has levels whose distance is far
/// above what is left.
fn levels(name: &str, logarithms: &[f64]) -> Option<String> {
    let mut sorted = logarithms.to_vec();
    sorted.order_by(f64::total_cmp);
    let squares = |values: &[f64]| {
        let mean = effect::mean(values).unwrap_or_default();
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let rest = |place: usize| squares(&sorted[..place]) + squares(&sorted[place..]);
    let places = LEAST_OF_LEVEL..=sorted.len().checked_sub(LEAST_OF_LEVEL)?;
    let place = places.min_by(|one, other| rest(*one).total_cmp(&rest(*other)))?;
    let (low, high) = sorted.split_at(place);
    let distance = effect::mean(high)? - effect::mean(low)?;
    let deviation = (rest(place) / (sorted.len() as f64 - 2.0)).sqrt();
    let are_two = sorted.len() >= LEAST_OF_REMARKS
        && distance > LEAST_DISTANCE
        && distance > DEVIATIONS * deviation;
    let show = |values: &[f64]| {
        let rate = rate(effect::mean(values).unwrap_or_default().exp());
        format!("{} runs near {rate}", values.len())
    };
    are_two.then(|| format!("{name} had two levels: {}, {}", show(low), show(high)))
}

/// The rate of so many bit/s.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn rate(bits_per_second: f64) -> BitRate {
    BitRate::from_bits_per_second(bits_per_second.round() as u64)
}

/// Geometric mean of rates in bit/s; none: there are none.
pub fn mean_rate(rates: impl Iterator<Item = f64>) -> Option<BitRate> {
    let logarithms: Vec<_> = rates.map(f64::ln).collect();
    effect::mean(&logarithms).map(|mean| rate(mean.exp()))
}

const LOOKS: usize = 4;
const LEAST: usize = 4;
/// Fewer pairs show neither a drift nor levels.
const LEAST_OF_REMARKS: usize = 8;
/// A smaller drift is not worth a sentence.
const LEAST_DRIFT: f64 = 0.05;
/// One run is no level.
const LEAST_OF_LEVEL: usize = 2;
/// Nearer levels are not worth a sentence: logarithms, 5 %.
const LEAST_DISTANCE: f64 = 0.05;
/// The best split of normal values has levels less than three deviations apart.
const DEVIATIONS: f64 = 6.0;

#[cfg(test)]
mod tests {
    use fastrand::Rng;

    use super::*;

    const RULE: AbRule = AbRule { most_pairs: 20, margin_ratio: 0.02, confidence: AB_CONFIDENCE };

    /// Runs until the rule ends them; of pairs whose rates `next` gives.
    fn run(mut next: impl FnMut() -> (f64, f64)) -> (usize, Look) {
        let mut pairs = Vec::new();
        loop {
            pairs.push(next());
            if let Some(look) = Look::end(&pairs, &RULE) {
                return (pairs.len(), look);
            }
        }
    }

    /// Nearly normal: the sum of twelve uniform numbers less its mean has the variance 1.
    fn noise(random: &mut Rng) -> f64 {
        (0..12).map(|_| random.f64()).sum::<f64>() - 6.0
    }

    fn is_alarm(look: &Look) -> bool {
        matches!(look.finding, AbFinding::Faster | AbFinding::Slower)
    }

    /// Runs of a host whose level drifts, depends on the run before, and has two modes; the order of
    /// each pair by lot, B by so much faster.
    fn world(random: &mut Rng, faster: f64, kind: u32) -> impl FnMut() -> (f64, f64) {
        let (mut step, mut before, mut is_slow) = (0.0, 0.0, false);
        move || {
            let mut run = || {
                step += 1.0;
                before = 0.7 * before + 0.02 * noise(random);
                is_slow ^= random.f64() < 0.15;
                1e9 * match kind {
                    0 => (0.03 * noise(random)).exp(),
                    1 => (0.03 * noise(random) - 0.005 * step).exp(),
                    2 => before.exp(),
                    _ => (0.02 * noise(random)).exp() * if is_slow { 0.75 } else { 1.0 },
                }
            };
            let (first, second) = (run(), run());
            let (a, b) = if random.bool() { (first, second) } else { (second, first) };
            (a, b * faster)
        }
    }

    #[test]
    fn of_ten_thousand_tests_without_a_difference_five_in_a_hundred_find_one_at_most() {
        for kind in 0..4 {
            let mut random = Rng::with_seed(u64::from(kind) + 1);
            let mut alarms = 0;
            for _ in 0..2_500 {
                let mut other = random.fork();
                alarms += u32::from(is_alarm(&run(world(&mut other, 1.0, kind)).1));
            }
            assert!(alarms <= 125, "{alarms} of 2,500 in world {kind}");
        }
    }

    #[test]
    fn five_per_cent_are_found_early() {
        let mut random = Rng::with_seed(7);
        let (mut found, mut pairs) = (0, 0);
        for _ in 0..500 {
            let mut other = random.fork();
            let (count, look) = run(world(&mut other, 1.05, 0));
            found += u32::from(look.finding == AbFinding::Faster);
            pairs += count;
        }
        assert!(found >= 480, "{found} of 500");
        assert!(pairs < 500 * 15, "{pairs}");
    }

    #[test]
    fn what_differs_by_less_than_the_margin_is_told_as_that() {
        let mut random = Rng::with_seed(3);
        let (count, look) = run(|| {
            let mut one = || 1e9 * (0.001 * noise(&mut random)).exp();
            (one(), one())
        });
        assert_eq!((count, look.finding), (5, AbFinding::Equivalent));
        assert!(look.effect.and_then(|it| it.interval).is_some_and(|it| it.widest() < 0.02));
    }

    #[test]
    fn few_pairs_have_no_interval_and_the_last_one_ends_it() {
        let rule = AbRule { most_pairs: 2, ..RULE };
        let pairs = [(1e9, 2e9), (1e9, 2e9)];
        assert_eq!(Look::end(&pairs[..1], &rule), None);
        let look = Look::end(&pairs, &rule).expect("an end");
        assert_eq!((look.finding, look.effect), (AbFinding::TooFew, None));
    }

    #[test]
    fn looks_spend_all_and_no_more() {
        for most_pairs in [4, 5, 12, 20, 33] {
            let rule = AbRule { most_pairs, ..RULE };
            let all: f64 = looks(&rule).into_iter().map(|count| 1.0 - level(count, &rule)).sum();
            assert!((all - 0.05).abs() < 1e-9, "{most_pairs}: {all}");
        }
    }

    #[test]
    fn a_drift_and_two_levels_are_remarked() {
        let drifting: Vec<_> = (0..12).map(|step| 1e9 * (-0.02 * f64::from(step)).exp()).collect();
        let pairs: Vec<_> = drifting.iter().map(|rate| (*rate, rate * 1.001)).collect();
        let text = remarks(&pairs).join("; ");
        assert!(text.starts_with("both sides became 20 % slower"), "{text}");
        let jumping = |step: u32| if step.is_multiple_of(3) { 1e10 } else { 1.4e10 };
        let pairs: Vec<_> =
            (0..12).map(|step| (jumping(step), 1.2e10 + f64::from(step % 5) * 1e7)).collect();
        assert_eq!(
            remarks(&pairs),
            ["A had two levels: 4 runs near 10.00 Gbit/s, 8 runs near 14.00 Gbit/s"]
        );
    }
}
