//! Receive queues over which RSS spreads flows: the table of the device (`ethtool -X`). A table
//! that is the default one is restored by resetting it, so that it follows the channels again.

use std::io;

use measurement::remedy::Setting;

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// An interface and the number of its queues that are to receive.
#[derive(Debug)]
pub(super) struct RssQueues {
    interface: String,
    queues: u64,
}

impl RssQueues {
    pub(super) fn new(interface: &str, queues: u64) -> Self {
        Self { interface: interface.to_owned(), queues }
    }

    fn table(&self, kernel: &Kernel) -> io::Result<Vec<u32>> {
        kernel.ethtool_calls()?.rss_table(&self.interface)
    }

    fn what(&self) -> String {
        format!("RSS table of {}", self.interface)
    }
}

impl Adjustable for RssQueues {
    fn targets(&self) -> Vec<String> {
        vec![self.what()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let table = self.table(kernel).map_err(|source| Refusal::reading(self.what(), source))?;
        if table.is_empty() {
            return Err(Refusal::Absent { what: self.what() });
        }
        let words: Vec<_> = table.iter().map(u32::to_string).collect();
        let shown = match equal(&table) {
            Some(queues) => queues.to_string(),
            None => format!("a table of {} entries", table.len()),
        };
        Ok(Value { exact: words.join(" "), shown })
    }

    fn check(&self, kernel: &Kernel, before: &Value) -> Result<(), Refusal> {
        let reading = |source| Refusal::reading(self.what(), source);
        let calls = kernel.ethtool_calls().map_err(reading)?;
        let queues = u64::from(calls.receive_rings(&self.interface).map_err(reading)?);
        let entries = before.exact.split(' ').count() as u64;
        let most = queues.min(entries);
        if self.queues == 0 || self.queues > most {
            let why = format!("{} has {most} queues", self.interface);
            return Err(Refusal::Impossible { value: self.queues.to_string(), why });
        }
        Ok(())
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        let entries = self.table(kernel)?.len();
        let queues = u32::try_from(self.queues).map_err(io::Error::other)?;
        let table: Vec<_> = (0..queues).cycle().take(entries).collect();
        kernel.ethtool_calls()?.set_rss_table(&self.interface, &table)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        let calls = kernel.ethtool_calls()?;
        let table: Result<Vec<u32>, _> = exact.split(' ').map(str::parse).collect();
        let table = table.map_err(io::Error::other)?;
        if equal(&table) == Some(calls.receive_rings(&self.interface)?) {
            // `ethtool -X IF default`; a driver with another default gets the table itself.
            calls.reset_rss_table(&self.interface)?;
            if calls.rss_table(&self.interface)? == table {
                return Ok(());
            }
        }
        calls.set_rss_table(&self.interface, &table)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.queues.to_string()
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let table: Vec<u32> = exact.split(' ').filter_map(|word| word.parse().ok()).collect();
        let with = |queues: u64| {
            Setting::RssQueues { interface: self.interface.clone(), queues }.to_string()
        };
        match equal(&table) {
            Some(queues) => vec![with(u64::from(queues))],
            None => vec![with(0).replace(" equal 0", &format!(" weight {}", weights(&table)))],
        }
    }

    /// As `equal` would make it.
    fn exact_of(&self, shown: &str) -> Option<String> {
        let queues = (0..shown.parse().ok()?).map(|queue: u32| queue.to_string());
        Some(queues.collect::<Vec<_>>().join(" "))
    }

    fn risks(&self) -> &'static [Risk] {
        &[]
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }
}

/// The number of queues of a table that goes through them in turn; none: it does not.
fn equal(table: &[u32]) -> Option<u32> {
    let queues = table.iter().max()? + 1;
    let is_equal = table.iter().zip((0..queues).cycle()).all(|(entry, queue)| *entry == queue);
    is_equal.then_some(queues)
}

/// How many entries each queue has, as `ethtool -X IF weight` takes them.
fn weights(table: &[u32]) -> String {
    let most = table.iter().max().copied().unwrap_or_default();
    let weight = |queue: u32| table.iter().filter(|entry| **entry == queue).count().to_string();
    (0..=most).map(weight).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_is_equal_or_has_weights() {
        assert_eq!(equal(&[0, 1, 2, 0, 1, 2, 0, 1]), Some(3));
        assert_eq!((equal(&[0, 0, 0]), equal(&[1, 0]), equal(&[])), (Some(1), None, None));
        let rss = RssQueues::new("eth0", 2);
        assert_eq!(rss.undo_commands("0 1 0 1"), ["ethtool -X eth0 equal 2"]);
        assert_eq!(rss.undo_commands("0 0 0 2"), ["ethtool -X eth0 weight 3 0 1"]);
    }
}
