//! Parses the IPv4 routes of `/proc/net/route` (proc(5)), for a captured tree (a copy of a host's
//! `/proc` and `/sys`) that lacks the kernel's answers by netlink.

use std::net::Ipv4Addr;

use measurement::host::Route;

/// Parses the text of `/proc/net/route` (proc(5)). Addresses are hexadecimal numbers in the byte
/// order of the host, given by `little_endian`. Malformed lines and routes that are down are left
/// out.
pub fn routes(text: &str, little_endian: bool) -> Vec<Route> {
    text.lines().skip(1).filter_map(|line| route(line, little_endian)).collect()
}

fn route(line: &str, little_endian: bool) -> Option<Route> {
    let fields: Vec<&str> = line.split_whitespace().collect();
    let [interface, to, via, flags, _, _, _, mask, mtu, ..] = fields[..] else { return None };
    let address = |text: &str| {
        let number = u32::from_str_radix(text, 16).ok()?;
        Some(Ipv4Addr::from(if little_endian { number.swap_bytes() } else { number }))
    };
    let is_up = u32::from_str_radix(flags, 16).ok()? & RTF_UP != 0;
    let (to, via) = (address(to)?, address(via)?);
    let prefix_length = address(mask)?.to_bits().count_ones();
    is_up.then(|| Route {
        to: if prefix_length == 0 { "default".to_owned() } else { format!("{to}/{prefix_length}") },
        via: (!via.is_unspecified()).then(|| via.to_string()),
        interface: interface.to_owned(),
        mtu: mtu.parse().ok().filter(|mtu| *mtu > 0),
    })
}

/// linux/route.h
const RTF_UP: u32 = 1;

#[cfg(test)]
mod tests {
    use super::*;

    const HEAD: &str =
        "Iface\tDestination\tGateway\tFlags\tRefCnt\tUse\tMetric\tMask\tMTU\tWindow\tIRTT\n";

    #[test]
    fn addresses_are_numbers_of_the_host() {
        let text = format!(
            "{HEAD}eth0\t00000000\t0100000A\t0003\t0\t0\t0\t00000000\t0\t0\t0\n\
             eth0\t0000000A\t00000000\t0001\t0\t0\t0\t000000FF\t1400\t0\t0\nx\n"
        );
        let routes = routes(&text, true);
        assert_eq!(
            (routes[0].to.as_str(), routes[0].via.as_deref()),
            ("default", Some("10.0.0.1"))
        );
        assert_eq!((routes[1].to.as_str(), routes[1].mtu), ("10.0.0.0/8", Some(1400)));
        assert_eq!(routes.len(), 2);
    }

    #[test]
    fn a_host_of_the_other_byte_order_writes_them_the_other_way() {
        let text = format!("{HEAD}eth0\t0A000000\t00000000\t0001\t0\t0\t0\tFF000000\t0\t0\t0\n");
        assert_eq!(routes(&text, false)[0].to, "10.0.0.0/8");
    }
}
