//! The interface by which packets to an address leave, and its root qdisc.

use std::ffi::CStr;
use std::io;
use std::net::IpAddr;

use super::RouteSocket;
use super::address::{family, octets};
use super::kernel::{self, RouteMessage, TrafficControlMessage};
use super::message::{Message, attribute, u32_at};

impl RouteSocket {
    /// The index of the interface by which packets to `address` leave (`RTM_GETROUTE`).
    ///
    /// # Errors
    /// `ENETUNREACH` if there is no route.
    pub fn output_interface(&mut self, address: IpAddr) -> io::Result<u32> {
        let address = address.to_canonical();
        let answer = self.ask(route_request(address))?;
        egress(&answer).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// The kind of the root qdisc of the interface with the index `index`, e.g. `fq` (tc(8)).
    /// `None` if the kernel reports none, as for an interface that never was up.
    ///
    /// # Errors
    /// `ENODEV` if there is no such interface.
    pub fn root_qdisc(&mut self, index: u32) -> io::Result<Option<String>> {
        let index = i32::try_from(index).map_err(|_| io::ErrorKind::InvalidInput)?;
        let mut kind = None;
        self.exchange(discipline_request(index), |reply| kind = discipline(reply.payload))?;
        Ok(kind)
    }
}

fn route_request(address: IpAddr) -> Message {
    let destination_length = if address.is_ipv4() { 32 } else { 128 };
    let route = RouteMessage { family: family(address), destination_length };
    Message::new(libc::RTM_GETROUTE, 0, &route.encode())
        .attribute(kernel::RTA_DST, &octets(address))
}

fn egress(answer: &[u8]) -> Option<u32> {
    u32_at(attribute(answer.get(RouteMessage::BYTES..)?, kernel::RTA_OIF)?, 0..4)
}

fn discipline_request(index: i32) -> Message {
    let body = TrafficControlMessage { index, parent: kernel::TC_H_ROOT };
    // The kernel tells it as it tells of a change: to all that listen, and to the one that
    // asks only with this flag (net/sched/sch_api.c).
    Message::new(libc::RTM_GETQDISC, kernel::NLM_F_ECHO, &body.encode())
}

fn discipline(answer: &[u8]) -> Option<String> {
    let kind = attribute(answer.get(TrafficControlMessage::BYTES..)?, kernel::TCA_KIND)?;
    Some(CStr::from_bytes_until_nul(kind).ok()?.to_string_lossy().into_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_goes_to_this_host_leaves_by_loopback() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let loopback = route.interface_index("lo").expect("loopback is there");
        let here = IpAddr::from([127, 0, 0, 1]);
        assert_eq!(route.output_interface(here).expect("a route"), loopback);
        let mapped = "::ffff:127.0.0.1".parse().expect("an address");
        assert_eq!(route.output_interface(mapped).expect("a route"), loopback);
    }

    #[test]
    fn an_interface_has_a_discipline_and_a_number_without_one_none() {
        let mut route = RouteSocket::open().expect("netlink is there");
        let loopback = route.interface_index("lo").expect("loopback is there");
        assert_eq!(route.root_qdisc(loopback).expect("asked").as_deref(), Some("noqueue"));
        let error = route.root_qdisc(0x7fff_fff0).expect_err("no such interface");
        assert_eq!(error.raw_os_error(), Some(libc::ENODEV));
    }

    #[test]
    fn an_answer_that_ends_early_tells_nothing() {
        let answer = discipline_request(1).attribute(kernel::TCA_KIND, b"fq\0").finish(0);
        let answer = &answer[super::super::message::HEADER_BYTES..];
        assert_eq!(discipline(answer).as_deref(), Some("fq"));
        assert_eq!(discipline(&answer[..TrafficControlMessage::BYTES + 3]), None);
        assert_eq!(egress(&[0; 3]), None);
    }
}
