//! The payload that is sent. It never changes, and so the workers of all tests that have the
//! same number share one: a server of hundreds of tests has as many as it has CPUs.

use std::io;
use std::ops::Deref;
use std::sync::{Arc, Mutex, PoisonError, Weak};

use linux::memory::Region;
use measurement::PayloadPages;

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
    /// `length` bytes for MPU `mpu` of a test, on such pages.
    ///
    /// # Errors
    /// `ENOSYS`: the kernel has no getrandom(2); `ENOMEM`; one of the kind `Unsupported`: the kernel
    /// grants no huge pages.
    pub(crate) fn of(
        pattern: PayloadPattern,
        pages: Option<PayloadPages>,
        length: usize,
        mpu: usize,
    ) -> io::Result<Self> {
        let mut all = PAYLOADS.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|one| one.region.strong_count() > 0);
        // Few lengths, so that many tests of slightly different ones share it too.
        let key = (pattern, pages, length.next_power_of_two(), mpu);
        let kept = all.iter().filter(|one| one.key == key).find_map(|one| one.region.upgrade());
        if let Some(region) = kept {
            return Ok(Self { region, length });
        }
        let bytes = pattern.bytes(key.2)?;
        // The kernel refers to a block of one page with one fragment, of zero-copy sends.
        let room = if length >= LARGE { key.2.max(HUGE) } else { key.2 };
        let mut region = region(pages, room)?;
        region[..key.2].copy_from_slice(&bytes);
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

/// Memory for a payload of `length` bytes on such pages; none: huge ones for large blocks, where the
/// kernel grants them.
///
/// # Errors
/// Those of a [`Region`].
pub(crate) fn region(pages: Option<PayloadPages>, length: usize) -> io::Result<Region> {
    match pages {
        None => Region::new(length),
        Some(PayloadPages::Base) => Region::on_base_pages(length),
        Some(PayloadPages::Huge) => Region::on_huge_pages(length),
    }
}

/// A payload that a test may use now.
struct Kept {
    key: (PayloadPattern, Option<PayloadPages>, usize, usize),
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
        let of =
            |length, mpu| Payload::of(PayloadPattern::Random, None, length, mpu).expect("made");
        // No other test of this process has so many MPUs.
        let (one, other) = (of(100_001, 901), of(100_002, 901));
        assert_eq!((one.len(), other.len()), (100_001, 100_002));
        assert!(Arc::ptr_eq(&one.region, &other.region));
        assert!(!Arc::ptr_eq(&one.region, &of(100_001, 902).region));
        let base = Some(PayloadPages::Base);
        let base = Payload::of(PayloadPattern::Random, base, 100_001, 901).expect("made");
        assert!(!Arc::ptr_eq(&one.region, &base.region), "other pages");
        let digits = Payload::of(PayloadPattern::Digits, None, 12, 901).expect("made");
        assert_eq!(&*digits, b"012345678901");
        drop((one, other, base));
        let all = PAYLOADS.lock().expect("not poisoned");
        let own = all.iter().filter(|one| one.key.0 == PayloadPattern::Random && one.key.3 == 901);
        assert_eq!(own.map(|one| one.region.strong_count()).sum::<usize>(), 0);
    }

    #[test]
    fn digits_repeat_and_random_bytes_do_not() {
        assert_eq!(&*PayloadPattern::Digits.bytes(12).expect("made"), b"012345678901");
        let random = PayloadPattern::Random.bytes(64).expect("made");
        assert!(random != PayloadPattern::Digits.bytes(64).expect("made"));
    }
}
