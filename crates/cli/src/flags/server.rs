//! Flags that say where the server is and how it is reached.

use std::net::{IpAddr, Ipv6Addr};
use std::time::Duration;

use campaign::ObservedHost;
use clap::builder::BoolishValueParser;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args};
use measurement::TestPlan;
use measurement::units::parse_duration;
use session::Family;
use session::client::{ClientOptions, Request};
use session::tuning::SharedKey;

use super::cpus::CpuList;

/// The server.
#[derive(Clone, Debug, Args)]
pub(crate) struct ServerFlags {
    #[command(flatten)]
    pub(crate) target: TargetFlags,
    #[command(flatten)]
    pub(crate) family: FamilyFlags,
    /// Address to send from; several with commas between them: TCP streams take them in turn, all
    /// else the first
    #[arg(short = 'B', long, env = "LINERATE_BIND", value_name = "ADDRESS", value_delimiter = ',')]
    pub(crate) bind: Vec<IpAddr>,
    /// File with the key of the server (serve --key), made by linerate key new: both ends prove it
    #[arg(long, env = "LINERATE_KEY", value_name = "FILE", value_parser = crate::shared_key::parse)]
    pub(crate) key: Option<SharedKey>,
    /// How long a connect may take
    #[arg(long, default_value = "5s", env = "LINERATE_CONNECT_TIMEOUT", value_name = "DURATION", value_parser = parse_connect_timeout)]
    pub(crate) connect_timeout: Duration,
}

/// Where the server is.
#[derive(Clone, Debug, Args)]
pub(crate) struct TargetFlags {
    /// The server: a name or an address such as fe80::1%eth0, and its port if typed, e.g.
    /// router:5300
    #[arg(group = SERVER, env = "LINERATE_HOST", value_name = "HOST[:PORT]", value_parser = parse_target)]
    host: Option<Target>,
    /// The server, as iperf3 takes it.
    #[arg(short, long, group = SERVER, hide = true, value_name = "HOST[:PORT]", value_parser = parse_target)]
    client: Option<Target>,
    /// The server's port [default: 5201]
    #[arg(short, long, env = "LINERATE_PORT")]
    port: Option<u16>,
}

/// A host, and its port if that was typed behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Target {
    host: String,
    port: Option<u16>,
}

impl Target {
    /// Reads `name`, `name:port`, an address, or `[address]:port`.
    pub(super) fn read(text: &str) -> Result<Self, String> {
        parse_target(text)
    }

    /// Its name or address, and its port.
    pub(super) fn host_and_port(self) -> (String, u16) {
        (self.host, self.port.unwrap_or(session::DEFAULT_PORT))
    }

    /// Its name or address, and its port, or `port` if that was not typed.
    #[cfg(feature = "full")]
    pub(crate) fn host_and_port_or(&self, port: u16) -> (String, u16) {
        (self.host.clone(), self.port.unwrap_or(port))
    }
}

