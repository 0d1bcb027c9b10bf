//! Runs of a history ([`Run`]): when, where, with what, and their rows ([`RunRow`]), without the
//! records.

use serde::Serialize;

use crate::figure::Quantity;
use crate::judgement::Stamp;

/// A run: when, where, with what, and its rows. Texts that are not known are empty.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Run {
    /// Its number in the store, from 1.
    pub id: i64,
    /// Start in milliseconds since the Unix epoch; of an import, whose start is not known, when it was
    /// added.
    pub started_millis: i64,
    /// The command that made it: `test`, `latency`, `diagnose`, `import`.
    pub command: String,
    /// The host that wrote the records.
    pub host: String,
    /// Kernel release of that host.
    pub kernel: String,
    /// Drivers of the interfaces that the test went over, with commas between them.
    pub driver: String,
    /// Firmware of these interfaces, in the same way.
    pub firmware: String,
    /// Version of linerate that wrote the records.
    pub linerate: String,
    /// Address of the peer.
    pub peer: String,
    /// Labels, `name=value` or `name`.
    pub tags: Vec<String>,
    /// Its rows in the order in which they ran.
    pub rows: Vec<RunRow>,
}

/// One row of a run: a direction of a test, or an exchange.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct RunRow {
    /// Title, e.g. `TCP send, 3 streams`.
    pub row: String,
    /// What the plan asked for beyond the title ([`crate::TestRecord::settings`]).
    pub settings: String,
    /// What its value measures.
    pub quantity: Quantity,
    /// The value in the unit of the quantity.
    pub value: f64,
    /// The stamp; none: the record was not judged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stamp: Option<Stamp>,
    /// What limits: the name of a rule, or `delivered`; empty: it is not known.
    pub limit: String,
}
