//! The line above the table: where from and where to, and what all rows share.

use std::net::SocketAddr;

use measurement::record::StreamRecord;
use measurement::units::show_time;
use measurement::{BitRate, End, Peer, TestPlan, TestRecord, Transport};

use crate::columns::{Emphasis, paint};

/// What all rows of a run share.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Head {
    ends: String,
    /// Parts, the most telling first.
    parts: Vec<String>,
}

impl Head {
    /// That of a run of so many `rows` with this plan, of all of which a rate was `asked`: by the
    /// streams as they were opened, and the kernel release of this host.
    pub fn new(
        peer: Option<&Peer>,
        plan: &TestPlan,
        streams: &[StreamRecord],
        kernel: &str,
        (rows, asked): (usize, Option<BitRate>),
    ) -> Self {
        let ends = peer.map_or_else(String::new, |peer| {
            format!("{} -> {}", peer.local_address.ip(), address(peer.address))
        });
        let stream = streams.first();
        let congestion = stream.and_then(|stream| stream.congestion.clone());
        let mtu = stream.and_then(|stream| mtu(plan, stream));
        let kernel = kernel.split(['-', '+']).next().filter(|kernel| !kernel.is_empty());
        let path = [congestion, mtu, kernel.map(|kernel| format!("Linux {kernel}"))];
        let path: Vec<_> = path.into_iter().flatten().collect();
        let parts = [
            (!path.is_empty()).then(|| path.join(", ")),
            (plan.streams > 1).then(|| format!("{} streams", plan.streams)),
            asked.map(|rate| format!("asked {rate}")),
            Some(amount(plan, rows)),
        ];
        Self { ends, parts: parts.into_iter().flatten().collect() }
    }

    /// That of a stored record.
    pub(crate) fn of_record(record: &TestRecord, rows: usize, asked: Option<BitRate>) -> Self {
        let kernel = record.environment.as_ref().map_or("", |one| one.kernel.as_str());
        Self::new(record.peer.as_ref(), &record.plan, &record.streams, kernel, (rows, asked))
    }

    /// The lines, none wider than `width`.
    pub(super) fn lines(&self, width: usize) -> Vec<String> {
        let mut lines = vec![vec![self.ends.clone()]];
        let mut used = NAME.len() + 2 + self.ends.chars().count();
        for part in &self.parts {
            let more = part.chars().count() + GAP.len();
            if used + more > width {
                lines.push(Vec::new());
                used = NAME.len() - 1;
            }
            used += more;
            lines.last_mut().into_iter().for_each(|line| line.push(part.clone()));
        }
        let line = |(number, parts): (usize, &Vec<String>)| {
            let name =
                if number == 0 { paint(NAME, Emphasis::Strong) } else { " ".repeat(NAME.len()) };
            format!("{name}  {}", parts.join(GAP))
        };
        lines.iter().enumerate().map(line).collect()
    }
}

/// The port is told where it is not the usual one.
fn address(address: SocketAddr) -> String {
    if address.port() == USUAL_PORT { address.ip().to_string() } else { address.to_string() }
}

/// What the path takes, as the segments tell: a header of IP and one of TCP with time stamps.
fn mtu(plan: &TestPlan, stream: &StreamRecord) -> Option<String> {
    let segment = stream.mss.filter(|_| plan.transport == Transport::Tcp)?;
    let peer = stream.peer.filter(|peer| !peer.ip().is_loopback())?;
    let address = if peer.is_ipv6() { 40 } else { 20 };
    Some(format!("MTU {}", segment + address + 32))
}

fn amount(plan: &TestPlan, rows: usize) -> String {
    let each = match plan.end {
        End::Time(time) => show_time(time),
        End::Bytes(size) => size.to_string(),
        End::Blocks(count) => format!("{count} blocks"),
        End::Open => "until stopped".to_owned(),
    };
    if rows > 1 { format!("{rows} x {each}") } else { each }
}

const NAME: &str = "linerate";
const GAP: &str = "   ";
/// Of iperf3.
const USUAL_PORT: u16 = 5201;
