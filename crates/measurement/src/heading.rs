//! Heading of records that sum up several tests ([`Heading`]): format, version, labels, and both
//! hosts. What the tests showed is not here.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::environment::{Environment, Peer};
use crate::record::TestRecord;

/// Fields with which the record of an A/B test, a ladder, a search or a tuning begins; `S` is the version of
/// its format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Heading<S> {
    /// Version of the format.
    pub schema: S,
    /// Version of the linerate that wrote the record.
    pub linerate: String,
    /// Labels that the user gave (`--tag`).
    #[serde(skip_serializing_if = "BTreeMap::is_empty", default)]
    pub tags: BTreeMap<String, String>,
    /// Host that wrote the record; none: no test has ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub environment: Option<Environment>,
    /// The server; none: no test has ended.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    pub peer: Option<Peer>,
}

impl<S: Default> Heading<S> {
    /// The heading that this version of linerate writes, with both hosts by the `first` of the tests.
    pub fn new(tags: BTreeMap<String, String>, first: Option<&TestRecord>) -> Self {
        Self {
            schema: S::default(),
            linerate: env!("CARGO_PKG_VERSION").to_owned(),
            tags,
            environment: first.and_then(|record| record.environment.clone()),
            peer: first.and_then(|record| record.peer.clone()),
        }
    }
}
