//! Settings of a network device that ethtool(8) reads and sets as one value: coalescing, pause
//! frames, Energy-Efficient Ethernet. Rings, channels, features and link modes have files of their
//! own.

use std::io;

use linux::netlink::ethtool::{Coalescing as Held, Ethtool, Pause};
use measurement::remedy::{Coalescing, Setting, Side, Switch};

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// A setting of a device.
#[derive(Debug)]
pub(super) struct Device {
    interface: String,
    kind: Kind,
}

/// The setting and its new value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// Interrupt coalescing.
    Coalescing(Coalescing),
    /// Pause frames of one direction.
    Pause(Side, Switch),
    /// Energy-Efficient Ethernet.
    Eee(Switch),
}

impl Device {
    pub(super) fn new(interface: &str, kind: Kind) -> Self {
        Self { interface: interface.to_owned(), kind }
    }

    fn what(&self) -> String {
        let name = match self.kind {
            Kind::Coalescing(parameter) => parameter.name(),
            Kind::Pause(Side::Rx, _) => "obedience to pause frames",
            Kind::Pause(Side::Tx, _) => "sending of pause frames",
            Kind::Eee(_) => "Energy-Efficient Ethernet",
        };
        format!("{name} of {}", self.interface)
    }

    /// The setting as a command, with the value that another kind has.
    fn command(&self, kind: Kind) -> String {
        let interface = self.interface.clone();
        let setting = match kind {
            Kind::Coalescing(parameter) => Setting::Coalescing { interface, parameter },
            Kind::Pause(side, state) => Setting::PauseFrames { interface, side, state },
            Kind::Eee(state) => Setting::Eee { interface, state },
        };
        setting.to_string()
    }

    fn read_kind(&self, ethtool: &mut Ethtool, index: u32) -> io::Result<Option<Kind>> {
        Ok(match self.kind {
            Kind::Coalescing(parameter) => {
                coalescing(parameter, &ethtool.coalescing(index)?).map(Kind::Coalescing)
            }
            Kind::Pause(side, _) => {
                let pause = ethtool.pause(index)?;
                let is_on = if side == Side::Rx { pause.receive } else { pause.send };
                is_on.map(|is_on| Kind::Pause(side, is_on.into()))
            }
            Kind::Eee(_) => {
                ethtool.energy_efficiency(index)?.enabled.map(|is_on| Kind::Eee(is_on.into()))
            }
        })
    }

    fn set(&self, kernel: &Kernel, kind: Kind) -> io::Result<()> {
        let index = kernel.interface_index(&self.interface)?;
        let mut ethtool = kernel.ethtool()?;
        match kind {
            Kind::Coalescing(parameter) => ethtool.set_coalescing(index, held(parameter)),
            Kind::Pause(side, state) => {
                let is_on = Some(state == Switch::On);
                let (receive, send) = if side == Side::Rx { (is_on, None) } else { (None, is_on) };
                ethtool.set_pause(index, Pause { negotiated: None, receive, send })
            }
            Kind::Eee(state) => ethtool.set_energy_efficiency(index, state == Switch::On),
        }
    }

    /// The kind with the value of a text.
    fn kind_of(&self, text: &str) -> Option<Kind> {
        Some(match self.kind {
            Kind::Coalescing(parameter) => Kind::Coalescing(parameter.with(text)?),
            Kind::Pause(side, _) => Kind::Pause(side, Switch::from_name(text)?),
            Kind::Eee(_) => Kind::Eee(Switch::from_name(text)?),
        })
    }
}

impl Adjustable for Device {
    fn targets(&self) -> Vec<String> {
        vec![self.what()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let reading = |source| Refusal::reading(self.what(), source);
        let index = kernel.interface_index(&self.interface).map_err(reading)?;
        let mut ethtool = kernel.ethtool().map_err(reading)?;
        let kind = self.read_kind(&mut ethtool, index).map_err(reading)?;
        let kind = kind.ok_or_else(|| Refusal::Absent { what: self.what() })?;
        Ok(Value::plain(text(kind)))
    }

    fn check(&self, kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        let reading = |source| Refusal::reading(self.what(), source);
        let index = kernel.interface_index(&self.interface).map_err(reading)?;
        let mut ethtool = kernel.ethtool().map_err(reading)?;
        let why = match self.kind {
            Kind::Coalescing(Coalescing::RxMicros(_) | Coalescing::RxFrames(_)) => {
                let adapts = ethtool.coalescing(index).map_err(reading)?.adaptive_receive;
                (adapts == Some(true)).then_some("adaptive-rx is on: switch it off first")
            }
            Kind::Coalescing(Coalescing::TxMicros(_) | Coalescing::TxFrames(_)) => {
                let adapts = ethtool.coalescing(index).map_err(reading)?.adaptive_send;
                (adapts == Some(true)).then_some("adaptive-tx is on: switch it off first")
            }
            _ => None,
        };
        match why {
            Some(why) => Err(Refusal::NotRestorable { why: why.to_owned() }),
            None => Ok(()),
        }
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        self.set(kernel, self.kind)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        let kind = self.kind_of(exact).ok_or(io::ErrorKind::InvalidData)?;
        self.set(kernel, kind)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == text(self.kind)
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        self.kind_of(exact).into_iter().map(|kind| self.command(kind)).collect()
    }

    fn risks(&self) -> &'static [Risk] {
        match self.kind {
            Kind::Coalescing(_) => &[],
            Kind::Pause(..) | Kind::Eee(_) => &[Risk::LinkReset],
        }
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["NetworkManager", "tuned"]
    }
}

fn text(kind: Kind) -> String {
    match kind {
        Kind::Coalescing(parameter) => parameter.value(),
        Kind::Pause(_, state) | Kind::Eee(state) => state.name().to_owned(),
    }
}

/// The parameter with the value that the device has.
fn coalescing(parameter: Coalescing, held: &Held) -> Option<Coalescing> {
    Some(match parameter {
        Coalescing::AdaptiveRx(_) => Coalescing::AdaptiveRx(held.adaptive_receive?.into()),
        Coalescing::AdaptiveTx(_) => Coalescing::AdaptiveTx(held.adaptive_send?.into()),
        Coalescing::RxMicros(_) => Coalescing::RxMicros(held.receive_micros?),
        Coalescing::RxFrames(_) => Coalescing::RxFrames(held.receive_frames?),
        Coalescing::TxMicros(_) => Coalescing::TxMicros(held.send_micros?),
        Coalescing::TxFrames(_) => Coalescing::TxFrames(held.send_frames?),
    })
}

/// The parameter alone, as it is set.
fn held(parameter: Coalescing) -> Held {
    let mut held = Held::default();
    match parameter {
        Coalescing::AdaptiveRx(state) => held.adaptive_receive = Some(state == Switch::On),
        Coalescing::AdaptiveTx(state) => held.adaptive_send = Some(state == Switch::On),
        Coalescing::RxMicros(micros) => held.receive_micros = Some(micros),
        Coalescing::RxFrames(frames) => held.receive_frames = Some(frames),
        Coalescing::TxMicros(micros) => held.send_micros = Some(micros),
        Coalescing::TxFrames(frames) => held.send_frames = Some(frames),
    }
    held
}
