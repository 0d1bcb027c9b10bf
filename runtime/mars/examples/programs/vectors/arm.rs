//! Four numbers in a register of NEON.

#![expect(unsafe_code, reason = "instructions of one architecture")]

use std::arch::aarch64::{
    float32x4_t, vaddq_f32, vandq_u32, vld1q_f32, vmulq_f32, vorrq_u32, vrecpeq_f32,
    vreinterpretq_f32_u32, vreinterpretq_u32_f32, vrsqrteq_f32, vst1q_f32, vsubq_f32,
};

/// Four numbers in a register.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector(float32x4_t);

impl Vector {
    pub(crate) fn add(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { vaddq_f32(self.0, other.0) })
    }

    pub(crate) fn sub(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { vsubq_f32(self.0, other.0) })
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { vmulq_f32(self.0, other.0) })
    }

    /// `self * factor + summand`, rounded twice.
    pub(crate) fn mul_add(self, factor: Self, summand: Self) -> Self {
        self.mul(factor).add(summand)
    }

    pub(crate) fn reciprocal(self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { vrecpeq_f32(self.0) })
    }

    pub(crate) fn reciprocal_root(self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe { vrsqrteq_f32(self.0) })
    }

    pub(crate) fn and(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe {
            let (one, two) = (vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(other.0));
            vreinterpretq_f32_u32(vandq_u32(one, two))
        })
    }

    pub(crate) fn or(self, other: Self) -> Self {
        // SAFETY: every processor of this architecture has it.
        Self(unsafe {
            let (one, two) = (vreinterpretq_u32_f32(self.0), vreinterpretq_u32_f32(other.0));
            vreinterpretq_f32_u32(vorrq_u32(one, two))
        })
    }
}

impl From<[f32; 4]> for Vector {
    fn from(numbers: [f32; 4]) -> Self {
        // SAFETY: four numbers are read, at any address.
        Self(unsafe { vld1q_f32(numbers.as_ptr()) })
    }
}

impl From<Vector> for [f32; 4] {
    fn from(vector: Vector) -> Self {
        let mut numbers = [0.0; 4];
        // SAFETY: four numbers are written, at any address.
        unsafe { vst1q_f32(numbers.as_mut_ptr(), vector.0) };
        numbers
    }
}
