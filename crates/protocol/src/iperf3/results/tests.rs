//! Results are read as they are written, and by what other ends write.

use std::time::Duration;

use measurement::{BitRate, MpuUse, Pacing, PacingWay, Quantiles, TcpSample};

use super::*;

pub(super) fn results() -> Results {
    let stream = StreamResult {
        id: 3,
        bytes: 1 << 50,
        retransmits: -1,
        errors: 2,
        omitted_errors: Some(1),
        packets: 9,
        omitted_packets: Some(4),
        seconds: 1.5,
        counted: Some(StreamSample { id: 3, ..StreamSample::default() }),
        ..StreamResult::default()
    };
    Results { sender_has_retransmits: -1, streams: vec![stream], ..Results::default() }
}

#[test]
fn results_survive_the_wire() {
    let text = results().to_json().to_string();
    assert_eq!(Results::from_json(text.as_bytes()), Ok(results()));
}

#[test]
fn a_delay_variation_survives_the_wire_and_an_impossible_one_is_dropped() {
    let nanos = Quantiles { p50: 1, p99: 20, max: 300 };
    let ipdv = Some(Box::new(DelayVariation { pairs: 9, nanos }));
    let original = Results { ipdv, ..results() };
    let text = original.to_json().to_string();
    assert_eq!(Results::from_json(text.as_bytes()), Ok(original.clone()));
    let lie = text.replace("\"max\":300", "\"max\":3");
    assert_eq!(Results::from_json(lie.as_bytes()), Ok(Results { ipdv: None, ..original }));
}

#[test]
fn samples_travel_by_the_names_of_the_record() {
    let tcp = TcpSample { acknowledged: 7, segment: 1448, ..TcpSample::default() };
    let mut original = results();
    original.streams[0].counted =
        Some(StreamSample { id: 3, tcp: Some(tcp), ..Default::default() });
    let mut json = original.to_json();
    let read = |json: &Value| Results::from_json(json.to_string().as_bytes());
    assert_eq!(read(&json), Ok(original));
    let wire = json["linerate"]["streams"][0]["tcp"].as_object_mut().expect("an object");
    assert_eq!((&wire["bytes_acked"], &wire["snd_mss"]), (&json!(7), &json!(1448)));
    wire.remove("bytes_acked");
    let incomplete = read(&json).expect("the rest is readable");
    assert_eq!(incomplete.streams[0].counted, None);
}

#[test]
fn what_is_too_long_is_sent_in_less_detail() {
    let output = Some(ServerOutput::Text("a line\n".repeat(100)));
    let original = Results { server_output: output, ..results() };
    let within = |most| Results::from_json(&original.fitting(false, most)).expect("readable");
    assert_eq!(within(4096), original);
    assert_eq!(within(700), results());
    let least = within(300);
    assert_eq!((least.streams[0].bytes, least.streams[0].counted), (1 << 50, None));
}

#[test]
fn an_output_denser_than_any_of_iperf3_is_no_output() {
    let with = |output: Value| {
        let mut json = results().to_json();
        json["server_output_json"] = output;
        let read = Results::from_json(json.to_string().as_bytes());
        read.expect("the rest is readable").server_output
    };
    let likely = json!({ "intervals": vec![json!({ "sender": true, "omitted": false }); 500] });
    assert_eq!(with(likely.clone()), Some(ServerOutput::Json(likely)));
    assert_eq!(with(json!({ "a": vec![json!([]); 500] })), None);
    assert_eq!(with(json!([])), None);
}

#[test]
fn each_missing_key_is_named() {
    for key in ["cpu_util_user", "sender_has_retransmits", "streams"] {
        let mut json = results().to_json();
        json.as_object_mut().expect("an object").remove(key);
        let error = Results::from_json(json.to_string().as_bytes()).expect_err(key);
        assert!(error.contains(key), "{error}");
    }
    for key in ["id", "bytes", "retransmits", "jitter", "errors", "packets"] {
        let mut json = results().to_json();
        json["streams"][0].as_object_mut().expect("an object").remove(key);
        let error = Results::from_json(json.to_string().as_bytes()).expect_err(key);
        assert!(error.contains(key), "{error}");
    }
}

fn report() -> PacingReport {
    let rate = BitRate::from_bits_per_second(1_000_000);
    PacingReport {
        pacing: Pacing::Even,
        way: PacingWay::TimerAndSpin,
        asked: rate,
        achieved: rate,
        achieved_outside_stalls: rate,
        sending: Duration::from_secs(2),
        stalled: Duration::from_millis(3),
        stalls: 1,
        forgone: Duration::ZERO,
        batches: Quantiles { p50: 1, p99: 1, max: 1 },
        gap_error_nanos: Quantiles::default(),
        lateness: vec![0, 3, 9],
        spin_share: 0.5,
    }
}

#[test]
fn a_pacing_report_survives_the_wire_and_an_impossible_one_spoils_nothing() {
    let original = Results { pacing: Some(Box::new(report())), ..results() };
    let json = original.to_json();
    let read = |json: &Value| {
        Results::from_json(json.to_string().as_bytes()).expect("the rest is readable")
    };
    assert_eq!(read(&json), original);
    let lies = [
        ("spin_share", json!(2)),
        ("lateness", json!(vec![1; 65])),
        ("lateness", json!([u64::MAX])),
        ("stalled_seconds", json!(-1)),
        ("sending_seconds", json!(1e300)),
        ("way", json!("warp")),
        ("asked_bits_per_second", json!(u64::MAX)),
    ];
    for (key, lie) in lies {
        let mut json = json.clone();
        json["linerate"]["pacing"][key] = lie;
        assert_eq!(read(&json), results(), "{key}");
    }
}

#[test]
fn a_runtime_survives_the_wire_and_an_impossible_one_spoils_nothing() {
    let mpu = MpuUse { streams: 3, run_seconds: 1.0, turns: 9, ..MpuUse::default() };
    let original = Results { runtime: Some(Box::new(Runtime::new([mpu]))), ..results() };
    let json = original.to_json();
    let read = |json: &Value| {
        Results::from_json(json.to_string().as_bytes()).expect("the rest is readable")
    };
    assert_eq!(read(&json), original);
    let lies = [
        ("mpus", json!(vec![json["linerate"]["runtime"]["mpus"][0].clone(); 1025])),
        ("saturated", json!([7])),
        ("start_skew_seconds", json!(-1)),
        ("late_reports", json!(u64::MAX)),
        ("mpus", json!(3)),
    ];
    for (key, lie) in lies {
        let mut json = json.clone();
        json["linerate"]["runtime"][key] = lie;
        assert_eq!(read(&json), results(), "{key}");
    }
}

#[test]
fn an_old_peer_says_nothing_of_omitted_datagrams() {
    let mut json = results().to_json();
    let stream = json["streams"][0].as_object_mut().expect("an object");
    stream.remove("omitted_errors");
    stream.remove("omitted_packets");
    stream.insert("errors".to_owned(), json!(-3));
    let read = Results::from_json(json.to_string().as_bytes()).expect("readable");
    assert_eq!(read.streams[0].omitted_packets, None);
    assert_eq!(read.streams[0].errors, 0);
}
