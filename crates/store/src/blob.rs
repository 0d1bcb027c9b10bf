//! Records as they lie in the store: JSON in the zlib format (RFC 1950). A store may be anybody's,
//! so that what comes out is bounded.

use std::io::{self, Read, Write};

use flate2::Compression;
use flate2::read::ZlibDecoder;
use flate2::write::ZlibEncoder;
use measurement::{RecordSet, json};

/// The records of one run.
pub(crate) fn pack(records: &RecordSet) -> io::Result<Vec<u8>> {
    let mut out = ZlibEncoder::new(Vec::new(), Compression::fast());
    let mut buffered = io::BufWriter::new(&mut out);
    json::write_records(records, &mut buffered)?;
    buffered.flush()?;
    drop(buffered);
    out.finish()
}

/// Their JSON; an error if it is damaged, or longer than records can be that take so little room.
pub(crate) fn unpack(blob: &[u8]) -> io::Result<Vec<u8>> {
    let most = MOST_TIMES.saturating_mul(blob.len() as u64);
    unpack_up_to(most.clamp(ALWAYS_BYTES, MOST_BYTES), blob)
}

fn unpack_up_to(most: u64, blob: &[u8]) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    ZlibDecoder::new(blob).take(most + 1).read_to_end(&mut text)?;
    if text.len() as u64 > most {
        let what = format!("records beyond {} MiB", most >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, what));
    }
    Ok(text)
}

/// As long as a file of records may be (`report::import::MOST_BYTES`).
const MOST_BYTES: u64 = 512 << 20;
/// However little room they take.
const ALWAYS_BYTES: u64 = 1 << 20;
/// Records become 6 to 30 times as short, that of 10,000 streams that are all alike 56 times, and 125 times
/// by other compressors; the format can be 1,000 times as short.
const MOST_TIMES: u64 = 400;

#[cfg(test)]
mod tests {
    use measurement::plan::PlanDraft;
    use measurement::{Direction, Sample, StreamSample, TcpSample, TestRecord, Transport};

    use super::*;

    #[test]
    fn records_come_back_and_what_is_damaged_is_told() {
        let set = RecordSet::new(Vec::new());
        let mut blob = pack(&set).expect("a vector takes all");
        let text = String::from_utf8(unpack(&blob).expect("it was packed")).expect("JSON");
        assert_eq!(json::records(&text).expect("records"), set);
        let last = blob.len() - 1;
        blob[last] ^= 1;
        assert!(unpack(&blob).is_err() && unpack(b"text").is_err());
    }

    #[test]
    fn streams_that_are_all_alike_come_back() {
        let plan = PlanDraft::new(Transport::Tcp, Direction::Send).check().expect("a plan");
        let mut record = TestRecord::imported(plan, "a test");
        let tcp = Some(TcpSample::default());
        let stream = StreamSample { id: 1, tcp, ..StreamSample::default() };
        let sample = Sample { streams: vec![stream; 10_000], ..Sample::default() };
        record.samples = vec![sample; 2];
        let set = RecordSet::new(vec![record]);
        let blob = pack(&set).expect("a vector takes all");
        let text = String::from_utf8(unpack(&blob).expect("it was packed")).expect("JSON");
        assert_eq!(json::records(&text).expect("records"), set);
    }

    #[test]
    fn a_small_blob_cannot_take_all_memory() {
        let mut out = ZlibEncoder::new(Vec::new(), Compression::best());
        out.write_all(&vec![0; 3 << 20]).expect("a vector takes all");
        let blob = out.finish().expect("a vector takes all");
        assert!(blob.len() < 1 << 14);
        let error = unpack_up_to(2 << 20, &blob).expect_err("3 MiB").to_string();
        assert_eq!(error, "records beyond 2 MiB");
        assert!(unpack(&blob).is_err(), "1,000 times as long as the blob");
        assert_eq!(unpack_up_to(3 << 20, &blob).expect("it is whole").len(), 3 << 20);
    }
}
