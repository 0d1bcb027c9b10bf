//! Runs tests against one server and has them judged.

use std::path::Path;
use std::time::Duration;

use linux::event::StopSignals;
use measurement::outcome::Ending;
use measurement::remedy::{Change, Setting};
use measurement::{RecordSet, TestRecord};
use session::SessionError;
use session::client::{Batching, Request, Watching};

use crate::delegate::Delegate;
use crate::event::{Event, Forward, Monitor};
use crate::search::{self, Next, PlannedRow, Purpose, RowRate, Search, ServerAddress, Task, Trial};
use crate::tuner::{Joined, Tuner};

mod companion;
mod experiment;
mod observed;
mod probe;

pub use observed::ObservedHost;
pub(crate) use observed::run_observed;

use self::probe::LatencyProbe;

/// Runs tests against one server. It retries while the server is busy with the previous test, runs
/// probes of the round-trip time beside tests, and watches further hosts.
pub struct Runner<'a> {
    /// Server and options of the connection; its plan is replaced by that of each task.
    pub request: Request,
    /// Further hosts that are watched during tests whose result counts.
    pub observed: Vec<ObservedHost>,
    /// Signals that end a test early; none: there are no such signals.
    pub interrupts: Option<&'a StopSignals>,
    /// Receiver of the events of all tests.
    pub monitor: &'a mut dyn Monitor,
    /// Makes the settings of rows; none: no row has settings.
    pub tuner: Option<&'a mut dyn Tuner>,
    /// Further hosts whose settings are made.
    pub joined: Vec<Joined<'a>>,
    /// Runs the rows that name a program; none: no row does.
    pub delegate: Option<&'a mut dyn Delegate>,
    /// Most experiments that follow a test whose counters leave more than one explanation, until one of
    /// them decides.
    pub experiments: u32,
}

/// Results of a [`Search`]: judged records, the error that ended it early, if one did, and the
/// tests that were not run.
#[derive(Debug)]
pub struct Results {
    /// Judged records, in the order in which the tests ran.
    pub records: RecordSet,
    /// Error of the test that ended the search; none: the search was completed, or the last record
    /// contains the reason.
    pub error: Option<SessionError>,
    /// Titles of the tests that were not run because of an early end.
    pub not_run: Vec<String>,
}

impl<'a> Runner<'a> {
    /// A runner that uses `request` for each test and watches no further host.
    pub fn new(
        request: Request,
        interrupts: Option<&'a StopSignals>,
        monitor: &'a mut dyn Monitor,
    ) -> Self {
        let (observed, joined) = (Vec::new(), Vec::new());
        let (tuner, delegate) = (None, None);
        Self { request, observed, interrupts, monitor, tuner, joined, delegate, experiments: 0 }
    }

    /// Runs one test. A test for a result is judged; a trial is not.
    ///
    /// # Errors
    /// An error that prevented the start of the test, of its probe, or of watching a further host.
    /// A test that started gives a record however it ended, except for an interrupted trial, which
    /// is [`SessionError::Interrupted`].
    pub fn run(&mut self, task: &Task) -> Result<TestRecord, SessionError> {
        self.run_patiently(task, TURNAROUND)
    }

    /// Runs the tests that `search` chooses, until it is complete or has to stop. An error of a
    /// test is part of the results.
    pub fn search(&mut self, search: &mut dyn Search) -> Results {
        let mut done = Vec::new();
        let end = loop {
            match search.next(&done) {
                Next::Run(task) => done.push(self.step(task, done.is_empty())),
                end => break end,
            }
        };
        let is_early = end == Next::Stop;
        let not_run = if is_early { search.remaining(&done) } else { Vec::new() };
        let (mut records, last_error) = split(done);
        crate::judge_together(&mut records);
        let mut records = RecordSet::new(records);
        search.conclude(&mut records);
        Results {
            records,
            error: last_error.filter(|_| is_early),
            not_run: not_run.iter().map(Task::title).collect(),
        }
    }

    /// One test of a search.
    fn step(&mut self, task: Task, is_first: bool) -> Trial {
        // A server that is busy before the first one is busy with others' tests.
        let is_others = is_first && task.purpose.is_result();
        let patience = if is_others { Duration::ZERO } else { TURNAROUND };
        let begun = linux::clock::monotonic();
        let result = self.set(&task.row).and_then(|()| self.run_patiently(&task, patience));
        Trial { task, result, took: linux::clock::monotonic().saturating_sub(begun) }
    }

