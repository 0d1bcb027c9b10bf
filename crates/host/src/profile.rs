//! Where the CPUs of this host are found while it is watched: samples, in the names of its
//! kernel. What they mean is another's work.

mod names;
mod programs;
mod rows;
mod tally;
mod tasks;
mod vantage;

use std::fs::File;
use std::sync::Arc;
use std::time::Duration;

use linux::perf::{PerfError, Sampler, Scope};
use measurement::{Gap, Profile};

use names::Names;
use tally::Tally;

pub use vantage::Vantage;

/// Takes samples for one test.
#[derive(Debug)]
pub(crate) struct Profiler {
    vantage: Arc<Vantage>,
    sampler: Sampler,
    tally: Tally,
    began: Option<Duration>,
    span: Duration,
    lost_before: u64,
    profile: Option<Profile>,
    gaps: Vec<Gap>,
}

impl Profiler {
    /// Is ready to begin. `threads` are those that run the test, of this process: where no
    /// more is allowed they are looked at alone.
    pub(crate) fn new(vantage: Arc<Vantage>, threads: &[i32]) -> Result<Self, Gap> {
        let sampler = vantage.lend(threads).map_err(|refusal| refused(&refusal))?;
        let lost_before = sampler.lost();
        let mut gaps = Vec::new();
        if sampler.scope() == Scope::Threads {
            gaps.push(gap("profile of other processes", &PerfError::NotPermitted.to_string()));
        }
        let (tally, began, span, profile) = (Tally::default(), None, Duration::ZERO, None);
        Ok(Self { vantage, sampler, tally, began, span, lost_before, profile, gaps })
    }

    /// Takes samples from now on.
    pub(crate) fn begin(&mut self) {
        match self.sampler.start() {
            Ok(()) => self.began = Some(linux::clock::monotonic()),
            Err(error) => self.gaps.push(gap(WHAT, &format!("cannot be switched on: {error}"))),
        }
    }

    /// Counts what was taken since the last time.
    pub(crate) fn gather(&mut self) {
        if self.began.is_some() {
            self.sampler.drain(|sample| self.tally.count(sample));
        }
    }

    /// Forgets what was taken so far: the test counts from here on.
    pub(crate) fn forget(&mut self) {
        if self.began.is_some() {
            self.sampler.drain(|_| {});
            self.tally = Tally::default();
            self.lost_before = self.sampler.lost();
            self.began = Some(linux::clock::monotonic());
        }
    }

    /// Takes no more, and finds names for what was taken: now, since somebody waits at the end.
    pub(crate) fn end(&mut self) {
        let Some(began) = self.began else { return };
        // What cannot be switched off goes when it is dropped.
        _ = self.sampler.stop();
        self.gather();
        self.began = None;
        self.span = linux::clock::monotonic().saturating_sub(began);
        if self.span < SHORTEST {
            self.gaps.push(gap(WHAT, "the test was shorter than a second"));
        } else {
            self.profile = Some(self.named());
        }
    }

    fn named(&mut self) -> Profile {
        let names = self.vantage.with_symbols(|file: Option<&mut File>| {
            Names::of(&self.tally.kernel_addresses(), file)
        });
        if names.are_hidden() {
            self.gaps.push(gap("names of the kernel's functions", HIDDEN));
        }
        Profile {
            event: self.sampler.event().name().to_owned(),
            hertz: self.sampler.hertz().per_second(),
            span: self.span,
            lost: self.sampler.lost() - self.lost_before,
            ..rows::profile(&self.tally, &names)
        }
    }

    /// What it saw, if it saw enough.
    pub(crate) fn finish(mut self) -> (Option<Profile>, Vec<Gap>) {
        self.end();
        let Self { vantage, sampler, profile, gaps, .. } = self;
        vantage.take_back(sampler);
        (profile, gaps)
    }
}

fn refused(refusal: &PerfError) -> Gap {
    gap(WHAT, &refusal.to_string())
}

fn gap(what: &str, why: &str) -> Gap {
    Gap { what: what.to_owned(), why: why.to_owned() }
}

const WHAT: &str = "profile of the CPUs";
const HIDDEN: &str = "hidden: run it as root or set kernel.kptr_restrict=0 and \
                      kernel.perf_event_paranoid=1";
/// To find the names takes a good part of a tenth of a second; a test that is over in a moment
/// does not wait for them.
const SHORTEST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
