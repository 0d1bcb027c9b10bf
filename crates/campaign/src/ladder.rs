//! The tests of a ladder: a row for each layer that is measured. What they say is a matter of
//! `analysis::ladder`.

use std::time::Duration;

use measurement::plan::{PlanDraft, PlanError};
use measurement::{ByteSize, Direction, End, EngineName, Layer, StreamOptions, Transport};

use crate::search::PlannedRow;

/// What all tests of a ladder have in common.
#[derive(Clone, Debug)]
pub struct Ladder {
    /// Direction of the payload: one of the two.
    pub direction: Direction,
    /// Length of each test; trials for the rate of UDP are a part of it.
    pub time: Duration,
    /// Streams of the rung of several TCP streams.
    pub streams: u32,
    /// Options of the packets of all tests.
    pub options: StreamOptions,
    /// Time from one probe of the round-trip time to the next, beside one TCP stream.
    pub probe_every: Duration,
}

impl Ladder {
    /// The rows of the measured layers, in their order.
    ///
    /// # Errors
    /// Time, streams or options are out of limits.
    pub fn rows(&self) -> Result<Vec<PlannedRow>, PlanError> {
        Layer::MEASURED.into_iter().map(|layer| self.row(layer)).collect()
    }

    fn row(&self, layer: Layer) -> Result<PlannedRow, PlanError> {
        let is_udp = matches!(layer, Layer::UdpBatched | Layer::UdpSingle);
        let transport = if is_udp { Transport::Udp } else { Transport::Tcp };
        let draft = PlanDraft {
            end: End::Time(self.time),
            streams: if layer == Layer::TcpStreams { self.streams } else { 1 },
            options: self.options_of(layer),
            ..PlanDraft::new(transport, self.direction)
        };
        let row = PlannedRow::of_plan(draft.check()?).at_the_rate_without_loss();
        let probe_every = (layer == Layer::TcpStream).then_some(self.probe_every);
        Ok(PlannedRow { probe_every, ..row })
    }

    fn options_of(&self, layer: Layer) -> StreamOptions {
        let mut options = self.options.clone();
        match layer {
            Layer::Link | Layer::Frames => {}
            Layer::UdpBatched => options.segmentation_offload = true,
            Layer::UdpSingle => options.engines = names(&["send"]),
            Layer::TcpStreams | Layer::TcpStream => {
                (options.zero_copy, options.skip_receive_copy) = (true, true);
            }
            Layer::Application => {
                options.block = Some(ByteSize::from_bytes(DEFAULT_BLOCK));
                options.engines = names(&["write", "read"]);
            }
        }
        options
    }
}

fn names(names: &[&str]) -> Vec<EngineName> {
    names.iter().map(|name| EngineName::from(*name)).collect()
}

/// The default length of a block of iperf3 over TCP, in bytes (iperf3(1), `--length`).
const DEFAULT_BLOCK: u64 = 128 << 10;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::search::RowRate;

    #[test]
    fn each_layer_is_a_row_and_the_rate_of_udp_is_searched() {
        let ladder = Ladder {
            direction: Direction::Receive,
            time: Duration::from_secs(2),
            streams: 8,
            options: StreamOptions::default(),
            probe_every: Duration::from_millis(10),
        };
        let rows = ladder.rows().expect("plans");
        assert_eq!(rows.len(), Layer::MEASURED.len());
        let seen = rows.iter().map(|row| (row.plan.transport, row.plan.streams, row.rate.clone()));
        let (udp, tcp) = (Transport::Udp, Transport::Tcp);
        let (find, planned) = (RowRate::ToFind, RowRate::Planned);
        let expected = [
            (tcp, 8, planned.clone()),
            (udp, 1, find.clone()),
            (udp, 1, find),
            (tcp, 1, planned.clone()),
            (tcp, 1, planned),
        ];
        assert_eq!(seen.collect::<Vec<_>>(), expected);
        assert!(rows[1].plan.options.segmentation_offload);
        let probed: Vec<_> = rows.iter().map(|row| row.probe_every.is_some()).collect();
        assert_eq!(probed, [false, false, false, true, false]);
        assert!(Ladder { streams: 0, ..ladder }.rows().is_err());
    }
}
