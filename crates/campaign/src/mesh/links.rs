//! Hosts with several addresses: what their links carry at once beside what the first carries alone,
//! and which link is slow.

use analysis::mesh::{HostId, Pair};
use measurement::mesh::MeshLinks;
use measurement::{BitRate, MeshReading, upper_median};

use super::MeshHost;

/// Rates of the survey by link.
#[derive(Clone, Debug, Default)]
pub struct Links {
    /// Number of links, rate of the first alone, and rate of all at once, for each direction of a pair
    /// with several links.
    pairs: Vec<(usize, BitRate, BitRate)>,
    /// Link, host, whether it sends, and the rate while all links were busy.
    of_hosts: Vec<(usize, HostId, bool, BitRate)>,
}

impl Links {
    /// Takes the two directions of a pair.
    pub(super) fn note(&mut self, pair: Pair, readings: &[MeshReading]) {
        for (reading, [from, to]) in readings.iter().zip([[pair.a, pair.b], [pair.b, pair.a]]) {
            if reading.links.len() < 2 {
                continue;
            }
            if let Some(first) = reading.first_alone {
                self.pairs.push((reading.links.len(), first, reading.rate));
            }
            for (link, rate) in reading.links.iter().enumerate() {
                self.of_hosts.extend([(link, from, true, *rate), (link, to, false, *rate)]);
            }
        }
    }

    /// The median rates of the pairs with most links; none: no pair has several.
    pub(super) fn typical(&self) -> Option<MeshLinks> {
        let links = self.pairs.iter().map(|(links, ..)| *links).max()?;
        let of_most = || self.pairs.iter().filter(|(of, ..)| *of == links);
        Some(MeshLinks {
            links: u32::try_from(links).unwrap_or(u32::MAX),
            first: median(of_most().map(|(_, first, _)| *first))?,
            all: median(of_most().map(|(.., all)| *all))?,
        })
    }

    /// Links of a host that have less than those of the other hosts.
    pub(super) fn slow(&self, hosts: &[MeshHost], host: HostId) -> Vec<String> {
        let of_link = |link: usize, address: &String, sends: bool| {
            let of = |own: bool| {
                let all = self.of_hosts.iter();
                let counts = all.filter(|(of, id, way, _)| {
                    *of == link && *way == sends && (*id == host) == own
                });
                median(counts.map(|(.., rate)| *rate))
            };
            let (own, others) = (of(true)?, of(false)?);
            let is_slow = own.bits_per_second() as f64 <= SLOW * others.bits_per_second() as f64;
            let (name, way) =
                (&hosts[host as usize].name, if sends { "sends" } else { "receives" });
            is_slow.then(|| format!("{name}: {address} {way} {own}, that of the others {others}"))
        };
        let addresses = hosts[host as usize].addresses.iter().enumerate();
        let ways =
            addresses.flat_map(|(link, address)| [(link, address, true), (link, address, false)]);
        ways.filter_map(|(link, address, sends)| of_link(link, address, sends)).collect()
    }
}

fn median(rates: impl Iterator<Item = BitRate>) -> Option<BitRate> {
    upper_median(rates, BitRate::cmp)
}

/// Share of the rate of others from which on down a link or a test is slow.
pub(super) const SLOW: f64 = 0.86;

#[cfg(test)]
mod tests {
    use measurement::Stamp;

    use super::*;

    fn rate(gigabits: u64) -> BitRate {
        BitRate::from_bits_per_second(gigabits * 1_000_000_000)
    }

    fn reading(links: [u64; 2]) -> MeshReading {
        MeshReading {
            rate: rate(links.iter().sum()),
            retransmitted_ratio: None,
            stamp: Stamp::Valid,
            limit: None,
            links: links.map(rate).to_vec(),
            first_alone: Some(rate(10)),
        }
    }

    #[test]
    fn links_add_up_and_the_slow_one_of_a_host_is_named() {
        let host = |number: u32| MeshHost {
            name: format!("n{number}"),
            addresses: vec![format!("10.0.0.{number}"), format!("10.1.0.{number}")],
        };
        let hosts: Vec<_> = (0..4).map(host).collect();
        let mut links = Links::default();
        assert_eq!(links.typical(), None);
        for (a, b) in [(0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2)] {
            let second = if a == 3 || b == 3 { 5 } else { 10 };
            links.note(Pair { a, b }, &[reading([10, second]), reading([10, second])]);
        }
        let typical = links.typical().expect("two links");
        assert_eq!((typical.links, typical.first, typical.all), (2, rate(10), rate(20)));
        assert_eq!(links.slow(&hosts, 0), Vec::<String>::new());
        let named = links.slow(&hosts, 3);
        let expected =
            |way| format!("n3: 10.1.0.3 {way} 5.000 Gbit/s, that of the others 10.00 Gbit/s");
        assert_eq!(named, [expected("sends"), expected("receives")]);
    }
}
