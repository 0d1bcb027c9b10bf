//! One congestion control for all programs of a comparison.

use std::fs;

use anyhow::{Context, Result};

/// The first congestion control algorithm of the kernel for which `take` succeeds; `cubic` is tried
/// first.
///
/// A server that has given up its privileges may set only the algorithms that the host permits to
/// all (`tcp_allowed_congestion_control`, tcp(7)).
///
/// # Errors
/// `take` fails for every algorithm: its last error. Or the kernel does not list its algorithms.
pub fn first_taken(take: impl Fn(&str) -> Result<()>) -> Result<String> {
    let available =
        fs::read_to_string(AVAILABLE).with_context(|| format!("cannot read {AVAILABLE}"))?;
    let mut refusal = anyhow::anyhow!("{AVAILABLE} is empty");
    for candidate in candidates(&available) {
        match take(candidate) {
            Ok(()) => return Ok(candidate.to_owned()),
            Err(error) => refusal = error,
        }
    }
    Err(refusal.context("no congestion control that every program takes"))
}

fn candidates(available: &str) -> Vec<&str> {
    let mut candidates: Vec<&str> = available.split_whitespace().collect();
    // A stable sort: the preferred one first, the others as the kernel lists them.
    candidates.sort_by_key(|name| *name != PREFERRED);
    candidates
}

/// The default of the kernel as it is published.
const PREFERRED: &str = "cubic";
const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_one_is_tried_first() {
        assert_eq!(candidates("reno bbr cubic\n"), ["cubic", "reno", "bbr"]);
        assert_eq!(candidates("reno bbr\n"), ["reno", "bbr"]);
    }
}
