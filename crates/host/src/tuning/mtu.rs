//! The MTU of an interface, by rtnetlink(7). The other end of the link is not changed.

use std::io;

use linux::netlink::LinkSettings;
use measurement::remedy::Setting;

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// The MTU of an interface. IPv6 has one of its own, which follows that of the link and is
/// restored with it.
#[derive(Debug)]
pub(super) struct Mtu {
    interface: String,
    bytes: u32,
}

impl Mtu {
    pub(super) fn new(interface: &str, bytes: u32) -> Self {
        Self { interface: interface.to_owned(), bytes }
    }

    /// The MTU of IPv6 (Documentation/networking/ip-sysctl.rst).
    fn ipv6_path(&self) -> String {
        format!("proc/sys/net/ipv6/conf/{}/mtu", self.interface)
    }
}

impl Adjustable for Mtu {
    fn targets(&self) -> Vec<String> {
        vec![format!("MTU of {}", self.interface)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let settings = kernel.route().and_then(|mut route| route.link_settings(&self.interface));
        let settings = settings.map_err(|source| Refusal::reading(&self.interface, source))?;
        let what = || format!("MTU of {}", self.interface);
        let mtu = settings.mtu.ok_or_else(|| Refusal::Absent { what: what() })?;
        let ipv6 = kernel.tree().number::<u32>(&self.ipv6_path());
        let exact = ipv6.map_or_else(|| mtu.to_string(), |ipv6| format!("{mtu} {ipv6}"));
        Ok(Value { exact, shown: mtu.to_string() })
    }

    fn check(&self, kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        let has_ipv6 = kernel.tree().number::<u32>(&self.ipv6_path()).is_some();
        if has_ipv6 && self.bytes < IPV6_MINIMAL_MTU {
            let why = "below 1280 the kernel takes the IPv6 addresses away".to_owned();
            return Err(Refusal::NotRestorable { why });
        }
        Ok(())
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        let to = LinkSettings { mtu: Some(self.bytes), ..LinkSettings::default() };
        kernel.route()?.set_link_settings(&self.interface, &to)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        let mut numbers = exact.split(' ');
        let mtu = numbers.next().and_then(|word| word.parse().ok());
        let to = LinkSettings { mtu, ..LinkSettings::default() };
        kernel.route()?.set_link_settings(&self.interface, &to)?;
        match numbers.next() {
            Some(ipv6) if kernel.tree().value(&self.ipv6_path()).is_some_and(|now| now != ipv6) => {
                kernel.write(&self.ipv6_path(), ipv6)
            }
            _ => Ok(()),
        }
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.bytes.to_string()
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let mut numbers = exact.split(' ').filter_map(|word| word.parse().ok());
        let Some(bytes) = numbers.next() else { return Vec::new() };
        let interface = self.interface.clone();
        let mut commands = vec![Setting::Mtu { interface, bytes }.to_string()];
        if let Some(ipv6) = numbers.next().filter(|ipv6| *ipv6 != bytes) {
            let name = format!("net/ipv6/conf/{}/mtu", self.interface);
            commands.push(Setting::Sysctl { name, value: ipv6.to_string() }.to_string());
        }
        commands
    }

    fn risks(&self) -> &'static [Risk] {
        &[Risk::LinkReset, Risk::CutsConnection]
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["NetworkManager", "systemd-networkd", "dhclient", "dhcpcd"]
    }
}

/// RFC 8200, section 5.
const IPV6_MINIMAL_MTU: u32 = 1280;
