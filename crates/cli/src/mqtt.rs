//! Publishes messages to a broker of MQTT 3.1.1, each of them confirmed (QoS 1), over plain TCP.

mod connection;

use std::collections::HashSet;
use std::env;
use std::str::FromStr;
use std::time::Duration;

use anyhow::anyhow;
use linux::clock;
use report::export::mqtt::Message;
use rumqttc::{Connect, ConnectReturnCode};

use connection::{Connection, Failure};

/// A broker, and the begin of the topics there: `mqtt://nas@10.0.0.9:1883/net`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Broker {
    host: String,
    port: u16,
    user: Option<String>,
    /// Begin of the topics, without a slash at the end.
    pub(crate) topic: String,
}

impl FromStr for Broker {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!("'{text}' names no broker: type mqtt://HOST, or mqtt://USER@HOST:PORT/TOPIC")
        };
        if text.starts_with("mqtts://") {
            return Err(
                "MQTT is spoken without TLS: give mqtt:// and a broker that your network reaches"
                    .to_owned(),
            );
        }
        let rest = text.strip_prefix("mqtt://").ok_or_else(wrong)?;
        let (place, topic) = rest.split_once('/').unwrap_or((rest, ""));
        let (user, place) = match place.rsplit_once('@') {
            Some((user, place)) => (Some(user.to_owned()), place),
            None => (None, place),
        };
        if user.as_ref().is_some_and(|user| user.is_empty() || user.contains(':')) {
            return Err(format!(
                "give a user alone, mqtt://USER@HOST, and the password by {PASSWORD}"
            ));
        }
        let (host, port) = host_and_port(place).ok_or_else(wrong)?;
        let topic = if topic.is_empty() { TOPIC } else { topic };
        Ok(Self { host, port, user, topic: begin_of_topics(topic)? })
    }
}

/// Checks a text that topics are to begin with (MQTT 3.1.1, section 4.7).
pub(crate) fn begin_of_topics(text: &str) -> Result<String, String> {
    let is_letter = |one: char| one.is_ascii_graphic() && !"+#$".contains(one);
    let is_level = |level: &str| !level.is_empty() && level.chars().all(is_letter);
    if text.len() > LONGEST_TOPIC || !text.split('/').all(is_level) {
        return Err(format!("'{text}' is no begin of a topic: type for example {TOPIC}"));
    }
    Ok(text.to_owned())
}

/// `host`, `host:1883`, `[::1]`, `[::1]:1883`.
fn host_and_port(place: &str) -> Option<(String, u16)> {
    let (host, rest) = match place.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => place.split_at(place.find(':').unwrap_or(place.len())),
    };
    let port = match rest.strip_prefix(':') {
        Some(port) => port.parse().ok().filter(|port| *port > 0)?,
        None if rest.is_empty() => PORT,
        None => return None,
    };
    let is_host = !host.is_empty() && !host.contains(char::is_whitespace);
    is_host.then(|| (host.to_owned(), port))
}

impl Broker {
    /// Publishes messages in their order, to stay with the broker, and waits until it has confirmed
    /// each.
    pub(crate) fn publish(&self, messages: Vec<Message>) -> anyhow::Result<()> {
        let failed =
            |reason: String| anyhow!("cannot publish to {}:{}: {reason}", self.host, self.port);
        let (count, end) = (messages.len(), clock::monotonic() + PATIENCE);
        let place = (self.host.as_str(), self.port);
        let mut connection = Connection::open(place, &self.connect(), end)
            .map_err(|failure| failed(reason(&failure)))?;
        let mut confirmed = 0;
        publish(&mut connection, messages, &mut confirmed).map_err(|failure| {
            failed(match failure {
                Failure::TimedOut => {
                    format!(
                        "it confirmed {confirmed} of {count} messages in {} s",
                        PATIENCE.as_secs()
                    )
                }
                failure => reason(&failure),
            })
        })?;
        connection.close();
        Ok(())
    }

