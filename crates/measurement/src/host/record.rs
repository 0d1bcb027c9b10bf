//! Hosts as records have them: shorter than on the wire, and with units in all names.

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::{ClockOffset, Gap, HostEvidence, Inventory, Role, Series};
use crate::profile;

/// Evidence on one host of a test: inventory, and counters during the test.
#[derive(Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "HostEvidence"))]
pub(crate) struct Host {
    /// Role of the host in the test.
    role: Role,
    /// The inventory of the host.
    inventory: Inventory,
    /// Parts of the inventory that are left out, since they are those of the first host.
    #[serde(rename = "as_first_host", skip_serializing_if = "Vec::is_empty", default)]
    as_first: Vec<Part>,
    /// Counters of the host during the test, with times on its own clock.
    #[serde(with = "super::series::record")]
    #[cfg_attr(feature = "schema", schemars(with = "super::series::record::Form"))]
    series: Series,
    /// Offset from the clock of the host to that of the host that wrote the record; none: not
    /// known, or the same clock.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    clock: Option<ClockOffset>,
    /// Names of the interfaces that carried the test, e.g. `eth0`.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    interfaces: Vec<String>,
    /// CPU profile of the host. None: sampling, or reporting it, was not permitted.
    #[serde(skip_serializing_if = "Option::is_none", default)]
    profile: Option<profile::record::Form>,
    /// CPU time that the watching thread took, in seconds: its set-up, its samples and the inventory.
    cost_seconds: f64,
    /// CPU time that it took after the test to resolve the symbols of the profile, in seconds.
    resolving_seconds: f64,
    /// Time for which the process of linerate on that host was stopped while streams ran, in
    /// seconds: a thread woke late from a short sleep, but did not wait for a CPU.
    still_seconds: f64,
    /// Time for which a thread of linerate on that host that napped was late while streams ran, in
    /// seconds, as it waited for a CPU: a quota holds it back, or CPUs are full.
    held_seconds: f64,
    /// What could not be read, with the reasons.
    #[serde(skip_serializing_if = "Vec::is_empty", default)]
    gaps: Vec<Gap>,
}

/// Part of an inventory that is the same on hosts of one kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "InventoryPart"))]
#[serde(rename_all = "snake_case")]
enum Part {
    /// The CPUs.
    Cpus,
    /// The settings of the kernel.
    Settings,
    /// The build options of the kernel.
    KernelOptions,
}

/// The form of the list, for the schema.
#[cfg(feature = "schema")]
pub(crate) type Form = Vec<Host>;

impl Part {
    const ALL: [Self; 3] = [Self::Cpus, Self::Settings, Self::KernelOptions];

    /// Whether both have the part, and the same one.
    fn is_shared(self, one: &Inventory, other: &Inventory) -> bool {
        match self {
            Self::Cpus => one.cpus == other.cpus && !one.cpus.is_empty(),
            Self::Settings => one.settings == other.settings && !one.settings.is_empty(),
            Self::KernelOptions => {
                one.kernel_options == other.kernel_options && !one.kernel_options.is_empty()
            }
        }
    }

    fn copy(self, from: &Inventory, to: &mut Inventory) {
        match self {
            Self::Cpus => to.cpus.clone_from(&from.cpus),
            Self::Settings => to.settings.clone_from(&from.settings),
            Self::KernelOptions => to.kernel_options.clone_from(&from.kernel_options),
        }
    }
}

impl Host {
    /// `first` is the first host of the record; none: it is this one.
    fn of(host: &HostEvidence, first: Option<&HostEvidence>) -> Self {
        let HostEvidence { role, mut inventory, series, clock, interfaces, profile, .. } =
            host.clone();
        let names = first.and_then(|first| first.profile.as_ref());
        let names = names.map(|profile| profile::record::Form::of(profile, None));
        let profile = profile.map(|profile| profile::record::Form::of(&profile, names.as_ref()));
        let mut as_first = Part::ALL.to_vec();
        as_first
            .retain(|part| first.is_some_and(|first| part.is_shared(&first.inventory, &inventory)));
        for part in &as_first {
            part.copy(&Inventory::default(), &mut inventory);
        }
        let HostEvidence { cost_seconds, resolving_seconds, still_seconds, held_seconds, .. } =
            *host;
        let gaps = host.gaps.clone();
        Self {
            role,
            inventory,
            as_first,
            series,
            clock,
            interfaces,
            profile,
            cost_seconds,
            resolving_seconds,
            still_seconds,
            held_seconds,
            gaps,
        }
    }

