//! A record that somebody changed: numbers that cannot be, parts that are missing, lists that are
//! longer or shorter than others. It is judged and shown.

use std::sync::OnceLock;

use report::import::record;
use report::{Width, export};
use serde_json::{Value, json};

use crate::memory;

/// Judges one input.
pub(super) fn run(input: &[u8]) {
    let Some((which, changes)) = input.split_first() else { return };
    let (record, places) = &originals()[usize::from(*which) % originals().len()];
    let mut record = record.clone();
    for change in changes.chunks_exact(3).take(MOST_CHANGES) {
        let place = usize::from(u16::from_le_bytes([change[0], change[1]])) % places.len();
        // It may have gone with an earlier change.
        if let Some(part) = record.pointer_mut(&places[place]) {
            spoil(part, usize::from(change[2]));
        }
    }
    let text = record.to_string();
    memory::bounded_to(PER_BYTE, text.len(), || explain(&text));
}

fn explain(text: &str) {
    let Ok(mut records) = record::read(text.as_bytes()) else { return };
    for record in &mut records.records {
        record.judgement = Some(analysis::judge(record));
    }
    let mut shown = Vec::new();
    for format in export::ALL {
        format.write(&records, Width::UNKNOWN, &mut shown).expect("a vector takes all");
    }
}

/// Puts something else in a place.
fn spoil(part: &mut Value, how: usize) {
    if let Value::Array(list) = part {
        match how % 4 {
            0 => list.truncate(list.len() / 2),
            // Twice again and again would be a text that is large, and not one that is wrong.
            1 => list.extend_from_within(..list.len().min(MOST_MORE)),
            2 => list.reverse(),
            _ => list.clear(),
        }
        return;
    }
    let others = [
        json!(0),
        json!(1),
        json!(-1),
        json!(255),
        json!(65_536),
        json!(u32::MAX),
        json!(1_u64 << 53),
        json!(i64::MAX),
        json!(i64::MIN),
        json!(u64::MAX),
        json!(0.5),
        json!(1e-300),
        json!(1e19),
        json!(1e300),
        json!(-1e300),
        json!(""),
        json!("x"),
        json!(true),
        json!(false),
        Value::Null,
    ];
    *part = others[how % others.len()].clone();
}

/// Records of real tests, with the places in which each can be changed.
fn originals() -> &'static [(Value, Vec<String>)] {
    static ORIGINALS: OnceLock<Vec<(Value, Vec<String>)>> = OnceLock::new();
    ORIGINALS.get_or_init(|| {
        let texts = [
            include_str!("../../records/tcp.json"),
            include_str!("../../records/udp.json"),
            include_str!("../../records/both_ways.json"),
        ];
        let original = |text| {
            let record: Value = serde_json::from_str(text).expect("it is a record");
            let mut places = Vec::new();
            collect(&record, String::new(), &mut places);
            (record, places)
        };
        texts.map(original).into()
    })
}

fn collect(part: &Value, place: String, places: &mut Vec<String>) {
    match part {
        Value::Object(members) => {
            for (name, member) in members {
                collect(member, format!("{place}/{}", escaped(name)), places);
            }
        }
        Value::Array(list) => {
            for (index, element) in list.iter().enumerate() {
                collect(element, format!("{place}/{index}"), places);
            }
            places.push(place);
        }
        _ => places.push(place),
    }
}

/// As a JSON pointer has it (RFC 6901).
fn escaped(name: &str) -> String {
    name.replace('~', "~0").replace('/', "~1")
}

/// Elements by which a change lengthens a list at most.
const MOST_MORE: usize = 1 << 4;
const MOST_CHANGES: usize = 24;
/// A zero of a list of lists takes much more as what it means.
const PER_BYTE: usize = 512;
