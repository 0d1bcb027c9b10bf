//! Serves a client's requests to change settings of this host: one client at a time, only
//! settings that are allowed, and everything undone that is not kept.

use std::path::{Path, PathBuf};

use campaign::Tuner;
use host::tuning::Tuning;
use measurement::remedy::{Setting, SettingKind};
use session::tuning::{Answer, ReadBack, Request};

use crate::commands::tune::{HostTuner, Watchdog};

/// The settings that clients have changed, and which they may change.
pub(super) struct Tuned {
    state: PathBuf,
    kinds: Vec<SettingKind>,
    /// Undoes what is left if this process is killed.
    watchdog: Watchdog,
    /// The tuning under way; none: nothing is changed.
    active: Option<Active>,
}

/// The tuning of one client.
struct Active {
    connection: u32,
    tuner: HostTuner,
    /// Settings of the tuning that are in effect.
    made: Vec<Setting>,
}

/// Answer to a request, and lines for the log.
#[derive(Default)]
pub(super) struct Reply {
    /// None: it has no answer.
    pub(super) answer: Option<Answer>,
    /// Sentences without a full stop.
    pub(super) reports: Vec<String>,
}

impl Tuned {
    /// Nothing is changed yet. The journal is in `state`.
    ///
    /// # Errors
    /// There is no process that would undo changes.
    pub(super) fn new(state: &Path, kinds: &[SettingKind]) -> Result<Self, String> {
        let watchdog = Watchdog::start(state).and_then(|mut watchdog| {
            watchdog.say(false)?;
            Ok(watchdog)
        });
        let watchdog = watchdog
            .map_err(|error| format!("cannot start a process that undoes changes: {error}"))?;
        Ok(Self { state: state.to_owned(), kinds: kinds.to_vec(), watchdog, active: None })
    }

    /// Does what a client with the key asks for.
    pub(super) fn answer(&mut self, connection: u32, request: Request) -> Reply {
        let asked = describe(&request);
        let mut reports = Vec::new();
        let answer = match request {
            Request::Alive => return Reply::default(),
            Request::Look(setting) => self.look(connection, &setting),
            Request::Set(wanted) => self.set(connection, &wanted, &mut reports),
            Request::Keep => self.keep(connection, &mut reports),
        };
        let answer = answer.unwrap_or_else(|why| {
            reports.push(format!("{asked}: refused: {why}"));
            Answer::Refused(why)
        });
        Reply { answer: Some(answer), reports }
    }

    /// Undoes what a connection has changed and not kept; what the log is told.
    pub(super) fn end(&mut self, connection: u32) -> Vec<String> {
        if self.active.as_ref().is_none_or(|active| active.connection != connection) {
            return Vec::new();
        }
        let Some(Active { tuner, made, .. }) = self.active.take() else {
            return Vec::new();
        };
        match tuner.finish(false) {
            Ok(()) => {
                self.rest();
                made.iter().rev().map(|setting| format!("undoes {setting}")).collect()
            }
            // It is tried again when this process ends.
            Err(error) => vec![error.to_string()],
        }
    }

    /// Tells the process that undoes that there is nothing left for it.
    fn rest(&mut self) {
        // One that is gone undoes nothing.
        _ = self.watchdog.say(false);
    }

    fn look(&mut self, connection: u32, setting: &Setting) -> Result<Answer, String> {
        self.require_allowed(setting)?;
        let seen = self.active(connection)?.tuner.look(setting)?;
        let campaign::Outlook { current, is_in_effect, undo, risks, rewriters } = seen;
        Ok(Answer::Outlook { current, is_in_effect, undo, risks, rewriters })
    }

    fn set(
        &mut self,
        connection: u32,
        wanted: &[Setting],
        reports: &mut Vec<String>,
    ) -> Result<Answer, String> {
        wanted.iter().try_for_each(|setting| self.require_allowed(setting))?;
        let active = self.active(connection)?;
        let before = std::mem::take(&mut active.made);
        let made = active.tuner.set(wanted);
        let is_kept = |setting: &&Setting| made.is_ok() && wanted.contains(setting);
        let undone = before.iter().rev().filter(|setting| !is_kept(setting));
        reports.extend(undone.map(|setting| format!("undoes {setting}")));
        made?;
        active.made = wanted.to_vec();
        let read = |setting: &Setting| ReadBack {
            setting: setting.clone(),
            value: active.tuner.effective(setting).unwrap_or_default(),
        };
        let read: Vec<_> = wanted.iter().map(read).collect();
        let new = read.iter().filter(|one| !before.contains(&one.setting));
        reports.extend(new.map(|one| format!("makes {}: it is {}", one.setting, one.value)));
        Ok(Answer::Set(read))
    }

    fn keep(&mut self, connection: u32, reports: &mut Vec<String>) -> Result<Answer, String> {
        self.active(connection)?;
        if let Some(Active { tuner, made, .. }) = self.active.take() {
            tuner.finish(true).map_err(|error| error.to_string())?;
            self.rest();
            reports.extend(made.iter().map(|setting| format!("keeps {setting}")));
        }
        Ok(Answer::Kept)
    }

    /// The tuning of a connection, which begins if there is none.
    fn active(&mut self, connection: u32) -> Result<&mut Active, String> {
        if self.active.is_none() {
            let tuning = Tuning::open(&self.state).map_err(|error| error.to_string())?;
            let watched = self.watchdog.say(true);
            watched
                .map_err(|_| "the process that undoes changes is gone: start the server again")?;
            let tuner = HostTuner::new(tuning, true);
            self.active = Some(Active { connection, tuner, made: Vec::new() });
        }
        let own = self.active.as_mut().filter(|active| active.connection == connection);
        own.ok_or_else(|| "another host tunes it: try again later".to_owned())
    }

    fn require_allowed(&self, setting: &Setting) -> Result<(), String> {
        match SettingKind::of(setting) {
            Some(kind) if self.kinds.contains(&kind) => Ok(()),
            Some(kind) => Err(format!("it does not allow {kind} (--allow-tune)")),
            None => Err("it is an option of a test".to_owned()),
        }
    }
}

fn describe(request: &Request) -> String {
    match request {
        Request::Look(setting) => format!("looks at {setting}"),
        Request::Set(settings) => {
            let settings: Vec<_> = settings.iter().map(Setting::to_string).collect();
            format!("asks for {}", settings.join("; "))
        }
        Request::Keep => "asks to keep".to_owned(),
        Request::Alive => String::new(),
    }
}
