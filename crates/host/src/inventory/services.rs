//! Detects running services that change the settings of a host, by their files in `/run`.

use crate::Tree;

/// Names of the known services that run.
pub(super) fn services(tree: &Tree) -> Vec<String> {
    let runs = |traces: &[&str]| {
        traces.iter().any(|path| {
            let names = tree.names(path).unwrap_or_default();
            !names.is_empty() || tree.value(path).is_some()
        })
    };
    let running = KNOWN.iter().filter(|(_, traces)| runs(traces));
    running.map(|(name, _)| (*name).to_owned()).collect()
}

/// Name, and what it has in `/run` while it runs: a folder of sockets, or a PID file.
const KNOWN: [(&str, &[&str]); 1] = [("irqbalance", &["run/irqbalance", "run/irqbalance.pid"])];
