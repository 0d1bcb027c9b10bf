//! `socket-buffer-maximum`: the kernel's maxima of socket buffers are small.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::window;
use crate::evidence::HostView;
use crate::words::{self, count};

const PAGE: Page = Page {
    id: RuleId::SocketBufferMaximum,
    title: "Small maximum of socket buffers",
    what: "A maximum of socket buffers is far below the kernel's default: 512 KiB for the buffers \
           that TCP tunes itself, 128 KiB for those that programs request.",
    why: "A connection has no more in flight than the smaller of both ends' buffers, and waits a \
          round trip for each of them: 64 KiB at 20 ms are 26 Mbit/s. A small buffer of UDP \
          overflows when the program is late for a moment.",
    evidence: "The third numbers of `net.ipv4.tcp_rmem` and `net.ipv4.tcp_wmem`; \
               `net.core.rmem_max` and `net.core.wmem_max`. The bound is the buffer divided by \
               round trips of 1, 20 and 100 ms; the kernel's own overhead takes a part of it.",
    remedy: "The kernel's defaults or more: `sysctl -w 'net.ipv4.tcp_rmem=4096 131072 6291456'`.",
    source: "tcp(7), socket(7), Documentation/networking/ip-sysctl.rst",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Window, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    if case.is_udp() {
        return Vec::new();
    }
    let maxima = |host| MAXIMA.iter().filter_map(move |maximum| finding(case, host, maximum));
    case.hosts.iter().flat_map(maxima).collect()
}

fn finding(case: &Case<'_>, host: &HostView<'_>, maximum: &Maximum) -> Option<Found> {
    let current = host.evidence.inventory.settings.get(maximum.setting)?;
    let bytes: u64 = current.split_ascii_whitespace().last()?.parse().ok()?;
    if bytes >= maximum.enough {
        return None;
    }
    let (place, what) = (words::host(host.role()), maximum.what);
    let text = format!("{what} of {place} are {} bytes at most", count(bytes));
    // With a test the rules of windows say whether a buffer was too small for its path.
    let found = if case.test.is_some() {
        Found::note(text)
    } else {
        Found::candidate(text).allowing(window::bound(bytes))
    };
    let found = found.at(host.role()).seen(format!("{} = {current}", maximum.setting));
    let change = super::sysctl(maximum.setting, maximum.usual);
    Some(found.remedy("raise the maximum").change_from(change, Some(current)))
}

/// A maximum of socket buffers: the last number of a setting.
struct Maximum {
    setting: &'static str,
    what: &'static str,
    /// From so many bytes on it is none to speak of.
    enough: u64,
    usual: &'static str,
}

/// Thresholds are a tenth of the kernel's default for TCP, and less than any kernel's default for
/// requested buffers (163,840 bytes with 32 bits, 212,992 with 64; `SK_RMEM_MAX`,
/// `include/net/sock.h`).
const MAXIMA: [Maximum; 4] = [
    Maximum {
        setting: "net.ipv4.tcp_rmem",
        what: "TCP receive buffers",
        enough: 524_288,
        usual: "4096 131072 6291456",
    },
    Maximum {
        setting: "net.ipv4.tcp_wmem",
        what: "TCP send buffers",
        enough: 524_288,
        usual: "4096 16384 4194304",
    },
    Maximum {
        setting: "net.core.rmem_max",
        what: "receive buffers that programs request (SO_RCVBUF)",
        enough: 131_072,
        usual: "4194304",
    },
    Maximum {
        setting: "net.core.wmem_max",
        what: "send buffers that programs request (SO_SNDBUF)",
        enough: 131_072,
        usual: "4194304",
    },
];

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| set(record, "4096 65536 65536"))
    .silent(|record| set(record, "4096 131072 1048576"));

#[cfg(test)]
fn set(record: &mut measurement::TestRecord, value: &str) {
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    host.inventory.settings.insert("net.ipv4.tcp_rmem".to_owned(), value.to_owned());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_a_test_the_bound_is_told_for_usual_round_trips() {
        let mut record = crate::test_record::tcp();
        set(&mut record, "4096 65536 65536");
        let found = check(&Case::of_hosts(&record.hosts, &[]));
        let bound = found[0].effect.bound().expect("known");
        assert_eq!(bound.from.to_string(), "5.243 Mbit/s");
    }
}
