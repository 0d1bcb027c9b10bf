//! Changes as shell scripts that a person would type: one that makes them, one that undoes them.
//! Nothing is written to settings.

use measurement::remedy::Change;

use super::adjustable::Adjustable;
use super::catalogue;
use super::kernel::Kernel;
use super::{Refusal, TuningError};
use crate::Tree;

/// Changes as two scripts for sh(1), which need root.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    /// Makes the changes, in their order.
    pub apply: String,
    /// Restores the values before, in the opposite order.
    pub undo: String,
}

/// Writes changes as scripts. What they replace is read from `tree`, the running host or a captured
/// one; where a captured one does not have it, it is what the change says that it replaces. A
/// change that is refused is a comment with the reason.
///
/// # Errors
/// [`TuningError::Kernel`] if the kernel cannot be asked.
pub fn script(tree: &Tree, changes: &[Change]) -> Result<Script, TuningError> {
    let kernel = if tree.is_live() { Kernel::live()? } else { Kernel::of_tree(tree.clone()) };
    let (mut apply, mut undo) = (Vec::new(), Vec::new());
    for change in changes.iter().filter(|change| !change.setting.is_option()) {
        let command = change.command();
        match undo_commands(&kernel, change) {
            Ok(commands) => {
                apply.push(command);
                undo.push(commands.join("\n"));
            }
            Err(why) => apply.push(format!("# left out: {command}: {why}")),
        }
    }
    undo.reverse();
    // What was not changed cannot be undone: the rest is.
    Ok(Script { apply: of_lines("set -e", &apply), undo: of_lines("", &undo) })
}

fn undo_commands(kernel: &Kernel, change: &Change) -> Result<Vec<String>, Refusal> {
    let adjustable = catalogue::adjustable(&change.setting)?;
    match read(kernel, &*adjustable) {
        Ok(commands) => Ok(commands),
        Err(refusal) if kernel.is_live() => Err(refusal),
        Err(refusal) => {
            let exact = change.from.as_deref().and_then(|from| adjustable.exact_of(from));
            let commands = exact.map(|exact| adjustable.undo_commands(&exact));
            commands.filter(|commands| !commands.is_empty()).ok_or(refusal)
        }
    }
}

fn read(kernel: &Kernel, adjustable: &dyn Adjustable) -> Result<Vec<String>, Refusal> {
    let before = adjustable.read(kernel)?;
    adjustable.check(kernel, &before)?;
    Ok(adjustable.undo_commands(&before.exact))
}

fn of_lines(head: &str, lines: &[String]) -> String {
    let mut text = "#!/bin/sh\n".to_owned();
    let head = (!head.is_empty()).then(|| head.to_owned());
    for line in head.iter().chain(lines) {
        text += line;
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use measurement::host::Role;

    use super::*;

    fn scripts(commands: &[(&str, Option<&str>)]) -> Script {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/nanopi-r4s");
        let change = |(command, from): &(&str, Option<&str>)| {
            let change = Change::new(&Role::Peer, command.parse().expect("a command"));
            Change { from: from.map(str::to_owned), ..change }
        };
        let changes: Vec<_> = commands.iter().map(change).collect();
        script(&Tree::captured(&root), &changes).expect("no kernel is asked")
    }

    #[test]
    fn a_captured_host_gets_scripts() {
        let script = scripts(&[
            ("sysctl -w net.core.rmem_max=4194304", None),
            ("echo 10 > /sys/class/net/eth0/queues/rx-0/rps_cpus", None),
            ("ethtool -G eth0 rx 1024", Some("256")),
            ("ethtool -K eth0 tso off", Some("on")),
            ("-w 4M", None),
            ("tc qdisc replace dev eth0 root fq", None),
        ]);
        insta::assert_snapshot!(format!("{}\n{}", script.apply, script.undo));
    }
}
