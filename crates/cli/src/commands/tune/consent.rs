//! Asks the user before settings are changed.

use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::AsFd;

use campaign::{Answer, Proposal};
use linux::event::StopSignals;
use linux::poll::{self, PollFd};

use crate::exit::UsageError;
use crate::flags::TuneFlags;

/// Who agrees to changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Consent {
    /// The command line: `--yes`.
    Given,
    /// The user, at the terminal.
    Asked,
    /// Nobody: `--dry-run`.
    Withheld,
}

impl Consent {
    /// Whom the flags name.
    ///
    /// # Errors
    /// Nobody could be asked.
    pub(super) fn of(flags: &TuneFlags) -> Result<Self, UsageError> {
        match (flags.dry_run, flags.yes) {
            (true, _) => Ok(Self::Withheld),
            (_, true) => Ok(Self::Given),
            _ if io::stdin().is_terminal() => Ok(Self::Asked),
            _ => {
                let text = "a tuning changes settings of this host and nobody can be asked: type \
                            --yes, or --dry-run to see the changes";
                Err(UsageError(text.to_owned()))
            }
        }
    }

    /// Which proposals may be tried.
    pub(super) fn ask(
        self,
        proposals: &[Proposal<'_>],
        interrupts: &StopSignals,
        quiet: bool,
    ) -> Answer {
        match self {
            Self::Withheld => Answer::No("nothing is changed"),
            Self::Given if quiet => Answer::All,
            Self::Given => {
                say(&list(proposals));
                Answer::All
            }
            Self::Asked => {
                say(&list(proposals));
                say("Try them? [y: all; 1 3: these; N] ");
                answer(interrupts, proposals.len())
            }
        }
    }
}

/// The proposals with their numbers, what names them, and what they risk.
fn list(proposals: &[Proposal<'_>]) -> String {
    let mut text =
        "linerate: to be tried one after another, and undone if it does not help:\n".to_owned();
    for (place, Proposal { finding, changes, cautions }) in proposals.iter().enumerate() {
        let commands = changes.iter().map(|one| one.change.placed());
        let commands = commands.collect::<Vec<_>>().join("; ");
        let finding = std::iter::once(&finding.text);
        let reasons = finding.chain(cautions.iter()).cloned().collect::<Vec<_>>().join("; ");
        // Writing to a string does not fail.
        _ = std::fmt::Write::write_fmt(
            &mut text,
            format_args!("  {} {commands}\n    {reasons}\n", place + 1),
        );
    }
    text
}

fn say(text: &str) {
    let mut out = anstream::stderr();
    // What is said here is only a remark, or a question that nobody sees and so answers.
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The line that the user types; a signal ends the wait.
fn answer(interrupts: &StopSignals, count: usize) -> Answer {
    let input = io::stdin();
    let mut ready = [PollFd::readable(input.as_fd()), PollFd::readable(interrupts.as_fd())];
    if poll::wait(&mut ready, None).is_err() || ready[1].ready().is_readable() {
        return Answer::Stop;
    }
    let mut line = String::new();
    match input.lock().read_line(&mut line) {
        Ok(0) | Err(_) => Answer::Stop,
        Ok(_) => understood(&line, count),
    }
}

/// The answer that a typed line gives to so many proposals.
fn understood(line: &str, count: usize) -> Answer {
    let line = line.trim().to_lowercase();
    if matches!(line.as_str(), "y" | "yes") {
        return Answer::All;
    }
    let words = line.split([' ', ',']).filter(|word| !word.is_empty());
    let place = |word: &str| word.parse().ok().filter(|number| (1..=count).contains(number));
    let places: Option<Vec<usize>> = words.map(|word| Some(place(word)? - 1)).collect();
    match places {
        Some(places) if !places.is_empty() => Answer::Only(places),
        _ => Answer::No("you declined it"),
    }
}

#[cfg(test)]
mod tests {
    use measurement::host::Role;
    use measurement::remedy::{Change, Remedy};
    use measurement::tune::TriedChange;
    use measurement::verdict::Finding;
    use measurement::{Certainty, Effect, RuleId};

    use super::*;

    #[test]
    fn only_a_yes_and_numbers_that_are_there_agree() {
        for yes in ["y\n", "Yes\n", " YES "] {
            assert_eq!(understood(yes, 3), Answer::All);
        }
        assert_eq!(understood("1, 3\n", 3), Answer::Only(vec![0, 2]));
        for no in ["\n", "n\n", "yep\n", "no", "0", "4", "1 x"] {
            assert_eq!(understood(no, 3), Answer::No("you declined it"), "{no}");
        }
    }

    #[test]
    fn what_is_proposed_is_listed_with_its_risks() {
        let finding = Finding {
            rule: RuleId::TsoOff,
            certainty: Certainty::Limit,
            share: 0.5,
            effect: Effect::Unknown,
            host: None,
            direction: None,
            text: "TSO is off on eth0 of this host".to_owned(),
            evidence: Vec::new(),
            remedy: Remedy::default(),
        };
        let setting = "ethtool -K eth0 tso on".parse().expect("a command");
        let changes = [TriedChange::not_made(Change::new(&Role::Here, setting))];
        let cautions = ["the link may be down for some seconds".to_owned()];
        let proposal = Proposal { finding: &finding, changes: &changes, cautions: &cautions };
        insta::assert_snapshot!(list(&[proposal.clone(), proposal]));
    }
}
