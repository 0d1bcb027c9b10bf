//! Four numbers in plain Rust.

/// Four numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vector([f32; 4]);

impl Vector {
    fn of(self, other: Self, function: impl Fn(f32, f32) -> f32) -> Self {
        Self(std::array::from_fn(|place| function(self.0[place], other.0[place])))
    }

    fn of_bits(self, other: Self, function: impl Fn(u32, u32) -> u32) -> Self {
        self.of(other, |one, two| f32::from_bits(function(one.to_bits(), two.to_bits())))
    }

    pub(crate) fn add(self, other: Self) -> Self {
        self.of(other, |one, two| one + two)
    }

    pub(crate) fn sub(self, other: Self) -> Self {
        self.of(other, |one, two| one - two)
    }

    pub(crate) fn mul(self, other: Self) -> Self {
        self.of(other, |one, two| one * two)
    }

    /// `self * factor + summand`, rounded twice.
    pub(crate) fn mul_add(self, factor: Self, summand: Self) -> Self {
        self.mul(factor).add(summand)
    }

    pub(crate) fn reciprocal(self) -> Self {
        self.of(self, |number, _| 1.0 / number)
    }

    pub(crate) fn reciprocal_root(self) -> Self {
        self.of(self, |number, _| 1.0 / number.sqrt())
    }

    pub(crate) fn and(self, other: Self) -> Self {
        self.of_bits(other, |one, two| one & two)
    }

    pub(crate) fn or(self, other: Self) -> Self {
        self.of_bits(other, |one, two| one | two)
    }
}

impl From<[f32; 4]> for Vector {
    fn from(numbers: [f32; 4]) -> Self {
        Self(numbers)
    }
}

impl From<Vector> for [f32; 4] {
    fn from(vector: Vector) -> Self {
        vector.0
    }
}
