//! The fields of samples by their names, as records have them; what a field has is up to its user:
//! numbers of one stream over time, of many streams, or both.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::column::Column;
use super::{StreamCounters, StreamSample, TcpSample, UdpSample};
use crate::into_map::IntoMap;
use crate::units::Timestamp;

/// Counters and socket state of one stream, or of several streams of one kind. A field that is not
/// there is always zero.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Fields<Id, Numbers> {
    /// Id of the stream on the wire, or the ids of the streams.
    pub(super) id: Id,
    /// Counters, by the names of `StreamCounters`.
    counters: BTreeMap<String, Numbers>,
    /// State of the TCP connections (`TCP_INFO`), by the names of `TcpSample`. None: the streams
    /// are UDP.
    #[serde(skip_serializing_if = "Option::is_none")]
    tcp: Option<BTreeMap<String, Numbers>>,
    /// Memory of the UDP sockets, by the names of `UdpSample`. None: the streams are TCP, or the
    /// kernel does not report it.
    #[serde(skip_serializing_if = "Option::is_none")]
    udp: Option<BTreeMap<String, Numbers>>,
}

/// Samples that a stream has beside its counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Kind {
    tcp: bool,
    udp: bool,
}

impl Kind {
    pub(super) const fn of(stream: &StreamSample) -> Self {
        Self { tcp: stream.tcp.is_some(), udp: stream.udp.is_some() }
    }
}

impl<Id, Numbers> Fields<Id, Numbers> {
    /// The fields of streams of a `kind`; `numbers` is given how a field is read from a sample, and
    /// returns none for one that is always zero.
    pub(super) fn gather(
        id: Id,
        kind: Kind,
        numbers: impl Fn(&dyn Fn(&StreamSample) -> u64) -> Option<Numbers>,
    ) -> Self {
        let named =
            |name: &str, get: &dyn Fn(&StreamSample) -> u64| Some((name.to_owned(), numbers(get)?));
        let counters = counters()
            .filter_map(|field| named(field.name, &|stream| (field.get)(&stream.counters)));
        let tcp = TcpSample::COLUMNS.iter().filter_map(|field| {
            named(field.name, &|stream| stream.tcp.as_ref().map_or(0, field.get))
        });
        let udp = UDP.iter().filter_map(|field| {
            named(field.name, &|stream| stream.udp.as_ref().map_or(0, field.get))
        });
        Self {
            id,
            counters: counters.into_map(),
            tcp: kind.tcp.then(|| tcp.into_map()),
            udp: kind.udp.then(|| udp.into_map()),
        }
    }

    /// Hands each field to `take`, with how it is set in a sample.
    pub(super) fn each(&self, mut take: impl FnMut(&Numbers, &dyn Fn(&mut StreamSample, u64))) {
        for field in counters() {
            if let Some(numbers) = self.counters.get(field.name) {
                take(numbers, &|stream, value| (field.set)(&mut stream.counters, value));
            }
        }
        for (field, numbers) in known(TcpSample::COLUMNS, self.tcp.as_ref()) {
            take(numbers, &|stream, value| {
                stream.tcp.iter_mut().for_each(|tcp| (field.set)(tcp, value));
            });
        }
        for (field, numbers) in known(UDP, self.udp.as_ref()) {
            take(numbers, &|stream, value| {
                stream.udp.iter_mut().for_each(|udp| (field.set)(udp, value));
            });
        }
    }

    /// The numbers of all fields, also of those that this version does not know.
    pub(super) fn numbers(&self) -> impl Iterator<Item = &Numbers> {
        let parts = [Some(&self.counters), self.tcp.as_ref(), self.udp.as_ref()];
        parts.into_iter().flatten().flat_map(BTreeMap::values)
    }

    /// A sample of a stream of this kind, in which all is zero.
    pub(super) fn zero(&self, id: u32) -> StreamSample {
        StreamSample {
            id,
            counters: StreamCounters::default(),
            tcp: self.tcp.as_ref().map(|_| TcpSample::default()),
            udp: self.udp.as_ref().map(|_| UdpSample::default()),
        }
    }
}

/// Those of `fields` of which there are numbers.
fn known<'a, T, Numbers>(
    fields: &'a [Column<T>],
    numbers: Option<&'a BTreeMap<String, Numbers>>,
) -> impl Iterator<Item = (&'a Column<T>, &'a Numbers)> {
    fields.iter().filter_map(move |field| Some((field, numbers?.get(field.name)?)))
}

fn counters() -> impl Iterator<Item = Column<StreamCounters>> {
    let all = StreamCounters::ALL.iter();
    let all = all.map(|one| Column { name: one.name, get: one.get, set: one.set });
    all.chain([Column {
        name: "last_nanos",
        get: |counters: &StreamCounters| counters.last.nanos(),
        set: |counters, value| counters.last = Timestamp::from_nanos(value),
    }])
}

const UDP: &[Column<UdpSample>] = &[
    Column { name: "drops", get: |udp| udp.drops, set: |udp, value| udp.drops = value },
    Column {
        name: "receive_queue_bytes",
        get: |udp| udp.receive_queue,
        set: |udp, value| udp.receive_queue = value,
    },
    Column {
        name: "send_queue_bytes",
        get: |udp| udp.send_queue,
        set: |udp, value| udp.send_queue = value,
    },
];
