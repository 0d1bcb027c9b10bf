//! Variables of the kernel below `/proc/sys` (sysctl(8)). Those of `net` are of the network
//! namespace of the thread that writes them.

use std::io;

use measurement::remedy::Setting;

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// A variable and its new value.
#[derive(Debug)]
pub(super) struct Sysctl {
    name: String,
    value: String,
}

impl Sysctl {
    /// Variables that are no setting of networking are not linerate's to change.
    pub(super) fn new(name: &str, value: &str) -> Result<Self, Refusal> {
        let is_name = name.split('.').all(|part| {
            let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_@:".contains(letter);
            !part.is_empty() && part.chars().all(is_plain)
        });
        if !is_name || !(name.starts_with("net.") || OTHERS.contains(&name)) {
            return Err(Refusal::NotListed);
        }
        let value = words(value);
        if value.is_empty() {
            let why = "a value is needed".to_owned();
            return Err(Refusal::Impossible { value: "no value".to_owned(), why });
        }
        Ok(Self { name: name.to_owned(), value })
    }

    fn path(&self) -> String {
        format!("proc/sys/{}", self.name.replace('.', "/"))
    }
}

impl Adjustable for Sysctl {
    fn targets(&self) -> Vec<String> {
        vec![self.path()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let text = kernel.tree().text(&self.path());
        let text = text.map_err(|source| Refusal::reading(&self.name, source))?;
        if text.trim_end().contains('\n') {
            return Err(Refusal::NotRestorable { why: "it has several lines".to_owned() });
        }
        Ok(Value::plain(words(&text)))
    }

    fn check(&self, _kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        // Documentation/networking/ip-sysctl.rst: these are copied to each interface.
        let is_copied = self.name == "net.ipv4.ip_forward"
            || self.name.starts_with("net.ipv6.conf.all.")
            || self.name.starts_with("net.ipv4.conf.all.forwarding");
        if is_copied {
            let why = "the kernel sets the same of each interface with it".to_owned();
            return Err(Refusal::NotRestorable { why });
        }
        Ok(())
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        kernel.write(&self.path(), &self.value)
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        kernel.write(&self.path(), exact)
    }

    fn is_set(&self, shown: &str) -> bool {
        let number = |word: &str| word.parse::<i128>().ok();
        let same = |(one, other): (&str, &str)| {
            one == other || number(one).is_some_and(|one| number(other) == Some(one))
        };
        let (own, shown) = (self.value.split(' '), shown.split(' '));
        own.clone().count() == shown.clone().count() && own.zip(shown).all(same)
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let (name, value) = (self.name.clone(), exact.to_owned());
        vec![Setting::Sysctl { name, value }.to_string()]
    }

    fn risks(&self) -> &'static [Risk] {
        &[Risk::WholeHost]
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["tuned"]
    }
}

/// The kernel has tabs between the numbers of some.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Variables beside those of `net` that bear on networking (admin-guide/sysctl).
const OTHERS: [&str; 3] =
    ["kernel.numa_balancing", "kernel.sched_rt_runtime_us", "vm.nr_hugepages"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_variables_of_networking_are_changed() {
        for name in ["kernel.core_pattern", "net..ipv4", "net.../etc", "net.a/../../b", "vm.x", ""]
        {
            assert!(matches!(Sysctl::new(name, "1"), Err(Refusal::NotListed)), "{name}");
        }
        assert!(Sysctl::new("net.core.rmem_max", " ").is_err());
        assert!(Sysctl::new("vm.nr_hugepages", "8").is_ok());
    }

    #[test]
    fn values_are_compared_as_words_and_as_numbers() {
        let sysctl = Sysctl::new("net.ipv4.tcp_rmem", "4096  131072\t06291456").expect("listed");
        assert!(sysctl.is_set("4096 131072 6291456"));
        assert!(!sysctl.is_set("4096 131072") && !sysctl.is_set("4096 131072 1"));
    }
}
