//! The frequency governor of the CPUs (Documentation/admin-guide/pm/cpufreq.rst). CPUs may have
//! different ones; each gets its own back.

use std::io;

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// The new governor of all CPUs.
#[derive(Debug)]
pub(super) struct Governor {
    governor: String,
}

impl Governor {
    pub(super) fn new(governor: &str) -> Self {
        Self { governor: governor.to_owned() }
    }
}

/// The policies, each of some CPUs: `policy0`.
fn policies(kernel: &Kernel) -> io::Result<Vec<String>> {
    let mut names = kernel.tree().names(FOLDER)?;
    names.retain(|name| name.starts_with("policy"));
    Ok(names)
}

fn file(policy: &str, name: &str) -> String {
    format!("{FOLDER}/{policy}/{name}")
}

impl Adjustable for Governor {
    fn targets(&self) -> Vec<String> {
        vec!["frequency governors".to_owned()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let reading = |source| Refusal::reading("frequency governor", source);
        let mut exact = Vec::new();
        for policy in policies(kernel).map_err(reading)? {
            let text = kernel.tree().text(&file(&policy, GOVERNOR)).map_err(reading)?;
            exact.push((policy, text.trim().to_owned()));
        }
        let Some((_, first)) = exact.first() else {
            return Err(Refusal::Absent { what: "frequency governor".to_owned() });
        };
        let is_one = exact.iter().all(|(_, governor)| governor == first);
        let words: Vec<_> =
            exact.iter().map(|(policy, governor)| format!("{policy}={governor}")).collect();
        let exact = words.join(" ");
        let shown = if is_one { first.clone() } else { exact.clone() };
        Ok(Value { exact, shown })
    }

    fn check(&self, kernel: &Kernel, before: &Value) -> Result<(), Refusal> {
        for (policy, _) in words(&before.exact) {
            let path = file(policy, "scaling_available_governors");
            let available = kernel.tree().value(&path).unwrap_or_default();
            if !available.split(' ').any(|one| one == self.governor) {
                let why = format!("{policy} has {available}");
                return Err(Refusal::Impossible { value: self.governor.clone(), why });
            }
        }
        Ok(())
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        policies(kernel)?
            .iter()
            .try_for_each(|policy| kernel.write(&file(policy, GOVERNOR), &self.governor))
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        words(exact)
            .try_for_each(|(policy, governor)| kernel.write(&file(policy, GOVERNOR), governor))
    }

    fn is_set(&self, shown: &str) -> bool {
        shown == self.governor
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let command = |(policy, governor)| format!("echo {governor} > /{}", file(policy, GOVERNOR));
        words(exact).map(command).collect()
    }

    /// The policies are not told.
    fn exact_of(&self, _shown: &str) -> Option<String> {
        None
    }

    fn risks(&self) -> &'static [Risk] {
        &[Risk::WholeHost]
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["tuned", "power-profiles-daemon", "tlp", "thermald"]
    }
}

fn words(exact: &str) -> impl Iterator<Item = (&str, &str)> {
    exact.split(' ').filter_map(|word| word.split_once('='))
}

const FOLDER: &str = "sys/devices/system/cpu/cpufreq";
const GOVERNOR: &str = "scaling_governor";
