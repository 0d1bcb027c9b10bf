//! `linerate demo --dut`: a device of its own between two ports, and what `linerate dut` finds.

use std::process::{Child, Command, ExitCode};

use anyhow::{Context, bail};
use lab::{Access, Device, DeviceKind, PORT_A, PORT_B, Rate, Shape};

use super::this_program;
use crate::exit;
use crate::flags::{DemoDevice, DemoFlags};
use crate::output;

/// Measures a device. The tester has the first CPU, and a program that forwards another one.
pub(super) fn run(
    access: &Access,
    device: DemoDevice,
    flags: &DemoFlags,
) -> anyhow::Result<ExitCode> {
    if let Access::Forbidden { reason } = access {
        bail!("no device can be made here: {reason}");
    }
    let cpus = linux::host::allowed_cpus().unwrap_or_default();
    let (tester, other) = (cpus.first().copied().unwrap_or(0), cpus.get(1).copied());
    let made = Device::create(kind(device, flags), other).context("no device")?;
    let command = flags.device_command.as_deref();
    let _forwarder = command.map(|command| start(&made, command)).transpose()?;
    let ports = format!("--port-a {PORT_A} --port-b {PORT_B}");
    let mut words = vec![format!("dut {ports} --sizes {} --cpus {tester},{tester}", flags.sizes)];
    words.extend(made.gateway().map(|gateway| format!("--gateway {gateway}")));
    words.extend(made.gateway_b().map(|gateway| format!("--gateway-b {gateway}")));
    if let Some(format) = flags.format.chosen() {
        words.push(format!("--format {}", format.name()));
    } else {
        let text = format!("{}\n\n  linerate {}\n\n", told(device, flags), words.join(" "));
        output::print_text(text.as_bytes())?;
    }
    words.extend(flags.quiet.then(|| "--quiet".to_owned()));
    let arguments = words.join(" ");
    let mut command = made.command(this_program()?);
    let status = command.args(arguments.split(' ')).status().context("cannot run linerate dut")?;
    Ok(ExitCode::from(status.code().and_then(|code| code.try_into().ok()).unwrap_or(exit::FAILED)))
}

fn kind(device: DemoDevice, flags: &DemoFlags) -> DeviceKind {
    let rate = Rate::from_bits_per_second(flags.link_rate.bits_per_second());
    match device {
        _ if flags.device_command.is_some() => DeviceKind::None,
        DemoDevice::Bridge => DeviceKind::Bridge,
        DemoDevice::Router => DeviceKind::Router { rules: flags.rules },
        DemoDevice::Nat => DeviceKind::Nat,
        DemoDevice::Shaper => {
            rate.map_or(DeviceKind::Bridge, |rate| DeviceKind::Shaper(Shape::with_rate(rate)))
        }
        DemoDevice::Xdp => DeviceKind::Xdp,
        DemoDevice::Slow => DeviceKind::Slow { cost: flags.cost },
    }
}

/// The device between the ports, in a sentence.
fn told(device: DemoDevice, flags: &DemoFlags) -> String {
    if let Some(command) = &flags.device_command {
        return format!("The device: {command}");
    }
    match device {
        DemoDevice::Bridge => "The device: a bridge of the kernel.".to_owned(),
        DemoDevice::Router if flags.rules > 0 => {
            format!("The device: a router with {} rules of nftables.", flags.rules)
        }
        DemoDevice::Router => "The device: a router.".to_owned(),
        DemoDevice::Nat => "The device: a router with NAT towards port B.".to_owned(),
        DemoDevice::Shaper => format!("The device: a router that shapes to {}.", flags.link_rate),
        DemoDevice::Xdp => "The device: a program of XDP, from port A to port B.".to_owned(),
        DemoDevice::Slow => {
            let rate = 1.0 / flags.cost.as_secs_f64().max(1e-9);
            format!(
                "The device: a program that takes {:.0} us for a frame, so that {:.1} k/s pass.",
                flags.cost.as_secs_f64() * 1e6,
                rate / 1e3
            )
        }
    }
}

/// A forwarder in the namespace of the device, which ends with this.
struct Forwarder(Child);

impl Drop for Forwarder {
    fn drop(&mut self) {
        // It may have ended by itself.
        _ = self.0.kill();
        _ = self.0.wait();
    }
}

fn start(made: &Device, command: &str) -> anyhow::Result<Forwarder> {
    let mut shell: Command = made.device_command("sh");
    linux::process::end_with_this_thread(&mut shell);
    let child = shell.arg("-c").arg(format!("exec {command}")).spawn().context("cannot run sh")?;
    Ok(Forwarder(child))
}
