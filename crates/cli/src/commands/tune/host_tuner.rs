//! Makes the settings of tests on this host, and keeps account of which are in effect.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use campaign::{Outlook, Tuner};
use host::tuning::{ChangeId, Permission, Tuning, TuningError};
use linux::clock;
use linux::netlink::RouteSocket;
use measurement::remedy::Setting;

/// Makes and undoes settings by [`Tuning`].
pub(in crate::commands) struct HostTuner {
    session: Session,
    /// Whether this process is to have the right to make settings, and not to look at them alone.
    changes: bool,
    /// Values that were read back, of each setting the last one.
    effective: Vec<(Setting, String)>,
}

/// The settings of this host that are in effect for a test. Another thread may undo them.
#[derive(Clone)]
pub(in crate::commands) struct Session(Arc<Mutex<State>>);

struct State {
    tuning: Tuning,
    /// What was made, in order.
    made: Vec<(Setting, ChangeId)>,
    /// Why another thread undid it all; none: it did not.
    lost: Option<String>,
}

impl HostTuner {
    /// Makes settings by `tuning`, or only looks at them.
    pub(in crate::commands) fn new(tuning: Tuning, changes: bool) -> Self {
        let state = State { tuning, made: Vec::new(), lost: None };
        Self { session: Session(Arc::new(Mutex::new(state))), changes, effective: Vec::new() }
    }

    /// The settings, for a thread that may undo them.
    pub(in crate::commands) fn session(&self) -> Session {
        self.session.clone()
    }

    /// Keeps what is in effect, or undoes it, and ends the session.
    ///
    /// # Errors
    /// Something could not be undone.
    pub(in crate::commands) fn finish(self, keeps: bool) -> Result<(), TuningError> {
        // The thread that watches has ended, and with it the other owner.
        let Some(state) = Arc::into_inner(self.session.0) else { return Ok(()) };
        let State { mut tuning, made, .. } =
            state.into_inner().unwrap_or_else(PoisonError::into_inner);
        for (_, change) in made.iter().filter(|_| keeps) {
            tuning.keep(*change)?;
        }
        tuning.close().map(drop)
    }
}

impl Session {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Undoes all settings, for `reason`, which the next test is told; nothing if none is in effect.
    pub(in crate::commands) fn undo_all(&self, reason: &str) {
        let mut state = self.lock();
        if !state.made.is_empty() {
            let undone =
                state.undo_from(0).map_or_else(|why| format!("; {why}"), |()| String::new());
            state.lost = Some(format!("{reason}{undone}"));
        }
    }
}

impl State {
    /// Undoes what was made from a place on, the latest first.
    fn undo_from(&mut self, place: usize) -> Result<(), String> {
        while self.made.len() > place {
            let Some((_, change)) = self.made.pop() else { break };
            self.tuning.undo(change).map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    /// Makes `wanted` the settings in effect; the values that were read back, if something changed.
    fn change_to(&mut self, wanted: &[Setting]) -> Result<Vec<(Setting, String)>, String> {
        if let Some(lost) = self.lost.take() {
            return Err(lost);
        }
        let both = self.made.iter().zip(wanted);
        let same = both.take_while(|((made, _), wanted)| made == *wanted).count();
        self.undo_from(same)?;
        let mut read = Vec::new();
        for setting in &wanted[same..] {
            let applied = self.tuning.apply(setting).map_err(|error| error.to_string())?;
            self.made.push((setting.clone(), applied.id));
            if !applied.is_in_effect && applied.after == applied.before {
                return Err(format!("{setting}: the kernel left it at {}", applied.before));
            }
            read.push((setting.clone(), applied.after));
        }
        Ok(read)
    }
}

impl Tuner for HostTuner {
    fn look(&mut self, setting: &Setting) -> Result<Outlook, String> {
        let state = self.session.lock();
        let seen = state.tuning.look(setting).map_err(|why| why.to_string())?;
        if self.changes && seen.permission == Permission::NeedsRoot {
            return Err("it takes root".to_owned());
        }
        Ok(Outlook {
            current: seen.before,
            is_in_effect: seen.is_in_effect,
            undo: seen.undo,
            risks: seen.risks.iter().map(ToString::to_string).collect(),
            rewriters: seen.rewriters.iter().map(ToString::to_string).collect(),
        })
    }

    fn set(&mut self, wanted: &[Setting]) -> Result<(), String> {
        let mut state = self.session.lock();
        let before = state.made.clone();
        let read = state.change_to(wanted);
        let has_changed = before != state.made;
        if read.is_err() {
            // The first error is the one to tell; what is left the journal has.
            _ = state.undo_from(0);
        }
        drop(state);
        for (setting, value) in read? {
            self.effective.retain(|(other, _)| *other != setting);
            self.effective.push((setting, value));
        }
        if !has_changed {
            return Ok(());
        }
        thread::sleep(SETTLING);
        let down = wanted.iter().find(|setting| !is_operational(setting));
        let Some(down) = down else { return Ok(()) };
        // What cannot be undone stays in the journal.
        _ = self.session.lock().undo_from(0);
        Err(format!("{down}: the link was still down 3 s later, so that it was undone"))
    }

    fn effective(&self, setting: &Setting) -> Option<String> {
        let found = self.effective.iter().find(|(other, _)| other == setting);
        found.map(|(_, value)| value.clone())
    }
}

/// Whether the link of a setting is operational, if need be after a while: drivers reset devices.
fn is_operational(setting: &Setting) -> bool {
    let Some(interface) = interface(setting) else { return true };
    let Ok(mut route) = RouteSocket::open() else { return true };
    // An interface that cannot be asked is none to wait for.
    let mut is_up = || route.link(interface).is_ok_and(|link| link.operational);
    let deadline = clock::monotonic() + LINK_RESET;
    while !is_up() {
        if clock::monotonic() > deadline {
            return false;
        }
        thread::sleep(SETTLING);
    }
    true
}

/// The interface whose driver may reset the link for a setting.
fn interface(setting: &Setting) -> Option<&str> {
    match setting {
        Setting::Ring { interface, .. }
        | Setting::Channels { interface, .. }
        | Setting::Feature { interface, .. }
        | Setting::PauseFrames { interface, .. }
        | Setting::Eee { interface, .. }
        | Setting::Autonegotiation { interface, .. }
        | Setting::Mtu { interface, .. } => Some(interface),
        _ => None,
    }
}

/// From a change to the test after it: caches of routes and queues are as the change left them.
const SETTLING: Duration = Duration::from_millis(200);
/// A link over copper negotiates within 2 s (IEEE 802.3, 28.3 and 40.5).
const LINK_RESET: Duration = Duration::from_secs(3);
