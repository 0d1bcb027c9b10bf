//! Proof: many clients at one time are all served, and no stream goes astray.
//!
//! Each client has a length of blocks or datagrams of its own, so that a stream or a
//! result in a stranger's session shows.

use std::thread;
use std::time::{Duration, Instant};

use testbed::process::{Ended, Running};
use testbed::workload::{Family, Test};

use super::Siege;
use super::client::ALL;
use super::fixture::Fixture;
use super::limits::{Limit, LimitTable, Unit};
use super::record::{Record, disagreements, is_among_strangers, stream_ports};
use super::server::{Capacity, LOCAL, PORT};
use super::topology::Star;
use crate::Verdict;
use crate::ask::{Ask, Direction, End, Transport};
use crate::program::Installed;
use crate::seen::Role;

pub(super) fn run(siege: &Siege) -> anyhow::Result<Verdict> {
    let (count, seconds) = if siege.short { (24, 2) } else { (64, 5) };
    let star = Star::new()?;
    let (_, theirs) = siege.programs.find()?;
    let mut fixture = Fixture::start(siege, "crowd", &star.server, Capacity::Default, &ALL[..3])?;

    let asks: Vec<Ask> = (0..count).map(|index| ask(index, seconds)).collect();
    let start = Instant::now();
    let running = asks
        .iter()
        .enumerate()
        .map(|(index, ask)| {
            let mut command = star.server.command(theirs.path());
            command.args(theirs.client_arguments(&test(index, ask)).split_whitespace());
            Running::captured(command)
        })
        .collect::<anyhow::Result<Vec<_>>>()?;
    let ended =
        running.into_iter().map(|one| one.finish(PATIENCE)).collect::<anyhow::Result<Vec<_>>>()?;
    let took = start.elapsed().as_secs_f64();
    // The server writes its record after the client's last word.
    thread::sleep(SETTLING);

    let records: Vec<Record> =
        fixture.server.events().iter().filter_map(Record::from_event).collect();
    let mut sum = Sum::default();
    for (index, (ask, ended)) in asks.iter().zip(&ended).enumerate() {
        sum.add(index, &theirs, ask, ended, &records);
    }
    sum.report(&mut fixture.limits, count);
    let most = Limit::AtMost(f64::from(seconds) + MOST_OVERTIME);
    fixture.limits.add("until the last had finished", took, Unit::Seconds, most);
    fixture.close(RETURN)
}

/// What one client of the crowd is asked to do.
fn ask(index: usize, seconds: u32) -> Ask {
    let (transport, direction) = KINDS[index % KINDS.len()];
    let number = u32::try_from(index).unwrap_or_default();
    let (length, rate) = match transport {
        Transport::Tcp => (16_384 + 128 * number, None),
        Transport::Udp => (400 + 8 * number, Some(5_000_000)),
    };
    let streams = [1, 2, 3, 4][index / KINDS.len() % 4];
    let by_amount = index % KINDS.len() == BY_AMOUNT;
    let end = if by_amount {
        End::Bytes(20_000_000 + 100_000 * u64::from(number))
    } else {
        End::Seconds(seconds)
    };
    Ask { streams, end, rate, length: Some(length), ..Ask::new(transport, direction) }
}

/// As one of the crowd runs it, with a title of its own.
fn test(index: usize, ask: &Ask) -> Test {
    let flags = format!("-T client-{index}");
    Test { port: PORT, family: Family::OfAddress, flags, ..ask.test(LOCAL.ip()) }
}

/// What came of all of them.
#[derive(Default)]
struct Sum {
    well: u64,
    recorded: u64,
    astray: u64,
    disagreeing: u64,
    complaints: Vec<String>,
}

impl Sum {
    fn add(
        &mut self,
        index: usize,
        theirs: &Installed,
        ask: &Ask,
        ended: &Ended,
        records: &[Record],
    ) {
        let what = format!("client {index} ({})", crate::table::describe(ask));
        let seen = theirs.parse(Role::Client, ask, &ended.stdout).ok();
        let error = seen.as_ref().and_then(|seen| seen.error.clone());
        let Some(seen) = seen.filter(|_| ended.has_measured() && error.is_none()) else {
            let words = error.unwrap_or_else(|| ended.stderr.trim().to_owned());
            return self.complaints.push(format!("{what}: {:?}: {words}", ended.how));
        };
        self.well += 1;
        let ports = stream_ports(&ended.stdout);
        if is_among_strangers(ask, &ports, records) {
            self.astray += 1;
            self.complaints.push(format!("{what}: its streams are in several records"));
        }
        let own = |record: &&Record| record.is_of(ask, &ports);
        let own: Vec<&Record> = records.iter().filter(own).collect();
        let [record] = own[..] else {
            return self.complaints.push(format!("{what}: {} records of it", own.len()));
        };
        self.recorded += 1;
        let found = disagreements(ask, &seen, record);
        self.disagreeing += u64::from(!found.is_empty());
        self.complaints.extend(found.into_iter().map(|one| format!("{what}: {one}")));
    }

    fn report(&self, limits: &mut LimitTable, count: usize) {
        let (all, none) = (Limit::Exactly(count as f64), Limit::Exactly(0.0));
        limits.count("clients served", self.well, all);
        limits.count("of these with one record at the server", self.recorded, all);
        limits.count("of these with a stream in a stranger's test", self.astray, none);
        limits.count("of these whose two ends disagree", self.disagreeing, none);
        for complaint in self.complaints.iter().take(MOST_TOLD) {
            limits.note(complaint);
        }
        if self.complaints.len() > MOST_TOLD {
            limits.note(&format!("and {} more", self.complaints.len() - MOST_TOLD));
        }
    }
}

const KINDS: [(Transport, Direction); 7] = [
    (Transport::Tcp, Direction::Send),
    (Transport::Udp, Direction::Send),
    (Transport::Tcp, Direction::Reverse),
    (Transport::Udp, Direction::Reverse),
    (Transport::Tcp, Direction::Both),
    (Transport::Udp, Direction::Both),
    (Transport::Tcp, Direction::Send),
];
/// The kind that ends after an amount.
const BY_AMOUNT: usize = 6;
/// Seconds that everything but the payload of the whole crowd may take.
const MOST_OVERTIME: f64 = 5.0;
const MOST_TOLD: usize = 8;
const PATIENCE: Duration = Duration::from_secs(30);
const SETTLING: Duration = Duration::from_millis(500);
const RETURN: Duration = Duration::from_secs(15);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_client_has_a_length_of_its_own() {
        let mut lengths: Vec<_> = (0..64).map(|index| ask(index, 1).length).collect();
        lengths.sort_unstable();
        lengths.dedup();
        assert_eq!(lengths.len(), 64);
    }
}
