//! The peers in each way that they have: as they are, and asked not to copy.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::identity::{Identity, Kind};
use super::streams::{Contender, Part};

/// The installed iperf3 and iperf, then those that were named, for TCP.
pub(super) fn tcp(named: &[PathBuf]) -> Result<Vec<Contender>> {
    each(named, tcp_ways)
}

/// The same for UDP.
pub(super) fn udp(named: &[PathBuf]) -> Result<Vec<Contender>> {
    each(named, udp_ways)
}

/// What a program is asked for beside the task, to move TCP at less expense.
pub(super) fn tcp_ways(identity: &Identity) -> Vec<&'static str> {
    let ways: &[&str] = match identity.kind {
        Kind::Iperf3 => &["-Z", "-Z --skip-rx-copy"],
        // Its usual buffer is 16 KiB.
        Kind::NeperTcpStream => &["--skip-rx-copy -B 131072"],
        _ => &[],
    };
    known(identity, ways)
}

/// What a program is asked for beside the task, to move many datagrams in one piece.
pub(super) fn udp_ways(identity: &Identity) -> Vec<&'static str> {
    match identity.kind {
        Kind::Iperf3 => known(identity, &["--gsro"]),
        _ => Vec::new(),
    }
}

/// A program as it is, and in each of its ways.
pub(super) fn in_all_ways(
    path: &Path,
    part: Part,
    ways: fn(&Identity) -> Vec<&'static str>,
) -> Result<Vec<Contender>> {
    let identity = Identity::of(path)?;
    let ways = ways(&identity);
    let mut contenders = vec![Contender::new(&identity, path.to_owned(), part)?];
    for way in ways {
        let part = Part::PeerVariant;
        contenders.push(Contender::new(&identity, path.to_owned(), part)?.with(way));
    }
    Ok(contenders)
}

/// Those whose options are in its help.
fn known(identity: &Identity, ways: &[&'static str]) -> Vec<&'static str> {
    let is_known = |way: &&str| {
        way.split_whitespace().filter(|word| word.starts_with('-')).all(|word| identity.knows(word))
    };
    ways.iter().copied().filter(is_known).collect()
}

fn each(named: &[PathBuf], ways: fn(&Identity) -> Vec<&'static str>) -> Result<Vec<Contender>> {
    let mut contenders = in_all_ways(Path::new("iperf3"), Part::Installed, ways)?;
    contenders.extend(in_all_ways(Path::new("iperf"), Part::Peer, ways)?);
    for path in named {
        contenders.extend(in_all_ways(path, Part::Peer, ways)?);
    }
    Ok(contenders)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_way_is_taken_if_the_program_knows_it() {
        let old = Identity::just(Kind::Iperf3, "  -Z, --zerocopy  use a zero copy method\n");
        let new = Identity::just(Kind::Iperf3, "  -Z, --zerocopy\n  --skip-rx-copy\n  --gsro\n");
        assert_eq!(tcp_ways(&old), ["-Z"]);
        assert_eq!(tcp_ways(&new), ["-Z", "-Z --skip-rx-copy"]);
        assert_eq!((udp_ways(&old).len(), udp_ways(&new)), (0, vec!["--gsro"]));
        let iperf2 = Identity::just(Kind::Iperf2, "  -Z, --tcp-congestion <algo>\n");
        assert!(tcp_ways(&iperf2).is_empty());
    }
}
