//! The cookie that ties the connections of one test together (section 3).

use std::fmt;

/// The cookie that identifies a test: 36 characters and a zero byte (section 3 of
/// docs/protocol/iperf3.md).
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Cookie([u8; Cookie::LENGTH]);

impl Cookie {
    /// Length of a cookie on the wire, in bytes.
    pub const LENGTH: usize = 37;
    /// Length of the stream number that may follow a cookie, in bytes (clause 13.12 of
    /// docs/protocol/iperf3.md).
    pub const INDEX_LENGTH: usize = 4;

    /// Makes a cookie of `random` bytes, one character of iperf3's 32-letter alphabet for each.
    pub fn from_random(random: [u8; Self::LENGTH - 1]) -> Self {
        let mut cookie = [0; Self::LENGTH];
        for (out, byte) in cookie.iter_mut().zip(random) {
            *out = ALPHABET[usize::from(byte) % ALPHABET.len()];
        }
        Self(cookie)
    }

    /// Makes a cookie of the bytes that a peer sent. Any bytes are valid: cookies are only
    /// compared.
    pub const fn from_wire(bytes: [u8; Self::LENGTH]) -> Self {
        Self(bytes)
    }

    /// Whether the cookie may be that of an iperf3: text up to a zero byte, or to its end (clause
    /// 3.3 of docs/protocol/iperf3.md).
    pub fn is_plausible(&self) -> bool {
        let text = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        text.iter().all(u8::is_ascii_graphic) && !text.is_empty()
    }

    /// The printable text of the cookie: up to the zero byte, without control characters.
    pub fn text(&self) -> String {
        let bytes = self.0.split(|byte| *byte == 0).next().unwrap_or_default();
        super::json::printable(&String::from_utf8_lossy(bytes), Self::LENGTH)
    }

    /// The first bytes on the stream `index`, from 0, of a test with numbered streams: the cookie
    /// and the number in network byte order (clause 13.12 of docs/protocol/iperf3.md).
    pub fn numbered(&self, index: u32) -> [u8; Self::LENGTH + Self::INDEX_LENGTH] {
        let mut bytes = [0; Self::LENGTH + Self::INDEX_LENGTH];
        bytes[..Self::LENGTH].copy_from_slice(&self.0);
        bytes[Self::LENGTH..].copy_from_slice(&index.to_be_bytes());
        bytes
    }

    /// The bytes of the cookie on the wire.
    pub const fn as_bytes(&self) -> &[u8; Self::LENGTH] {
        &self.0
    }
}

impl fmt::Debug for Cookie {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Cookie({})", self.text())
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
        assert!(cookie.is_plausible());
        let numbered = cookie.numbered(0x0102_0304);
        assert_eq!(numbered[..37], cookie.as_bytes()[..]);
        assert_eq!(numbered[37..], [1, 2, 3, 4], "big-endian, as all on this wire");
    }

    #[test]
    fn what_others_say_first_is_no_cookie() {
        let first = |text: &[u8]| {
            let mut bytes = [0; Cookie::LENGTH];
            bytes[..text.len()].copy_from_slice(text);
            Cookie::from_wire(bytes).is_plausible()
        };
        assert!(first(b"myhost.1465223312.123456.7d5e8d6e7f"));
        assert!(first(&[b'x'; Cookie::LENGTH]), "an iperf3 takes it");
        assert!(!first(b"GET / HTTP/1.1\r\nHost: 10.0.0.2:5201\r\n"[..37].as_ref()));
        assert!(!first(b"\x16\x03\x01\x02\x00\x01\x00"));
        assert!(!first(b""));
    }
}
