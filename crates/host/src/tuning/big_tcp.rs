//! The largest packets of GSO and GRO, above 64 KiB BIG TCP
//! (Documentation/networking/ip-sysctl.rst; ip-link(8)). Those of IPv4 follow up to 64 KiB, and are
//! restored with them.

use std::io;

use linux::netlink::LinkSettings;
use measurement::remedy::Setting;

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// An interface and the new size of its largest packets.
#[derive(Debug)]
pub(super) struct BigTcp {
    interface: String,
    bytes: u32,
}

impl BigTcp {
    pub(super) fn new(interface: &str, bytes: u32) -> Self {
        Self { interface: interface.to_owned(), bytes }
    }
}

impl Adjustable for BigTcp {
    fn targets(&self) -> Vec<String> {
        vec![format!("GSO and GRO sizes of {}", self.interface)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let settings = kernel.route().and_then(|mut route| route.link_settings(&self.interface));
        let settings = settings.map_err(|source| Refusal::reading(&self.interface, source))?;
        let (Some(gso), Some(gro)) = (settings.gso_max_bytes, settings.gro_max_bytes) else {
            return Err(Refusal::Absent { what: format!("gro_max_size of {}", self.interface) });
        };
        let sizes =
            [Some(gso), Some(gro), settings.gso_ipv4_max_bytes, settings.gro_ipv4_max_bytes];
        let words = sizes.iter().zip(NAMES).filter_map(|(size, name)| Some((name, (*size)?)));
        let words: Vec<_> = words.map(|(name, size)| format!("{name} {size}")).collect();
        let shown = if gso == gro { gso.to_string() } else { format!("{gso} {gro}") };
        Ok(Value { exact: words.join(" "), shown })
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        let (gso, gro) = (Some(self.bytes), Some(self.bytes));
        let to = LinkSettings { gso_max_bytes: gso, gro_max_bytes: gro, ..LinkSettings::default() };
        kernel.route()?.set_link_settings(&self.interface, &to)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        let words: Vec<_> = exact.split(' ').collect();
        let size = |name| {
            let place = words.iter().position(|word| *word == name)?;
            words.get(place + 1)?.parse().ok()
        };
        let sizes = NAMES.map(size);
        let to = LinkSettings {
            gso_max_bytes: sizes[0],
            gro_max_bytes: sizes[1],
            gso_ipv4_max_bytes: sizes[2],
            gro_ipv4_max_bytes: sizes[3],
            ..LinkSettings::default()
        };
        kernel.route()?.set_link_settings(&self.interface, &to)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.bytes.to_string()
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let named = Setting::Mtu { interface: self.interface.clone(), bytes: 0 }.to_string();
        let link = named.trim_end_matches(" mtu 0");
        // An older ip(8) does not know those of IPv4; they follow the others.
        let words: Vec<_> = exact.split(' ').collect();
        let is_followed = |place: usize| {
            let of_ipv4 = words.get(place + 4);
            let size = words.get(place).filter(|size| of_ipv4 == Some(size));
            size.is_some_and(|size| size.parse().is_ok_and(|size: u32| size <= FOLLOWED))
        };
        let count = if is_followed(1) && is_followed(3) { 4 } else { words.len() };
        let words = words[..count].join(" ");
        vec![format!("{link} {words}")]
    }

    fn exact_of(&self, shown: &str) -> Option<String> {
        shown.parse::<u32>().is_ok().then(|| format!("{} {shown} {} {shown}", NAMES[0], NAMES[1]))
    }

    fn risks(&self) -> &'static [Risk] {
        &[]
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }
}

/// `GSO_LEGACY_MAX_SIZE`, include/linux/netdevice.h
const FOLLOWED: u32 = 65_536;
/// The words of ip-link(8).
const NAMES: [&str; 4] = ["gso_max_size", "gro_max_size", "gso_ipv4_max_size", "gro_ipv4_max_size"];
