//! A connection to a broker: CONNECT, PUBLISH and DISCONNECT to it, CONNACK and PUBACK from it
//! (MQTT 3.1.1, section 3). `rumqttc` encodes and decodes them; its client is not used, since it
//! links an asynchronous runtime.

use std::collections::HashSet;
use std::io::{self, Read, Write};
use std::net::{TcpStream, ToSocketAddrs};
use std::time::Duration;

use bytes::BytesMut;
use linux::clock;
use report::export::mqtt::Message;
use rumqttc::mqttbytes::{self, FixedHeader, PacketType};
use rumqttc::{ConnAck, Connect, ConnectReturnCode, Disconnect, PubAck, Publish, QoS};

/// A connection that a broker has accepted.
pub(super) struct Connection {
    stream: TcpStream,
    /// Received bytes that are not decoded yet.
    received: BytesMut,
    /// Until when all has to be done, by `CLOCK_MONOTONIC`.
    end: Duration,
}

/// Reason for which messages cannot be published.
#[derive(Debug)]
pub(super) enum Failure {
    /// There is no connection, or it ended.
    Io(io::Error),
    /// It was not done in time.
    TimedOut,
    /// The broker does not accept the client.
    Refused(ConnectReturnCode),
    /// The other end does not speak MQTT 3.1.1.
    Protocol,
}

impl Connection {
    /// Connects to the first address of `host` that answers; gives up at `end`.
    pub(super) fn open(
        (host, port): (&str, u16),
        connect: &Connect,
        end: Duration,
    ) -> Result<Self, Failure> {
        let mut connection =
            Self { stream: reach((host, port), end)?, received: BytesMut::new(), end };
        let mut packet = BytesMut::new();
        connect.write(&mut packet)?;
        connection.send(&packet)?;
        let (header, bytes) = connection.receive(PacketType::ConnAck)?;
        match ConnAck::read(header, bytes.freeze())?.code {
            ConnectReturnCode::Success => Ok(connection),
            code => Err(Failure::Refused(code)),
        }
    }

    /// Publishes a message that the broker is to retain; `id` is not 0, and of no other message
    /// that is not confirmed yet.
    pub(super) fn publish(&mut self, id: u16, message: Message) -> Result<(), Failure> {
        let Message { topic, payload } = message;
        let mut publish = Publish::new(topic, QoS::AtLeastOnce, payload);
        (publish.retain, publish.pkid) = (true, id);
        let mut packet = BytesMut::new();
        publish.write(&mut packet)?;
        self.send(&packet)
    }

    /// Waits until the broker has confirmed one of `sent`, and takes it from there.
    pub(super) fn confirm(&mut self, sent: &mut HashSet<u16>) -> Result<(), Failure> {
        let (header, bytes) = self.receive(PacketType::PubAck)?;
        let id = PubAck::read(header, bytes.freeze())?.pkid;
        sent.remove(&id).then_some(()).ok_or(Failure::Protocol)
    }

    /// Takes leave. A broker that is gone by then is no error: it has confirmed all.
    pub(super) fn close(mut self) {
        let mut packet = BytesMut::new();
        if Disconnect.write(&mut packet).is_ok() {
            _ = self.send(&packet);
        }
    }

    fn send(&mut self, packet: &[u8]) -> Result<(), Failure> {
        self.stream.set_write_timeout(Some(left(self.end)?))?;
        Ok(self.stream.write_all(packet)?)
    }

    /// The next packet, which has to be of this type.
    fn receive(&mut self, wanted: PacketType) -> Result<(FixedHeader, BytesMut), Failure> {
        loop {
            match mqttbytes::check(self.received.iter(), MOST_RECEIVED) {
                Ok(header) if header.packet_type()? == wanted => {
                    return Ok((header, self.received.split_to(header.frame_length())));
                }
                Err(mqttbytes::Error::InsufficientBytes(_)) => self.read()?,
                Ok(_) | Err(_) => return Err(Failure::Protocol),
            }
        }
    }

    fn read(&mut self) -> Result<(), Failure> {
        self.stream.set_read_timeout(Some(left(self.end)?))?;
        let mut bytes = [0; MOST_RECEIVED];
        match self.stream.read(&mut bytes)? {
            0 => Err(io::Error::from(io::ErrorKind::ConnectionAborted).into()),
            count => {
                self.received.extend_from_slice(&bytes[..count]);
                Ok(())
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => Self::TimedOut,
            _ => Self::Io(error),
        }
    }
}

impl From<mqttbytes::Error> for Failure {
    fn from(_: mqttbytes::Error) -> Self {
        Self::Protocol
    }
}

fn reach(place: (&str, u16), end: Duration) -> Result<TcpStream, Failure> {
    let mut failed = io::Error::from(io::ErrorKind::AddrNotAvailable);
    for address in place.to_socket_addrs()? {
        match TcpStream::connect_timeout(&address, left(end)?.min(CONNECT)) {
            Ok(stream) => return Ok(stream),
            Err(error) => failed = error,
        }
    }
    Err(failed.into())
}

/// Time until `end`; not zero.
fn left(end: Duration) -> Result<Duration, Failure> {
    let left = end.saturating_sub(clock::monotonic());
    if left.is_zero() { Err(Failure::TimedOut) } else { Ok(left) }
}

/// For one address.
const CONNECT: Duration = Duration::from_secs(5);
/// Bytes of a packet: a broker confirms, and has nothing else to say.
const MOST_RECEIVED: usize = 4_096;
