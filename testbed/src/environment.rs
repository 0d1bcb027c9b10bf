//! Kernel, CPU and links on which a comparison ran, for those who read its table elsewhere.

use std::fs;
use std::thread;

use anyhow::Result;

use crate::topology::{Path, Topology};

/// Kernel, CPU and links.
#[derive(Clone, Debug)]
pub struct Environment {
    kernel: String,
    cpu: String,
    cpus: usize,
    mtus: Vec<(Path, Option<u32>)>,
}

impl Environment {
    /// Reads those of this machine and of topologies with these paths.
    ///
    /// # Errors
    /// No hosts can be made.
    pub fn read(paths: &[Path]) -> Result<Self> {
        let text = |path| fs::read_to_string(path).unwrap_or_default();
        let mtu = |path: &Path| Ok((*path, Topology::create(*path)?.mtu()));
        Ok(Self {
            kernel: text("/proc/sys/kernel/osrelease").trim().to_owned(),
            cpu: model(&text("/proc/cpuinfo")).unwrap_or("unknown").to_owned(),
            cpus: thread::available_parallelism().map_or(1, usize::from),
            mtus: paths.iter().map(mtu).collect::<Result<_>>()?,
        })
    }

    /// Each of them as a line of a list.
    pub fn lines(&self) -> Vec<String> {
        let mtu = |(path, mtu): &(Path, Option<u32>)| match mtu {
            Some(mtu) => format!("{path} {mtu}"),
            None => format!("{path} unknown"),
        };
        let mtus: Vec<String> = self.mtus.iter().map(mtu).collect();
        vec![
            format!("Linux {}", self.kernel),
            format!("CPU: {}, {} in use", self.cpu, self.cpus),
            format!("MTU: {}", mtus.join(", ")),
        ]
    }
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

    #[test]
    fn a_link_that_hides_its_mtu_is_unknown() {
        let mtus = vec![(Path::Loopback, Some(65_536)), (Path::Veth, None)];
        let environment =
            Environment { kernel: "6.1".to_owned(), cpu: "x".to_owned(), cpus: 2, mtus };
        let expected = ["Linux 6.1", "CPU: x, 2 in use", "MTU: lo 65536, veth unknown"];
        assert_eq!(environment.lines(), expected);
    }
}
