//! Programs that change what decides how fast a host is, by what they leave in `/run`.

use crate::Tree;

/// Those that run.
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

/// A folder of sockets that is not empty, or the file of its process.
const KNOWN: [(&str, &[&str]); 1] = [("irqbalance", &["run/irqbalance", "run/irqbalance.pid"])];
