//! A published change of the kernel's copies, predicted from the cycles of the routines: A. Tsukamoto,
//! "Alignments tweaks on RISC-V for Network speeds", iperf3 over 1 Gbit/s to and from a StarFive
//! JH7100 (SiFive U74), before and after copies of words, shifted where alignments differ, took the
//! place of copies of bytes.

use analysis::copies::with_faster_copies;
use measurement::BitRate;

use super::cycles::Cycles;
use crate::output::say;

/// Shares of CPU time before, and means of the rates before and after, in Mbit/s.
struct Change {
    name: &'static str,
    /// memcpy within the kernel.
    within: f64,
    /// Copies to and from processes before, and after these alone were changed.
    process: (f64, f64),
    before: f64,
    after: f64,
    /// The most that TCP or UDP carry over the link: 1 Gbit/s without headers.
    link: f64,
}

/// Prints what the model predicts beside what was measured, with its error.
pub(super) fn show(cycles: &Cycles) {
    let cost = cycles.shift / cycles.byte;
    say(format!(
        "a copy by shift costs {cost:.2} of one by bytes (U74 model, without caches); predicted for \
         the published change:"
    ));
    for change in &CHANGES {
        say(change.in_words(cost));
    }
}

impl Change {
    fn in_words(&self, cost: f64) -> String {
        let Self { name, before, after, .. } = self;
        let rate = self.predicted(cost);
        let share = self.predicted_share(cost);
        format!(
            "  {name}: {before} -> {rate:.0} Mbit/s, measured {after} (error {:+.0} %); share of \
             copies to processes {:.1} %, measured {:.1} %",
            100.0 * (rate / after - 1.0),
            100.0 * share,
            100.0 * self.process.1
        )
    }

    /// The rate with both kinds of copies faster, as far as the link goes.
    fn predicted(&self, cost: f64) -> f64 {
        let before = mega(self.before);
        let rate = with_faster_copies(before, &[(self.within, cost), (self.process.0, cost)]);
        (rate.bits_per_second() as f64 / 1e6).min(self.link)
    }

    /// The share of copies to and from processes with these alone faster.
    fn predicted_share(&self, cost: f64) -> f64 {
        let copies = self.process.0 * cost;
        copies / (1.0 - self.process.0 + copies)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "published rates")]
fn mega(rate: f64) -> BitRate {
    BitRate::from_bits_per_second((rate * 1e6) as u64)
}

const TCP: f64 = 941.0;
const UDP: f64 = 957.0;
const CHANGES: [Change; 4] = [
    Change {
        name: "TCP, receiving",
        within: 0.404,
        process: (0.3309, 0.1376),
        before: 688.0,
        after: 902.3,
        link: TCP,
    },
    Change {
        name: "UDP, receiving",
        within: 0.4445,
        process: (0.3104, 0.1122),
        before: 680.0,
        after: 874.0,
        link: UDP,
    },
    Change {
        name: "UDP, sending",
        within: 0.2518,
        process: (0.225, 0.0949),
        before: 307.0,
        after: 402.0,
        link: UDP,
    },
    Change {
        name: "TCP, sending",
        within: 0.1996,
        process: (0.0984, 0.0737),
        before: 383.5,
        after: 392.5,
        link: TCP,
    },
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn copies_that_cost_nothing_give_the_most_and_as_much_as_before_the_same() {
        for change in &CHANGES {
            assert!((change.predicted(1.0) - change.before).abs() < 0.01, "{}", change.name);
            assert!(change.predicted(0.0) > change.after, "{}", change.name);
            assert!((change.predicted_share(1.0) - change.process.0).abs() < 1e-9);
        }
    }

    #[test]
    fn of_the_model_the_receivers_come_within_a_tenth() {
        for change in &CHANGES[..2] {
            let error = change.predicted(0.214) / change.after - 1.0;
            assert!(error.abs() < 0.1, "{}: {error}", change.name);
        }
    }
}
