//! The numbers of a run.

use super::contender::Told;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::bench) enum Metric {
    /// Gbit/s at the receiver.
    Rate,
    /// How far the program's bytes are above the interface's, in percent.
    Excess,
    /// CPU seconds of both sides for each GB received.
    Cpu,
    /// CPU seconds of the client for each GB received.
    ClientCpu,
    /// CPU seconds of the server for each GB received.
    ServerCpu,
    /// Peak memory of the client in MB.
    ClientMemory,
    /// Peak memory of the server in MB.
    ServerMemory,
    /// CPU time that went to other programs, in percent of all.
    Others,
    /// Jain's index over the streams.
    Jain,
    /// Mbit/s of the stream that got least.
    Least,
    /// Streams that got nothing.
    WithoutProgress,
    /// Time between the starts of the first and of the last stream in ms.
    StartSkew,
    /// Time between their ends in ms.
    StopSkew,
}

/// What was seen of a run from outside.
#[derive(Clone, Copy, Debug)]
pub(super) struct Seen {
    /// Payload that the receiving interface counted.
    pub(super) payload: u64,
    /// CPU seconds of the client.
    pub(super) client_cpu: f64,
    /// CPU seconds of the server.
    pub(super) server_cpu: f64,
    /// Percent of all CPU time that went to other programs.
    pub(super) others: f64,
    /// Peak memory of the client in bytes.
    pub(super) client_memory: u64,
    /// Peak memory of the server in bytes; none if it ended with its client.
    pub(super) server_memory: Option<u64>,
}

/// One run's number for each [`Metric`] that it has.
#[derive(Clone, Debug, Default)]
pub(in crate::bench) struct Figures(Vec<(Metric, f64)>);

impl Figures {
    /// Of what a program told and what was seen of it.
    pub(super) fn new(told: &Told, seen: &Seen) -> Self {
        let bytes = told.bytes as f64;
        let per_gigabyte = |cpu: f64| cpu * 1e9 / bytes;
        let mut figures = vec![
            (Metric::Rate, told.rate / 1e9),
            (Metric::Excess, (bytes / seen.payload as f64 - 1.0) * 100.0),
            (Metric::Cpu, per_gigabyte(seen.client_cpu + seen.server_cpu)),
            (Metric::ClientCpu, per_gigabyte(seen.client_cpu)),
            (Metric::ServerCpu, per_gigabyte(seen.server_cpu)),
            (Metric::Others, seen.others),
            (Metric::ClientMemory, seen.client_memory as f64 / 1e6),
        ];
        let memory = seen.server_memory.map(|memory| (Metric::ServerMemory, memory as f64 / 1e6));
        figures.extend(memory);
        if let Some(fairness) = told.fairness {
            let rate_per_byte = told.rate / bytes;
            figures.push((Metric::Jain, fairness.jain));
            figures.push((Metric::Least, fairness.least * rate_per_byte / 1e6));
            figures.push((Metric::WithoutProgress, fairness.without_progress));
        }
        let skews = [(Metric::StartSkew, told.start_skew), (Metric::StopSkew, told.stop_skew)];
        let told = skews.into_iter().filter_map(|(metric, skew)| Some((metric, skew? * 1e3)));
        figures.extend(told);
        Self(figures)
    }

    /// The number, if the run has it.
    pub(super) fn of(&self, metric: Metric) -> Option<f64> {
        self.0.iter().find(|(known, _)| *known == metric).map(|(_, value)| *value)
    }

    #[cfg(test)]
    pub(in crate::bench) fn just(figures: &[(Metric, f64)]) -> Self {
        Self(figures.to_vec())
    }
}

#[cfg(test)]
mod tests {
    use super::super::fairness::Fairness;
    use super::*;

    fn figures(skew: Option<f64>) -> Figures {
        let told = Told {
            bytes: 2_000_000_000,
            rate: 8e9,
            fairness: Fairness::of(&[1_500_000_000, 500_000_000]),
            start_skew: skew,
            stop_skew: None,
            engines: None,
        };
        let seen = Seen {
            payload: 2_500_000_000,
            client_cpu: 3.0,
            server_cpu: 1.0,
            others: 1.0,
            client_memory: 3_000_000,
            server_memory: Some(4_000_000),
        };
        Figures::new(&told, &seen)
    }

    #[test]
    fn figures_have_the_units_of_the_table() {
        let figures = figures(Some(0.004));
        let near = |metric, expected: f64| {
            assert!(figures.of(metric).is_some_and(|value| (value - expected).abs() < 1e-9));
        };
        near(Metric::Rate, 8.0);
        near(Metric::Excess, -20.0);
        near(Metric::Cpu, 2.0);
        near(Metric::ClientCpu, 1.5);
        near(Metric::ServerCpu, 0.5);
        near(Metric::ClientMemory, 3.0);
        near(Metric::Jain, 0.8);
        near(Metric::Least, 2_000.0);
        near(Metric::StartSkew, 4.0);
    }

    #[test]
    fn what_was_not_told_is_no_figure() {
        assert_eq!(figures(None).of(Metric::StartSkew), None);
    }
}
