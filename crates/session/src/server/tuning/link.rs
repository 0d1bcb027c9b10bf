//! Messages between a server and its process that changes settings: a byte for the kind, the number
//! of the connection, the length of the rest, both in network byte order, and the rest.

use std::io;

/// A message of either end.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum LinkMessage {
    /// Of the process: it has read the key and can change settings.
    Ready,
    /// Of the server: a connection came.
    Opened {
        /// Its number.
        connection: u32,
        /// Address and port of the client.
        from: String,
    },
    /// Of both: bytes of a connection.
    Bytes {
        /// Its number.
        connection: u32,
        /// At most [`MOST_BYTES`].
        bytes: Vec<u8>,
    },
    /// Of both: a connection has ended, or is to be ended.
    Closed {
        /// Its number.
        connection: u32,
    },
    /// Of the process: what it has done for a client, or has refused, for the log.
    Report {
        /// Address and port of the client; empty: it is about none.
        from: String,
        /// One sentence.
        text: String,
    },
    /// Of the process: why it has ended a connection that did not prove the key.
    Stranger {
        /// Address and port of the client.
        from: String,
        /// One sentence.
        text: String,
    },
}

impl LinkMessage {
    /// The message as bytes. What is longer than [`MOST_BYTES`] is cut off.
    pub fn encode(&self) -> Vec<u8> {
        let (kind, connection, rest): (u8, u32, &[u8]) = match self {
            Self::Ready => (0, 0, &[]),
            Self::Opened { connection, from } => (1, *connection, from.as_bytes()),
            Self::Bytes { connection, bytes } => (2, *connection, bytes),
            Self::Closed { connection } => (3, *connection, &[]),
            Self::Report { from, text } => return report(REPORT, from, text),
            Self::Stranger { from, text } => return report(STRANGER, from, text),
        };
        frame(kind, connection, rest)
    }

    /// Takes the first message out of what came; none: it is not complete.
    ///
    /// # Errors
    /// The bytes are no message.
    pub fn take(input: &mut Vec<u8>) -> io::Result<Option<Self>> {
        let Some((head, rest)) = input.split_first_chunk::<HEAD>() else { return Ok(None) };
        let [kind, n0, n1, n2, n3, l0, l1] = *head;
        let (connection, length) =
            (u32::from_be_bytes([n0, n1, n2, n3]), usize::from(u16::from_be_bytes([l0, l1])));
        let Some(rest) = rest.get(..length) else { return Ok(None) };
        let text = || String::from_utf8_lossy(rest).into_owned();
        let message = match kind {
            0 => Self::Ready,
            1 => Self::Opened { connection, from: text() },
            2 => Self::Bytes { connection, bytes: rest.to_owned() },
            3 => Self::Closed { connection },
            REPORT | STRANGER => {
                let text = text();
                let (from, text) = text.split_once('\n').ok_or(io::ErrorKind::InvalidData)?;
                let (from, text) = (from.to_owned(), text.to_owned());
                match kind {
                    REPORT => Self::Report { from, text },
                    _ => Self::Stranger { from, text },
                }
            }
            _ => return Err(io::ErrorKind::InvalidData.into()),
        };
        input.drain(..HEAD + length);
        Ok(Some(message))
    }
}

/// The text follows the address, on a line of its own.
fn report(kind: u8, from: &str, text: &str) -> Vec<u8> {
    let text = text.replace(|letter: char| letter.is_control(), " ");
    frame(kind, 0, format!("{from}\n{text}").as_bytes())
}

fn frame(kind: u8, connection: u32, rest: &[u8]) -> Vec<u8> {
    let rest = &rest[..rest.len().min(MOST_BYTES)];
    let length = u16::try_from(rest.len()).unwrap_or_default();
    [&[kind][..], &connection.to_be_bytes(), &length.to_be_bytes(), rest].concat()
}

const HEAD: usize = 7;
const REPORT: u8 = 4;
const STRANGER: u8 = 5;
/// Bytes of a connection in one message.
pub const MOST_BYTES: usize = 4096;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_are_read_as_they_were_written_in_any_pieces() {
        let from = "[::1]:5".to_owned();
        let all = [
            LinkMessage::Ready,
            LinkMessage::Opened { connection: 7, from: from.clone() },
            LinkMessage::Bytes { connection: u32::MAX, bytes: vec![0; MOST_BYTES] },
            LinkMessage::Closed { connection: 0 },
            LinkMessage::Report { from: from.clone(), text: "sets it".to_owned() },
            LinkMessage::Stranger { from, text: "has no key".to_owned() },
        ];
        let (mut input, mut read) = (Vec::new(), Vec::new());
        for byte in all.iter().flat_map(LinkMessage::encode) {
            input.push(byte);
            read.extend(LinkMessage::take(&mut input).expect("a message"));
        }
        assert_eq!(read, all);
        assert!(LinkMessage::take(&mut vec![9; HEAD + 0x0909]).is_err());
    }

    #[test]
    fn a_report_is_one_line_and_no_message_is_too_long() {
        let text = "a\nb\u{1b}".repeat(2000);
        let bytes = LinkMessage::Report { from: String::new(), text }.encode();
        assert_eq!(bytes.len(), HEAD + MOST_BYTES);
        let read = LinkMessage::take(&mut bytes.clone()).expect("a message");
        let Some(LinkMessage::Report { text, .. }) = read else { panic!("{read:?}") };
        assert!(!text.contains(char::is_control));
    }
}
