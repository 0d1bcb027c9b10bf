//! Records as messages of MQTT: the last result of each row, and what Home Assistant needs to show
//! it. Who sends the messages is the caller.
//!
//! A message of discovery describes one sensor (Home Assistant, MQTT integration: "MQTT discovery"
//! and "MQTT sensor").

use measurement::RecordSet;
use serde_json::{Map, Value, json};

use crate::results::{self, ResultRow};

/// A message to publish, with the retain flag: who subscribes later gets it too.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Message {
    /// Its topic, e.g. `linerate/nas/10_0_0_2/tcp_send`.
    pub topic: String,
    /// JSON in UTF-8.
    pub payload: String,
}

/// Topics under which messages are published, without a slash at the end.
#[derive(Clone, Copy, Debug)]
pub struct Topics<'a> {
    /// Begin of the topics of results, e.g. `linerate`.
    pub results: &'a str,
    /// The discovery prefix of Home Assistant, e.g. `homeassistant`. None: no sensor is announced.
    pub discovery: Option<&'a str>,
}

/// The messages of these records, those of discovery before the result that they are about. Of
/// several runs of a row each is a message, the last one stays.
pub fn messages(records: &RecordSet, topics: Topics<'_>) -> Vec<Message> {
    let mut messages = Vec::new();
    let rows = results::rows(&records.records);
    for (at, row) in rows.iter().enumerate() {
        let place = Place::of(row, topics.results);
        let is_first = rows[..at].iter().all(|other| Place::of(other, topics.results) != place);
        if let Some(prefix) = topics.discovery.filter(|_| is_first) {
            let same = rows.iter().filter(|other| Place::of(other, topics.results) == place);
            let known: Vec<_> = same.map(values).collect();
            let is_known = |sensor: &&Sensor| known.iter().any(|one| one.contains_key(sensor.key));
            let sensors = SENSORS.iter().filter(is_known);
            messages.extend(sensors.map(|sensor| sensor.announced(prefix, &place)));
        }
        messages
            .push(Message { topic: place.topic, payload: Value::from(values(row)).to_string() });
    }
    messages
}

/// Where the results of a row go, and what it is called.
#[derive(PartialEq, Eq)]
struct Place {
    topic: String,
    /// `nas to 10.0.0.2`.
    device: String,
    /// `nas_10_0_0_2`.
    device_id: String,
    title: String,
}

impl Place {
    fn of(row: &ResultRow<'_>, prefix: &str) -> Self {
        let unknown = || "unknown".to_owned();
        let (host, peer) = (row.host().unwrap_or_else(unknown), row.peer().unwrap_or_else(unknown));
        let title = row.title.clone();
        let (from, to, name) = (level(&host), level(&peer), level(&title));
        Self {
            topic: format!("{prefix}/{from}/{to}/{name}"),
            device: format!("{host} to {peer}"),
            device_id: format!("{from}_{to}"),
            title,
        }
    }
}

/// A text as a level of a topic and a part of an identifier: `TCP send` is `tcp_send`.
fn level(text: &str) -> String {
    let letter =
        |one: char| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '_' };
    text.chars().take(LONGEST_LEVEL).map(letter).collect()
}

/// What is known of a result, by the names that it has in InfluxDB, too.
fn values(row: &ResultRow<'_>) -> Map<String, Value> {
    let mut values = Map::new();
    let mut add = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            values.insert(key.to_owned(), value);
        }
    };
    add("success", Some(row.is_complete().into()));
    add("started_at", row.started().map(|started| started.to_string().into()));
    if let Some(outcome) = row.outcome {
        let rate = |moved: measurement::Throughput| moved.rate.bits_per_second().into();
        add("rate_bits_per_second", outcome.arrived().map(rate));
        add("sent_bits_per_second", outcome.offered.map(rate));
        add("lost_ratio", outcome.datagrams.map(|datagrams| datagrams.loss().into()));
        add("retransmitted_segments", outcome.retransmits.map(Value::from));
        add("jitter_seconds", outcome.jitter_seconds.map(Value::from));
    }
    if let Some(times) = row.round_trips().map(|trips| &trips.times) {
        add("round_trip_median_seconds", Some(times.p50.as_secs_f64().into()));
        add("round_trip_p99_seconds", Some(times.p99.as_secs_f64().into()));
    }
    let stamp = row.record.judgement.as_ref().map(|judgement| judgement.stamp.to_string());
    add("stamp", stamp.map(Value::from));
    values
}

/// A sensor of Home Assistant: a value of a result in a unit that people read.
struct Sensor {
    /// The value in the message of the result.
    key: &'static str,
    name: &'static str,
    /// Empty: it has none.
    unit: &'static str,
    /// Empty: it has none.
    class: &'static str,
    /// How many of the value's unit the unit has; 0: the value is a text.
    factor: f64,
    decimals: u8,
}

