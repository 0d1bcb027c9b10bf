//! Replaces what identifies a host.
//!
//! Addresses become those that are set aside for documentation (RFC 5737, RFC 3849), hardware
//! addresses those that are not assigned (the bit "locally administered" of IEEE 802).

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use crate::TreeEntry;
use crate::inventory::answers::KernelAnswers;

/// The stand-ins so far.
#[derive(Debug, Default)]
pub(super) struct Mask {
    addresses: BTreeMap<IpAddr, IpAddr>,
    hardware: BTreeMap<String, u32>,
}

impl Mask {
    /// Masks what the kernel answered.
    pub(super) fn host(&mut self, answers: &mut KernelAnswers) {
        HOST.clone_into(&mut answers.host);
        for one in &mut answers.interfaces {
            one.hardware = self.text(&one.hardware);
            let interface = &mut one.interface;
            interface.name = self.text(&interface.name);
            for address in &mut interface.addresses {
                *address = self.text(address);
            }
        }
        for route in &mut answers.routes {
            route.to = self.text(&route.to);
            route.via = route.via.as_deref().map(|via| self.text(via));
            route.interface = self.text(&route.interface);
        }
        for gap in &mut answers.gaps {
            gap.what = self.text(&gap.what);
        }
    }

    /// Masks an entry of the tree, and in its path the names of interfaces that are made of
    /// hardware addresses.
    pub(super) fn entry(&mut self, path: &mut String, entry: &mut TreeEntry) {
        *path = self.text(path);
        match entry {
            TreeEntry::File(bytes) => match (path.as_str(), std::str::from_utf8(bytes)) {
                ("proc/sys/kernel/hostname", _) => *bytes = format!("{HOST}\n").into_bytes(),
                ("proc/sys/kernel/random/boot_id", _) => *bytes = BOOT.to_vec(),
                ("proc/stat", Ok(text)) => *bytes = without_boot_time(text).into_bytes(),
                ("proc/self/stat", _) => bytes.clear(),
                (_, Ok(text)) => *bytes = self.text(text).into_bytes(),
                // What is packed has no addresses: the options of the kernel.
                (_, Err(_)) => {}
            },
            TreeEntry::Link(target) => *target = self.text(target),
            TreeEntry::Folder => {}
        }
    }

    /// A text with every address in it replaced.
    fn text(&mut self, text: &str) -> String {
        let is_part = |letter: char| letter.is_ascii_alphanumeric() || matches!(letter, '.' | ':');
        let mut masked = String::with_capacity(text.len());
        let mut rest = text;
        while let Some(start) = rest.find(is_part) {
            let length = rest[start..].find(|letter| !is_part(letter));
            let end = length.map_or(rest.len(), |length| start + length);
            masked.push_str(&rest[..start]);
            let word = &rest[start..end];
            // An address may end a sentence; `fe80::` is one.
            let bare = if word.ends_with("::") { word } else { word.trim_end_matches(['.', ':']) };
            let (word, mark) = word.split_at(bare.len());
            match self.word(word) {
                Some(other) => masked.push_str(&other),
                None => masked.push_str(word),
            }
            masked.push_str(mark);
            rest = &rest[end..];
        }
        masked + rest
    }

    /// The stand-in of a word; none: it is no address.
    fn word(&mut self, word: &str) -> Option<String> {
        if let Some((kind, digits)) = named_after_address(word) {
            let pairs = digits.as_bytes().chunks(2).map(|pair| String::from_utf8_lossy(pair));
            let address = pairs.collect::<Vec<_>>().join(":");
            return Some(format!("{kind}{}", self.hardware(&address).replace(':', "")));
        }
        // As in `docker-0123....scope`.
        if word.split('.').any(is_identifier) {
            let masked = |part: &str| if is_identifier(part) { zeroes(part) } else { part.into() };
            return Some(word.split('.').map(masked).collect::<Vec<_>>().join("."));
        }
        if word.split(':').all(|octet| is_hexadecimal(octet, 2)) {
            match word.split(':').count() {
                6 => return Some(self.hardware(word)),
                // Of tunnels and of InfiniBand; 8 may be an address of IPv6.
                4 | 16 | 20 => return Some(zeroes(word)),
                _ => {}
            }
        }
        if let Some((address, port)) = word.split_once(':') {
            // As tables of sockets below /proc/net have it.
            let is_socket = is_hexadecimal(address, 8) || is_hexadecimal(address, 32);
            if is_socket && is_hexadecimal(port, 4) {
                return Some(format!("{}:{port}", "0".repeat(address.len())));
            }
        }
        let address: IpAddr = word.parse().ok()?;
        let other = self.address(address);
        // `0::` of control groups is an address too, and stays as it is written.
        (other != address).then(|| other.to_string())
    }

    fn hardware(&mut self, address: &str) -> String {
        let unmasked = ["00:00:00:00:00:00", "ff:ff:ff:ff:ff:ff"];
        let address = address.to_lowercase();
        if unmasked.contains(&address.as_str()) {
            return address;
        }
        let next = u32::try_from(self.hardware.len()).unwrap_or(u32::MAX).saturating_add(1);
        let number = *self.hardware.entry(address).or_insert(next);
        let [first, second, third, fourth] = number.to_be_bytes();
        format!("02:00:{first:02x}:{second:02x}:{third:02x}:{fourth:02x}")
    }