impl TargetFlags {
    /// Of a port behind the host and that of `--port` the one that was typed counts.
    pub(super) fn settle(&mut self, matches: &ArgMatches) -> Result<(), String> {
        let from_environment =
            |id: &str| matches.value_source(id) == Some(ValueSource::EnvVariable);
        let Some(target) = self.client.as_mut().or(self.host.as_mut()) else { return Ok(()) };
        match (self.port, target.port) {
            (Some(one), Some(other)) if one != other => {
                if from_environment("port") {
                    self.port = None;
                } else if from_environment("host") {
                    target.port = None;
                } else {
                    return Err(format!(
                        "--port {one} contradicts port {other} of the host: type one"
                    ));
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Whether there is a server.
    pub(crate) const fn is_given(&self) -> bool {
        self.host.is_some() || self.client.is_some()
    }

    /// Whether it was typed as users of iperf3 do.
    pub(crate) const fn is_given_as_to_iperf3(&self) -> bool {
        self.client.is_some()
    }

    /// Its name or address, and its port.
    pub(crate) fn host_and_port(&self) -> (String, u16) {
        let target = self.client.as_ref().or(self.host.as_ref());
        let port = self.port.or_else(|| target?.port).unwrap_or(session::DEFAULT_PORT);
        (target.map(|target| target.host.clone()).unwrap_or_default(), port)
    }
}

impl ServerFlags {
    /// Settles the port, and checks the addresses to send from, all of which have to reach the
    /// server.
    pub(super) fn settle(&mut self, matches: &ArgMatches) -> Result<(), String> {
        self.target.settle(matches)?;
        let mut pairs = self.bind.windows(2);
        match pairs.find(|pair| pair[0].is_ipv4() != pair[1].is_ipv4()) {
            None => Ok(()),
            Some(pair) => Err(format!(
                "--bind has IPv4 and IPv6 ({}, {}): type addresses of one of the two",
                pair[0], pair[1]
            )),
        }
    }

    /// To carry out `plan` against it.
    pub(crate) fn request(
        &self,
        plan: TestPlan,
        cpus: Option<&CpuList>,
        tags: &[(String, String)],
    ) -> Request {
        let (host, port) = self.target.host_and_port();
        Request {
            host,
            port,
            family: self.family.into(),
            bind: self.bind.first().copied(),
            further_binds: self.bind.iter().skip(1).copied().collect(),
            connect_timeout: self.connect_timeout,
            cpus: cpus.map(|cpus| cpus.0.clone()).unwrap_or_default(),
            tags: tags.iter().cloned().collect(),
            plan,
            options: ClientOptions { key: self.key.clone(), ..ClientOptions::default() },
        }
    }
}

/// Reads `name`, `name:port`, an address, or `[address]:port`.
fn parse_target(text: &str) -> Result<Target, String> {
    if text.contains('/') || text.contains(char::is_whitespace) {
        return Err(format!("'{text}' is not a host: type a name or an address"));
    }
    // As the zone of a link-local address, a name of an interface has no colon.
    let (address, zone) = text.split_once('%').unwrap_or((text, ""));
    let is_address = address.parse::<Ipv6Addr>().is_ok() && !zone.contains([':', ']']);
    let (host, port) = match text.strip_prefix('[').and_then(|rest| rest.split_once(']')) {
        Some((host, "")) => (host, None),
        Some((host, rest)) => {
            let hint = || format!("'{text}' is not an address with a port: type [{host}]:5201");
            (host, Some(rest.strip_prefix(':').ok_or_else(hint)?))
        }
        None if is_address => (text, None),
        None => match text.rsplit_once(':') {
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.is_empty() {
        return Err("a host is missing: type 10.0.0.2, or router:5201".to_owned());
    }
    if host.contains(':') && host.split('%').next().unwrap_or(host).parse::<Ipv6Addr>().is_err() {
        return Err(format!("'{host}' is not an address: type as in [2001:db8::1]:5201"));
    }
    let read = |port: &str| {
        let number = port.parse().ok().filter(|number| *number > 0);
        number.ok_or_else(|| format!("'{port}' of '{text}' is not a port: type 1 to 65535"))
    };
    Ok(Target { host: host.to_owned(), port: port.map(read).transpose()? })
}

/// iperf3 counts it in milliseconds: a number by itself could mean either.
fn parse_connect_timeout(text: &str) -> Result<Duration, String> {
    if text.parse::<u64>().is_ok_and(|number| number >= SURELY_MILLISECONDS) {
        return Err(format!("'{text}' has no unit: type {text}ms, as iperf3 means it"));
    }
    parse_duration(text).map_err(|error| error.to_string())
}

/// A host to observe, written as a server.
pub(crate) fn parse_observed(text: &str) -> Result<ObservedHost, String> {
    let Target { host, port } = parse_target(text)?;
    Ok(ObservedHost { host, port: port.unwrap_or(session::DEFAULT_PORT) })
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

/// The group of the options that name the server.
pub(super) const SERVER: &str = "server";
/// As seconds it would be minutes.
const SURELY_MILLISECONDS: u64 = 100;

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
        assert_eq!(read("fe80::1%eth0"), host("fe80::1%eth0", 5201));
        assert_eq!(read("[fe80::1%eth0]:80"), host("fe80::1%eth0", 80));
        for wrong in
            ["", ":5", "a:b", "a:0", "a:65536", "[::1]5", "[]:5", "::g", "http://a/", "a b"]
        {
            assert!(read(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn a_number_that_iperf3_takes_for_milliseconds_is_not_taken_for_seconds() {
        assert_eq!(parse_connect_timeout("3"), Ok(Duration::from_secs(3)));
        assert_eq!(parse_connect_timeout("3000ms"), Ok(Duration::from_secs(3)));
        assert!(parse_connect_timeout("3000").is_err_and(|told| told.contains("type 3000ms")));
    }
}
