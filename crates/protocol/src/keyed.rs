//! Control connections of tests by ends that share a key, sans-I/O: both ends prove that they have it
//! ([`KeyedClient`], [`KeyedHost`]), and each message after that bears a code ([`Seal`]). What is in the
//! messages is not known here.
//!
//! ```text
//!  client                                          server
//!    |--- GREETING, in place of a cookie ------------>|
//!    |<-- 1, nonce of the server ---------------------|
//!    |--- nonce of the client, proof of the key ----->|   HMAC over both nonces
//!    |<-- 1, proof of the key ------------------------|   the other label
//!    |--- length, cookie, code ---------------------->|   HMAC with a key of this connection, over
//!    |<-- length, bytes of iperf3's protocol, code ---|   direction, sequence number and bytes
//! ```
//!
//! The code is HMAC-SHA-256 (RFC 2104, FIPS 180-4), compared in constant time. Nothing is encrypted,
//! and the streams bear no codes.

use thiserror::Error;

use crate::iperf3::Cookie;
use crate::tuning::channel::{Broken, Channel, Direction, MOST_TEXT};
use crate::tuning::key::CODE;
use crate::tuning::{Nonce, SharedKey};

/// The first bytes of a connection, as long as a cookie and none of an iperf3: it has blanks.
pub const GREETING: [u8; Cookie::LENGTH] = *b"linerate keyed, version 1           \0";

/// Answer of a server with a key to [`GREETING`] while it takes no further client.
pub const BUSY: u8 = 2;

/// Whether the first bytes of a connection are [`GREETING`].
pub fn is_greeting(cookie: &Cookie) -> bool {
    *cookie.as_bytes() == GREETING
}

/// Reason for which a connection with a key is closed. Its text is a clause about the other end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum KeyedError {
    /// The server takes no further client now.
    #[error("it is busy: try again in a second")]
    Busy,
    /// The server has no key.
    #[error("it has no key: start it with --key FILE, or leave --key out here")]
    NoKey,
    /// The other end does not prove that it has the key.
    #[error("its key is another one: --key needs the same file at both ends")]
    OtherKey,
    /// A code is wrong: a message is forged, changed, replayed or out of order.
    #[error("a message of its control connection is forged or replayed")]
    Forged,
}

/// State machine of the client until both ends have proved that they have the key.
#[derive(Debug)]
pub struct KeyedClient {
    key: SharedKey,
    nonce: Nonce,
    /// Nonce of the server; none: it has not come.
    host: Option<Nonce>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl KeyedClient {
    /// The machine for a new connection, with a nonce that no other connection has.
    pub fn new(key: &SharedKey, nonce: Nonce) -> Self {
        let output = GREETING.to_vec();
        Self { key: key.clone(), nonce, host: None, input: Vec::new(), output }
    }

    /// Processes received bytes. None: the server has not proved the key yet; more must come.
    ///
    /// # Errors
    /// [`KeyedError`]: the connection is to be closed.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<Seal>, KeyedError> {
        self.input.extend_from_slice(bytes);
        loop {
            let Some((first, rest)) = self.input.split_first() else { return Ok(None) };
            match *first {
                GO_ON => {}
                BUSY if self.host.is_none() => return Err(KeyedError::Busy),
                _ => return Err(self.closed()),
            }
            let Some(theirs) = rest.first_chunk::<CODE>().copied() else { return Ok(None) };
            self.input.drain(..=CODE);
            let Some(host) = self.host else {
                let proof = self.key.code(&[CLIENT, &theirs, &self.nonce]);
                self.output.extend([self.nonce, proof].concat());
                self.host = Some(theirs);
                continue;
            };
            if !self.key.agrees(&[HOST, &host, &self.nonce], &theirs) {
                return Err(KeyedError::OtherKey);
            }
            let key = self.key.of_connection(SESSION, &host, &self.nonce);
            let mut seal = Seal::new(&key, Direction::FromClient, Direction::FromHost);
            seal.input = std::mem::take(&mut self.input);
            return Ok(Some(seal));
        }
    }

    /// Why the server has closed the connection.
    pub const fn closed(&self) -> KeyedError {
        if self.host.is_some() { KeyedError::OtherKey } else { KeyedError::NoKey }
    }