    fn address(&mut self, address: IpAddr) -> IpAddr {
        let is_common = |address: Ipv4Addr| address.is_broadcast() || address.octets()[0] == 0;
        let keeps = match address {
            IpAddr::V4(address) => is_common(address),
            IpAddr::V6(_) => false,
        };
        if keeps || address.is_loopback() || address.is_unspecified() || address.is_multicast() {
            return address;
        }
        let alike = |other: &&IpAddr| other.is_ipv4() == address.is_ipv4();
        let number = self.addresses.keys().filter(alike).count() + 1;
        let number = u32::try_from(number).unwrap_or(u32::MAX);
        *self.addresses.entry(address).or_insert_with(|| match address {
            IpAddr::V4(_) => version_four(number).into(),
            IpAddr::V6(address) => version_six(address, number).into(),
        })
    }
}

/// The kind and the address of an interface that has its name from them: `enx` for Ethernet, `wlx`
/// for Wi-Fi and so on (systemd.net-naming-scheme(7)); 12 digits of their own are one too.
fn named_after_address(word: &str) -> Option<(&str, &str)> {
    let (kind, digits) = word.split_at_checked(word.len().checked_sub(12)?)?;
    let is_alphabetic = |byte: u8| byte.is_ascii_alphabetic();
    let is_kind = match kind.len() {
        // Without a letter it is a number.
        0 => digits.bytes().any(is_alphabetic),
        3 => kind.bytes().all(is_alphabetic),
        _ => false,
    };
    (is_kind && is_hexadecimal(digits, 12)).then_some((kind, digits))
}

/// The time at which a host was started is as good as a name.
fn without_boot_time(stat: &str) -> String {
    let lines = stat.lines().map(|line| if line.starts_with("btime ") { "btime 0" } else { line });
    lines.flat_map(|line| [line, "\n"]).collect()
}

/// TEST-NET-2, and what is set aside for benchmarks (RFC 2544) where that is full.
fn version_four(number: u32) -> Ipv4Addr {
    match u8::try_from(number) {
        Ok(last) if last < 255 => Ipv4Addr::new(198, 51, 100, last),
        _ => Ipv4Addr::from_bits(Ipv4Addr::new(198, 18, 0, 0).to_bits() | (number & 0x1_ffff)),
    }
}

/// An address of the link stays one.
fn version_six(address: Ipv6Addr, number: u32) -> Ipv6Addr {
    let first: u32 = if address.is_unicast_link_local() { 0xfe80_0000 } else { 0x2001_0db8 };
    Ipv6Addr::from_bits(u128::from(first) << 96 | u128::from(number))
}

fn is_identifier(text: &str) -> bool {
    text.len() >= IDENTIFIER_LETTERS && is_hexadecimal(text, text.len())
}

/// Replaces every character but colons by `0`.
fn zeroes(text: &str) -> String {
    text.chars().map(|letter| if letter == ':' { ':' } else { '0' }).collect()
}

fn is_hexadecimal(text: &str, letters: usize) -> bool {
    text.len() == letters && text.bytes().all(|byte| byte.is_ascii_hexdigit())
}

const HOST: &str = "host-1";
const BOOT: &[u8] = b"00000000-0000-4000-8000-000000000001\n";
/// Names of containers in control groups are at least as long.
const IDENTIFIER_LETTERS: usize = 32;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_has_the_same_stand_in_everywhere() {
        let mut mask = Mask::default();
        let text = "inet 10.1.2.3/24 via 10.1.2.1. Again 10.1.2.3; lo 127.0.0.1 and ::1\n";
        let masked =
            "inet 198.51.100.1/24 via 198.51.100.2. Again 198.51.100.1; lo 127.0.0.1 and ::1\n";
        assert_eq!(mask.text(text), masked);
        assert_eq!(mask.text("fe80::a8b/64 2a00:1450::5"), "fe80::1/64 2001:db8::2");
        assert_eq!(mask.text("AC:DE:48:00:11:22\n"), "02:00:00:00:00:01\n");
        assert_eq!(mask.text("sys/class/net/enxacde48001122"), "sys/class/net/enx020000000001");
        assert_eq!(mask.text("wlxacde48001122 br-acde48001122"), "wlx020000000001 br-020000000001");
        assert_eq!(mask.text("c0:a8:01:05 12:34:56"), "00:00:00:00 12:34:56");
        let scope = |letter: &str| format!("/docker-{}.scope", letter.repeat(64));
        assert_eq!(mask.text(&scope("d")), scope("0"));
        assert_eq!(mask.text("0100007F:1F90"), "00000000:1F90");
    }

    #[test]
    fn what_only_looks_like_an_address_stays() {
        let text =
            "00:00:00:00:00:00 0000:00:03.0 6.18.44 12:34:56 default 0.0.0.0/0 0::/ 1-edge \u{fc}";
        assert_eq!(Mask::default().text(text), text);
    }

    #[test]
    fn stand_ins_do_not_run_out() {
        let all: std::collections::BTreeSet<_> = (1..=100_000).map(version_four).collect();
        assert_eq!(all.len(), 100_000);
    }
}