    /// Makes the settings of a row, in place of those that the last call made. After an error none
    /// is in effect on any host.
    pub(crate) fn set(&mut self, row: &PlannedRow) -> Result<(), SessionError> {
        let made = self.set_here(&row.settings).and_then(|()| self.set_elsewhere(&row.elsewhere));
        if made.is_err() {
            self.undo_all();
        }
        made
    }

    /// Undoes the settings of all hosts.
    pub(crate) fn undo_all(&mut self) {
        // There is an error already that says why; what is left the journals have.
        _ = self.set_here(&[]);
        _ = self.set_elsewhere(&[]);
    }

    fn set_elsewhere(&mut self, changes: &[Change]) -> Result<(), SessionError> {
        let mut failure = None;
        for one in &mut self.joined {
            let wanted = changes.iter().filter(|change| change.host == one.host);
            let wanted: Vec<_> = wanted.map(|change| change.setting.clone()).collect();
            failure = failure.or(one.tuner.set(&wanted).err());
        }
        failure.map_or(Ok(()), |why| Err(SessionError::Setting(why)))
    }

    fn set_here(&mut self, settings: &[Setting]) -> Result<(), SessionError> {
        match &mut self.tuner {
            Some(tuner) => tuner.set(settings).map_err(SessionError::Setting),
            None if settings.is_empty() => Ok(()),
            None => Err(SessionError::Setting("nothing makes the settings of tests".to_owned())),
        }
    }

    fn run_patiently(
        &mut self,
        task: &Task,
        patience: Duration,
    ) -> Result<TestRecord, SessionError> {
        self.monitor.receive(&Event::Begins(task));
        let result = match task.purpose {
            Purpose::Result { .. } | Purpose::Further { .. } => self.measure(task, patience),
            Purpose::Trial { watching, .. } => self.try_out(task, watching, patience),
        };
        self.monitor.receive(&match &result {
            Ok(record) => Event::Ended(record),
            Err(error) => Event::Failed(error),
        });
        result
    }

    fn request_of(&self, row: &PlannedRow) -> Request {
        let mut request = Request { plan: row.plan.clone(), ..self.request.clone() };
        if let Some(cpus) = &row.cpus {
            request.cpus.clone_from(cpus);
        }
        if let Some(ServerAddress { host, port }) = &row.server {
            request.host.clone_from(host);
            request.port = *port;
        }
        if row.pieces && request.options.batching == Batching::WhereFaster {
            request.options.batching = Batching::WherePossible;
        }
        request.tags.extend(row.placement().map(|cpus| (search::CPUS.to_owned(), cpus)));
        let settings = row.shown_settings();
        request.tags.extend(settings.map(|shown| (search::SETTINGS.to_owned(), shown)));
        request
    }

    /// A test by all means that were asked for, judged.
    fn measure(&mut self, task: &Task, patience: Duration) -> Result<TestRecord, SessionError> {
        let request = self.request_of(&task.row);
        let probe = task.row.probe_every.map(|every| LatencyProbe::new(&request, every));
        let interrupts = self.interrupts;
        let mut means = Means::of(&task.row, &mut *self.monitor, self.delegate.as_deref_mut())?;
        let mut test = || run_test(&request, &mut means, interrupts, patience);
        let mut probed = || match &probe {
            Some(Ok(probe)) => probe::run_beside(probe, interrupts, &mut test),
            // Every pause that the command line takes makes a plan.
            None | Some(Err(_)) => test(),
        };
        let mut record = observed::run_observed(&self.observed, &request, interrupts, &mut probed)?;
        record.origin.question = task.purpose.question().map(str::to_owned);
        if let RowRate::Found(search) = &task.row.rate {
            record.trials.rate = Some((**search).clone());
            // A search found the rate of the plan: nobody requested it.
            record.outcome.directions.iter_mut().for_each(|direction| direction.asked = None);
        }
        crate::judge(&mut record);
        if task.row.program.is_none() {
            experiment::ask(&request, &mut record, self.experiments, interrupts);
        }
        Ok(record)
    }

