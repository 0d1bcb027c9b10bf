//! The numbers of a run.

/// What a client tells. Times are in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Told {
    /// Exchanges that ended.
    pub(super) count: f64,
    /// Of them in a second.
    pub(super) rate: f64,
    /// Mean of the times from request to response.
    pub(super) mean: Option<f64>,
    /// As long as half of them took at most.
    pub(super) p50: Option<f64>,
    /// As long as 99 of 100 took at most.
    pub(super) p99: Option<f64>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Exchanges in a second.
    Rate,
    /// Microseconds, the mean.
    Mean,
    /// Microseconds, the median.
    P50,
    /// Microseconds, of 99 of 100.
    P99,
    /// Microseconds of CPU time of the client for each exchange.
    ClientCpu,
    /// The same of the server.
    ServerCpu,
    /// The same of both.
    Cpu,
}

/// One run's numbers.
#[derive(Clone, Copy, Debug)]
pub(super) struct Figures {
    /// What the client told.
    pub(super) told: Told,
    /// CPU seconds of the client.
    pub(super) client_cpu: f64,
    /// CPU seconds of the server.
    pub(super) server_cpu: f64,
}

impl Figures {
    /// The number, if the run has it.
    pub(super) fn of(&self, metric: Metric) -> Option<f64> {
        let each = |seconds: f64| seconds * 1e6 / self.told.count;
        match metric {
            Metric::Rate => Some(self.told.rate),
            Metric::Mean => self.told.mean,
            Metric::P50 => self.told.p50,
            Metric::P99 => self.told.p99,
            Metric::ClientCpu => Some(each(self.client_cpu)),
            Metric::ServerCpu => Some(each(self.server_cpu)),
            Metric::Cpu => Some(each(self.client_cpu + self.server_cpu)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_is_shared_out_among_the_exchanges() {
        let told = Told { count: 200_000.0, rate: 50_000.0, ..Told::default() };
        let figures = Figures { told, client_cpu: 2.0, server_cpu: 1.0 };
        assert_eq!(figures.of(Metric::ClientCpu), Some(10.0));
        assert_eq!(figures.of(Metric::Cpu), Some(15.0));
        assert_eq!(figures.of(Metric::P99), None);
    }
}
