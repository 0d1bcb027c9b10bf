//! Kernel, CPU and links on which a comparison ran, for those who read its table elsewhere.

use std::fs;
use std::thread;

use anyhow::Result;

use crate::topology::{Path, Topology};

/// Kernel, CPUs and the MTU of each of `paths`, one line of text each, to be printed beside
/// results.
///
/// # Errors
/// The virtual hosts of a path cannot be created.
pub fn lines(paths: &[Path]) -> Result<[String; 3]> {
    let text = |path| fs::read_to_string(path).unwrap_or_default();
    let mtu = |path: &Path| {
        let mtu = Topology::create(*path)?.mtu();
        Ok(format!("{path} {}", mtu.map_or_else(|| "unknown".to_owned(), |mtu| mtu.to_string())))
    };
    let mtus: Vec<String> = paths.iter().map(mtu).collect::<Result<_>>()?;
    let cpuinfo = text("/proc/cpuinfo");
    let cpus = thread::available_parallelism().map_or(1, usize::from);
    Ok([
        format!("Linux {}", text("/proc/sys/kernel/osrelease").trim()),
        format!("CPU: {}, {cpus} in use", model(&cpuinfo).unwrap_or("unknown")),
        format!("MTU: {}", mtus.join(", ")),
    ])
}

/// The first CPU's, where the architecture has a name for it (proc_cpuinfo(5)).
fn model(cpuinfo: &str) -> Option<&str> {
    let mut pairs = cpuinfo.lines().filter_map(|line| line.split_once(':'));
    pairs.find(|(key, _)| key.trim() == "model name").map(|(_, value)| value.trim())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_cpu_has_a_name() {
        let text = "processor\t: 0\nmodel\t\t: 1\nmodel name\t: Some CPU 9\n\nmodel name\t: x\n";
        assert_eq!(model(text), Some("Some CPU 9"));
        assert_eq!(model("processor\t: 0\n"), None);
    }
}
