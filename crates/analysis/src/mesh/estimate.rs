//! The robust additive model of the rates: rate of all, of a host as sender, of a host as receiver,
//! of an uplink; in logarithms, by median polish (Tukey, Exploratory Data Analysis, 1977). What the
//! model does not explain is of the pair.

use measurement::upper_median;

use super::{Mesh, Sample, Stage};

/// Effects in natural logarithms of rates: 0 is as others, -0.5 is 61 % of the rate of others.
#[derive(Clone, Debug)]
pub(super) struct Estimate {
    /// Logarithm of the typical rate in bit/s.
    pub(super) typical: f64,
    /// Of the rate with all hosts at once: the upper quartile, since of few switches one that is slow
    /// takes part in half of the tests.
    pub(super) loaded: f64,
    pub(super) send: Vec<f64>,
    pub(super) receive: Vec<f64>,
    pub(super) uplink: Vec<f64>,
    /// Below this, what a model leaves unexplained is slow.
    pub(super) slow_below: f64,
}

impl Estimate {
    pub(super) fn of(mesh: &Mesh) -> Self {
        let rates = |wanted: fn(Stage) -> bool| -> Vec<f64> {
            let samples = mesh.samples.iter().filter(|sample| wanted(sample.stage));
            samples.map(|sample| f64::from(sample.log_rate)).collect()
        };
        let typical = median(rates(is_of_model)).unwrap_or_default();
        let loaded = quantile(&mut rates(|stage| stage == Stage::Load), 0.75).unwrap_or(typical);
        let hosts = mesh.design.hosts as usize;
        let switches = mesh.design.topology.as_ref().map_or(0, |known| known.switches().len());
        let (send, receive, uplink) = (vec![0.0; hosts], vec![0.0; hosts], vec![0.0; switches]);
        let mut estimate = Self { typical, loaded, send, receive, uplink, slow_below: 0.0 };
        estimate.polish(mesh);
        estimate
    }

    fn polish(&mut self, mesh: &Mesh) {
        for _ in 0..SWEEPS {
            self.uplink = self.uplinks(mesh);
            let left =
                |sample: &Sample| self.residual(mesh, sample) + self.send[sample.from as usize];
            self.send = medians(mesh, |sample| sample.from, left);
            let left =
                |sample: &Sample| self.residual(mesh, sample) + self.receive[sample.to as usize];
            self.receive = medians(mesh, |sample| sample.to, left);
        }
        let samples = mesh.samples.iter().filter(|sample| is_of_model(sample.stage));
        let spread = samples.map(|sample| self.residual(mesh, sample).abs());
        // The median of absolute deviations, as a standard deviation of a normal distribution.
        let deviation = median(spread).unwrap_or_default() * 1.4826;
        self.slow_below = -(DEVIATIONS * deviation).clamp(LEAST_EFFECT, MOST_EFFECT);
    }

    /// An uplink is as slow as most hosts below it are across it.
    fn uplinks(&self, mesh: &Mesh) -> Vec<f64> {
        let Some(topology) = &mesh.design.topology else { return Vec::new() };
        let mut of_host: Vec<Vec<f64>> = vec![Vec::new(); mesh.design.hosts as usize];
        for sample in mesh.samples.iter().filter(|sample| is_of_model(sample.stage)) {
            if topology.is_across(sample.from, sample.to) {
                let left = f64::from(sample.log_rate) - self.typical;
                of_host[sample.from as usize].push(left - self.receive[sample.to as usize]);
                of_host[sample.to as usize].push(left - self.send[sample.from as usize]);
            }
        }
        let of_host = of_host.into_iter().map(median);
        let mut of_switch: Vec<Vec<f64>> = vec![Vec::new(); topology.switches().len()];
        for (host, effect) in (0..).zip(of_host) {
            if let (Some(switch), Some(effect)) = (topology.switch_of(host), effect) {
                of_switch[switch as usize].push(effect);
            }
        }
        let effect = |of: Vec<f64>| if of.len() < 2 { None } else { median(of) };
        of_switch.into_iter().map(|of| effect(of).unwrap_or_default().min(0.0)).collect()
    }

    /// What the model leaves unexplained of a rate.
    pub(super) fn residual(&self, mesh: &Mesh, sample: &Sample) -> f64 {
        let hosts = self.send[sample.from as usize] + self.receive[sample.to as usize];
        f64::from(sample.log_rate) - self.typical - hosts - self.on_links(mesh, sample)
    }

    /// The effect of the slowest uplink on the way: of a chain the slowest link counts.
    pub(super) fn on_links(&self, mesh: &Mesh, sample: &Sample) -> f64 {
        let Some(topology) = &mesh.design.topology else { return 0.0 };
        if !topology.is_across(sample.from, sample.to) {
            return 0.0;
        }
        let ends = [topology.switch_of(sample.from), topology.switch_of(sample.to)];
        let effects = ends.into_iter().flatten().filter_map(|end| self.uplink.get(end as usize));
        effects.copied().fold(0.0, f64::min)
    }
}

/// The model is of tests that do not disturb each other as far as the topology tells.
pub(super) fn is_of_model(stage: Stage) -> bool {
    matches!(stage, Stage::Survey)
}

/// The median for each host of what is left of the samples that count for it.
fn medians(mesh: &Mesh, host: impl Fn(&Sample) -> u32, left: impl Fn(&Sample) -> f64) -> Vec<f64> {
    let mut of_host: Vec<Vec<f64>> = vec![Vec::new(); mesh.design.hosts as usize];
    for sample in mesh.samples.iter().filter(|sample| is_of_model(sample.stage)) {
        of_host[host(sample) as usize].push(left(sample));
    }
    of_host.into_iter().map(|left| median(left).unwrap_or_default()).collect()
}

/// The median; of an even number of values the upper one of the two in the middle: one host of two
/// that is slow is no reason to call both slow.
pub(super) fn median(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    upper_median(values, f64::total_cmp)
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a part of a length")]
fn quantile(values: &mut [f64], part: f64) -> Option<f64> {
    if values.is_empty() {
        return None;
    }
    let at = ((values.len() as f64 * part) as usize).min(values.len() - 1);
    Some(*values.select_nth_unstable_by(at, f64::total_cmp).1)
}

const SWEEPS: u32 = 3;
/// So many standard deviations below the model a rate is slow.
const DEVIATIONS: f64 = 4.0;
/// At least so far below, as a logarithm: 86 % of the rate expected.
const LEAST_EFFECT: f64 = 0.15;
/// No further below than this: 70 %.
const MOST_EFFECT: f64 = 0.35;
