//! Any JSON in place of parameters and results.

use linerate_protocol::iperf3::{
    ClientPhase, ErrorCode, Parameters, ProtocolError, Results, Server, ServerEvent,
};
use measurement::plan::{MAX_STREAMS, PlanDraft};
use proptest::prelude::*;
use proptest::sample::select;
use serde_json::{Value, json};

use crate::conversations::{asked, results};
use crate::machine::Machine;
use crate::support::{START, client_after, framed, parameters};

const PARAMETER_KEYS: [&str; 24] = [
    "tcp",
    "udp",
    "sctp",
    "omit",
    "time",
    "num",
    "blockcount",
    "parallel",
    "reverse",
    "bidirectional",
    "bandwidth",
    "fqrate",
    "pacing_timer",
    "burst",
    "len",
    "MSS",
    "nodelay",
    "window",
    "TOS",
    "congestion",
    "udp_counters_64bit",
    "title",
    "client_version",
    "linerate",
];
const RESULT_KEYS: [&str; 7] = [
    "cpu_util_total",
    "cpu_util_user",
    "cpu_util_system",
    "sender_has_retransmits",
    "congestion_used",
    "streams",
    "linerate",
];
const STREAM_KEYS: [&str; 10] = [
    "id",
    "bytes",
    "retransmits",
    "jitter",
    "errors",
    "omitted_errors",
    "packets",
    "omitted_packets",
    "start_time",
    "end_time",
];

/// Any JSON at all, with numbers that are near some limit.
fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        any::<i64>().prop_map(Value::from),
        any::<u64>().prop_map(Value::from),
        any::<f64>().prop_map(Value::from),
        select(vec![json!(0), json!(-1), json!(1), json!(128), json!(1e15), json!(u64::MAX)]),
        select(vec![json!(f64::MAX), json!(f64::MIN), json!(1e-320), json!(1460.5)]),
        ".{0,20}".prop_map(Value::from),
    ];
    leaf.prop_recursive(3, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::hash_map("[a-z]{0,6}", inner, 0..4)
                .prop_map(|map| Value::Object(map.into_iter().collect())),
        ]
    })
}

/// A row of about as many numbers as it should have, most of them likely.
fn row() -> impl Strategy<Value = Vec<i64>> {
    let number = prop_oneof![8 => 0..1_i64 << 40, 1 => Just(-1), 1 => any::<i64>()];
    prop::collection::vec(number, 19..24)
}

/// Some of the keys with any values; none: the key is taken away.
fn changes(keys: &'static [&'static str]) -> impl Strategy<Value = Vec<(&'static str, Change)>> {
    prop::collection::vec((select(keys), prop::option::weighted(0.9, value())), 0..5)
}

type Change = Option<Value>;

