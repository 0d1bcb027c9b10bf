//! Vectors of four numbers, by the processor's own instructions: those of 128 bits that every x86-64
//! (SSE2) and every 64-bit ARM (NEON) has; elsewhere in plain Rust.
//!
//! | AltiVec | Cell's SPU | here | x86-64 | 64-bit ARM |
//! |---|---|---|---|---|
//! | `vec_add` | `spu_add` | [`Vector::add`] | `addps` | `fadd` |
//! | `vec_sub` | `spu_sub` | [`Vector::sub`] | `subps` | `fsub` |
//! | - | `spu_mul` | [`Vector::mul`] | `mulps` | `fmul` |
//! | `vec_madd` | `spu_madd` | [`Vector::mul_add`] | `mulps`, `addps` | `fmul`, `fadd` |
//! | `vec_re` | `spu_re` | [`Vector::reciprocal`] | `rcpps` | `frecpe` |
//! | `vec_rsqte` | `spu_rsqte` | [`Vector::reciprocal_root`] | `rsqrtps` | `frsqrte` |
//! | `vec_and` | `spu_and` | [`Vector::and`] | `andps` | `and` |
//! | `vec_or` | `spu_or` | [`Vector::or`] | `orps` | `orr` |

#[cfg_attr(target_arch = "x86_64", path = "vectors/x86.rs")]
#[cfg_attr(target_arch = "aarch64", path = "vectors/arm.rs")]
#[cfg_attr(not(any(target_arch = "x86_64", target_arch = "aarch64")), path = "vectors/plain.rs")]
mod native;
#[path = "vectors/plain.rs"]
mod plain;

pub(crate) use native::Vector;

/// Squares numbers of four bytes each, least significant first. Both sides have the same length.
pub(crate) fn square(numbers: &[u8], squares: &mut [u8]) {
    for (four, square) in numbers.chunks_exact(16).zip(squares.chunks_exact_mut(16)) {
        let vector = Vector::from(std::array::from_fn(|place| number(four, place)));
        let results: [f32; 4] = vector.mul(vector).into();
        for (bytes, number) in square.chunks_exact_mut(4).zip(results) {
            bytes.copy_from_slice(&number.to_le_bytes());
        }
    }
}

fn number(bytes: &[u8], place: usize) -> f32 {
    let four = bytes[4 * place..].first_chunk::<4>();
    four.map_or(0.0, |four| f32::from_le_bytes(*four))
}

/// What differs between these vectors and plain Rust's, over some numbers; estimates may by a part in
/// 256 (AltiVec has 4,096; ARM has 256).
pub(crate) fn differences() -> Vec<&'static str> {
    let numbers = [[1.0, -2.5, 3.0e10, 0.1], [4.0, 9.0, 1.0e-3, 7.0], [0.5, 2.0, 256.0, 3.3]];
    let mut found = Vec::new();
    for a in numbers {
        for b in numbers {
            let (v, w, p, q) =
                (Vector::from(a), Vector::from(b), plain::Vector::from(a), plain::Vector::from(b));
            let pairs: [(&str, [f32; 4], [f32; 4]); 8] = [
                ("add", v.add(w).into(), p.add(q).into()),
                ("sub", v.sub(w).into(), p.sub(q).into()),
                ("mul", v.mul(w).into(), p.mul(q).into()),
                ("madd", v.mul_add(w, v).into(), p.mul_add(q, p).into()),
                ("re", v.reciprocal().into(), p.reciprocal().into()),
                ("rsqte", v.mul(v).reciprocal_root().into(), p.mul(p).reciprocal_root().into()),
                ("and", v.and(w).into(), p.and(q).into()),
                ("or", v.or(w).into(), p.or(q).into()),
            ];
            for (name, ours, plain) in pairs {
                let tolerated = if matches!(name, "re" | "rsqte") { 1.0 / 256.0 } else { 0.0 };
                let differ =
                    |(one, other): (f32, f32)| (one - other).abs() > tolerated * other.abs();
                if ours.into_iter().zip(plain).any(differ) {
                    found.push(name);
                }
            }
        }
    }
    found
}
