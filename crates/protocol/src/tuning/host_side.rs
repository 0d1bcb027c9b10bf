//! The end of the host whose settings are changed.

use std::time::Duration;

use measurement::{Timestamp, json};

use super::GO_ON;
use super::channel::{Broken, Channel, Direction};
use super::key::{CLIENT, CODE, HOST, Nonce, SESSION, SharedKey};
use super::message::{Answer, Request};

/// State machine of the host for one connection. Its time is that of the last message with a right
/// code, so that nothing else keeps a connection open.
#[derive(Debug)]
pub struct HostSide {
    key: SharedKey,
    nonce: Nonce,
    /// Both directions; none: the client has not proved that it has the key.
    channels: Option<Channels>,
    input: Vec<u8>,
    output: Vec<u8>,
    deadline: Timestamp,
}

#[derive(Debug)]
struct Channels {
    requests: Channel,
    answers: Channel,
}

impl HostSide {
    /// The machine for a connection whose first bytes are [`GREETING`](super::GREETING), with a
    /// nonce that no other connection has.
    pub fn new(key: &SharedKey, nonce: Nonce, now: Timestamp) -> Self {
        let output = [&[GO_ON][..], &nonce].concat();
        let (key, deadline) = (key.clone(), now.after(HANDSHAKE));
        Self { key, nonce, channels: None, input: Vec::new(), output, deadline }
    }

    /// Processes received bytes; the requests that are complete.
    ///
    /// # Errors
    /// [`Broken`]: the connection is to be closed, and nothing that came with the bytes is to be
    /// done.
    pub fn receive(&mut self, bytes: &[u8], now: Timestamp) -> Result<Vec<Request>, Broken> {
        self.input.extend_from_slice(bytes);
        if self.channels.is_none() && !self.check_proof(now)? {
            return Ok(Vec::new());
        }
        let mut requests = Vec::new();
        while let Some(channels) = &mut self.channels {
            let Some(text) = channels.requests.open(&mut self.input)? else { break };
            requests.push(Request::read(&text)?);
            self.deadline = now.after(SILENCE);
        }
        Ok(requests)
    }

    /// Whether the client has proved that it has the key; false: its proof is not complete.
    fn check_proof(&mut self, now: Timestamp) -> Result<bool, Broken> {
        let Some((client, rest)) = self.input.split_first_chunk::<32>() else { return Ok(false) };
        let Some(proof) = rest.get(..CODE) else { return Ok(false) };
        if !self.key.agrees(&[CLIENT, &self.nonce, client], proof) {
            return Err(Broken::Proof);
        }
        let own = self.key.code(&[HOST, &self.nonce, client]);
        let key = self.key.of_connection(SESSION, &self.nonce, client);
        self.output.extend([&[GO_ON][..], &own].concat());
        self.input.drain(..client.len() + CODE);
        self.channels = Some(Channels {
            requests: Channel::new(key.clone(), Direction::FromClient),
            answers: Channel::new(key, Direction::FromHost),
        });
        self.deadline = now.after(SILENCE);
        Ok(true)
    }

    /// Whether the client has proved that it has the key.
    pub const fn is_proved(&self) -> bool {
        self.channels.is_some()
    }

    /// Adds an answer to the output; without effect before the client has proved that it has the
    /// key.
    pub fn answer(&mut self, answer: &Answer) {
        let Some(Channels { answers, .. }) = &mut self.channels else { return };
        let sealed = answers.seal(&json::text(answer));
        let long = || Answer::Refused("the answer is too long".to_owned());
        let sealed = sealed.or_else(|| answers.seal(&json::text(&long())));
        self.output.extend(sealed.unwrap_or_default());
    }

    /// Takes the bytes that are to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }

    /// Time at which the connection is to be closed, and its settings to be undone, if nothing
    /// comes until then.
    pub const fn deadline(&self) -> Timestamp {
        self.deadline
    }
}

/// For the client's proof.
const HANDSHAKE: Duration = Duration::from_secs(5);
/// A client sends [`Request::Alive`] twice a second. A segment that is lost is sent again after 1 and
/// 3 seconds at the latest (RFC 6298, 2.1 and 5.5).
const SILENCE: Duration = Duration::from_secs(4);
