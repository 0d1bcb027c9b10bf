//! The queueing discipline at the root of an interface (tc(8)). One that the kernel attached comes
//! back by deleting the other; one with parameters only if all of them are known; one with classes
//! or filters not, and is left alone.

use std::io;

use linux::netlink::{Parameters, QdiscHandle, RootQdisc};
use measurement::remedy::Setting;

use super::Refusal;
use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;

/// An interface and its new queueing discipline.
#[derive(Debug)]
pub(super) struct Qdisc {
    interface: String,
    /// None: the default of the kernel.
    kind: Option<String>,
}

impl Qdisc {
    /// One of a kind, with default parameters.
    pub(super) fn of_kind(interface: &str, kind: &str) -> Self {
        Self { interface: interface.to_owned(), kind: Some(kind.to_owned()) }
    }

    /// The one that the kernel attaches.
    pub(super) fn default_of(interface: &str) -> Self {
        Self { interface: interface.to_owned(), kind: None }
    }

    fn root(&self, kernel: &Kernel) -> Result<RootQdisc, Refusal> {
        let what = format!("queueing discipline of {}", self.interface);
        let root = kernel.route().and_then(|mut route| route.whole_root_qdisc(&self.interface));
        let root = root.map_err(|source| Refusal::reading(&what, source))?;
        root.ok_or(Refusal::Absent { what })
    }
}

impl Adjustable for Qdisc {
    fn targets(&self) -> Vec<String> {
        vec![format!("queueing discipline of {}", self.interface)]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        Ok(value(&self.root(kernel)?))
    }

    fn check(&self, kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        let root = self.root(kernel)?;
        let default = kernel.tree().value("proc/sys/net/core/default_qdisc");
        match hindrance(&root, default.as_deref()) {
            Some(why) => Err(Refusal::NotRestorable { why }),
            None => Ok(()),
        }
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        let mut route = kernel.route()?;
        match &self.kind {
            Some(kind) => route.replace_root_qdisc(&self.interface, kind),
            None => delete(kernel, &self.interface),
        }
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        match stated(exact) {
            Some((handle, parameters)) => {
                kernel.route()?.restore_root_qdisc(&self.interface, handle, &parameters)
            }
            None => delete(kernel, &self.interface),
        }
    }

    fn is_set(&self, shown: &str) -> bool {
        let default = shown.strip_suffix(BY_DEFAULT);
        match &self.kind {
            Some(kind) => default.unwrap_or(shown) == kind,
            None => default.is_some(),
        }
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let interface = self.interface.clone();
        let Some((handle, parameters)) = stated(exact) else {
            return vec![Setting::DefaultQdisc { interface }.to_string()];
        };
        let kind = parameters.kind();
        let replace = Setting::RootQdisc { interface, kind: kind.to_owned() }.to_string();
        let replace = replace.trim_end_matches(kind).trim_end();
        let command = format!("{replace} handle {handle} {kind} {}", parameters.words());
        vec![command.trim_end().to_owned()]
    }

    /// Its parameters are not told.
    fn exact_of(&self, _shown: &str) -> Option<String> {
        None
    }

    fn interface(&self) -> Option<&str> {
        Some(&self.interface)
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["NetworkManager", "systemd-networkd"]
    }
}

fn delete(kernel: &Kernel, interface: &str) -> io::Result<()> {
    match kernel.route()?.delete_root_qdisc(interface) {
        // It is the kernel's already.
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        deleted => deleted,
    }
}

fn value(root: &RootQdisc) -> Value {
    let RootQdisc { kind, handle, parameters, .. } = root;
    if handle.0 == 0 {
        let exact = format!("{DEFAULT} {kind}");
        return Value { exact, shown: format!("{kind}{BY_DEFAULT}") };
    }
    let parameters = parameters.as_ref().map(Parameters::text).unwrap_or_default();
    let exact = format!("{handle} {kind} {parameters}").trim_end().to_owned();
    Value { exact, shown: kind.clone() }
}

/// Handle and parameters of one that somebody attached; none: the kernel did.
fn stated(exact: &str) -> Option<(QdiscHandle, Parameters)> {
    let (handle, rest) = exact.split_once(' ')?;
    let (kind, parameters) = rest.split_once(' ').unwrap_or((rest, ""));
    let major = u32::from_str_radix(handle.strip_suffix(':')?, 16).ok()?;
    Some((QdiscHandle(major << 16), Parameters::parse(kind, parameters)?))
}

/// Why it could not be restored.
fn hindrance(root: &RootQdisc, default: Option<&str>) -> Option<String> {
    let kind = &root.kind;
    if root.has_filters {
        return Some(format!("filters are attached to {kind}"));
    }
    if root.handle.0 != 0 {
        let is_whole = root.parameters.is_some() && root.children.is_empty();
        return (!is_whole).then(|| format!("not all parameters of {kind} are known"));
    }
    // What the kernel attaches is its default, now as then.
    let is_default = |kind: &str| default == Some(kind) || kind == "noqueue";
    let mut children = root.children.iter();
    let is_restored = if kind == "mq" {
        children.all(|(kind, handle)| handle.0 == 0 && is_default(kind))
    } else {
        root.children.is_empty() && is_default(kind)
    };
    (!is_restored)
        .then(|| format!("net.core.default_qdisc is {} now", default.unwrap_or("unknown")))
}

const DEFAULT: &str = "default";
const BY_DEFAULT: &str = " by default";

#[cfg(test)]
mod tests {
    use super::*;

    fn root(kind: &str, handle: u32, children: &[&str]) -> RootQdisc {
        RootQdisc {
            kind: kind.to_owned(),
            handle: QdiscHandle(handle),
            parameters: Parameters::read(kind, &1_000_u32.to_ne_bytes()),
            children: children.iter().map(|kind| ((*kind).to_owned(), QdiscHandle(0))).collect(),
            has_filters: false,
        }
    }

    #[test]
    fn only_what_comes_back_exactly_is_replaced() {
        let hinders = |root: &RootQdisc| hindrance(root, Some("fq_codel"));
        assert_eq!(hinders(&root("noqueue", 0, &[])), None);
        assert_eq!(hinders(&root("fq_codel", 0, &[])), None);
        assert_eq!(hinders(&root("mq", 0, &["fq_codel", "fq_codel"])), None);
        assert_eq!(hinders(&root("pfifo", 0x8001_0000, &[])), None);
        for other in [
            root("pfifo_fast", 0, &[]),
            root("mq", 0, &["fq_codel", "fq"]),
            root("tbf", 0x8001_0000, &["bfifo"]),
            root("mq", 0x8001_0000, &["fq_codel"]),
            RootQdisc { has_filters: true, ..root("pfifo", 0x8001_0000, &[]) },
        ] {
            assert!(hinders(&other).is_some(), "{other:?}");
        }
    }

    #[test]
    fn commands_restore_handle_and_parameters() {
        let qdisc = Qdisc::of_kind("eth0", "fq");
        let exact = value(&root("pfifo", 0x8001_0000, &[])).exact;
        assert_eq!(
            qdisc.undo_commands(&exact),
            ["tc qdisc replace dev eth0 root handle 8001: pfifo limit 1000"]
        );
        let exact = value(&root("noqueue", 0, &[])).exact;
        assert_eq!(qdisc.undo_commands(&exact), ["tc qdisc del dev eth0 root"]);
    }
}
