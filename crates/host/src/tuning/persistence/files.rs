//! The files of each way to persist.

use std::collections::BTreeMap;

use measurement::remedy::Setting;

use super::{
    Content, HEAD, PersistBy, PersistentChange, PersistentFile, is_plain, link_file, shell, udev,
};
use crate::Tree;

/// Files by which changes outlive the next boot.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Files {
    /// The files.
    pub files: Vec<PersistentFile>,
    /// Changes that they have not, each with the reason, without a full stop.
    pub left_out: Vec<(Setting, String)>,
}

/// The files by which changes outlive the next boot. Nothing is written.
pub fn files(tree: &Tree, by: PersistBy, changes: &[PersistentChange]) -> Files {
    let mut files = Files::default();
    match by {
        PersistBy::Sysctl => {
            let rest = files.add_sysctls(changes);
            let why = "sysctl.d has sysctls alone: choose systemd, openwrt or shell";
            files.leave_out(rest, why);
        }
        PersistBy::Systemd => files.add_of_systemd(tree, changes),
        PersistBy::Udev => files.add_rules(changes),
        PersistBy::Openwrt => {
            let commands = files.commands(tree, changes);
            if !commands.is_empty() {
                files.add(INIT, Content::Script(shell::init_script(&commands)));
                files.add(ENABLED, Content::Link("../init.d/linerate".to_owned()));
            }
        }
        PersistBy::Shell => {
            let commands = files.commands(tree, changes);
            if !commands.is_empty() {
                files.add(SCRIPT, Content::Script(shell::script(&commands)));
            }
        }
    }
    files
}

impl Files {
    fn add(&mut self, path: impl Into<String>, content: Content) {
        self.files.push(PersistentFile { path: path.into(), content });
    }

    fn leave_out<'a>(&mut self, all: impl IntoIterator<Item = &'a PersistentChange>, why: &str) {
        let all = all.into_iter().map(|change| (change.setting.clone(), why.to_owned()));
        self.left_out.extend(all);
    }

    /// A file of sysctl.d(5); the changes that it has not.
    fn add_sysctls<'a>(&mut self, changes: &'a [PersistentChange]) -> Vec<&'a PersistentChange> {
        let (mut lines, mut rest) = (String::new(), Vec::new());
        for change in changes {
            match &change.setting {
                Setting::Sysctl { name, value } if value.split(' ').all(is_plain) => {
                    lines.extend([name, " = ", value, "\n"]);
                }
                _ => rest.push(change),
            }
        }
        if !lines.is_empty() {
            self.add(SYSCTLS, Content::Text(format!("{HEAD}{lines}")));
        }
        rest
    }

    /// Sysctls, files of systemd.link(5), and a service for the rest.
    fn add_of_systemd(&mut self, tree: &Tree, changes: &[PersistentChange]) {
        let mut links: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        let mut rest = Vec::new();
        for change in self.add_sysctls(changes) {
            match link_file::keys(&change.setting) {
                Some((interface, keys)) if is_plain(interface) => {
                    links.entry(interface).or_default().extend(keys);
                }
                _ => rest.push(change.clone()),
            }
        }
        for (interface, keys) in links {
            let text = link_file::text(tree, interface, &keys);
            self.add(link_file::path(interface), Content::Text(text));
        }
        let commands = self.commands(tree, &rest);
        if !commands.is_empty() {
            self.add(SCRIPT, Content::Script(shell::script(&commands)));
            self.add(format!("/etc/systemd/system/{UNIT}"), Content::Text(service()));
            let wanted = format!("/etc/systemd/system/multi-user.target.wants/{UNIT}");
            self.add(wanted, Content::Link(format!("../{UNIT}")));
        }
    }

    /// Rules of udev(7).
    fn add_rules(&mut self, changes: &[PersistentChange]) {
        let mut rules = String::new();
        for change in changes {
            match udev::rule(&change.setting) {
                Ok(rule) => rules += &rule,
                Err(why) => self.leave_out([change], why),
            }
        }
        if !rules.is_empty() {
            self.add(RULES, Content::Text(format!("{HEAD}{rules}")));
        }
    }

    /// The commands of changes, each with those that undo it; what has none is left out.
    fn commands(&mut self, tree: &Tree, changes: &[PersistentChange]) -> Vec<shell::Commands> {
        let mut all = Vec::new();
        for change in changes {
            match shell::commands(tree, change) {
                Ok(commands) => all.push(commands),
                Err(why) => self.leave_out([change], why),
            }
        }
        all
    }
}

/// systemd.service(5).
fn service() -> String {
    format!(
        "{HEAD}[Unit]\nDescription=Settings kept by linerate tune\nAfter=network.target\n\n\
         [Service]\nType=oneshot\nRemainAfterExit=yes\nExecStart=/bin/sh {SCRIPT}\n\
         ExecStop=/bin/sh {SCRIPT} undo\n\n[Install]\nWantedBy=multi-user.target\n"
    )
}

const SYSCTLS: &str = "/etc/sysctl.d/90-linerate.conf";
const RULES: &str = "/etc/udev/rules.d/90-linerate.rules";
const SCRIPT: &str = "/etc/linerate/tuning.sh";
const UNIT: &str = "linerate-tuning.service";
const INIT: &str = "/etc/init.d/linerate";
const ENABLED: &str = "/etc/rc.d/S99linerate";
