//! A service that changes settings behind the back of a measurement, stopped and started again
//! (systemctl(1)). It starts again at the next boot by itself: nothing is disabled.

use std::io;
use std::process::{Command, Stdio};

use measurement::remedy::Setting;

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// A service that is to be stopped.
#[derive(Debug)]
pub(super) struct StoppedService {
    service: String,
}

impl StoppedService {
    /// Only services that write settings of the catalogue are stopped.
    pub(super) fn new(service: &str) -> Result<Self, Refusal> {
        if !SERVICES.contains(&service) {
            return Err(Refusal::NotListed);
        }
        Ok(Self { service: service.to_owned() })
    }
}

impl Adjustable for StoppedService {
    fn targets(&self) -> Vec<String> {
        vec![format!("service {}", self.service)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let reading = |source| Refusal::reading("systemctl", source);
        if !kernel.is_live() {
            return Err(Refusal::Absent { what: "systemctl".to_owned() });
        }
        let output = systemctl().args(["is-active", &self.service]).output().map_err(reading)?;
        // systemctl(1): unknown is said of a service that is not there, too.
        match String::from_utf8_lossy(&output.stdout).trim() {
            "active" => Ok(Value::plain(ACTIVE)),
            "inactive" | "failed" => Ok(Value::plain(INACTIVE)),
            state => {
                let why = format!("systemctl says {state} of {}", self.service);
                Err(Refusal::NotRestorable { why })
            }
        }
    }

    fn write(&self, _kernel: &Kernel) -> io::Result<()> {
        run("stop", &self.service)
    }

    fn restore(&self, _kernel: &Kernel, exact: &str) -> io::Result<()> {
        run(if exact == ACTIVE { "start" } else { "stop" }, &self.service)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == INACTIVE
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let stop = Setting::StoppedService { service: self.service.clone() }.to_string();
        let start = || stop.replace("systemctl stop", "systemctl start");
        if exact == ACTIVE { vec![start()] } else { Vec::new() }
    }

    fn risks(&self) -> &'static [Risk] {
        &[Risk::WholeHost]
    }

    fn outlives_boots(&self) -> bool {
        false
    }
}

fn run(verb: &str, service: &str) -> io::Result<()> {
    let output = systemctl().args([verb, service]).output()?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    Err(io::Error::other(said.trim().lines().next().unwrap_or("systemctl failed").to_owned()))
}

fn systemctl() -> Command {
    let mut command = Command::new("systemctl");
    command.stdin(Stdio::null()).env("LC_ALL", "C");
    command
}

const ACTIVE: &str = "active";
const INACTIVE: &str = "inactive";
const SERVICES: [&str; 4] = ["irqbalance", "tuned", "power-profiles-daemon", "tlp"];
