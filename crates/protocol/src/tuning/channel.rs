//! Messages with codes: a length of two bytes in network byte order, a text, and the code over
//! direction, sequence number and text.

use thiserror::Error;

use super::key::{CODE, SharedKey};

/// Reason for which a connection is closed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Broken {
    /// The host does not let others tune it.
    #[error("it lets nobody tune it: start \"linerate serve --allow-tune\" there")]
    NotAllowed,
    /// The other end does not prove that it has the key.
    #[error("its key is another one")]
    Proof,
    /// A code is wrong: the message is forged, changed, replayed or out of order.
    #[error("a message is forged or replayed")]
    Forged,
    /// A message is longer than allowed.
    #[error("a message has more than {MOST_TEXT} bytes")]
    Oversized,
    /// A message with a right code is none that this version knows.
    #[error("a message is none of this version")]
    NoMessage,
}

/// Sender of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Direction {
    FromClient = 1,
    FromHost = 2,
}

/// One direction of a connection.
#[derive(Debug)]
pub(crate) struct Channel {
    key: SharedKey,
    direction: Direction,
    /// Number of the next message.
    sequence: u64,
}

impl Channel {
    pub(crate) const fn new(key: SharedKey, direction: Direction) -> Self {
        Self { key, direction, sequence: 0 }
    }

    /// The bytes of a message. None: it is too long.
    pub(crate) fn seal(&mut self, text: &[u8]) -> Option<Vec<u8>> {
        let length = u16::try_from(text.len()).ok().filter(|_| text.len() <= MOST_TEXT)?;
        let code = self.key.code(&[&self.head(), text]);
        self.sequence += 1;
        Some([&length.to_be_bytes(), text, &code].concat())
    }

    /// Takes the first message out of what came. None: it is not complete.
    pub(crate) fn open(&mut self, input: &mut Vec<u8>) -> Result<Option<String>, Broken> {
        let Some(bytes) = self.open_bytes(input)? else { return Ok(None) };
        String::from_utf8(bytes).map(Some).map_err(|_| Broken::NoMessage)
    }

    /// The same for a message that is no text.
    pub(crate) fn open_bytes(&mut self, input: &mut Vec<u8>) -> Result<Option<Vec<u8>>, Broken> {
        let Some((length, rest)) = input.split_first_chunk() else { return Ok(None) };
        let length = usize::from(u16::from_be_bytes(*length));
        if length > MOST_TEXT {
            return Err(Broken::Oversized);
        }
        let Some((text, rest)) = rest.split_at_checked(length) else { return Ok(None) };
        let Some(code) = rest.get(..CODE) else { return Ok(None) };
        if !self.key.agrees(&[&self.head(), text], code) {
            return Err(Broken::Forged);
        }
        self.sequence += 1;
        let text = text.to_owned();
        input.drain(..LENGTH + length + CODE);
        Ok(Some(text))
    }

    fn head(&self) -> [u8; 9] {
        let mut head = [self.direction as u8; 9];
        head[1..].copy_from_slice(&self.sequence.to_be_bytes());
        head
    }
}

/// Bytes of a text.
pub(crate) const MOST_TEXT: usize = 16 * 1024;
const LENGTH: usize = 2;

#[cfg(test)]
mod tests {
    use super::*;

    fn channel(direction: Direction) -> Channel {
        Channel::new(SharedKey::parse(&"k".repeat(32)).expect("a key"), direction)
    }

    #[test]
    fn a_message_is_opened_once_in_its_place_and_its_direction() {
        let (mut from, mut to) = (channel(Direction::FromClient), channel(Direction::FromClient));
        let (first, second) =
            (from.seal(b"one").expect("short"), from.seal(b"two").expect("short"));
        assert_eq!(channel(Direction::FromHost).open(&mut first.clone()), Err(Broken::Forged));
        assert_eq!(to.open(&mut second.clone()), Err(Broken::Forged), "out of order");
        for cut in 0..first.len() {
            assert_eq!(to.open(&mut first[..cut].to_vec()), Ok(None), "cut at {cut}");
        }
        let mut both = [first.clone(), second].concat();
        assert_eq!(to.open(&mut both), Ok(Some("one".to_owned())));
        assert_eq!(to.open(&mut first.clone()), Err(Broken::Forged), "replayed");
        assert_eq!(to.open(&mut both), Ok(Some("two".to_owned())));
        assert!(both.is_empty());
    }

    #[test]
    fn a_message_with_any_bit_changed_is_not_opened() {
        let whole = channel(Direction::FromHost).seal(b"{}").expect("short");
        for place in 0..whole.len() * 8 {
            let mut changed = whole.clone();
            changed[place / 8] ^= 1 << (place % 8);
            let opened = channel(Direction::FromHost).open(&mut changed);
            assert!(!matches!(opened, Ok(Some(_))), "bit {place}");
        }
    }

    #[test]
    fn what_is_too_long_is_refused_by_its_length() {
        let mut channel = channel(Direction::FromHost);
        assert_eq!(channel.seal(&vec![b'x'; MOST_TEXT + 1]), None);
        assert!(channel.seal(&vec![b'x'; MOST_TEXT]).is_some());
        assert_eq!(channel.open(&mut vec![0xff, 0xff]), Err(Broken::Oversized));
    }
}
