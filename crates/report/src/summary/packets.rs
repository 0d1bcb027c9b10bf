//! The row of frames sent below the sockets.

use measurement::PerSecond;
use measurement::packets::{FrameRate, PacketsRecord};

use super::Rows;
use crate::grid::{Column, Grid, Value};

impl Rows for PacketsRecord {
    const NAME: &'static str = "packets";

    fn grid(&self) -> Grid {
        let mut grid = Grid::new(COLUMNS.to_vec()).identified_by(2);
        let per_second = |rate: FrameRate| Value::PerSecond(PerSecond::new(rate.frames_per_second));
        let latency = |nanos: u64| Value::Seconds(nanos as f64 / 1e9);
        grid.push(vec![
            Value::Text(self.from.clone()),
            Value::Text(self.to.clone().unwrap_or_else(|| self.destination.to_string())),
            Value::Seconds(self.duration.as_secs_f64()),
            Value::Count(self.sent.frames),
            per_second(self.sent),
            Value::PerSecond(PerSecond::new(self.sent.wire_bits_per_second)),
            Value::known(self.received.map(|received| received.frames), Value::Count),
            Value::known(self.received, per_second),
            Value::known(self.losses.lost, Value::Count),
            Value::known(self.losses.duplicates, Value::Count),
            Value::known(self.losses.reordered, Value::Count),
            Value::known(self.latency.map(|times| times.p50_nanos), latency),
            Value::known(self.latency.map(|times| times.p99_nanos), latency),
            Value::Text(self.send_engine.engine.name().to_owned()),
        ]);
        grid
    }
}

const COLUMNS: [Column; 14] = [
    Column { title: "from", key: "from" },
    Column { title: "to", key: "to" },
    Column { title: "time", key: "time_seconds" },
    Column { title: "sent", key: "sent_frames" },
    Column { title: "rate", key: "sent_frames_per_second" },
    Column { title: "on the wire", key: "wire_bits_per_second" },
    Column { title: "received", key: "received_frames" },
    Column { title: "rate there", key: "received_frames_per_second" },
    Column { title: "lost", key: "lost_frames" },
    Column { title: "duplicates", key: "duplicate_frames" },
    Column { title: "reordered", key: "reordered_frames" },
    Column { title: "median latency", key: "latency_p50_seconds" },
    Column { title: "p99 latency", key: "latency_p99_seconds" },
    Column { title: "engine", key: "engine" },
];
