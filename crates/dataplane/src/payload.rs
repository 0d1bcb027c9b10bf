//! The payload that is sent. It never changes, and so the workers of all tests that have the
//! same number share one: a server of hundreds of tests has as many as it has CPUs.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use linux::memory::Region;

/// The content of the payload that a test sends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PayloadPattern {
    /// Random bytes, so that no link compresses them.
    Random,
    /// The ten digits over and over, as `iperf3 --repeating-payload` sends them.
    Digits,
}

impl PayloadPattern {
    /// Makes a payload of `length` bytes with this content.
    ///
    /// # Errors
    /// `ENOSYS`: the kernel has no getrandom(2). [`Self::Digits`] never fails.
    pub fn bytes(self, length: usize) -> io::Result<Box<[u8]>> {
        let mut bytes: Box<[u8]> = DIGITS.iter().copied().cycle().take(length).collect();
        if self == Self::Random {
            linux::entropy::fill(&mut bytes)?;
        }
        Ok(bytes)
    }
}

/// Bytes to send, on a huge page where there is one.
pub(crate) struct Payload {
    region: Arc<Region>,
    length: usize,
}

impl Payload {
    /// `length` bytes for MPU `mpu` of a test.
    ///
    /// # Errors
    /// `ENOSYS`: the kernel has no getrandom(2); `ENOMEM`.
    pub(crate) fn of(pattern: PayloadPattern, length: usize, mpu: usize) -> io::Result<Self> {
        let mut all = PAYLOADS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.region.strong_count() > 0);
        // Few lengths, so that many tests of slightly different ones share it too.
        let key = (pattern, length.next_power_of_two(), mpu);
        let kept = all.iter().filter(|one| one.key == key).find_map(|one| one.region.upgrade());
        if let Some(region) = kept {
            return Ok(Self { region, length });
        }
        let bytes = pattern.bytes(key.1)?;
        // The kernel refers to a block of one page with one fragment, of zero-copy sends.
        let room = if length >= LARGE { key.1.max(HUGE) } else { key.1 };
        let mut region = Region::new(room)?;
        region[..key.1].copy_from_slice(&bytes);
        let region = Arc::new(region);
        all.push(Kept { key, region: Arc::downgrade(&region) });
        Ok(Self { region, length })
    }
}

impl Deref for Payload {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.region[..self.length]
    }
}

/// A payload that a test may use now.
struct Kept {
    key: (PayloadPattern, usize, usize),
    region: Weak<Region>,
}

const DIGITS: &[u8; 10] = b"0123456789";
/// From so many bytes on a huge page is worth it, and how many ask for one.
const LARGE: usize = 32 * 1024;
const HUGE: usize = 256 * 1024;
static PAYLOADS: Mutex<Vec<Kept>> = Mutex::new(Vec::new());

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn workers_with_one_number_share_their_payload_and_others_do_not() {
        let of = |length, mpu| Payload::of(PayloadPattern::Random, length, mpu).expect("made");
        // No other test of this process has so many MPUs.
        let (one, other) = (of(100_001, 901), of(100_002, 901));
        assert_eq!((one.len(), other.len()), (100_001, 100_002));
        assert!(Arc::ptr_eq(&one.region, &other.region));
        assert!(!Arc::ptr_eq(&one.region, &of(100_001, 902).region));
        let digits = Payload::of(PayloadPattern::Digits, 12, 901).expect("made");
        assert_eq!(&*digits, b"012345678901");
        drop((one, other));
        let all = PAYLOADS.lock().expect("not poisoned");
        let own = all.iter().filter(|one| one.key.0 == PayloadPattern::Random && one.key.2 == 901);
        assert_eq!(own.map(|one| one.region.strong_count()).sum::<usize>(), 0);
    }

    #[test]
    fn digits_repeat_and_random_bytes_do_not() {
        assert_eq!(&*PayloadPattern::Digits.bytes(12).expect("made"), b"012345678901");
        let random = PayloadPattern::Random.bytes(64).expect("made");
        assert!(random != PayloadPattern::Digits.bytes(64).expect("made"));
    }
}
