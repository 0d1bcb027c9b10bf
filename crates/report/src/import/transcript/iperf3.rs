//! What iperf3 means by its rows, in the versions from 3.0 on.

use measurement::BitRate;

use super::checks;
use super::ends::End;
use super::name::shortened;
use super::row::{FigureRow, Whose};
use super::said::Detail;
use super::view::{Side, View};

/// Whether the end that prints sends the stream of a row.
pub(super) fn sends(view: &View, row: &FigureRow) -> bool {
    if let Some(mark) = row.mark {
        return mark.sends;
    }
    if view.end != Some(End::Server) {
        return !view.reverse;
    }
    // A server tells by what it counts: a sender segments or datagrams, a receiver losses.
    let known = !view.sent.is_empty() || !view.received.is_empty();
    if known && (view.sent.is_empty() || view.received.is_empty()) {
        return !view.sent.is_empty();
    }
    match row.tail.whose {
        Some(Whose::Sender) => row.bytes.value > 0.0,
        Some(Whose::Receiver) => row.bytes.value == 0.0,
        None => row.tail.count.is_some(),
    }
}

/// Only a receiver has losses in the rows of its intervals: without what stands above them it is
/// likely a server.
pub(super) fn note_receiver(view: &mut View, row: &FigureRow) {
    let is_unknown = view.is_of_rows() && view.is_empty() && !view.reverse;
    if is_unknown && row.tail.total.is_some() {
        (view.end, view.likely_end) = (Some(End::Server), Some(End::Server));
    }
}

/// A row of the summary. Without a name it is of UDP, to 3.6: with the amount of the sender, which
/// a server does not know, and the losses of the receiver.
pub(super) fn total(view: &mut View, row: &FigureRow, sends: bool) {
    let side = Side::of(row);
    // A server that sends has no results of the client.
    let knows_losses = !(sends && view.end == Some(End::Server));
    let flow = view.flow_mut(sends);
    if let Some(whose) = row.tail.whose {
        return flow.totals(whose).push(row.id, side);
    }
    if side.bytes.value > 0.0 {
        flow.by_sender.push(row.id, Side { lost: None, jitter: None, ..side });
    }
    if knows_losses && side.total.is_some_and(|total| total > 0) {
        flow.by_receiver.push(row.id, checks::arrived(side));
    }
}

/// `-V` of iperf3 prints what a command line asks for, too.
pub(super) fn detail(view: &mut View, detail: Detail<'_>) {
    match detail {
        Detail::Target(rate) if rate > 0 => {
            view.rate = Some(BitRate::from_bits_per_second(rate));
        }
        Detail::Target(_) => {}
        Detail::Starting { transport, streams, block, omit, seconds } => {
            view.transport = Some(transport);
            view.details.streams = Some(streams);
            view.details.block = Some(block);
            view.details.omit = Some(omit);
            view.details.seconds = seconds;
        }
        Detail::Cpu(shares) => view.details.cpu = Some(shares),
        Detail::Congestion(name) => view.details.congestion = Some(shortened(name)),
        Detail::Segment(bytes) => view.details.segment = Some(bytes),
    }
}

/// Two decimals of the begin.
pub(super) fn has_times_of(row: &FigureRow) -> bool {
    (0.004..0.006).contains(&row.from.half)
}
