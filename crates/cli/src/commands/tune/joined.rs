//! Makes the settings of tests on a host that lets this one tune it.

use campaign::{Joined, ObservedHost, Outlook, Tuner};
use linux::event::StopSignals;
use measurement::host::Role;
use measurement::remedy::Setting;
use session::client::Request as TestRequest;
use session::tuning::{Answer, ReadBack, Request, SharedKey, TuningConnection, TuningLoss};

use crate::flags::TuneFlags;
use crate::shared_key;

/// A further host. A connection that was lost is opened again for the next change.
pub(super) struct JoinedHost {
    /// The host, as records name it.
    role: Role,
    request: TestRequest,
    key: SharedKey,
    connection: Option<TuningConnection>,
    /// Settings that the last request asked for.
    made: Vec<Setting>,
    /// Values that were read back, of each setting the last.
    effective: Vec<ReadBack>,
}

impl JoinedHost {
    /// Connects to all that the command line names: those of `--on`, else the server.
    ///
    /// # Errors
    /// A sentence about the first one that does not let this host tune it.
    pub(super) fn all(
        flags: &TuneFlags,
        server: &TestRequest,
        interrupts: &StopSignals,
    ) -> Result<Vec<Self>, String> {
        let Some(file) = &flags.tune_key else { return Ok(Vec::new()) };
        let key = shared_key::read(file)?;
        let join = |(role, ObservedHost { host, port })| {
            let request = TestRequest { host, port, ..server.clone() };
            let (connection, made, effective) = (None, Vec::new(), Vec::new());
            let key = key.clone();
            let mut joined = Self { role, request, key, connection, made, effective };
            joined.connect(Some(interrupts)).map(|()| joined)
        };
        named(flags).into_iter().map(join).collect()
    }

    /// The host as a runner of tests takes it.
    pub(super) fn for_runner(&mut self) -> Joined<'_> {
        Joined { host: self.role.clone(), tuner: self }
    }

    /// Keeps what is in effect there, or undoes it, and ends the connection.
    ///
    /// # Errors
    /// It could not be kept: it is undone.
    pub(super) fn finish(mut self, keeps: bool) -> Result<(), String> {
        if keeps && !self.made.is_empty() {
            return match self.ask(&Request::Keep)? {
                Answer::Kept => Ok(()),
                _ => Err(self.other()),
            };
        }
        self.set(&[])
    }

    fn connect(&mut self, interrupts: Option<&StopSignals>) -> Result<(), String> {
        if self.connection.is_none() {
            let opened = TuningConnection::open(&self.request, &self.key, interrupts);
            self.connection = Some(opened.map_err(|loss| self.about(&loss))?);
        }
        Ok(())
    }

    fn ask(&mut self, request: &Request) -> Result<Answer, String> {
        self.connect(None)?;
        let Some(connection) = &mut self.connection else { return Err(self.other()) };
        match connection.ask(request) {
            Ok(Answer::Refused(why)) => Err(format!("{}: {why}", self.request.host)),
            Ok(answer) => Ok(answer),
            Err(loss) => {
                // Its end has the host undo everything.
                self.connection = None;
                self.made.clear();
                Err(self.about(&loss))
            }
        }
    }

    fn about(&self, loss: &TuningLoss) -> String {
        match loss {
            TuningLoss::Connect(error) => error.to_string(),
            loss => format!("{}: {loss}", self.request.host),
        }
    }

    fn other(&self) -> String {
        format!("{}: its answer is one to another request", self.request.host)
    }
}

/// The hosts that the command line names, and what records call them.
pub(super) fn named(flags: &TuneFlags) -> Vec<(Role, ObservedHost)> {
    let (host, port) = flags.test.server.target.host_and_port();
    let server = ObservedHost { host, port };
    let role = |on: &ObservedHost| {
        if *on == server { Role::Peer } else { Role::Observed(on.host.clone()) }
    };
    let on: Vec<_> = flags.on.iter().map(|on| (role(on), on.clone())).collect();
    match (&flags.tune_key, on.is_empty()) {
        (None, _) => Vec::new(),
        (Some(_), true) => vec![(Role::Peer, server)],
        (Some(_), false) => on,
    }
}

impl Tuner for JoinedHost {
    fn look(&mut self, setting: &Setting) -> Result<Outlook, String> {
        match self.ask(&Request::Look(setting.clone()))? {
            Answer::Outlook { current, is_in_effect, undo, risks, rewriters } => {
                Ok(Outlook { current, is_in_effect, undo, risks, rewriters })
            }
            _ => Err(self.other()),
        }
    }

    fn set(&mut self, wanted: &[Setting]) -> Result<(), String> {
        if self.connection.is_none() && wanted.is_empty() {
            return Ok(());
        }
        match self.ask(&Request::Set(wanted.to_vec())) {
            Ok(Answer::Set(read)) => {
                self.made = wanted.to_vec();
                for one in read {
                    self.effective.retain(|other| other.setting != one.setting);
                    self.effective.push(one);
                }
                Ok(())
            }
            Ok(_) => Err(self.other()),
            Err(why) => {
                self.made.clear();
                Err(why)
            }
        }
    }

    fn effective(&self, setting: &Setting) -> Option<String> {
        let found = self.effective.iter().find(|one| one.setting == *setting);
        found.map(|one| one.value.clone())
    }
}
