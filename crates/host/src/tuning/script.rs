//! Changes as a shell script that a person would type, which makes them and undoes them. Nothing is
//! written to settings.

use std::fmt::{self, Display, Formatter};

use measurement::Foreign;
use measurement::host::Role;
use measurement::remedy::{Change, Setting};

use super::adjustable::Adjustable;
use super::catalogue;
use super::kernel::Kernel;
use super::{Refusal, TuningError};
use crate::Tree;

/// Changes that belong together, and their reason.
#[derive(Clone, Copy, Debug)]
pub struct Step<'a> {
    /// Reason for the changes, without a full stop.
    pub reason: &'a str,
    /// The changes, in the order in which they are to be made.
    pub changes: &'a [Change],
    /// Reason for which the changes are not to be made, without a full stop; none: they are.
    pub refused: Option<&'a str>,
}

/// Changes as a script for sh(1), which needs root: without an argument it makes them, with `undo`
/// it restores the values before. [`Display`] writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Script {
    parts: Vec<Part>,
}

/// A step as lines of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    reason: String,
    lines: Vec<Line>,
}

/// A change as a line of the script.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Line {
    Change {
        setting: Setting,
        undo: Vec<String>,
        /// Risks of the change, and programs that may write the setting again.
        remarks: Vec<String>,
    },
    /// An option of a test.
    Option(String),
    LeftOut {
        command: String,
        why: String,
    },
}

/// Writes steps as a script. What changes replace is read from `tree`, the running host or a
/// captured one; where a captured one does not have it, it is what the change says that it
/// replaces. A change that is refused, or is one of another host, is a comment with the reason; one
/// that an earlier step has is left out.
///
/// # Errors
/// [`TuningError::Kernel`] if the kernel cannot be asked.
pub fn script(tree: &Tree, steps: &[Step<'_>]) -> Result<Script, TuningError> {
    let kernel = if tree.is_live() { Kernel::live()? } else { Kernel::of_tree(tree.clone()) };
    let mut seen = Vec::new();
    let parts = steps.iter().map(|step| {
        let new = step.changes.iter().filter(|change| {
            let name = (&change.host, &change.setting);
            let is_new = !seen.contains(&name);
            seen.push(name);
            is_new
        });
        let lines = new.map(|change| line(&kernel, change, step.refused)).collect();
        Part { reason: step.reason.to_owned(), lines }
    });
    let parts = parts.filter(|part| !part.lines.is_empty()).collect();
    Ok(Script { parts })
}

fn line(kernel: &Kernel, change: &Change, refused: Option<&str>) -> Line {
    let command = change.command();
    if change.setting.is_option() {
        return Line::Option(command);
    }
    let elsewhere = (change.host != Role::Here).then_some("it is a setting of another host");
    if let Some(why) = refused.or(elsewhere) {
        return Line::LeftOut { command, why: why.to_owned() };
    }
    match looked_at(kernel, change) {
        Ok((undo, remarks)) => Line::Change { setting: change.setting.clone(), undo, remarks },
        Err(why) => Line::LeftOut { command, why: why.to_string() },
    }
}

/// Commands that undo a change, and what is to be said of it.
fn looked_at(kernel: &Kernel, change: &Change) -> Result<(Vec<String>, Vec<String>), Refusal> {
    let adjustable = catalogue::adjustable(&change.setting)?;
    let undo = match read(kernel, &*adjustable) {
        Ok(commands) => commands,
        Err(refusal) if kernel.is_live() => return Err(refusal),
        Err(refusal) => {
            let exact = change.from.as_deref().and_then(|from| adjustable.exact_of(from));
            let commands = exact.map(|exact| adjustable.undo_commands(&exact));
            commands.filter(|commands| !commands.is_empty()).ok_or(refusal)?
        }
    };
    let risks = adjustable.risks().iter().map(ToString::to_string);
    let rewriters = kernel.rewriters(adjustable.rewriters()).into_iter();
    let remarks = risks.chain(rewriters.map(|name| format!("{name} may write it again")));
    Ok((undo, remarks.collect()))
}

fn read(kernel: &Kernel, adjustable: &dyn Adjustable) -> Result<Vec<String>, Refusal> {
    let before = adjustable.read(kernel)?;
    adjustable.check(kernel, &before)?;
    Ok(adjustable.undo_commands(&before.exact))
}

impl Script {
    /// The script of changes of another host, which has told the commands that undo each. A change
    /// without such commands is left out.
    pub fn of_changes<'a>(
        steps: impl IntoIterator<Item = (&'a str, Vec<(&'a Setting, &'a [String])>)>,
    ) -> Self {
        let line = |(setting, undo): (&Setting, &[String])| Line::Change {
            setting: setting.clone(),
            undo: undo.to_vec(),
            remarks: Vec::new(),
        };
        let parts = steps.into_iter().map(|(reason, changes)| {
            let made = changes.into_iter().filter(|(_, undo)| !undo.is_empty());
            Part { reason: reason.to_owned(), lines: made.map(line).collect() }
        });
        Self { parts: parts.filter(|part| !part.lines.is_empty()).collect() }
    }

    /// The settings that the script changes, in its order, each with the commands that undo it.
    pub fn changes(&self) -> impl DoubleEndedIterator<Item = (&Setting, &[String])> {
        let lines = self.parts.iter().flat_map(|part| &part.lines);
        lines.filter_map(|line| match line {
            Line::Change { setting, undo, .. } => Some((setting, undo.as_slice())),
            Line::Option(_) | Line::LeftOut { .. } => None,
        })
    }
}

impl Display for Script {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(
            "#!/bin/sh\n# As root: sh FILE makes the changes, sh FILE undo undoes them.\n",
        )?;
        // What was not changed cannot be undone: the rest is.
        f.write_str("if [ \"$1\" = undo ]; then\n")?;
        for (_, undo) in self.changes().rev() {
            undo.iter().try_for_each(|command| writeln!(f, "    {command}"))?;
        }
        f.write_str("    exit\nfi\nset -e\n")?;
        self.parts.iter().try_for_each(|part| part.fmt(f))?;
        if self.changes().next().is_none() {
            f.write_str("# No setting of this host would be changed.\n")?;
        }
        Ok(())
    }
}

