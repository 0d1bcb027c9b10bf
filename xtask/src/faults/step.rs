//! What can be done to a link, to its hosts or to the programs on them.

use std::time::Duration;

use anyhow::{Context, Result};
use lab::{Delivery, DeliveryCurve, Impairment, Rate};
use serde::{Deserialize, Serialize};

use super::scenario::once;
use crate::hosts::plant::Class;

/// One change.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", rename_all_fields = "kebab-case", deny_unknown_fields)]
pub(crate) enum Step {
    /// A queueing discipline at the root of an interface, in words of tc(8) that follow `root`,
    /// and a class of it, in words that follow the interface.
    Queue {
        at: At,
        words: String,
        #[serde(skip_serializing_if = "Option::is_none")]
        class: Option<String>,
    },
    /// A setting of a host's network, below `/proc/sys/net`.
    Sysctl { at: At, name: String, value: String },
    /// The largest packet of both ends, in bytes.
    Mtu { bytes: u32 },
    /// The largest packet of one interface, in bytes, which its peer is not told.
    InterfaceMtu { at: At, bytes: u32 },
    /// Offloads as `ethtool -K` has them: `tso off gso off`.
    Offloads { at: At, words: String },
    /// Rules of one table in words of iptables(8), all of them so many times.
    Firewall {
        at: At,
        #[serde(default, skip_serializing_if = "is_default")]
        table: Table,
        rules: Vec<String>,
        #[serde(default = "once", skip_serializing_if = "is_once")]
        times: u32,
    },
    /// A policer at the ingress hook of an interface, ahead of IP (nft(8), family netdev).
    Police { at: At, kbytes: u64, burst_kbytes: u64 },
    /// A control group with so many hundredths of a CPU.
    Quota { at: End, percent: u32 },
    /// The program runs on this CPU alone.
    Pin { at: End, cpu: u32 },
    /// A loop that leaves this CPU to nobody.
    Hog {
        cpu: u32,
        #[serde(default, skip_serializing_if = "is_default")]
        class: Class,
    },
    /// Two loops for each CPU, wherever they run.
    Crowd {},
    /// A real-time loop on each CPU that takes so many hundredths of each millisecond.
    Slower { percent: u32 },
    /// Whatever a shell can do to a host, in words of sh(1) in which `$0` is the interface and `$1`
    /// the number of the server's process, once that runs.
    Shell { at: At, words: String },
    /// The program stands behind these words, which run it: `nice -n 19`.
    Behind { at: End, words: String },
    /// The program is run by a user without privileges.
    Unprivileged { at: End },
    /// The program sees `/sys` as `ip netns exec` shows it: without control groups.
    IpNetns { at: End },
    /// The program stands still again and again.
    Stop { at: End, run_ms: u64, stop_ms: u64 },
    /// Each of these system calls takes so much longer (strace(1)).
    Slow { at: End, calls: String, micros: u32 },
    /// The server is killed.
    Kill {},
    /// A step that is taken when the command has run for so long.
    Later { after_ms: u64, step: Box<Self> },
    /// Packets that arrive are handled by these CPUs (a mask as `rps_cpus` has it).
    Steer { at: End, mask: String },
    /// What the relay does to frames; the last one that is told counts.
    Relay(Cable),
    /// Another test over the same link, with a server of its own, in words of `linerate test`.
    Traffic { words: String },
    /// Another test with the same server, in words of `linerate test`.
    Company { words: String },
    /// More words for `linerate test`; the last ones that are told count.
    Words(String),
    /// A linerate on the router, and `--observe` for the client.
    Observe {},
}

/// Which host, and there which interface.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum At {
    Client,
    Server,
    Both,
    /// The router's interface towards the server.
    Router,
    /// The router's interface towards the client.
    RouterNear,
}

/// Which of the two that measure.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum End {
    Client,
    Server,
}

impl From<End> for At {
    fn from(end: End) -> Self {
        match end {
            End::Client => Self::Client,
            End::Server => Self::Server,
        }
    }
}

/// Table of iptables(8).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Table {
    #[default]
    Filter,
    /// Ahead of connection tracking and routing.
    Raw,
}

/// The frames that a relay impairs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Way {
    /// From the client to the server.
    #[default]
    There,
    /// From the server to the client.
    Back,
}

/// What a relay does to frames; shares are from 0 to 1.
#[derive(Clone, Debug, Default, Deserialize, Serialize)]
#[serde(rename_all = "kebab-case", default, deny_unknown_fields)]
pub(crate) struct Cable {
    pub(super) delay_ms: u64,
    /// To the frames of one way only, as are the next three.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) loss: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) reorder: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) held_ms: u64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) duplicate: f64,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) way: Way,
    /// In each direction.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) rate_mbps: Option<u64>,
    #[serde(skip_serializing_if = "is_default")]
    pub(super) queue_ms: u64,
    /// Mbit/s of frames that are offered, and that are delivered of them, of one way only.
    #[serde(skip_serializing_if = "is_default")]
    pub(super) delivery: Vec<[f64; 2]>,
}

impl Cable {
    /// What happens to frames from client to server, and back.
    pub(super) fn impairments(&self) -> Result<(Impairment, Impairment)> {
        let rate = self.rate_mbps.map(|mbps| Rate::from_bits_per_second(mbps * 1_000_000));
        let plain = Impairment {
            delay: Duration::from_millis(self.delay_ms),
            rate: rate.map(|rate| rate.context("a rate above zero")).transpose()?,
            queue_limit: Duration::from_millis(self.queue_ms),
            ..Impairment::default()
        };
        let impaired = Impairment {
            loss: self.loss,
            reorder: self.reorder,
            reorder_delay: Duration::from_millis(self.held_ms),
            duplicate: self.duplicate,
            delivery: self.curve()?,
            ..plain
        };
        Ok(match self.way {
            Way::There => (impaired, plain),
            Way::Back => (plain, impaired),
        })
    }

    /// None: all is delivered.
    fn curve(&self) -> Result<Option<DeliveryCurve>> {
        if self.delivery.is_empty() {
            return Ok(None);
        }
        let points = self.delivery.iter().map(|[offered, delivered]| {
            Ok(Delivery { offered: rate(*offered)?, delivered: rate(*delivered)? })
        });
        let points = points.collect::<Result<Vec<_>>>()?;
        DeliveryCurve::new(&points).context("the offered rates do not ascend").map(Some)
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
fn rate(mbps: f64) -> Result<Rate> {
    Rate::from_bits_per_second((mbps * 1e6).round() as u64).context("a rate above zero")
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes a reference")]
fn is_once(times: &u32) -> bool {
    *times == once()
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

#[cfg(test)]
mod tests {
    use super::super::scenario::Scenario;
    use super::*;

    #[test]
    fn a_board_delivers_what_iperf3_printed_of_it() {
        let file = include_str!("../proof/knee/board-receives.toml");
        let scenario: Scenario = toml::from_str(file).expect("a scenario");
        let [Step::Relay(cable)] = &scenario.base[..] else { panic!("no relay alone") };
        // Datagrams of 1,448 bytes, in frames of 42 more.
        let payload = |[_, delivered]: [f64; 2]| delivered * 1_448.0 / 1_490.0;
        for (point, printed) in [(0, 128.0), (2, 183.0)] {
            let told = payload(cable.delivery[point]);
            assert!((told / printed - 1.0_f64).abs() < 0.003, "{told} {printed}");
        }
        assert!(cable.impairments().is_ok());
    }
}
