//! Flags of `serve` on who is answered, and on what all clients have together.

use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::BitRate;
use session::server::{AccessList, IpPrefix, TotalRates};
use session::tuning::SharedKey;

/// Who is answered.
#[derive(Debug, Args)]
#[command(next_help_heading = "Access")]
pub(crate) struct AccessFlags {
    /// Answer only clients with an address in these prefixes, e.g. 10.0.0.0/8,2001:db8::/32. The
    /// longest prefix of --allow and --deny that contains the address decides
    #[arg(long, env = "LINERATE_ALLOW", value_name = "PREFIX", value_delimiter = ',')]
    allow: Vec<IpPrefix>,
    /// Refuse clients with an address in these prefixes
    #[arg(long, env = "LINERATE_DENY", value_name = "PREFIX", value_delimiter = ',')]
    deny: Vec<IpPrefix>,
    /// File with a key, made by linerate key new: answer only linerate clients that prove that they
    /// have it (--key)
    #[arg(long, env = "LINERATE_KEY", value_name = "FILE", value_parser = crate::shared_key::parse)]
    key: Option<SharedKey>,
    /// Rate of all tests together, e.g. 10G, or of all tests of a prefix: 10.0.0.0/8=1G. A test gets
    /// at most half of what the tests before it leave; a linerate client keeps to it by itself
    #[arg(
        long,
        env = "LINERATE_MAX_TOTAL_RATE",
        value_name = "[PREFIX=]RATE",
        value_delimiter = ','
    )]
    max_total_rate: Vec<TotalRate>,
    /// Connect to iperf2 clients that ask for it (iperf -d, -r), and send there
    #[arg(long, env = "LINERATE_CONNECT_BACK", value_parser = BoolishValueParser::new())]
    pub(crate) connect_back: bool,
}

/// A rate of all tests, or of those of a prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct TotalRate {
    of: Option<IpPrefix>,
    most: BitRate,
}

impl std::str::FromStr for TotalRate {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (of, rate) = text.split_once('=').map_or((None, text), |(of, rate)| (Some(of), rate));
        let of = of.map(str::parse).transpose()?;
        let most: BitRate = rate.parse().map_err(|why| format!("{why}"))?;
        if most.bits_per_second() == 0 {
            return Err("a rate of 0 lets no test run: type e.g. 1G".to_owned());
        }
        Ok(Self { of, most })
    }
}

impl AccessFlags {
    /// Key that clients must have; none: they need none.
    pub(crate) fn key(&self) -> Option<SharedKey> {
        self.key.clone()
    }

    /// Addresses that are answered.
    pub(crate) fn list(&self) -> AccessList {
        AccessList { allow: self.allow.clone(), deny: self.deny.clone() }
    }

    /// Rates of all tests together. Of several for all the lowest counts.
    pub(crate) fn rates(&self) -> TotalRates {
        let of_all = self.max_total_rate.iter().filter(|rate| rate.of.is_none());
        let by_prefix = self.max_total_rate.iter().filter_map(|rate| Some((rate.of?, rate.most)));
        TotalRates { total: of_all.map(|rate| rate.most).min(), by_prefix: by_prefix.collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_for_all_or_for_a_prefix() {
        let read = |text: &str| text.parse::<TotalRate>();
        let most = BitRate::from_bits_per_second(1_000_000_000);
        assert_eq!(read("1G"), Ok(TotalRate { of: None, most }));
        let of = Some("10.0.0.0/8".parse().expect("a prefix"));
        assert_eq!(read("10.0.0.0/8=1G"), Ok(TotalRate { of, most }));
        for wrong in ["", "10.0.0.0/8", "10.0.0.0/8=", "host=1G", "0"] {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }
}
