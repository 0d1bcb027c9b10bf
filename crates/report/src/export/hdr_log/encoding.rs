//! Encoding V2 of HdrHistogram with compression, in base64 (`AbstractHistogram.encodeIntoByteBuffer`
//! and `ZigZagLEB128Codec` of <https://github.com/HdrHistogram/HdrHistogram>). The crate
//! `hdrhistogram` has it too, but with a second implementation of zlib.

use std::io::Write;

use base64::prelude::{BASE64_STANDARD, Engine};
use flate2::Compression;
use flate2::write::ZlibEncoder;

/// Encodes a histogram given as values in nanoseconds, in growing order, each with its count.
pub(super) fn encode(counts: &[(u64, u64)]) -> String {
    let plain = plain(counts);
    let mut zlib = ZlibEncoder::new(Vec::new(), Compression::default());
    // A vector takes everything.
    _ = zlib.write_all(&plain);
    let packed = zlib.finish().unwrap_or_default();
    let mut all = COMPRESSED_V2.to_be_bytes().to_vec();
    all.extend(length(&packed).to_be_bytes());
    all.extend(packed);
    BASE64_STANDARD.encode(all)
}

/// Head and counts before compression. Numbers of the head are big-endian.
fn plain(counts: &[(u64, u64)]) -> Vec<u8> {
    let body = body(counts);
    let largest = counts.last().map_or(0, |(value, _)| *value);
    let mut all = V2.to_be_bytes().to_vec();
    all.extend(length(&body).to_be_bytes());
    let normalizing_offset = 0_i32;
    all.extend(normalizing_offset.to_be_bytes());
    all.extend(SIGNIFICANT_DIGITS.to_be_bytes());
    let lowest_discernible = 1_i64;
    all.extend(lowest_discernible.to_be_bytes());
    // At least twice the lowest.
    all.extend(largest.clamp(2, i64::MAX as u64).to_be_bytes());
    let integer_to_double = 1.0_f64;
    all.extend(integer_to_double.to_be_bytes());
    all.extend(body);
    all
}

/// The counts up to the last that is not zero, in ZigZag LEB128; a run of zeros is one negative
/// number.
fn body(counts: &[(u64, u64)]) -> Vec<u8> {
    let mut body = Vec::new();
    let mut counts = counts.iter().map(|(value, count)| (index(*value), *count)).peekable();
    let mut next = 0;
    while let Some((at, mut count)) = counts.next() {
        // Values of one bucket follow each other.
        while let Some((_, more)) = counts.next_if(|(other, _)| *other == at) {
            count = count.saturating_add(more);
        }
        if at > next {
            push(&mut body, -(at - next));
        }
        push(&mut body, i64::try_from(count).unwrap_or(i64::MAX));
        next = at + 1;
    }
    body
}

/// The place of a value among the counts: half of a bucket's sub-buckets are those of the bucket
/// before, except in the first.
fn index(value: u64) -> i64 {
    let value = value.clamp(1, i64::MAX as u64);
    let bucket = (value | (2 * HALF - 1)).ilog2() - HALF.ilog2();
    let sub_bucket = i64::try_from(value >> bucket).unwrap_or(i64::MAX);
    (i64::from(bucket) << HALF.ilog2()) + sub_bucket
}

/// ZigZag, then seven bits in a byte, the lowest first; the ninth byte has eight.
fn push(body: &mut Vec<u8>, value: i64) {
    let mut rest = ((value << 1) ^ (value >> 63)).cast_unsigned();
    for _ in 0..8 {
        let [low, ..] = rest.to_le_bytes();
        rest >>= 7;
        if rest == 0 {
            return body.push(low & 0x7f);
        }
        body.push(low | 0x80);
    }
    body.push(rest.to_le_bytes()[0]);
}

fn length(bytes: &[u8]) -> i32 {
    i32::try_from(bytes.len()).unwrap_or(i32::MAX)
}

/// Cookies of the encodings; the word size in bits 4 to 7 is 1 for LEB128.
const V2: u32 = 0x1c84_9313;
const COMPRESSED_V2: u32 = 0x1c84_9314;
/// Records have buckets of one part in 256.
const SIGNIFICANT_DIGITS: i32 = 3;
/// Half of the sub-buckets of a bucket: for three digits there are 2048.
const HALF: u64 = 1024;

#[cfg(test)]
mod tests {
    use hdrhistogram::Histogram;
    use hdrhistogram::serialization::Deserializer;

    use super::*;

    fn read(counts: &[(u64, u64)]) -> Histogram<u64> {
        let bytes = BASE64_STANDARD.decode(encode(counts)).expect("base64");
        Deserializer::new().deserialize(&mut &bytes[..]).expect("a histogram")
    }

    #[test]
    fn the_reader_of_others_finds_every_count() {
        let counts: Vec<_> = (0..40).map(|bit| (1_u64 << bit, 1 + (1_u64 << bit))).collect();
        let histogram = read(&counts);
        for (value, count) in &counts {
            assert_eq!(histogram.count_at(*value), *count, "{value}");
        }
        assert_eq!(histogram.len(), counts.iter().map(|(_, count)| count).sum::<u64>());
        assert_eq!(read(&[]).len(), 0);
        // Two values of one bucket.
        assert_eq!(read(&[(1_000_000, 3), (1_000_001, 4)]).count_at(1_000_000), 7);
    }
}