impl Sensor {
    fn announced(&self, prefix: &str, place: &Place) -> Message {
        let id = format!("linerate_{}_{}_{}", place.device_id, level(&place.title), self.key);
        let mut config = json!({
            "name": format!("{} {}", place.title, self.name),
            "unique_id": id,
            "state_topic": place.topic,
            "value_template": self.template(),
            "device": {
                "identifiers": [format!("linerate_{}", place.device_id)],
                "name": format!("linerate {}", place.device),
            },
        });
        let numeric = [
            ("unit_of_measurement", self.unit),
            ("device_class", self.class),
            ("state_class", if self.factor > 0.0 { "measurement" } else { "" }),
        ];
        for (key, value) in numeric.into_iter().filter(|(_, value)| !value.is_empty()) {
            config[key] = value.into();
        }
        Message { topic: format!("{prefix}/sensor/{id}/config"), payload: config.to_string() }
    }

    /// A value that a result does not have makes the sensor unknown.
    fn template(&self) -> String {
        let Self { key, factor, decimals, .. } = self;
        let value = format!("value_json.{key}");
        let shown = if *factor > 0.0 {
            format!("({value} * {factor}) | round({decimals})")
        } else {
            value.clone()
        };
        format!("{{{{ {shown} if {value} is defined else None }}}}")
    }
}

const SENSORS: [Sensor; 7] = [
    Sensor {
        key: "rate_bits_per_second",
        name: "rate",
        unit: "Mbit/s",
        class: "data_rate",
        factor: 1e-6,
        decimals: 2,
    },
    Sensor { key: "lost_ratio", name: "loss", unit: "%", class: "", factor: 100.0, decimals: 3 },
    Sensor {
        key: "retransmitted_segments",
        name: "retransmitted segments",
        unit: "",
        class: "",
        factor: 1.0,
        decimals: 0,
    },
    Sensor {
        key: "jitter_seconds",
        name: "jitter",
        unit: "ms",
        class: "duration",
        factor: 1e3,
        decimals: 3,
    },
    Sensor {
        key: "round_trip_median_seconds",
        name: "round trip",
        unit: "ms",
        class: "duration",
        factor: 1e3,
        decimals: 3,
    },
    Sensor {
        key: "round_trip_p99_seconds",
        name: "round trip p99",
        unit: "ms",
        class: "duration",
        factor: 1e3,
        decimals: 3,
    },
    Sensor { key: "stamp", name: "stamp", unit: "", class: "", factor: 0.0, decimals: 0 },
];
/// Letters of a level of a topic.
const LONGEST_LEVEL: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;

    const TOPICS: Topics<'_> = Topics { results: "net", discovery: Some("homeassistant") };

    fn of(text: &[u8], topics: Topics<'_>) -> Vec<(String, Value)> {
        let records = crate::import::record::read(text).expect("records");
        let json = |text: &str| serde_json::from_str(text).expect("JSON");
        let messages = messages(&records, topics).into_iter();
        messages.map(|one| (one.topic, json(&one.payload))).collect()
    }

    #[test]
    fn each_row_has_a_result_and_its_sensors() {
        let all = of(include_bytes!("../../tests/records/four-rows.json"), TOPICS);
        let (sensors, results): (Vec<_>, Vec<_>) =
            all.iter().partition(|(topic, _)| topic.starts_with("homeassistant/sensor/"));
        assert_eq!(results.len(), 4, "{results:?}");
        assert!(results.iter().all(|(topic, value)| {
            topic.starts_with("net/") && value["rate_bits_per_second"].as_u64() > Some(0)
        }));
        let mut ids: Vec<_> = sensors.iter().map(|(_, config)| &config["unique_id"]).collect();
        ids.sort_by_key(ToString::to_string);
        ids.dedup();
        assert_eq!(ids.len(), sensors.len(), "identifiers are unique");
        for (topic, config) in sensors {
            let is_of = |(result, value): &&&(String, Value)| {
                let key = topic.trim_end_matches("/config");
                let has = |name: &String| key.ends_with(&format!("_{name}"));
                config["state_topic"] == *result
                    && value.as_object().is_some_and(|all| all.keys().any(has))
            };
            assert!(results.iter().any(|one| is_of(&one)), "{topic} {config}");
            assert!(config["device"]["identifiers"][0].is_string(), "{config}");
        }
    }

    #[test]
    fn what_is_not_known_is_absent_and_nothing_is_announced_without_a_prefix() {
        let topics = Topics { discovery: None, ..TOPICS };
        let all = of(include_bytes!("../../tests/records/failed-tcp.json"), topics);
        assert!(!all.is_empty() && all.iter().all(|(topic, _)| topic.starts_with("net/")));
        assert!(all.iter().all(|(_, value)| value["success"] == false), "{all:?}");
    }

    #[test]
    fn no_name_breaks_a_topic() {
        assert_eq!(level("TCP send, 3 streams"), "tcp_send__3_streams");
        assert_eq!(level("a/b+c#d\u{e4}"), "a_b_c_d_");
        assert_eq!(level(&"x".repeat(500)).len(), LONGEST_LEVEL);
    }
}
