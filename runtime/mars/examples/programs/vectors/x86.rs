//! Four numbers in a register of SSE.

#![expect(unsafe_code, reason = "instructions of one architecture")]

use std::arch::x86_64::{
    __m128, _mm_add_ps, _mm_and_ps, _mm_loadu_ps, _mm_mul_ps, _mm_or_ps, _mm_rcp_ps, _mm_rsqrt_ps,
    _mm_storeu_ps, _mm_sub_ps,
};

/// Four numbers in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector(__m128);

impl Vector {
    pub(crate) fn add(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_add_ps(self.0, other.0) })
    }

    pub(crate) fn sub(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_sub_ps(self.0, other.0) })
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_mul_ps(self.0, other.0) })
    }

    /// `self * factor + summand`, rounded twice.
    pub(crate) fn mul_add(self, factor: Self, summand: Self) -> Self {
        self.mul(factor).add(summand)
    }

    pub(crate) fn reciprocal(self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_rcp_ps(self.0) })
    }

    pub(crate) fn reciprocal_root(self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_rsqrt_ps(self.0) })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_and_ps(self.0, other.0) })
    }

    pub(crate) fn or(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { _mm_or_ps(self.0, other.0) })
    }
}

impl From<[f32; 4]> for Vector {
    fn from(numbers: [f32; 4]) -> Self {
        // SAFETY: four numbers are read, at any address.
        Self(unsafe { _mm_loadu_ps(numbers.as_ptr()) })
    }
}

impl From<Vector> for [f32; 4] {
    fn from(vector: Vector) -> Self {
        let mut numbers = [0.0; 4];
        // SAFETY: four numbers are written, at any address.
        unsafe { _mm_storeu_ps(numbers.as_mut_ptr(), vector.0) };
        numbers
    }
}