impl Display for Part {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "# {}.", comment(&self.reason))?;
        self.lines.iter().try_for_each(|line| line.fmt(f))
    }
}

impl Display for Line {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Change { setting, remarks, .. } if remarks.is_empty() => writeln!(f, "{setting}"),
            Self::Change { setting, remarks, .. } => {
                writeln!(f, "{setting}  # {}", comment(&remarks.join("; ")))
            }
            Self::Option(option) => writeln!(f, "# An option of the test: {option}"),
            Self::LeftOut { command, why } => {
                writeln!(f, "# Left out, {}: {command}", comment(why))
            }
        }
    }
}

/// One line, whatever a host put into the text.
fn comment(text: &str) -> Foreign {
    Foreign::from(text)
}

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::*;

    fn scripts(commands: &[(&str, Option<&str>)]) -> Script {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees/nanopi-r4s");
        let change = |(command, from): &(&str, Option<&str>)| {
            let change = Change::new(&Role::Here, command.parse().expect("a command"));
            Change { from: from.map(str::to_owned), ..change }
        };
        let changes: Vec<_> = commands.iter().map(change).collect();
        let peers = Change::new(&Role::Peer, changes[0].setting.clone());
        let steps = [
            Step { reason: "a\nreason", changes: &changes, refused: None },
            Step { reason: "the same again", changes: &changes[..1], refused: None },
            Step { reason: "the server's", changes: &[peers], refused: None },
        ];
        script(&Tree::captured(&root), &steps).expect("no kernel is asked")
    }

    #[test]
    fn a_captured_host_gets_a_script() {
        let script = scripts(&[
            ("sysctl -w net.core.rmem_max=4194304", None),
            ("echo 10 > /sys/class/net/eth0/queues/rx-0/rps_cpus", None),
            ("echo 10 > /proc/irq/27/smp_affinity", Some("3f")),
            ("ethtool -G eth0 rx 1024", Some("256")),
            ("ethtool -K eth0 tso off", Some("on")),
            ("-w 4M", None),
            ("tc qdisc replace dev eth0 root fq", None),
        ]);
        insta::assert_snapshot!(script);
        assert_eq!(script.changes().count(), 5);
    }

    #[test]
    fn a_script_without_changes_says_so() {
        insta::assert_snapshot!(scripts(&[("-w 4M", None)]));
    }
}
