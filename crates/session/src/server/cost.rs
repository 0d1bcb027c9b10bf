//! What a test takes of a server: memory, open files and threads.

use super::metrics::Refusal;

/// Memory in bytes, open files and threads.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Cost {
    pub(crate) memory: u64,
    pub(crate) descriptors: u64,
    pub(crate) threads: u64,
}

/// What a test takes in the end, and when it takes which part of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Need {
    /// As soon as it is taken in.
    pub(crate) base: Cost,
    /// When one of its streams arrives.
    pub(crate) each: Cost,
    pub(crate) streams: u32,
    /// When all streams are there.
    pub(crate) workers: Cost,
}

impl Need {
    /// What it takes once it runs.
    pub(crate) const fn whole(&self) -> Cost {
        self.base.plus(self.each.times(self.streams as u64)).plus(self.workers)
    }
}

impl Cost {
    pub(crate) const fn plus(self, other: Self) -> Self {
        Self {
            memory: self.memory.saturating_add(other.memory),
            descriptors: self.descriptors.saturating_add(other.descriptors),
            threads: self.threads.saturating_add(other.threads),
        }
    }

    pub(crate) const fn minus(self, other: Self) -> Self {
        Self {
            memory: self.memory.saturating_sub(other.memory),
            descriptors: self.descriptors.saturating_sub(other.descriptors),
            threads: self.threads.saturating_sub(other.threads),
        }
    }

    pub(crate) const fn times(self, count: u64) -> Self {
        Self {
            memory: self.memory.saturating_mul(count),
            descriptors: self.descriptors.saturating_mul(count),
            threads: self.threads.saturating_mul(count),
        }
    }

    /// What one client may have of it: half, and three quarters of the descriptors, of
    /// which a test of very many streams takes most, and others need few.
    pub(crate) const fn of_one_client(self) -> Self {
        Self {
            memory: self.memory / 2,
            descriptors: self.descriptors / 4 * 3,
            threads: self.threads / 2,
        }
    }

    /// What one client may have if this is what it leaves to others: of all that there is, that
    /// is [`Self::of_one_client`].
    pub(crate) const fn beside_what_is_left(self) -> Self {
        Self { descriptors: self.descriptors.saturating_mul(3), ..self }
    }

    /// The first resource of which this is more than there is.
    pub(crate) const fn excess(self, most: Self) -> Option<Refusal> {
        if self.memory > most.memory {
            Some(Refusal::Memory)
        } else if self.descriptors > most.descriptors {
            Some(Refusal::Descriptors)
        } else if self.threads > most.threads {
            Some(Refusal::Threads)
        } else {
            None
        }
    }

    /// How much of the resource it is that is refused for this reason.
    pub(crate) const fn of(self, why: Refusal) -> u64 {
        match why {
            Refusal::Memory => self.memory,
            Refusal::Descriptors => self.descriptors,
            Refusal::Threads => self.threads,
            _ => 0,
        }
    }
}
