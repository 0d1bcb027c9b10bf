//! The datagrams that open a UDP stream (section 8).

/// What a client says first on a UDP stream (clause 8.2).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hello {
    /// iperf3 since 3.12: `9876`, the same bytes on every host.
    Current,
    /// Before, from a little-endian host: the number 123456789.
    LegacyLittleEndian,
    /// Before, from a big-endian host.
    LegacyBigEndian,
}

impl Hello {
    /// What this client sends.
    pub const BYTES: [u8; 4] = *b"9876";

    /// Recognises a hello. A datagram that is none is a stray (clause 8.3).
    pub fn recognise(datagram: &[u8]) -> Option<Self> {
        let bytes: [u8; 4] = datagram.try_into().ok()?;
        match bytes {
            Self::BYTES => Some(Self::Current),
            _ if bytes == LEGACY_HELLO.to_le_bytes() => Some(Self::LegacyLittleEndian),
            _ if bytes == LEGACY_HELLO.to_be_bytes() => Some(Self::LegacyBigEndian),
            _ => None,
        }
    }

    /// The answer in the words of the one who asked (clause 8.5).
    pub const fn reply(self) -> [u8; 4] {
        match self {
            Self::Current => REPLY,
            Self::LegacyLittleEndian => LEGACY_REPLY.to_le_bytes(),
            Self::LegacyBigEndian => LEGACY_REPLY.to_be_bytes(),
        }
    }
}

const REPLY: [u8; 4] = *b"6789";

/// Whether a datagram is a server's answer to a hello, new or old (clause 8.4).
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
    fn old_and_new_hellos_are_told_from_strays() {
        assert_eq!(Hello::recognise(b"9876"), Some(Hello::Current));
        assert_eq!(Hello::recognise(&[0x15, 0xcd, 0x5b, 0x07]), Some(Hello::LegacyLittleEndian));
        assert_eq!(Hello::recognise(&[0x07, 0x5b, 0xcd, 0x15]), Some(Hello::LegacyBigEndian));
        assert_eq!(Hello::recognise(b"6789"), None);
        assert_eq!(Hello::recognise(b"98765"), None);
        assert_eq!(Hello::recognise(b""), None);
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
