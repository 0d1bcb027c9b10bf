//! A field of a sample that a list of numbers can hold.

/// One field of a sample.
pub(super) struct Column<T> {
    pub(super) name: &'static str,
    pub(super) get: fn(&T) -> u64,
    pub(super) set: fn(&mut T, u64),
}

/// A field that a list of numbers can hold.
pub(super) trait Cell {
    /// The field as a number.
    fn cell(self) -> u64;
    /// Sets the field; a number beyond its range becomes its maximum.
    fn fill(&mut self, value: u64);
}

macro_rules! cells {
    ($($type:ty),+) => {
        $(impl Cell for $type {
            fn cell(self) -> u64 {
                self.into()
            }

            fn fill(&mut self, value: u64) {
                *self = Self::try_from(value).unwrap_or(Self::MAX);
            }
        })+
    };
}

cells!(u8, u32, u64);

impl Cell for bool {
    fn cell(self) -> u64 {
        self.into()
    }

    fn fill(&mut self, value: u64) {
        *self = value != 0;
    }
}
