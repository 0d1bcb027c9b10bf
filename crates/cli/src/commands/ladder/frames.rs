//! The lowest rung that is measured: frames that leave this host below the sockets.

use std::net::IpAddr;
use std::sync::atomic::AtomicBool;

use campaign::Results;
use linux::event::StopSignals;
use measurement::packets::PacketsRecord;
use measurement::{Role, TestRecord};
use packets::{FrameSizes, ReceiveWith, SendWith, Setup, TrialPlan};

use crate::commands::packets::{cpus, layout, owned, watched};
use crate::flags::{LadderFlags, LinkFlags};

/// Sends frames to the server for the time of a test, after the tests, which know the way.
///
/// # Errors
/// The reason for which there are none.
pub(super) fn measure(
    flags: &LadderFlags,
    results: &Results,
    interrupts: &StopSignals,
) -> Result<PacketsRecord, String> {
    if flags.receive {
        return Err("they leave from here, without -R".to_owned());
    }
    let record = results.records.records.first().ok_or("there was no test")?;
    let server = server(record).ok_or("the address of the server is not known")?;
    if results.error.is_some() || interrupts.arrived() {
        return Err("the tests did not end".to_owned());
    }
    let name = interface(record).ok_or("the interface is not known")?;
    let sent = send(flags, name, server, interrupts);
    sent.map_err(|error| format!("{error:#}"))
}

fn server(record: &TestRecord) -> Option<IpAddr> {
    Some(record.peer.as_ref()?.address.ip())
}

/// The interface of this host that carried a test.
fn interface(record: &TestRecord) -> Option<&str> {
    let own = record.hosts.iter().find(|host| host.role == Role::Here)?;
    own.interfaces.first().map(String::as_str)
}

fn send(
    flags: &LadderFlags,
    name: &str,
    server: IpAddr,
    interrupts: &StopSignals,
) -> anyhow::Result<PacketsRecord> {
    if server.is_ipv6() {
        anyhow::bail!("the Ethernet address of {server} is not asked for, as it is of IPv6");
    }
    let from = owned(name, flags.i_own_this_link)?;
    let link = LinkFlags::default();
    let size = (from.mtu as usize + ETHERNET).min(LONGEST);
    let setup = Setup {
        from,
        to: None,
        send: SendWith::Best,
        receive: ReceiveWith::Best,
        queues: link.queues,
        cpus: cpus(&link),
    };
    let layout = layout(&link, None, &setup, &FrameSizes::one(size), server)?;
    let plan = TrialPlan { rate: None, duration: flags.time, frames: None };
    let stop = AtomicBool::new(false);
    let sent = watched(flags.output.quiet, interrupts, &stop, |live| {
        packets::record(&setup, &layout, &plan, live, &stop)
    });
    Ok(sent?)
}

/// Bytes of an Ethernet header and of the frame check sequence.
const ETHERNET: usize = 18;
/// The longest frame that every Ethernet carries (IEEE 802.3).
const LONGEST: usize = 1518;