fn change(mut json: Value, changes: &[(&'static str, Change)]) -> Value {
    let object = json.as_object_mut().expect("an object");
    for (key, change) in changes {
        match change {
            Some(value) => _ = object.insert((*key).to_owned(), value.clone()),
            None => _ = object.remove(*key),
        }
    }
    json
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(8192))]

    #[test]
    fn no_document_makes_an_invalid_plan(
        asked in asked(),
        changed in changes(&PARAMETER_KEYS),
    ) {
        let json = change(asked.to_json(), &changed);
        let mut server = Server::new(START);
        server.handle_bytes(&framed(&json), START);
        let read = Parameters::from_json(json.to_string().as_bytes());
        match read {
            Ok(read) => {
                let draft = PlanDraft::from(read.plan.clone());
                prop_assert_eq!(&draft.check(), &Ok(read.plan.clone()));
                prop_assert!(read.plan.options.block.is_some());
                // What was understood is said again in the same words.
                let again = Parameters::from_json(read.to_json().to_string().as_bytes());
                prop_assert_eq!(&again, &Ok(read.clone()));
                prop_assert_eq!(server.events(), [ServerEvent::Asked(Box::new(read))]);
            }
            Err(code) => {
                let error = ProtocolError::ServerError { code, errno: 0, why: None };
                prop_assert_eq!(server.events(), [ServerEvent::Failed(error)]);
                let told = [vec![9, 0xfe], code.0.to_be_bytes().to_vec(), vec![0; 4]].concat();
                prop_assert_eq!(server.take_output(), told);
            }
        }
    }

    #[test]
    fn no_document_makes_absurd_results(
        top in changes(&RESULT_KEYS),
        stream in changes(&STREAM_KEYS),
    ) {
        let mut json = results(&parameters(), 2).to_json();
        json["streams"][0] = change(json["streams"][0].take(), &stream);
        let json = change(json, &top);
        if let Ok(read) = Results::from_json(json.to_string().as_bytes()) {
            let cpu = [read.cpu.total, read.cpu.user, read.cpu.system];
            prop_assert!(cpu.iter().all(|number| number.is_finite()));
            prop_assert!(read.streams.len() <= MAX_STREAMS as usize);
            for stream in &read.streams {
                prop_assert!(stream.seconds.is_finite() && stream.seconds >= 0.0);
                prop_assert!(stream.jitter.is_finite());
            }
            let again = Results::from_json(read.to_json().to_string().as_bytes());
            prop_assert!(again.is_ok(), "{:?}", again);
        }
        let mut client = client_after(8);
        client.handle_bytes(&framed(&json), START);
        prop_assert!(matches!(client.phase(), ClientPhase::Closing | ClientPhase::Failed));
    }

    #[test]
    fn no_rows_make_absurd_results(
        rows in prop::collection::vec(prop_oneof![value(), row().prop_map(Value::from)], 0..5),
    ) {
        // Clause 13.14.
        let mut json = results(&parameters(), 2).to_json();
        json["linerate"] = json!({ "rows": rows });
        if let Ok(read) = Results::from_json(json.to_string().as_bytes()) {
            prop_assert_eq!(read.streams.len(), rows.len());
            for stream in &read.streams {
                prop_assert!(stream.seconds.is_finite() && stream.seconds >= 0.0);
                prop_assert!(stream.jitter.is_finite() && stream.bytes <= 1 << 53);
            }
        }
    }

    #[test]
    fn no_document_that_is_not_an_object_is_taken(document in value(), text in "[^{]{0,40}") {
        for text in [json!([document]).to_string(), text] {
            let refused = Err(ErrorCode::PARAMETERS);
            prop_assert_eq!(Parameters::from_json(text.as_bytes()), refused);
            prop_assert!(Results::from_json(text.as_bytes()).is_err());
        }
    }
}

#[test]
fn a_span_beyond_all_numbers_is_none() {
    let mut json = results(&parameters(), 2).to_json();
    json["streams"][0]["start_time"] = json!(f64::MIN);
    json["streams"][0]["end_time"] = json!(f64::MAX);
    let read = Results::from_json(json.to_string().as_bytes()).expect("readable");
    assert!(read.streams[0].seconds.abs() < f64::EPSILON);
}

#[test]
fn a_number_that_old_versions_spoil_does_not_spoil_the_test() {
    // Clause 5.5: a jitter that is not finite is null, and integers are doubles.
    // Clause 10.10: 32-bit counters of old versions can overflow.
    let mut json = results(&parameters(), 2).to_json();
    json["streams"][0]["jitter"] = Value::Null;
    json["streams"][0]["bytes"] = json!(2e15);
    json["streams"][0]["packets"] = json!(i32::MIN);
    json["streams"][0]["errors"] = json!(u64::MAX);
    let read = Results::from_json(json.to_string().as_bytes()).expect("readable");
    let stream = &read.streams[0];
    assert_eq!((stream.bytes, stream.packets, stream.errors), (2_000_000_000_000_000, 0, 0));
    assert!(stream.jitter.abs() < f64::EPSILON);
}
