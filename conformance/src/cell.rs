//! The factors of the matrix, and the cells that cover all pairs of them.

use clap::ValueEnum;

use crate::ask::{Ask, Direction, End, Family, TOTAL_UDP_RATE, Transport};
use crate::pairwise;

/// The option that a cell is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Topic {
    Time,
    Bytes,
    Blocks,
    Omit,
    Window,
    Mss,
    Length,
    Rate,
}

/// One cell of the matrix.
#[derive(Clone, Debug)]
pub(crate) struct Cell {
    /// What it is about.
    pub(crate) topic: Topic,
    pub(crate) ask: Ask,
}

/// The cells that cover all pairs of factors.
pub(crate) fn all() -> Vec<Cell> {
    let levels = [TRANSPORTS.len(), DIRECTIONS.len(), STREAMS.len(), TOPICS.len(), FAMILIES.len()];
    let permits = |row: &[usize]| is_possible(TRANSPORTS[row[0]], TOPICS[row[3]]);
    pairwise::rows(&levels, permits).iter().map(|row| cell(row)).collect()
}

/// A few of them in which every option, transport, direction and family occurs.
pub(crate) fn few() -> Vec<Cell> {
    all().into_iter().take(FEW).collect()
}

/// UDP has no segments.
fn is_possible(transport: Transport, topic: Topic) -> bool {
    transport == Transport::Tcp || topic != Topic::Mss
}

fn cell(row: &[usize]) -> Cell {
    let mut ask = Ask::new(TRANSPORTS[row[0]], DIRECTIONS[row[1]]);
    ask.streams = STREAMS[row[2]];
    ask.family = FAMILIES[row[4]];
    if ask.transport == Transport::Udp {
        ask.rate = Some(TOTAL_UDP_RATE / u64::from(ask.streams));
    }
    let topic = TOPICS[row[3]];
    apply(topic, &mut ask);
    Cell { topic, ask }
}

fn apply(topic: Topic, ask: &mut Ask) {
    let streams = u64::from(ask.streams);
    let is_tcp = ask.transport == Transport::Tcp;
    match topic {
        Topic::Time => ask.end = End::Seconds(1),
        // Whole datagrams, so that "exactly" is possible.
        Topic::Bytes if is_tcp => ask.end = End::Bytes(4 * MEBIBYTE * streams),
        Topic::Bytes => {
            ask.length = Some(DATAGRAM);
            ask.end = End::Bytes(2_000 * u64::from(DATAGRAM));
        }
        Topic::Blocks => {
            ask.length = Some(if is_tcp { BLOCK } else { DATAGRAM });
            ask.end = End::Blocks(if is_tcp { 64 * streams } else { 2_000 });
        }
        Topic::Omit => {
            // Rated, so that an omitted part in the result would show.
            ask.rate = Some(TOTAL_UDP_RATE / streams);
            ask.omit_seconds = 1;
        }
        Topic::Window => ask.window = Some(WINDOW),
        Topic::Mss => ask.mss = Some(SEGMENT),
        Topic::Length => ask.length = Some(if is_tcp { BLOCK } else { 1_000 }),
        // The TCP rate is many of iperf3's blocks, so that one more or less is no matter.
        Topic::Rate => ask.rate = Some(if is_tcp { 80_000_000 } else { 20_000_000 }),
    }
}

const TRANSPORTS: [Transport; 2] = [Transport::Tcp, Transport::Udp];
const DIRECTIONS: [Direction; 3] = [Direction::Send, Direction::Reverse, Direction::Both];
const STREAMS: [u32; 2] = [1, 4];
const FAMILIES: [Family; 2] = [Family::Ipv4, Family::Ipv6];
const TOPICS: [Topic; 8] = [
    Topic::Time,
    Topic::Bytes,
    Topic::Blocks,
    Topic::Omit,
    Topic::Window,
    Topic::Mss,
    Topic::Length,
    Topic::Rate,
];
const FEW: usize = 12;
const MEBIBYTE: u64 = 1 << 20;
const BLOCK: u32 = 64 << 10;
/// Fits Ethernet over both families.
const DATAGRAM: u32 = 1_400;
const SEGMENT: u32 = 1_000;
/// Below the 208 KiB that an untuned kernel lets any user set.
const WINDOW: u64 = 100_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_at_most_sixty_cells_and_all_are_possible() {
        let cells = all();
        assert!(cells.len() <= 60, "{}", cells.len());
        assert!(cells.iter().all(|cell| is_possible(cell.ask.transport, cell.topic)));
    }

    #[test]
    fn the_few_show_every_value() {
        let cells = few();
        assert!(cells.len() <= 12);
        let has = |test: &dyn Fn(&Cell) -> bool| cells.iter().any(test);
        assert!(TOPICS.iter().all(|topic| has(&|cell| cell.topic == *topic)));
        assert!(TRANSPORTS.iter().all(|one| has(&|cell| cell.ask.transport == *one)));
        assert!(DIRECTIONS.iter().all(|one| has(&|cell| cell.ask.direction == *one)));
        assert!(FAMILIES.iter().all(|one| has(&|cell| cell.ask.family == *one)));
    }
}
