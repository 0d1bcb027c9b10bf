//! `pause-frames`: pause frames hold somebody back.

use measurement::remedy::{Setting, Side, Switch};

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::case::Device;
use crate::evidence::Flowing;
use crate::words::count;
#[cfg(test)]
use measurement::host::counter;

const PAGE: Page = Page {
    id: RuleId::PauseFrames,
    title: "Pause frames (Ethernet flow control)",
    what: "An interface got pause frames while it sent the test, or sent them while it received \
    it.",
    why: "With flow control (IEEE 802.3x) who cannot keep up stops the other end of the link in \
          place of dropping: the rate falls, and every counter of drops stays at zero. A switch \
          passes the stop on, to others as well.",
    evidence: "Counters of the driver whose names have `pause` or `xoff` (`ethtool -S IF`).",
    remedy: "Find why the receiver is slow and fix that first. Then compare with flow control \
             off: `ethtool -A IF rx off tx off`; a host that has none drops in place of pausing.",
    source: "IEEE 802.3 annex 31B, ethtool(8)",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Link, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    case.hardware()
        .flat_map(|device| [(device, Flowing::In), (device, Flowing::Out)])
        .filter_map(|(device, flowing)| finding(case, &device, flowing))
        .collect()
}

/// Pause frames that came stop what goes out, and the other way round.
fn finding(case: &Case<'_>, device: &Device<'_, '_>, frames: Flowing) -> Option<Found> {
    let (word, held) = match frames {
        Flowing::In => ("rx", Flowing::Out),
        Flowing::Out => ("tx", Flowing::In),
    };
    let flow = case.through(device.host.role(), held).next()?;
    let direction = flow.outcome.direction;
    let grown = device.driver_growth(|name| is_pause(name) && has_word(name, word));
    // Drivers tell the same of the port and of each priority.
    let (name, most) = grown.iter().max_by_key(|(_, grown)| **grown)?;
    let rate = *most as f64 / device.host.span().as_secs_f64();
    let interface = device.name();
    let text = match frames {
        Flowing::In => format!("pause frames from the other end of the link stop {interface}"),
        Flowing::Out => format!("{interface} cannot keep up and sends pause frames"),
    };
    let found = if rate >= OFTEN { Found::limit(text) } else { Found::candidate(text) };
    let found = found.at(device.host.role()).going(direction);
    let found = found.seen(format!("{name} of {interface} grew by {}, {rate:.0}/s", count(*most)));
    let (advice, side) = match frames {
        Flowing::In => (
            "find what is slow behind that link (the receiver, a slower switch port), or turn \
             flow control off",
            Side::Rx,
        ),
        Flowing::Out => {
            ("find what slows receiving on this host, or turn flow control off", Side::Tx)
        }
    };
    let interface = device.interface.name.clone();
    let setting = Setting::PauseFrames { interface, side, state: Switch::Off };
    Some(found.remedy(advice).change(setting))
}

fn is_pause(name: &str) -> bool {
    let name = name.to_lowercase();
    // XON ends a pause; durations are no frames; some count what they did not do.
    let is_other = ["duration", "transition", "storm", "xon", "discard"];
    (name.contains("pause") || name.contains("xoff"))
        && !is_other.iter().any(|one| name.contains(one))
}

fn has_word(name: &str, word: &str) -> bool {
    name.to_lowercase().split(|letter: char| !letter.is_ascii_alphanumeric()).any(|one| one == word)
}

/// In a second. One frame stops a link of 1 Gbit/s for 33 ms at most, mostly for much less.
/// To be calibrated.
const OFTEN: f64 = 10.0;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Here);
        crate::test_record::grow(host, counter::driver("eth0").on("rx_pause_ctrl_phy"), 4_000);
    })
    .silent(|record| {
        let host = crate::test_record::host(record, &measurement::Role::Here);
        crate::test_record::grow(host, counter::driver("eth0").on("tx_pause_ctrl_phy"), 4_000);
        crate::test_record::grow(host, counter::driver("eth0").on("rx_pause_duration"), 4_000);
    });
