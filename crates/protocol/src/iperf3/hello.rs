//! The datagrams that open a UDP stream (section 8).

use std::fmt;

use serde::{Deserialize, Serialize};

/// First datagram of a client on a UDP stream, by which the server learns its address (clause 8.2
/// of docs/protocol/iperf3.md).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    /// The hello of iperf3 since 3.12: `9876`, the same bytes on every architecture.
    Current,
    /// The current hello, followed by the token that the server gave to the test (clause 13.8).
    Tokened(HelloToken),
    /// The current hello, followed by the token and the number of the stream, from 0 (clause
    /// 13.12).
    Numbered(HelloToken, u32),
    /// The hello of iperf3 before 3.12, from a little-endian host: the number 123456789.
    LegacyLittleEndian,
    /// The hello of iperf3 before 3.12, from a big-endian host.
    LegacyBigEndian,
}

impl Hello {
    /// Length of the longest hello in bytes.
    pub const LONGEST: usize = HELLO.len() + HelloToken::LENGTH + INDEX_LENGTH;

    /// The hello that a linerate client sends, with the token of the test if the server gave one.
    pub const fn own(token: Option<HelloToken>) -> Self {
        match token {
            Some(token) => Self::Tokened(token),
            None => Self::Current,
        }
    }

    /// The bytes of the hello on the wire.
    pub fn to_bytes(self) -> Vec<u8> {
        match self {
            Self::Current => HELLO.to_vec(),
            Self::Tokened(token) => [&HELLO[..], &token.0].concat(),
            Self::Numbered(token, index) => [&HELLO[..], &token.0, &index.to_be_bytes()].concat(),
            Self::LegacyLittleEndian => LEGACY_HELLO.to_le_bytes().to_vec(),
            Self::LegacyBigEndian => LEGACY_HELLO.to_be_bytes().to_vec(),
        }
    }

    /// Parses the first datagram of a UDP stream. None: it is not a hello (clause 8.3 of
    /// docs/protocol/iperf3.md).
    pub fn recognise(datagram: &[u8]) -> Option<Self> {
        let (words, rest) = datagram.split_first_chunk::<4>()?;
        if !rest.is_empty() {
            return if *words == HELLO { Self::with_token(rest) } else { None };
        }
        match *words {
            HELLO => Some(Self::Current),
            bytes if bytes == LEGACY_HELLO.to_le_bytes() => Some(Self::LegacyLittleEndian),
            bytes if bytes == LEGACY_HELLO.to_be_bytes() => Some(Self::LegacyBigEndian),
            _ => None,
        }
    }

    /// Parses the bytes behind the current hello.
    fn with_token(rest: &[u8]) -> Option<Self> {
        let (token, index) = rest.split_first_chunk::<{ HelloToken::LENGTH }>()?;
        let token = HelloToken(*token);
        if index.is_empty() {
            return Some(Self::Tokened(token));
        }
        let index = u32::from_be_bytes(index.try_into().ok()?);
        Some(Self::Numbered(token, index))
    }

    /// Number of the stream in a [`Self::Numbered`] hello, counted from 0. None: other hellos have
    /// no number.
    pub const fn index(self) -> Option<u32> {
        match self {
            Self::Numbered(_, index) => Some(index),
            _ => None,
        }
    }

    /// The reply of the server to this hello, in the form that the client's version expects (clause
    /// 8.5 of docs/protocol/iperf3.md).
    pub const fn reply(self) -> [u8; 4] {
        match self {
            Self::Current | Self::Tokened(_) | Self::Numbered(..) => REPLY,
            Self::LegacyLittleEndian => LEGACY_REPLY.to_le_bytes(),
            Self::LegacyBigEndian => LEGACY_REPLY.to_be_bytes(),
        }
    }
}

/// A random secret that the server gives to the client of a test, to distinguish its hellos from
/// those of others (clause 13.8 of docs/protocol/iperf3.md). In JSON 32 hexadecimal digits.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct HelloToken([u8; HelloToken::LENGTH]);

impl HelloToken {
    /// Length of a token on the wire, in bytes.
    pub const LENGTH: usize = 16;

