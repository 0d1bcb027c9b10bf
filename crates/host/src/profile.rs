//! Profiles the CPUs of this host by samples of perf_event_open(2), and resolves the symbols of
//! its kernel. The crate `analysis` interprets them.

mod mapped_files;
mod names;
mod perf_access;
mod processes;
mod rows;
mod sample_counts;

use std::sync::Arc;
use std::time::Duration;

use linux::perf::{PerfError, Sampler, Scope};
use measurement::{Gap, Profile};

use sample_counts::SampleCounts;

pub use perf_access::PerfAccess;

/// Profiler for one test.
#[derive(Debug)]
pub(crate) struct Profiler {
    perf_access: Arc<PerfAccess>,
    sampler: Sampler,
    counts: SampleCounts,
    began: Option<Duration>,
    span: Duration,
    lost_before: u64,
    profile: Option<Profile>,
    gaps: Vec<Gap>,
}

impl Profiler {
    /// Prepares a profile of all CPUs, or, where that is not permitted, of the `threads` of this
    /// process that run the test.
    pub(crate) fn new(perf_access: Arc<PerfAccess>, threads: &[i32]) -> Result<Self, Gap> {
        let sampler = perf_access.take_sampler(threads).map_err(|refusal| refused(&refusal))?;
        let lost_before = sampler.lost();
        let mut gaps = Vec::new();
        if sampler.scope() == Scope::Threads {
            gaps.push(gap("profile of other processes", &PerfError::NotPermitted.to_string()));
        }
        let (counts, began, span, profile) = (SampleCounts::default(), None, Duration::ZERO, None);
        Ok(Self { perf_access, sampler, counts, began, span, lost_before, profile, gaps })
    }

    /// Starts to sample.
    pub(crate) fn begin(&mut self) {
        match self.sampler.start() {
            Ok(()) => self.began = Some(linux::clock::monotonic()),
            Err(error) => self.gaps.push(gap(WHAT, &format!("cannot be switched on: {error}"))),
        }
    }

    /// Counts the samples since the last call.
    pub(crate) fn gather(&mut self) {
        if self.began.is_some() {
            self.sampler.drain(|sample| self.counts.count(sample));
        }
    }

    /// Discards the samples so far.
    pub(crate) fn forget(&mut self) {
        if self.began.is_some() {
            self.sampler.drain(|_| {});
            self.counts = SampleCounts::default();
            self.lost_before = self.sampler.lost();
            self.began = Some(linux::clock::monotonic());
        }
    }

    /// Stops, and resolves the symbols now, so that [`Self::finish`] returns soon.
    pub(crate) fn end(&mut self) {
        let Some(began) = self.began else { return };
        // Events that cannot be disabled end when the sampler is dropped.
        _ = self.sampler.stop();
        self.gather();
        self.began = None;
        self.span = linux::clock::monotonic().saturating_sub(began);
        if self.span < SHORTEST {
            self.gaps.push(gap(WHAT, "the test was shorter than a second"));
        } else {
            self.profile = Some(self.resolved());
        }
    }

    fn resolved(&mut self) -> Profile {
        let addresses = self.counts.kernel_addresses();
        let names = self.perf_access.resolve(&addresses);
        if names.is_none() && !addresses.is_empty() {
            self.gaps.push(gap("names of the kernel's functions", HIDDEN));
        }
        let names = names.unwrap_or_default();
        Profile {
            event: self.sampler.event().name().to_owned(),
            hertz: self.sampler.hertz().per_second(),
            span: self.span,
            lost: self.sampler.lost() - self.lost_before,
            ..rows::profile(&self.counts, &names)
        }
    }

    /// The profile, if the test was long enough, and the gaps.
    pub(crate) fn finish(mut self) -> (Option<Profile>, Vec<Gap>) {
        self.end();
        let Self { perf_access, sampler, profile, gaps, .. } = self;
        perf_access.return_sampler(sampler);
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
/// Resolving symbols takes some 0.1 s, which a shorter test does not wait for.
const SHORTEST: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests;
