//! Flags that say where the server is and how it is reached.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use campaign::ObservedHost;
use clap::Args;
use clap::builder::BoolishValueParser;
use measurement::TestPlan;
use measurement::units::parse_duration;
use session::Family;
use session::client::{ClientOptions, Request};

use super::cpus::CpuList;

/// The server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerFlags {
    /// The server: a name or an address, such as fe80::1%eth0
    #[arg(env = "LINERATE_HOST")]
    pub(crate) host: String,
    /// The server's port
    #[arg(short, long, default_value_t = session::DEFAULT_PORT, env = "LINERATE_PORT")]
    pub(crate) port: u16,
    #[command(flatten)]
    pub(crate) family: FamilyFlags,
    /// Address to send from
    #[arg(short = 'B', long, env = "LINERATE_BIND", value_name = "ADDRESS")]
    pub(crate) bind: Option<IpAddr>,
    /// How long a connect may take
    #[arg(long, default_value = "5s", env = "LINERATE_CONNECT_TIMEOUT", value_name = "DURATION", value_parser = parse_duration)]
    pub(crate) connect_timeout: Duration,
}

impl ServerFlags {
    /// To carry out `plan` against it.
    pub(crate) fn request(
        &self,
        plan: TestPlan,
        cpus: Option<&CpuList>,
        tags: &[(String, String)],
    ) -> Request {
        Request {
            host: self.host.clone(),
            port: self.port,
            family: self.family.into(),
            bind: self.bind,
            connect_timeout: self.connect_timeout,
            cpus: cpus.map(|cpus| cpus.0.clone()).unwrap_or_default(),
            tags: tags.iter().cloned().collect(),
            plan,
            options: ClientOptions::default(),
        }
    }
}

/// Reads `name`, `name:port`, an address, or `[address]:port`.
pub(crate) fn parse_observed(text: &str) -> Result<ObservedHost, String> {
    let bare = |host: &str| ObservedHost { host: host.to_owned(), port: session::DEFAULT_PORT };
    let inner = text.strip_prefix('[').and_then(|text| text.strip_suffix(']')).unwrap_or(text);
    let is_address = inner.parse::<Ipv6Addr>().is_ok();
    let (host, port) = match text.rsplit_once(':') {
        Some((host, port)) if !is_address => (host, port),
        _ => return named(bare(inner)),
    };
    let port = port.parse().map_err(|_| format!("'{port}' is no port: 1 to 65535"))?;
    named(ObservedHost { port, ..bare(host.trim_matches(['[', ']'])) })
}

fn named(observed: ObservedHost) -> Result<ObservedHost, String> {
    if observed.host.is_empty() {
        return Err("a host is missing, e.g. 10.0.0.1 or router:5201".to_owned());
    }
    Ok(observed)
}

/// Which addresses may be used.
#[derive(Clone, Copy, Debug, Args)]
pub(crate) struct FamilyFlags {
    /// IPv4 only
    #[arg(short = '4', long, conflicts_with = "ipv6", env = "LINERATE_IPV4", value_parser = BoolishValueParser::new())]
    ipv4: bool,
    /// IPv6 only
    #[arg(short = '6', long, env = "LINERATE_IPV6", value_parser = BoolishValueParser::new())]
    ipv6: bool,
}

impl From<FamilyFlags> for Family {
    fn from(flags: FamilyFlags) -> Self {
        match (flags.ipv4, flags.ipv6) {
            (true, _) => Self::V4,
            (_, true) => Self::V6,
            _ => Self::Any,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_host_to_observe_is_a_name_or_an_address_with_or_without_port() {
        let read = |text| parse_observed(text).map(|one| (one.host, one.port));
        let host = |host: &str, port| Ok((host.to_owned(), port));
        assert_eq!(read("router"), host("router", 5201));
        assert_eq!(read("router:7"), host("router", 7));
        assert_eq!(read("10.0.0.1:99"), host("10.0.0.1", 99));
        assert_eq!(read("fe80::1"), host("fe80::1", 5201));
        assert_eq!(read("[fe80::1]:80"), host("fe80::1", 80));
        assert_eq!(read("[fe80::1]"), host("fe80::1", 5201));
        assert!(read("").is_err() && read(":5").is_err() && read("a:b").is_err());
    }
}
