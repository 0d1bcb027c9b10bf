//! Values that several threads write, kept off the cache lines of others.

/// A value on cache lines of its own: pairs of 64 bytes, as CPUs fetch the neighbour too.
#[derive(Debug, Default)]
#[repr(align(128))]
pub(crate) struct CacheAligned<T>(pub(crate) T);