    fn connect(&self) -> Connect {
        let mut connect = Connect::new(format!("linerate-{}", std::process::id()));
        if let Some(user) = &self.user {
            connect.set_login(user, env::var(PASSWORD).unwrap_or_default());
        }
        connect
    }
}

/// Publishes messages, and counts those that the broker has confirmed.
fn publish(
    connection: &mut Connection,
    messages: Vec<Message>,
    confirmed: &mut usize,
) -> Result<(), Failure> {
    let mut unconfirmed = HashSet::new();
    for (message, id) in messages.into_iter().zip((1..=u16::MAX).cycle()) {
        if unconfirmed.len() == MOST_UNCONFIRMED {
            connection.confirm(&mut unconfirmed)?;
            *confirmed += 1;
        }
        connection.publish(id, message)?;
        unconfirmed.insert(id);
    }
    while !unconfirmed.is_empty() {
        connection.confirm(&mut unconfirmed)?;
        *confirmed += 1;
    }
    Ok(())
}

fn reason(failure: &Failure) -> String {
    match failure {
        Failure::Io(error) => session::reason(error),
        Failure::TimedOut => "it does not answer".to_owned(),
        Failure::Refused(
            ConnectReturnCode::BadUserNamePassword | ConnectReturnCode::NotAuthorized,
        ) => format!("it refused the user or the password: mqtt://USER@HOST, and {PASSWORD}"),
        Failure::Refused(code) => format!("it refused the connection: {}", refusal(*code)),
        Failure::Protocol => "it does not speak MQTT 3.1.1: check host and port".to_owned(),
    }
}

/// In the words of MQTT 3.1.1, table 3.1.
const fn refusal(code: ConnectReturnCode) -> &'static str {
    match code {
        ConnectReturnCode::RefusedProtocolVersion => "unacceptable protocol version",
        ConnectReturnCode::BadClientId => "identifier rejected",
        _ => "server unavailable",
    }
}

/// The variable of the environment with the password: a command line is seen by every user.
const PASSWORD: &str = "LINERATE_MQTT_PASSWORD";
/// The port of MQTT without TLS (IANA).
const PORT: u16 = 1883;
/// Begin of the topics.
const TOPIC: &str = "linerate";
/// Bytes.
const LONGEST_TOPIC: usize = 256;
/// For all messages together.
const PATIENCE: Duration = Duration::from_secs(10);
/// Messages that a broker has not confirmed yet: far fewer than there are identifiers.
const MOST_UNCONFIRMED: usize = 100;

#[cfg(test)]
mod tests {
    use super::*;

    fn broker(text: &str) -> Result<(String, u16, Option<String>, String), String> {
        text.parse::<Broker>().map(|one| (one.host, one.port, one.user, one.topic))
    }

    #[test]
    fn a_broker_is_host_port_user_and_topic() {
        let expected = |host: &str, port, user: Option<&str>, topic: &str| {
            Ok((host.to_owned(), port, user.map(str::to_owned), topic.to_owned()))
        };
        assert_eq!(broker("mqtt://nas"), expected("nas", 1883, None, "linerate"));
        assert_eq!(broker("mqtt://u@[::1]:7/a/b"), expected("::1", 7, Some("u"), "a/b"));
        assert_eq!(broker("mqtt://10.0.0.9/"), expected("10.0.0.9", 1883, None, "linerate"));
    }

    #[test]
    fn what_is_no_broker_is_refused_with_a_sentence() {
        for (text, words) in [
            ("", "names no broker"),
            ("nas:1883", "names no broker"),
            ("mqtt://", "names no broker"),
            ("mqtt://nas:0", "names no broker"),
            ("mqtt://nas:x", "names no broker"),
            ("mqtt://[::1", "names no broker"),
            ("mqtts://nas", "without TLS"),
            ("mqtt://u:p@nas", "the password by LINERATE_MQTT_PASSWORD"),
            ("mqtt://@nas", "give a user"),
            ("mqtt://nas/a/#", "no begin of a topic"),
            ("mqtt://nas/a/", "no begin of a topic"),
        ] {
            let error = broker(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
