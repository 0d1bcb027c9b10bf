//! The checksum of IP and UDP (RFC 1071), as sums of 16-bit words that are folded at the end.

/// The sum of big-endian words; an odd last byte is followed by a zero.
pub(crate) fn sum(bytes: &[u8]) -> u32 {
    let (words, rest) = bytes.as_chunks::<2>();
    let sum: u32 = words.iter().map(|word| u32::from(u16::from_be_bytes(*word))).sum();
    sum + rest.first().map_or(0, |last| u32::from(*last) << 8)
}

/// The checksum of what has this sum.
#[expect(clippy::cast_possible_truncation, reason = "two folds leave 16 bits")]
pub(crate) const fn fold(sum: u32) -> u16 {
    let sum = (sum & 0xffff) + (sum >> 16);
    let sum = (sum & 0xffff) + (sum >> 16);
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_rfc_1071_has_its_sum() {
        // RFC 1071, section 3.
        assert_eq!(!fold(sum(&[0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7])), 0xddf2);
        assert_eq!(fold(sum(&[0xff])), 0x00ff);
    }
}