    /// Takes the bytes that are to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}

/// State machine of the server until the cookie of the test has come.
#[derive(Debug)]
pub struct KeyedHost {
    key: SharedKey,
    nonce: Nonce,
    /// None: the client has not proved the key.
    seal: Option<Seal>,
    input: Vec<u8>,
    output: Vec<u8>,
}

impl KeyedHost {
    /// The machine for a connection whose first bytes are [`GREETING`], with a nonce that no other
    /// connection has.
    pub fn new(key: &SharedKey, nonce: Nonce) -> Self {
        let output = [&[GO_ON][..], &nonce].concat();
        Self { key: key.clone(), nonce, seal: None, input: Vec::new(), output }
    }

    /// How many bytes may be read from the connection now.
    pub const fn room(&self) -> usize {
        let whole = if self.seal.is_some() { COOKIE_MESSAGE } else { PROOF };
        whole.saturating_sub(self.input.len())
    }

    /// Processes received bytes, at most [`Self::room`] of them. None: the cookie has not come yet.
    ///
    /// # Errors
    /// [`KeyedError`]: the connection is to be closed.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Option<(Cookie, Seal)>, KeyedError> {
        self.input.extend_from_slice(bytes);
        if self.room() > 0 {
            return Ok(None);
        }
        let input = std::mem::take(&mut self.input);
        let Some(mut seal) = self.seal.take() else {
            self.check_proof(&input)?;
            return Ok(None);
        };
        let first = seal.open(&input)?;
        let cookie = first.try_into().map_err(|_| KeyedError::Forged)?;
        Ok(Some((Cookie::from_wire(cookie), seal)))
    }

    fn check_proof(&mut self, input: &[u8]) -> Result<(), KeyedError> {
        let (client, proof) = input.split_first_chunk::<CODE>().ok_or(KeyedError::OtherKey)?;
        if !self.key.agrees(&[CLIENT, &self.nonce, client], proof) {
            return Err(KeyedError::OtherKey);
        }
        let own = self.key.code(&[HOST, &self.nonce, client]);
        self.output.extend([&[GO_ON][..], &own].concat());
        let key = self.key.of_connection(SESSION, &self.nonce, client);
        self.seal = Some(Seal::new(&key, Direction::FromHost, Direction::FromClient));
        Ok(())
    }

    /// Takes the bytes that are to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}

/// Codes of both directions of a connection whose ends have proved the key.
#[derive(Debug)]
pub struct Seal {
    outgoing: Channel,
    incoming: Channel,
    /// Received bytes of a message that is not complete.
    input: Vec<u8>,
}

impl Seal {
    fn new(key: &SharedKey, own: Direction, theirs: Direction) -> Self {
        let channel = |direction| Channel::new(key.clone(), direction);
        Self { outgoing: channel(own), incoming: channel(theirs), input: Vec::new() }
    }

    /// The messages that carry these bytes.
    pub fn seal(&mut self, bytes: &[u8]) -> Vec<u8> {
        let chunks = bytes.chunks(MOST_TEXT);
        // A chunk is never too long.
        chunks.filter_map(|chunk| self.outgoing.seal(chunk)).flatten().collect()
    }

    /// The bytes that the complete messages carry, of these received bytes and of earlier ones.
    ///
    /// # Errors
    /// [`KeyedError::Forged`]: the connection is to be closed, and nothing that came with the bytes
    /// is to be used.
    pub fn open(&mut self, bytes: &[u8]) -> Result<Vec<u8>, KeyedError> {
        self.input.extend_from_slice(bytes);
        let mut opened = Vec::new();
        let forged = |_: Broken| KeyedError::Forged;
        while let Some(bytes) = self.incoming.open_bytes(&mut self.input).map_err(forged)? {
            opened.extend(bytes);
        }
        Ok(opened)
    }
}

/// First byte of the messages of the server before the first message with a code.
const GO_ON: u8 = 1;
/// The nonce of the client, and its proof.
const PROOF: usize = 2 * CODE;
/// A message with a cookie: its length, the cookie, the code.
const COOKIE_MESSAGE: usize = 2 + Cookie::LENGTH + CODE;
/// Labels of the codes, so that none is one of another kind, or of a tuning with the same key.
const CLIENT: &[u8] = b"linerate test 1, client\0";
const HOST: &[u8] = b"linerate test 1, host\0";
const SESSION: &[u8] = b"linerate test 1, connection\0";

#[cfg(test)]
mod tests;