    /// `first` is the first host of the record, if it is not this one; `names` are of its profile.
    fn read(
        self,
        first: Option<&HostEvidence>,
        names: &[String],
    ) -> Result<HostEvidence, &'static str> {
        let Self { role, mut inventory, as_first, series, clock, interfaces, .. } = self;
        for part in as_first {
            let first = first.ok_or("a first host that is as the first host")?;
            part.copy(&first.inventory, &mut inventory);
        }
        let profile = self.profile.map(|profile| profile.read(names)).transpose()?;
        let Self { cost_seconds, resolving_seconds, still_seconds, held_seconds, gaps, .. } = self;
        Ok(HostEvidence {
            role,
            inventory,
            series,
            clock,
            interfaces,
            profile,
            cost_seconds,
            resolving_seconds,
            still_seconds,
            held_seconds,
            gaps,
        })
    }
}

/// Writes the hosts of a record.
pub(crate) fn serialize<S: Serializer>(
    hosts: &[HostEvidence],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let first = |index: usize| hosts.first().filter(|_| index > 0);
    serializer.collect_seq(hosts.iter().enumerate().map(|(at, host)| Host::of(host, first(at))))
}

/// Reads the hosts of a record.
pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<Vec<HostEvidence>, D::Error> {
    let hosts = Vec::<Host>::deserialize(deserializer)?;
    if hosts.len() > MOST_HOSTS {
        return Err(D::Error::custom("more hosts than a test has"));
    }
    let first = hosts.first().and_then(|host| host.profile.as_ref());
    let names = first.map(|profile| profile.names().to_vec()).unwrap_or_default();
    let mut read = Vec::<HostEvidence>::with_capacity(hosts.len());
    for host in hosts {
        let host = host.read(read.first(), &names).map_err(D::Error::custom)?;
        read.push(host);
    }
    Ok(read)
}

/// Largest number of hosts of one test. More would take a reader much memory for copies of the
/// first, and a judge, which holds each against each other, much time.
pub const MOST_HOSTS: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    #[derive(Debug, PartialEq, Serialize, Deserialize)]
    struct Hosts(#[serde(with = "super")] Vec<HostEvidence>);

    #[test]
    fn what_is_as_on_the_first_host_is_written_once() {
        let mut one = HostEvidence::default();
        one.inventory.settings = [("net.core.rmem_max".to_owned(), "212992".to_owned())].into();
        let mut other = HostEvidence { role: Role::Peer, ..one.clone() };
        other.inventory.kernel_options = [("CONFIG_HZ".to_owned(), "250".to_owned())].into();
        let hosts = Hosts(vec![one.clone(), other, HostEvidence::default(), one]);
        let json = serde_json::to_value(&hosts).expect("JSON");
        assert_eq!(json[1]["as_first_host"], serde_json::json!(["settings"]));
        assert_eq!(json[1]["inventory"]["settings"], serde_json::json!({}));
        assert!(json[0].get("as_first_host").is_none() && json[2].get("as_first_host").is_none());
        assert_eq!(serde_json::from_value::<Hosts>(json).expect("hosts"), hosts);
    }

    #[test]
    fn a_first_host_is_not_as_the_first_host() {
        let mut json = serde_json::to_value(Hosts(vec![HostEvidence::default()])).expect("JSON");
        json[0]["as_first_host"] = serde_json::json!(["cpus"]);
        assert!(serde_json::from_value::<Hosts>(json).is_err());
    }
}
