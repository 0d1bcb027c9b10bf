//! One run on a link of its own.

use std::process::{Child, Stdio};
use std::thread;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use lab::{Link, LinkSpec};
use measurement::BitRate;

use super::super::process::cpu_time_of_children;
use super::capture::Capture;
use super::contender::Contender;
use super::figures::Figures;
use crate::command;

/// Lets `contender` send at `rate` and captures it.
pub(super) fn run(contender: &Contender, rate: BitRate, seconds: u32) -> Result<Figures> {
    let link = Link::create(&LinkSpec::default())?;
    let _server = Server::start(contender, &link.far)?;
    let capture = Capture::begin(&link.near, PORT)?;
    let before = cpu_time_of_children()?;
    send(contender, &link, rate, seconds)?;
    let cpu = cpu_time_of_children()?.saturating_sub(before);
    let times = capture.end(u32::from(LENGTH) + HEADERS)?;
    let gap = rate.time_for(LENGTH.into()).as_nanos() as f64;
    let figures = Figures::of(&times, gap).context("hardly a datagram was sent")?;
    Ok(Figures { cpu_percent: cpu.as_secs_f64() * 100.0 / f64::from(seconds), ..figures })
}

fn send(contender: &Contender, link: &Link, rate: BitRate, seconds: u32) -> Result<()> {
    let mut client = link.near.command(&contender.path);
    client.args(contender.client(&link.far.ipv4().to_string(), rate, seconds));
    let output = client.stdin(Stdio::null()).output().context("cannot start the client")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(command::has_measured(output.status), "{}", complaint.trim());
    Ok(())
}

/// Ends with this value.
struct Server(Child);

impl Server {
    fn start(contender: &Contender, host: &lab::Host) -> Result<Self> {
        let mut server = host.command(&contender.path);
        server.args(contender.server()).stdin(Stdio::null());
        let server = server.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let server = Self(server.context("cannot start the server")?);
        thread::sleep(GET_READY);
        Ok(server)
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        // It may have ended by itself; there is nobody left to tell.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

/// Payload of a datagram: with its headers it fits an Ethernet frame.
pub(super) const LENGTH: u16 = 1460;
/// Ethernet, IPv4 and UDP.
const HEADERS: u32 = 14 + 20 + 8;
/// Of every program.
const PORT: u16 = 5201;
const GET_READY: Duration = Duration::from_millis(300);
