//! The end of the host that asks for changes.

use measurement::json;

use super::channel::{Broken, Channel, Direction};
use super::key::{CLIENT, CODE, HOST, Nonce, SESSION, SharedKey};
use super::message::{Answer, Request};
use super::{GO_ON, GREETING};

/// State machine of the client.
#[derive(Debug)]
pub struct ClientSide {
    key: SharedKey,
    nonce: Nonce,
    phase: Phase,
    input: Vec<u8>,
    output: Vec<u8>,
}

#[derive(Debug)]
enum Phase {
    /// The host's nonce is awaited.
    Nonce,
    /// Its proof is awaited.
    Proof {
        host: Nonce,
    },
    Open(Box<Channels>),
}

/// Both directions of an open connection.
#[derive(Debug)]
struct Channels {
    requests: Channel,
    answers: Channel,
}

impl ClientSide {
    /// The machine for a new connection, with a nonce that no other connection has.
    pub fn new(key: &SharedKey, nonce: Nonce) -> Self {
        let (key, output) = (key.clone(), GREETING.to_vec());
        Self { key, nonce, phase: Phase::Nonce, input: Vec::new(), output }
    }

    /// Processes received bytes; the answers that are complete.
    ///
    /// # Errors
    /// [`Broken`]: the connection is to be closed.
    pub fn receive(&mut self, bytes: &[u8]) -> Result<Vec<Answer>, Broken> {
        self.input.extend_from_slice(bytes);
        let mut answers = Vec::new();
        while !self.is_open() {
            if !self.shake()? {
                return Ok(answers);
            }
        }
        while let Phase::Open(channels) = &mut self.phase {
            let Some(text) = channels.answers.open(&mut self.input)? else { break };
            answers.push(Answer::read(&text)?);
        }
        Ok(answers)
    }

    /// The next step before the first request; false: what it needs is not complete.
    fn shake(&mut self) -> Result<bool, Broken> {
        let Some((first, rest)) = self.input.split_first() else { return Ok(false) };
        if *first != GO_ON {
            let is_first = matches!(self.phase, Phase::Nonce);
            return Err(if is_first { Broken::NotAllowed } else { Broken::Proof });
        }
        let Some(theirs) = rest.first_chunk::<CODE>().copied() else { return Ok(false) };
        self.phase = match &self.phase {
            Phase::Proof { host } if self.key.agrees(&[HOST, host, &self.nonce], &theirs) => {
                let key = self.key.of_connection(SESSION, host, &self.nonce);
                let requests = Channel::new(key.clone(), Direction::FromClient);
                let answers = Channel::new(key, Direction::FromHost);
                Phase::Open(Box::new(Channels { requests, answers }))
            }
            Phase::Proof { .. } => return Err(Broken::Proof),
            Phase::Nonce | Phase::Open(_) => {
                let proof = self.key.code(&[CLIENT, &theirs, &self.nonce]);
                self.output.extend([self.nonce, proof].concat());
                Phase::Proof { host: theirs }
            }
        };
        self.input.drain(..=CODE);
        Ok(true)
    }

    /// Whether both ends have proved that they have the key.
    pub const fn is_open(&self) -> bool {
        matches!(self.phase, Phase::Open(_))
    }

    /// Whether the host has asked for the proof of the key.
    pub const fn is_asked(&self) -> bool {
        !matches!(self.phase, Phase::Nonce)
    }

    /// Adds a request to the output. False: it is too long, or the connection is not open.
    #[must_use]
    pub fn request(&mut self, request: &Request) -> bool {
        let Phase::Open(channels) = &mut self.phase else { return false };
        let sealed = channels.requests.seal(&json::text(request));
        let fits = sealed.is_some();
        self.output.extend(sealed.unwrap_or_default());
        fits
    }

    /// Takes the bytes that are to be sent.
    pub fn take_output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.output)
    }
}
