//! The length of the transmit queue of an interface (`txqueuelen`, ip-link(8)). It bounds those
//! queueing disciplines that have no limit of their own.

use std::io;

use linux::netlink::LinkSettings;
use measurement::remedy::Setting;

use super::Refusal;
use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;

/// An interface and the new length of its queue.
#[derive(Debug)]
pub(super) struct QueueLength {
    interface: String,
    packets: u32,
}

impl QueueLength {
    pub(super) fn new(interface: &str, packets: u32) -> Self {
        Self { interface: interface.to_owned(), packets }
    }

    fn set(&self, kernel: &Kernel, packets: u32) -> io::Result<()> {
        let to = LinkSettings { queue_length: Some(packets), ..LinkSettings::default() };
        kernel.route()?.set_link_settings(&self.interface, &to)
    }
}

impl Adjustable for QueueLength {
    fn targets(&self) -> Vec<String> {
        vec![format!("txqueuelen of {}", self.interface)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let settings = kernel.route().and_then(|mut route| route.link_settings(&self.interface));
        let settings = settings.map_err(|source| Refusal::reading(&self.interface, source))?;
        let length = settings.queue_length;
        let absent = || Refusal::Absent { what: format!("txqueuelen of {}", self.interface) };
        length.map(|length| Value::plain(length.to_string())).ok_or_else(absent)
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        self.set(kernel, self.packets)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        self.set(kernel, exact.parse().map_err(io::Error::other)?)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.packets.to_string()
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let with = |packets| {
            Setting::QueueLength { interface: self.interface.clone(), packets }.to_string()
        };
        exact.parse().map(with).into_iter().collect()
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }
}
