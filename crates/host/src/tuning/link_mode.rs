//! Speed and duplex of a link: negotiated, or fixed (`ethtool -s`). The other end is not changed,
//! and has to be fixed, too, where this one is.

use std::io;

use linux::netlink::ethtool::{Duplex, LinkModes, LinkRequest};
use measurement::remedy::{DuplexMode, Setting, Switch};

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// An interface and how its speed is to be found.
#[derive(Debug)]
pub(super) struct LinkMode {
    interface: String,
    wanted: Wanted,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Wanted {
    Negotiated(Switch),
    Fixed(u32, DuplexMode),
}

impl LinkMode {
    /// Autonegotiation on or off; off keeps the present speed.
    pub(super) fn negotiated(interface: &str, state: Switch) -> Self {
        Self { interface: interface.to_owned(), wanted: Wanted::Negotiated(state) }
    }

    /// A fixed speed, without autonegotiation.
    pub(super) fn fixed(interface: &str, mbps: u32, duplex: DuplexMode) -> Self {
        Self { interface: interface.to_owned(), wanted: Wanted::Fixed(mbps, duplex) }
    }

    fn set(&self, kernel: &Kernel, request: &LinkRequest<'_>) -> io::Result<()> {
        let index = kernel.interface_index(&self.interface)?;
        kernel.ethtool()?.set_link(index, request)
    }
}

impl Adjustable for LinkMode {
    fn targets(&self) -> Vec<String> {
        vec![format!("speed of {}", self.interface)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let reading = |source| Refusal::reading(format!("speed of {}", self.interface), source);
        let index = kernel.interface_index(&self.interface).map_err(reading)?;
        let mut ethtool = kernel.ethtool().map_err(reading)?;
        let modes = ethtool.link_modes(index).map_err(reading)?;
        let advertised = ethtool.advertised_modes(index).map_err(reading)?;
        Ok(Value { exact: State::of(&modes, advertised).to_string(), shown: shown(&modes) })
    }

    fn check(&self, _kernel: &Kernel, before: &Value) -> Result<(), Refusal> {
        let state = State::read(&before.exact);
        if state.is_negotiated || (state.speed_mbps.is_some() && state.duplex.is_some()) {
            return Ok(());
        }
        let why = "the speed is not known: the link is down".to_owned();
        Err(Refusal::NotRestorable { why })
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        let (negotiated, speed_mbps, duplex) = match self.wanted {
            Wanted::Negotiated(state) => (state == Switch::On, None, None),
            Wanted::Fixed(mbps, duplex) => (false, Some(mbps), Some(kernel_duplex(duplex))),
        };
        self.set(kernel, &LinkRequest { negotiated, speed_mbps, duplex, advertised: None })
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        let state = State::read(exact);
        let advertised: Vec<_> = state.advertised.iter().map(String::as_str).collect();
        self.set(
            kernel,
            &LinkRequest {
                negotiated: state.is_negotiated,
                speed_mbps: state.speed_mbps,
                duplex: state.duplex.map(kernel_duplex),
                advertised: (!advertised.is_empty()).then_some(&advertised),
            },
        )
    }

    fn is_set(&self, shown: &str) -> bool {
        match self.wanted {
            Wanted::Negotiated(Switch::On) => shown == NEGOTIATED,
            Wanted::Negotiated(Switch::Off) => shown != NEGOTIATED,
            Wanted::Fixed(mbps, duplex) => shown == fixed(mbps, duplex),
        }
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let (state, interface) = (State::read(exact), self.interface.clone());
        let setting = match (state.is_negotiated, state.speed_mbps, state.duplex) {
            (false, Some(mbps), Some(duplex)) => Setting::FixedSpeed { interface, mbps, duplex },
            _ => Setting::Autonegotiation { interface, state: state.is_negotiated.into() },
        };
        vec![setting.to_string()]
    }

    fn exact_of(&self, shown: &str) -> Option<String> {
        matches!(shown, "on" | "off").then(|| format!("autoneg={shown}"))
    }

    fn risks(&self) -> &'static [Risk] {
        &[Risk::LinkReset, Risk::CutsConnection]
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["NetworkManager", "systemd-networkd"]
    }
}

/// How the speed is found. What is negotiated at the moment is no part of it.
struct State {
    is_negotiated: bool,
    speed_mbps: Option<u32>,
    duplex: Option<DuplexMode>,
    advertised: Vec<String>,
}

impl State {
    fn of(modes: &LinkModes, advertised: Vec<String>) -> Self {
        let is_negotiated = modes.negotiated == Some(true);
        let fixed = !is_negotiated;
        Self {
            is_negotiated,
            speed_mbps: modes.speed_mbps.filter(|_| fixed),
            duplex: modes.duplex.filter(|_| fixed).map(|duplex| match duplex {
                Duplex::Half => DuplexMode::Half,
                Duplex::Full => DuplexMode::Full,
            }),
            advertised,
        }
    }

    fn read(exact: &str) -> Self {
        let value = |name: &str| {
            exact.split(' ').find_map(|word| word.split_once('=').filter(|(key, _)| *key == name))
        };
        let value = |name: &str| value(name).map(|(_, value)| value);
        Self {
            is_negotiated: value("autoneg") == Some("on"),
            speed_mbps: value("speed").and_then(|speed| speed.parse().ok()),
            duplex: value("duplex").and_then(DuplexMode::from_name),
            advertised: value("modes")
                .map(|modes| modes.split(',').map(str::to_owned).collect())
                .unwrap_or_default(),
        }
    }
}

impl std::fmt::Display for State {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "autoneg={}", Switch::from(self.is_negotiated).name())?;
        if let Some(speed) = self.speed_mbps {
            write!(f, " speed={speed}")?;
        }
        if let Some(duplex) = self.duplex {
            write!(f, " duplex={}", duplex.name())?;
        }
        if !self.advertised.is_empty() {
            write!(f, " modes={}", self.advertised.join(","))?;
        }
        Ok(())
    }
}

fn shown(modes: &LinkModes) -> String {
    let state = State::of(modes, Vec::new());
    match (state.is_negotiated, state.speed_mbps, state.duplex) {
        (true, ..) => NEGOTIATED.to_owned(),
        (false, Some(mbps), Some(duplex)) => fixed(mbps, duplex),
        (false, ..) => "not negotiated, no link".to_owned(),
    }
}

fn fixed(mbps: u32, duplex: DuplexMode) -> String {
    format!("{mbps} Mbit/s, {} duplex, not negotiated", duplex.name())
}

const fn kernel_duplex(duplex: DuplexMode) -> Duplex {
    match duplex {
        DuplexMode::Half => Duplex::Half,
        DuplexMode::Full => Duplex::Full,
    }
}

const NEGOTIATED: &str = "negotiated";