    /// Makes a token of `random` bytes, which must not be predictable.
    pub const fn from_random(random: [u8; Self::LENGTH]) -> Self {
        Self(random)
    }
}

impl From<HelloToken> for String {
    fn from(token: HelloToken) -> Self {
        format!("{:032x}", u128::from_be_bytes(token.0))
    }
}

impl TryFrom<String> for HelloToken {
    type Error = &'static str;

    fn try_from(text: String) -> Result<Self, Self::Error> {
        let wrong = "a token has 32 hexadecimal digits";
        if text.len() != 2 * Self::LENGTH || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
            return Err(wrong);
        }
        let number = u128::from_str_radix(&text, 16).map_err(|_| wrong)?;
        Ok(Self(number.to_be_bytes()))
    }
}

/// A secret that no log shows.
impl fmt::Debug for HelloToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("HelloToken(..)")
    }
}

const HELLO: [u8; 4] = *b"9876";
const INDEX_LENGTH: usize = super::cookie::Cookie::INDEX_LENGTH;
const REPLY: [u8; 4] = *b"6789";

/// Whether a datagram is the reply of a server to a hello, in any version (clause 8.4 of
/// docs/protocol/iperf3.md).
pub fn is_reply(datagram: &[u8]) -> bool {
    let Ok(bytes) = <[u8; 4]>::try_from(datagram) else { return false };
    [REPLY, LEGACY_REPLY.to_le_bytes(), LEGACY_REPLY.to_be_bytes()].contains(&bytes)
}

const LEGACY_HELLO: u32 = 123_456_789;
const LEGACY_REPLY: u32 = 987_654_321;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn old_and_new_hellos_are_distinguished_from_other_datagrams() {
        assert_eq!(Hello::recognise(b"9876"), Some(Hello::Current));
        assert_eq!(Hello::recognise(&[0x15, 0xcd, 0x5b, 0x07]), Some(Hello::LegacyLittleEndian));
        assert_eq!(Hello::recognise(&[0x07, 0x5b, 0xcd, 0x15]), Some(Hello::LegacyBigEndian));
        assert_eq!(Hello::recognise(b"6789"), None);
        assert_eq!(Hello::recognise(b"98765"), None);
        assert_eq!(Hello::recognise(b""), None);
    }

    #[test]
    fn a_token_survives_the_wire_and_json() {
        let token = HelloToken::from_random(*b"0123456789abcde\xff");
        let hello = Hello::own(Some(token));
        assert_eq!(Hello::recognise(&hello.to_bytes()), Some(hello));
        assert_eq!(Hello::recognise(&hello.to_bytes()[..19]), None);
        let numbered = Hello::Numbered(token, 65_536);
        assert_eq!(numbered.to_bytes().len(), Hello::LONGEST);
        assert_eq!(Hello::recognise(&numbered.to_bytes()), Some(numbered));
        for length in 21..24 {
            assert_eq!(Hello::recognise(&numbered.to_bytes()[..length]), None);
        }
        assert_eq!(Hello::recognise(&[&hello.to_bytes()[..], b"x"].concat()), None);
        let json = serde_json::to_string(&token).expect("serialises");
        assert_eq!(json, "\"303132333435363738396162636465ff\"");
        assert_eq!(serde_json::from_str::<HelloToken>(&json).expect("reads"), token);
        for wrong in
            ["", "30", "+03132333435363738396162636465ff", "g03132333435363738396162636465ff"]
        {
            let json = format!("\"{wrong}\"");
            assert!(serde_json::from_str::<HelloToken>(&json).is_err(), "{wrong}");
        }
    }

    #[test]
    fn old_and_new_replies_are_recognised() {
        assert!(is_reply(b"6789"));
        assert!(is_reply(&987_654_321_u32.to_le_bytes()));
        assert!(is_reply(&987_654_321_u32.to_be_bytes()));
        assert!(!is_reply(b"9876"));
        for hello in [Hello::Current, Hello::LegacyLittleEndian, Hello::LegacyBigEndian] {
            assert!(is_reply(&hello.reply()));
        }
    }
}
