//! Payload of a datagram, by amounts and numbers of datagrams.

use super::figure::Figure;
use super::view::{Flow, Side, View};

/// Bytes of a datagram; none: the printed amounts leave several lengths open.
pub(super) fn of_datagrams(views: &[&View]) -> Option<u64> {
    let typed = views.iter().find_map(|view| {
        let asked = view.asked.and_then(|asked| asked.block).map(measurement::ByteSize::bytes);
        view.details.block.or(asked)
    });
    typed.or_else(|| {
        let mut bounds = Bounds { least: 1.0, most: 65_507.0 };
        for view in views {
            bounds.narrow_by(&view.sent);
            bounds.narrow_by(&view.received);
        }
        bounds.only()
    })
}

/// Lengths that agree with all rows so far.
struct Bounds {
    least: f64,
    most: f64,
}

impl Bounds {
    fn narrow_by(&mut self, flow: &Flow) {
        if let Some(side) = flow.by_sender.side() {
            let sent = side.count.or_else(|| u64::try_from(side.total.unwrap_or(0)).ok());
            self.narrow(side.bytes, flow.datagrams.or(sent).unwrap_or(0));
        }
        if let Some(Side { bytes, lost: Some(lost), total: Some(total), .. }) =
            flow.by_receiver.side()
            && lost >= 0
        {
            self.narrow(bytes, u64::try_from(total.saturating_sub(lost)).unwrap_or(0));
        }
        for row in flow.intervals.rows.iter().take(MOST_ROWS) {
            self.narrow(rounded(row.bytes), row.blocks);
        }
    }

    fn narrow(&mut self, bytes: Figure, datagrams: u64) {
        if datagrams > 0 && bytes.value > 0.0 {
            self.least = self.least.max(bytes.least() / datagrams as f64);
            self.most = self.most.min(bytes.most() / datagrams as f64);
        }
    }

    /// The only whole number within the bounds.
    fn only(&self) -> Option<u64> {
        let (least, most) = (self.least.ceil(), self.most.floor());
        ((most - least).abs() < 0.5).then(|| Figure::exact(least).whole())
    }
}

/// A printed amount has three digits (units.c of iperf3), but between 1000 and 1023 four.
fn rounded(bytes: u64) -> Figure {
    let mut unit = 1.0;
    let value = bytes as f64;
    while value / unit >= 1024.0 {
        unit *= 1024.0;
    }
    let shown = value / unit;
    let half = if shown < 9.995 {
        0.005
    } else if shown < 99.95 {
        0.05
    } else {
        0.5
    };
    // `whole` rounded to bytes.
    Figure { value, half: half * unit + 0.5 }
}

/// Rows that are looked at.
const MOST_ROWS: usize = 1_000;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_rounded_amounts_leave_one_length() {
        let mut bounds = Bounds { least: 1.0, most: 65_507.0 };
        for (kilobytes, datagrams) in [(129, 91), (127, 90), (245, 173), (976, 690), (977, 691)] {
            bounds.narrow(rounded(kilobytes * 1024), datagrams);
        }
        assert_eq!(bounds.only(), Some(1_448));
        bounds.narrow(rounded(1_000), 1);
        assert_eq!(bounds.only(), None);
    }
}
