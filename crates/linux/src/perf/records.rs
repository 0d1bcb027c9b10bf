//! Decoding of perf records in the kernel's byte order (perf_event_open(2), "MMAP layout").

use super::attributes::LONGEST_CHAIN;

/// One sample of a CPU: process, thread, mode, address and call chain (`PERF_RECORD_SAMPLE`,
/// perf_event_open(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sample<'a> {
    /// Number of the process; 0: the idle task, or one outside this PID namespace.
    pub process: i32,
    /// Number of the thread.
    pub thread: i32,
    /// Number of the CPU.
    pub cpu: u32,
    /// Mode of the CPU: kernel or user.
    pub mode: Mode,
    /// Address of the instruction (`PERF_SAMPLE_IP`).
    pub address: u64,
    /// Words of the call chain, innermost first.
    chain: &'a [u8],
}

impl<'a> Sample<'a> {
    /// Return addresses in the kernel, innermost first (`PERF_SAMPLE_CALLCHAIN`). The first
    /// is [`Self::address`] if that is in the kernel.
    pub fn chain(&self) -> impl Iterator<Item = u64> + use<'a> {
        let words = self.chain.chunks_exact(8).filter_map(|word| word.try_into().ok());
        // Markers of a change of mode are above all addresses (`PERF_CONTEXT_MAX`).
        words.map(u64::from_ne_bytes).filter(|word| *word < CONTEXTS)
    }
}

/// The mode of a CPU when it was sampled (`PERF_RECORD_MISC_CPUMODE_MASK`, perf_event_open(2)).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Mode {
    /// Kernel mode.
    Kernel,
    /// User mode.
    User,
    /// A guest, or the hypervisor.
    Virtual,
}

/// Calls `take` with each sample in `text`; returns the sum of the lost-records the kernel
/// reports.
pub(super) fn each(mut text: &[u8], take: &mut impl FnMut(&Sample<'_>)) -> u64 {
    let mut lost = 0;
    while let Some((header, body, rest)) = split(text) {
        match header.kind {
            KIND_SAMPLE => _ = sample(header.mode(), body).map(|sample| take(&sample)),
            KIND_LOST => lost += body.get(8..16).map_or(0, long),
            _ => {}
        }
        text = rest;
    }
    lost
}

struct Header {
    kind: u32,
    misc: u16,
}

impl Header {
    fn mode(&self) -> Mode {
        match self.misc & MODES {
            1 => Mode::Kernel,
            2 => Mode::User,
            _ => Mode::Virtual,
        }
    }
}

/// Splits off the first record; `None` if what is left is no whole record.
fn split(text: &[u8]) -> Option<(Header, &[u8], &[u8])> {
    let kind = word(text.get(..4)?);
    let misc = u16::from_ne_bytes(text.get(4..6)?.try_into().ok()?);
    let size = usize::from(u16::from_ne_bytes(text.get(6..8)?.try_into().ok()?));
    let body = text.get(HEADER..size)?;
    Some((Header { kind, misc }, body, &text[size..]))
}

/// Decodes `IP`, `TID`, `CPU` and `CALLCHAIN`, in this order.
fn sample(mode: Mode, body: &[u8]) -> Option<Sample<'_>> {
    let count = usize::try_from(long(body.get(24..32)?)).ok()?;
    let chain = body.get(32..)?;
    let length = count.checked_mul(8)?;
    Some(Sample {
        address: long(&body[..8]),
        process: word(&body[8..12]).cast_signed(),
        thread: word(&body[12..16]).cast_signed(),
        cpu: word(&body[16..20]),
        mode,
        chain: chain.get(..length)?,
    })
}

/// Decodes four bytes.
fn word(bytes: &[u8]) -> u32 {
    bytes.try_into().map_or(0, u32::from_ne_bytes)
}

/// Decodes eight bytes.
fn long(bytes: &[u8]) -> u64 {
    bytes.try_into().map_or(0, u64::from_ne_bytes)
}

/// Bytes of the longest sample: header, fixed part, and a call chain with two context
/// markers.
pub(super) const LONGEST: usize = HEADER + 32 + (LONGEST_CHAIN as usize + 2) * 8;

const HEADER: usize = 8;
const KIND_LOST: u32 = 2;
const KIND_SAMPLE: u32 = 9;
const MODES: u16 = 7;
/// `PERF_CONTEXT_MAX` is -4095.
const CONTEXTS: u64 = (-4095_i64).cast_unsigned();

#[cfg(test)]
mod tests {
    use super::*;

    fn record(kind: u32, misc: u16, body: &[u64]) -> Vec<u8> {
        let size = u16::try_from(HEADER + 8 * body.len()).expect("short");
        let mut text = kind.to_ne_bytes().to_vec();
        text.extend(misc.to_ne_bytes());
        text.extend(size.to_ne_bytes());
        text.extend(body.iter().flat_map(|word| word.to_ne_bytes()));
        text
    }

    #[test]
    fn samples_and_losses_are_told_apart_and_a_cut_record_is_left_out() {
        let kernel = (-128_i64).cast_unsigned();
        let mut text = record(KIND_SAMPLE, 1, &[7, 0, 0, 3, kernel, 7, 8]);
        text.extend(record(KIND_LOST, 0, &[1, 12]));
        text.extend(record(5, 0, &[0]));
        let whole = text.len();
        text.extend(record(KIND_SAMPLE, 2, &[9, 0, 0, 0]));
        let mut found = Vec::new();
        let mut take = |sample: &Sample<'_>| {
            found.push((sample.mode, sample.address, sample.chain().collect::<Vec<_>>()));
        };
        assert_eq!(each(&text, &mut take), 12);
        assert_eq!(each(&text[whole..text.len() - 1], &mut take), 0);
        assert_eq!(found, [(Mode::Kernel, 7, vec![7, 8]), (Mode::User, 9, vec![])]);
    }

    #[test]
    fn a_chain_that_is_longer_than_its_record_is_no_sample() {
        let text = record(KIND_SAMPLE, 1, &[7, 0, 0, u64::MAX]);
        assert_eq!(each(&text, &mut |sample| panic!("{sample:?}")), 0);
        assert_eq!(each(&record(KIND_SAMPLE, 1, &[7]), &mut |sample| panic!("{sample:?}")), 0);
    }
}
