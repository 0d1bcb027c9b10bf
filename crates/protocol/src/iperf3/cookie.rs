//! The cookie that ties the connections of one test together (section 3).

use std::fmt;

/// 36 characters and a zero byte.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; Cookie::LENGTH]);

impl Cookie {
    /// Bytes on the wire.
    pub const LENGTH: usize = 37;

    /// The cookie that `random` bytes make.
    pub fn from_random(random: [u8; Self::LENGTH - 1]) -> Self {
        let mut cookie = [0; Self::LENGTH];
        for (out, byte) in cookie.iter_mut().zip(random) {
            *out = ALPHABET[usize::from(byte) % ALPHABET.len()];
        }
        Self(cookie)
    }

    /// The cookie in what a peer sent. Any content will do: it is compared, not read.
    pub const fn from_wire(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// What can be read of it: up to the zero byte, without control characters.
    pub fn text(&self) -> String {
        let bytes = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        super::json::printable(&String::from_utf8_lossy(bytes), Self::LENGTH)
    }

    /// What goes over the wire.
    pub const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", String::from_utf8_lossy(&self.0).trim_end_matches('\0'))
    }
}

/// The letters of base32 (RFC 4648, section 6) in lower case, as iperf3 uses them.
const ALPHABET: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cookie_is_text_and_ends_in_zero() {
        let mut random = [0; 36];
        for (index, byte) in random.iter_mut().enumerate() {
            *byte = u8::try_from(index * 7).expect("below 256");
        }
        let cookie = Cookie::from_random(random);
        assert_eq!(cookie.as_bytes()[36], 0);
        assert!(cookie.as_bytes()[..36].iter().all(|b| ALPHABET.contains(b)));
    }
}
