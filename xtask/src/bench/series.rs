//! The numbers of all rounds.

use std::time::Duration;

use super::measure::Measured;

/// What every program gave, in the order in which they took turns.
#[derive(Clone, Debug)]
pub(super) struct Series {
    /// Name of the row.
    pub(super) row: &'static str,
    /// One entry per program, ours first.
    pub(super) runs: Vec<Runs>,
}

/// One program's numbers; entry `i` of each list is of round `i`.
#[derive(Clone, Debug, Default)]
pub(super) struct Runs {
    /// Name of the program.
    pub(super) program: String,
    /// One list for each [`Metric`] that the row has.
    pub(super) values: Vec<(Metric, Vec<f64>)>,
}

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Metric {
    /// Gbit/s at the receiver.
    Rate,
    /// CPU seconds of the client for each GB received.
    ClientCpu,
    /// CPU seconds of the server for each GB received.
    ServerCpu,
    /// CPU seconds of both.
    BothCpu,
    /// Peak memory of the client in MiB.
    ClientMemory,
    /// Peak memory of the server in MiB.
    ServerMemory,
    /// Peak memory of both.
    BothMemory,
    /// Wall time from start to end of the client in ms.
    Wall,
}

impl Runs {
    /// Nothing yet.
    pub(super) fn new(program: &str) -> Self {
        Self { program: program.to_owned(), values: Vec::new() }
    }

    /// The values of a metric; empty if the row does not have it.
    pub(super) fn of(&self, metric: Metric) -> &[f64] {
        self.values.iter().find(|(known, _)| *known == metric).map_or(&[], |(_, values)| values)
    }

    /// Adds a transfer.
    pub(super) fn add(&mut self, measured: &Measured) {
        let per_gigabyte =
            |cpu: Duration| cpu.as_secs_f64() * 1e9 / measured.delivered.bytes as f64;
        let mebibytes = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let Measured { client_cpu, server_cpu, client_memory, server_memory, .. } = *measured;
        self.push(Metric::Rate, measured.delivered.rate / 1e9);
        self.push(Metric::ClientCpu, per_gigabyte(client_cpu));
        self.push(Metric::ServerCpu, per_gigabyte(server_cpu));
        self.push(Metric::BothCpu, per_gigabyte(client_cpu + server_cpu));
        self.push(Metric::ClientMemory, mebibytes(client_memory));
        self.push(Metric::ServerMemory, mebibytes(server_memory));
        self.push(Metric::BothMemory, mebibytes(client_memory + server_memory));
    }

    /// Adds a start to end.
    pub(super) fn add_wall(&mut self, wall: Duration) {
        self.push(Metric::Wall, wall.as_secs_f64() * 1e3);
    }

    fn push(&mut self, metric: Metric, value: f64) {
        match self.values.iter_mut().find(|(known, _)| *known == metric) {
            Some((_, values)) => values.push(value),
            None => self.values.push((metric, vec![value])),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::dialect::Delivered;

    #[test]
    fn a_transfer_is_counted_per_gigabyte() {
        let mut runs = Runs::new("linerate 1");
        runs.add(&Measured {
            delivered: Delivered { bytes: 2_000_000_000, rate: 16e9 },
            client_cpu: Duration::from_secs(1),
            server_cpu: Duration::from_secs(2),
            client_memory: 3 << 20,
            server_memory: 4 << 20,
        });
        let one = |metric| runs.of(metric).first().copied();
        assert_eq!(one(Metric::Rate), Some(16.0));
        assert_eq!(one(Metric::BothCpu), Some(1.5));
        assert_eq!(one(Metric::BothMemory), Some(7.0));
        assert_eq!(one(Metric::Wall), None);
    }
}
