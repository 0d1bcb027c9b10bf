//! Asks the user before settings are changed.

use std::io::{self, BufRead, IsTerminal, Write};
use std::os::fd::AsFd;

use campaign::Answer;
use linux::event::StopSignals;
use linux::poll::{self, PollFd};
use measurement::tune::TriedChange;
use measurement::verdict::Finding;

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

    /// Whether changes of a finding may be made.
    pub(super) fn ask(
        self,
        finding: &Finding,
        changes: &[TriedChange],
        interrupts: &StopSignals,
        quiet: bool,
    ) -> Answer {
        let commands = changes.iter().map(|one| one.change.placed());
        let commands = commands.collect::<Vec<_>>().join("; ");
        match self {
            Self::Withheld => Answer::No("nothing is changed"),
            Self::Given if quiet => Answer::Yes,
            Self::Given => {
                say(&format!("linerate: {}: trying {commands}\n", finding.text));
                Answer::Yes
            }
            Self::Asked => {
                say(&format!("linerate: {}\nTry {commands}? [y/N] ", finding.text));
                answer(interrupts)
            }
        }
    }
}

fn say(text: &str) {
    let mut out = anstream::stderr();
    // What is said here is only a remark, or a question that nobody sees and so answers.
    _ = out.write_all(text.as_bytes()).and_then(|()| out.flush());
}

/// The line that the user types; a signal ends the wait.
fn answer(interrupts: &StopSignals) -> Answer {
    let input = io::stdin();
    let mut ready = [PollFd::readable(input.as_fd()), PollFd::readable(interrupts.as_fd())];
    if poll::wait(&mut ready, None).is_err() || ready[1].ready().is_readable() {
        return Answer::Stop;
    }
    let mut line = String::new();
    match input.lock().read_line(&mut line) {
        Ok(0) | Err(_) => Answer::Stop,
        Ok(_) if is_yes(&line) => Answer::Yes,
        Ok(_) => Answer::No("you declined it"),
    }
}

fn is_yes(line: &str) -> bool {
    matches!(line.trim().to_lowercase().as_str(), "y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_one() {
        assert!(["y\n", "Yes\n", " YES "].into_iter().all(is_yes));
        assert!(["\n", "n\n", "yep\n", "no"].into_iter().all(|line| !is_yes(line)));
    }
}