    /// A test without judgement.
    fn try_out(
        &mut self,
        task: &Task,
        watching: Watching,
        patience: Duration,
    ) -> Result<TestRecord, SessionError> {
        let mut request = self.request_of(&task.row);
        if watching == Watching::Nothing {
            request.options.watching = Watching::Nothing;
        }
        let is_watched = request.options.watching != Watching::Nothing;
        let observed = if is_watched { self.observed.as_slice() } else { &[] };
        let interrupts = self.interrupts;
        let mut means = Means::of(&task.row, &mut *self.monitor, self.delegate.as_deref_mut())?;
        let mut test = || run_test(&request, &mut means, interrupts, patience);
        let record = observed::run_observed(observed, &request, interrupts, &mut test)?;
        // Part of a trial decides nothing.
        match record.outcome.ending {
            Ending::Interrupted => Err(SessionError::Interrupted),
            Ending::Completed | Ending::Failed { .. } => Ok(record),
        }
    }
}

impl Results {
    /// Results without any record, to which others can be appended.
    pub fn none() -> Self {
        Self { records: RecordSet::new(Vec::new()), error: None, not_run: Vec::new() }
    }

    /// Whether no error occurred and all tests ran to their planned end; true without any record.
    pub fn are_complete(&self) -> bool {
        let completed = |record: &TestRecord| record.outcome.ending == Ending::Completed;
        self.error.is_none() && self.records.records.iter().all(completed)
    }

    /// Appends the results of tests that ran `later`. The earlier error is kept, if there is one.
    pub fn append(&mut self, later: Self) {
        self.records.records.extend(later.records.records);
        self.error = self.error.take().or(later.error);
        self.not_run.extend(later.not_run);
    }
}

/// The records of results, and the error of the last test, if it gave none.
fn split(done: Vec<Trial>) -> (Vec<TestRecord>, Option<SessionError>) {
    let (mut records, mut last_error) = (Vec::new(), None);
    for trial in done {
        let is_result = trial.task.purpose.is_result();
        match trial.result {
            Ok(record) => {
                last_error = None;
                records.extend(is_result.then_some(record));
            }
            Err(error) => last_error = Some(error),
        }
    }
    (records, last_error)
}

/// By what a test is run.
enum Means<'m> {
    This(&'m mut dyn Monitor),
    Program(&'m mut dyn Delegate, &'m Path),
}

impl<'m> Means<'m> {
    fn of(
        row: &'m PlannedRow,
        monitor: &'m mut dyn Monitor,
        delegate: Option<&'m mut (dyn Delegate + '_)>,
    ) -> Result<Self, SessionError> {
        match (&row.program, delegate) {
            (None, _) => Ok(Self::This(monitor)),
            (Some(program), Some(delegate)) => Ok(Self::Program(delegate, program)),
            (Some(program), None) => Err(SessionError::Program {
                program: program.display().to_string(),
                reason: "nothing runs other programs".to_owned(),
                may_pass: false,
            }),
        }
    }

    fn run(
        &mut self,
        request: &Request,
        interrupts: Option<&StopSignals>,
    ) -> Result<TestRecord, SessionError> {
        match self {
            Self::This(monitor) => {
                session::client::run(request, &mut Forward(&mut **monitor), interrupts)
            }
            Self::Program(delegate, program) => delegate.run(program, request, interrupts),
        }
    }
}

/// Runs one test; tries again while the server is still busy with the one before. An iperf3 even
/// closes its port between two tests (clause 2.6 of docs/protocol/iperf3.md).
fn run_test(
    request: &Request,
    means: &mut Means<'_>,
    interrupts: Option<&StopSignals>,
    patience: Duration,
) -> Result<TestRecord, SessionError> {
    let deadline = linux::clock::monotonic() + patience;
    loop {
        match means.run(request, interrupts) {
            Err(error) if error.may_pass() && linux::clock::monotonic() < deadline => {
                std::thread::sleep(RETRY);
            }
            result => return result,
        }
    }
}

/// How long a server may take between two tests.
const TURNAROUND: Duration = Duration::from_secs(2);
/// From one attempt to the next.
const RETRY: Duration = Duration::from_millis(20);
