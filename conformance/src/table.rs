//! What people read: lines on standard output.

use std::fmt::Write as _;
use std::io::{self, Write as _};

pub(crate) use testbed::output::say;

use crate::ask::{Ask, Direction, End, Family, Transport, Way, ways};
use crate::seen::{Seen, WaySeen};
use crate::trial::{Finding, Outcome, Report};

/// One line of a table: a number, what was asked, which programs ran, what came of it.
pub(crate) fn row(number: usize, pairing: &str, ask: &Ask, report: &Report) {
    let verdict = match report.outcome() {
        Outcome::Ok => "ok",
        Outcome::Deviation => "deviation",
        Outcome::Busy => "busy",
        Outcome::Fail => "FAIL",
    };
    let asked = describe(ask);
    let numbers = report.client.as_ref().map_or_else(String::new, |seen| numbers(ask, seen));
    say(format!("{number:>3}  {asked:<44} {pairing:<24} {verdict:<9} {numbers}"));
    for finding in report.earlier.iter().flatten().filter(|finding| finding.excuse.is_none()) {
        say(format!("     in an earlier try: {}", explain(finding)));
    }
    for finding in &report.findings {
        say(format!("     {}", explain(finding)));
    }
    if report.outcome() >= Outcome::Busy {
        say(format!("     meanwhile {}", report.noise));
    }
}

/// A test in the words of its options.
pub(crate) fn describe(ask: &Ask) -> String {
    let mut text = String::new();
    text += match ask.transport {
        Transport::Tcp => "TCP",
        Transport::Udp => "UDP",
    };
    text += match ask.direction {
        Direction::Send => " forward",
        Direction::Reverse => " reverse",
        Direction::Both => " bidir  ",
    };
    text += match ask.family {
        Family::Ipv4 => " IPv4",
        Family::Ipv6 => " IPv6",
    };
    // Writing to a String cannot fail.
    _ = write!(text, " -P {}", ask.streams);
    _ = match ask.end {
        End::Seconds(seconds) => write!(text, " -t {seconds}"),
        End::Bytes(bytes) => write!(text, " -n {bytes}"),
        End::Blocks(blocks) => write!(text, " -k {blocks}"),
    };
    if ask.omit_seconds > 0 {
        _ = write!(text, " -O {}", ask.omit_seconds);
    }
    let (mss, length) = (ask.mss.map(u64::from), ask.length.map(u64::from));
    let settings = [("-b", ask.rate), ("-w", ask.window), ("-M", mss), ("-l", length)];
    for (option, value) in settings {
        if let Some(value) = value {
            _ = write!(text, " {option} {value}");
        }
    }
    text
}

fn numbers(ask: &Ask, seen: &Seen) -> String {
    let ways = ways(ask.direction).iter().filter_map(|way| Some((way, seen.way(*way)?)));
    ways.map(|(way, seen)| numbers_of_way(*way, seen)).collect::<Vec<_>>().join("; ")
}

fn numbers_of_way(way: Way, seen: &WaySeen) -> String {
    let arrow = match way {
        Way::Up => "up",
        Way::Down => "down",
    };
    let Some(amount) = seen.received.or(seen.sent) else { return arrow.to_owned() };
    let mut text = format!("{arrow} {:.1} Mbit/s {:.2} s", amount.rate / 1e6, amount.seconds);
    if let (Some(lost), Some(datagrams)) = (seen.lost, seen.datagrams) {
        _ = write!(text, " {lost}/{datagrams} lost");
    }
    text
}

fn explain(finding: &Finding) -> String {
    let breach = &finding.breach;
    let way = match breach.way {
        Some(Way::Up) => " up",
        Some(Way::Down) => " down",
        None => "",
    };
    let mut text = format!("{:?}{way}: {}", breach.promise, breach.text);
    if breach.expected != 0.0 || breach.measured != 0.0 {
        _ = write!(text, ", {} and {}", breach.expected, breach.measured);
    }
    if let Some(deviation) = finding.excuse {
        _ = write!(text, " [clause {}]", deviation.clause);
    }
    text
}

/// Prints a line on standard error.
pub(crate) fn complain(line: &str) {
    // Standard error may be closed; the exit code is what is left then.
    _ = writeln!(io::stderr(), "{line}");
}
