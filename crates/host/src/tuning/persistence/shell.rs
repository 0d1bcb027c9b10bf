//! Changes as scripts that run at each start of a host. Numbers of interrupts may differ then: they
//! are found by name.

use measurement::remedy::Setting;

use super::{HEAD, PersistentChange, is_plain};
use crate::Tree;

/// A change as commands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Commands {
    make: String,
    undo: Vec<String>,
}

/// The commands of a change, and those that undo it.
pub(super) fn commands(tree: &Tree, change: &PersistentChange) -> Result<Commands, &'static str> {
    let undo = change.undo.iter().map(|command| match command.parse() {
        Ok(setting) => lasting(tree, &setting),
        // Such as the start of a service.
        Err(_) => Ok(command.clone()),
    });
    Ok(Commands { make: lasting(tree, &change.setting)?, undo: undo.collect::<Result<_, _>>()? })
}

/// The command of a setting that means the same after another start.
fn lasting(tree: &Tree, setting: &Setting) -> Result<String, &'static str> {
    let Setting::IrqAffinity { irq, cpus } = setting else { return Ok(setting.to_string()) };
    let name = interrupt(tree, *irq).ok_or(UNNAMED)?;
    Ok(format!(
        "for irq in $(awk '$NF == \"{name}\" {{ print $1 + 0 }}' /proc/interrupts); do \
         echo {cpus} > \"/proc/irq/$irq/smp_affinity\"; done"
    ))
}

/// The name of an interrupt that no other has.
fn interrupt(tree: &Tree, irq: u32) -> Option<String> {
    let text = tree.text("proc/interrupts").ok()?;
    let name = |line: &str| line.split_whitespace().last().map(str::to_owned);
    let own = format!("{irq}:");
    let line = text.lines().find(|line| line.trim_start().starts_with(&own))?;
    let found = name(line).filter(|name| is_plain(name))?;
    let of_name = text.lines().filter(|line| name(line).as_ref() == Some(&found)).count();
    (of_name == 1).then_some(found)
}

/// A script for sh(1).
pub(super) fn script(all: &[Commands]) -> String {
    let make = lines(all.iter().map(|one| &one.make), "");
    let undo = lines(all.iter().rev().flat_map(|one| &one.undo), "    ");
    format!("#!/bin/sh\n{HEAD}if [ \"$1\" = undo ]; then\n{undo}    exit\nfi\n{make}")
}

/// A script for `rc.common` of OpenWrt.
pub(super) fn init_script(all: &[Commands]) -> String {
    let make = lines(all.iter().map(|one| &one.make), "    ");
    let undo = lines(all.iter().rev().flat_map(|one| &one.undo), "    ");
    format!(
        "#!/bin/sh /etc/rc.common\n{HEAD}START=99\n\nstart() {{\n{make}}}\n\n\
         stop() {{\n{undo}    :\n}}\n"
    )
}

fn lines<'a>(all: impl Iterator<Item = &'a String>, indent: &'a str) -> String {
    all.flat_map(|line| [indent, line, "\n"]).collect()
}

const UNNAMED: &str = "its interrupt has no name of its own, and another number at the next start";
