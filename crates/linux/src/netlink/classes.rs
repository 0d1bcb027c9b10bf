//! Classes of the classful qdiscs of an interface, with their rates (tc(8)).

use std::io;

use super::kernel::{self, TrafficControlMessage};
use super::message::{attribute, text, u32_at};
use super::qdisc_options::class_ceiling;
use super::{QdiscHandle, QdiscParent, RouteSocket};

/// A class of a queueing discipline (tc(8)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TrafficClass {
    /// Handle of the class, e.g. `1:10`.
    pub handle: QdiscHandle,
    /// Parent of the class: another class, or the root.
    pub parent: QdiscParent,
    /// Kind of the queueing discipline, e.g. `htb`.
    pub kind: String,
    /// Highest rate of the class in bytes per second: `ceil` of htb, `ul` of hfsc; `None`: none.
    pub ceiling: Option<u64>,
}

impl RouteSocket {
    /// Lists the classes of all queueing disciplines of the interface with the index `index`
    /// (`RTM_GETTCLASS`, tc(8)).
    ///
    /// # Errors
    /// The errors of sendto(2) and recv(2), such as `ENOBUFS`; none is expected.
    pub fn classes(&mut self, index: u32) -> io::Result<Vec<TrafficClass>> {
        let body = TrafficControlMessage { index: index.cast_signed(), parent: 0 };
        self.dump(libc::RTM_GETTCLASS, &body.encode(), entry)
    }
}

fn entry(message: &[u8]) -> Option<TrafficClass> {
    let attributes = message.get(TrafficControlMessage::BYTES..)?;
    let kind = text(attribute(attributes, kernel::TCA_KIND)?)?;
    let options = attribute(attributes, kernel::TCA_OPTIONS).unwrap_or_default();
    Some(TrafficClass {
        handle: QdiscHandle(u32_at(message, TrafficControlMessage::HANDLE)?),
        parent: QdiscParent::from_number(u32_at(message, TrafficControlMessage::PARENT)?),
        ceiling: class_ceiling(&kind, options),
        kind,
    })
}
