//! Frames that a device had no room for, by the kernel's counters and by the driver's.

use measurement::host::{Counter, EachCounter, counter};

use crate::evidence::HostView;

/// Frames that an interface missed, by the counter that has most.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Missed<'a> {
    pub(crate) counter: Counter<'a>,
    /// The counter's name in the words of the kernel or the driver.
    pub(crate) name: &'a str,
    pub(crate) frames: u64,
}

/// What an interface missed; none: nothing that is known. Drivers use several names for the
/// same frames, and some use several at once (`Documentation/networking/statistics.rst`), so
/// that the largest number counts all.
pub(crate) fn missed<'a>(host: &HostView<'a>, interface: &'a str) -> Option<Missed<'a>> {
    let kernel = KERNEL.into_iter().map(|each| (each.field(), each.on(interface)));
    let driver = host.evidence.series.each(counter::driver(interface));
    let all = kernel.chain(driver.filter(|(name, _)| is_missed(name)));
    let grown = all.filter_map(|(name, counter)| {
        let frames = host.growth(counter).filter(|frames| *frames > 0)?;
        Some(Missed { counter, name, frames })
    });
    // Of equals the first: the kernel's names are known to more readers.
    grown.reduce(|one, other| if other.frames > one.frames { other } else { one })
}

/// The sum over the interfaces of a host that carried the test; of a host that does not report
/// which, over all.
pub(crate) fn of_all(host: &HostView<'_>) -> u64 {
    let missed = host.carriers().into_iter().filter_map(|name| missed(host, name));
    missed.map(|missed| missed.frames).fold(0, u64::saturating_add)
}

fn is_missed(name: &str) -> bool {
    let name = name.to_lowercase();
    name.contains("rx") && WORDS.iter().any(|word| name.contains(word))
}

const KERNEL: [EachCounter<'static>; 3] = [
    counter::INTERFACE_RX_MISSED_ERRORS,
    counter::INTERFACE_RX_FIFO_ERRORS,
    counter::INTERFACE_RX_OVER_ERRORS,
];
/// What drivers call it (`ethtool -S`): `rx_no_buffer_count` of igb, `rx_out_of_buffer` of mlx5,
/// `rx_discards` of bnxt, `rx_no_dma_resources` of ixgbe.
const WORDS: [&str; 5] = ["no_buf", "out_of_buffer", "discard", "no_dma", "missed"];
