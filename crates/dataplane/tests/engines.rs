//! Each way of moving bytes, by what arrives: the right bytes, all of them, once.

#![forbid(unsafe_code)]

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::net::{TcpStream, UdpSocket};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use linerate_dataplane::tcp::{
    FileSink, FileSource, MsgTruncSink, SendfileSource, Source, WriteSource,
};
use linerate_dataplane::{Budget, BufferKind, Pacer, PayloadPattern, now, segments, tcp, udp};
use linux::payload::SealedPayload;
use measurement::{BitRate, StreamCounters};
use protocol::iperf3::{CounterWidth, Header};

#[expect(dead_code, reason = "what is for plain datagrams")]
mod support;

use support::{BLOCK, DATAGRAM, Setup, counters, eventually, tcp_pair, udp_pair};

#[test]
fn a_repeating_payload_is_the_ten_digits_in_each_block() {
    let digits = PayloadPattern::Digits.bytes(BLOCK).expect("made");
    let sealed = SendfileSource::new(Arc::new(SealedPayload::new(&digits).expect("kept")));
    for received in
        [sent_by(WriteSource, PayloadPattern::Digits), sent_by(sealed, PayloadPattern::Random)]
    {
        assert!(received.starts_with(b"01234567890123"));
        // A block that the socket took in parts begins anew with each part.
        assert!(received.iter().all(u8::is_ascii_digit));
    }
}

#[test]
fn a_payload_that_does_not_repeat_is_not_one_block_of_digits() {
    let received = sent_by(WriteSource, PayloadPattern::Random);
    assert!(!received.iter().all(u8::is_ascii_digit));
}

#[test]
fn what_sendfile_sends_is_counted_to_the_byte() {
    let ((near, far), budget) = (tcp_pair(), Some(Arc::new(Budget::new(BYTES))));
    let source = SendfileSource::new(Arc::new(SealedPayload::new(&[7; BLOCK]).expect("kept")));
    let pool = Setup::tcp()
        .sender(|c| tcp::Sender::with_source(source, near, BLOCK as u64, c).with_bytes(budget))
        .receiver(|c| tcp::Receiver::with_sink(MsgTruncSink, far, c))
        .start();
    eventually("all is received", || counters(&pool, 2).bytes >= BYTES);
    assert_eq!((counters(&pool, 1).bytes, counters(&pool, 2).bytes), (BYTES, BYTES));
    assert!(pool.stream_error().is_none());
}

#[test]
fn the_end_of_a_stream_that_is_thrown_away_is_noticed() {
    let (near, far) = tcp_pair();
    let pool = Setup::tcp().receiver(|c| tcp::Receiver::with_sink(MsgTruncSink, far, c)).start();
    linux::tcp::abort_on_close(&near).expect("will reset");
    drop(near);
    eventually("the reset is noticed", || pool.stream_error().is_some());
    assert_eq!(pool.stream_error().expect("noticed").1.kind(), ErrorKind::ConnectionReset);
}

#[test]
fn a_file_arrives_as_it_was_and_ends_the_stream() {
    let (source, target) = (Scrap::new("source"), Scrap::new("target"));
    // Neither a multiple of the block, nor so short that it fits the socket.
    let content = PayloadPattern::Random.bytes(3_000_001).expect("made");
    std::fs::write(&source.0, &content).expect("written");
    let (near, far) = tcp_pair();
    let from = FileSource::new(File::open(&source.0).expect("opened"), BLOCK);
    let to = FileSink::new(File::create(&target.0).expect("created"));
    let pool = Setup::tcp()
        .workers(2)
        .sender(|c| tcp::Sender::with_source(from, near, BLOCK as u64, c))
        .receiver(|c| tcp::Receiver::with_sink(to, far, c))
        .start();
    eventually("all is sent", || pool.senders_finished());
    let sent = counters(&pool, 1).bytes;
    eventually("all is received", || counters(&pool, 2).bytes == sent);
    pool.close().expect("closed");
    assert!(std::fs::read(&target.0).expect("read") == *content, "the files differ");
}

#[test]
fn a_file_that_takes_no_more_ends_the_stream_with_the_reason() {
    let (near, far) = tcp_pair();
    let full = File::options().write(true).open("/dev/full").expect("opened");
    let pool = Setup::tcp()
        .sender(|c| tcp::Sender::new(near, BLOCK as u64, c))
        .receiver(|c| tcp::Receiver::with_sink(FileSink::new(full), far, c))
        .start();
    eventually("the disk is full", || pool.stream_error().is_some());
    let (id, error) = pool.stream_error().expect("noticed");
    assert_eq!((id, error.kind()), (2, ErrorKind::StorageFull));
}

#[test]
fn datagrams_sent_in_one_piece_carry_their_own_numbers_and_times() {
    let (near, far) = udp_pair();
    let (budget, began) = (Some(Arc::new(Budget::new(100))), now());
    let pool = Setup::with_buffers(BufferKind::Segments, PayloadPattern::Digits)
        .sender(|c| udp::Sender::gso(near, WIDTH, c).with_datagrams(budget))
        .start();
    eventually("all is sent", || pool.senders_finished());
    assert!(pool.stream_error().is_none());
    let mut last = began.nanos() / 1_000;
    for number in 1..=100 {
        let mut payload = [0; DATAGRAM + 1];
        assert_eq!(far.recv(&mut payload).expect("received"), DATAGRAM);
        let header = Header::read(WIDTH, &payload).expect("long enough");
        assert_eq!(header.sequence, number);
        assert!(header.sent.nanos() / 1_000 >= last);
        last = header.sent.nanos() / 1_000;
        let digits = PayloadPattern::Digits.bytes(DATAGRAM).expect("made");
        assert_eq!(payload[16..DATAGRAM], digits[16..]);
    }
}

#[test]
fn datagrams_in_one_piece_arrive_once_whatever_the_other_end_does() {
    for (sends_whole, takes_whole) in [(true, true), (true, false), (false, true)] {
        let (sent, received) = moved(sends_whole, takes_whole);
        assert_eq!((received.unique, received.sequence), (DATAGRAMS, DATAGRAMS));
        assert_eq!((received.blocks, received.bytes), (sent.blocks, sent.bytes));
        assert_eq!((received.duplicate, received.late, received.malformed), (0, 0, 0));
        assert_eq!((received.reordered, received.missing()), (0, 0));
    }
}

#[test]
fn pieces_are_paced_as_bursts() {
    let (near, far) = udp_pair();
    let piece = segments(DATAGRAM);
    // One piece each 40 ms.
    let rate = BitRate::from_bits_per_second((piece * DATAGRAM * 8 * 25) as u64);
    let pacer = Pacer::for_datagrams(rate, DATAGRAM as u64).with_burst(piece);
    let pool = Setup::with_buffers(BufferKind::Segments, PayloadPattern::Random)
        .sender(|c| udp::Sender::gso(near, WIDTH, c).with_pacer(Some(pacer)))
        .receiver(|c| udp::Receiver::new(far, WIDTH, c))
        .prepare();
    let began = now();
    pool.start();
    eventually("some pieces go", || counters(&pool, 1).blocks >= 5 * piece as u64);
    let (sent, passed) = (counters(&pool, 1), now().since(began));
    assert!(sent.blocks.is_multiple_of(piece as u64), "{} datagrams", sent.blocks);
    assert!(passed >= Duration::from_millis(4 * 40), "{passed:?}");
}

/// What a receiver that copies gets of one block and a bit that `source` sends.
fn sent_by<S: Source + 'static>(source: S, pattern: PayloadPattern) -> Vec<u8> {
    let ((near, far), amount) = (tcp_pair(), BLOCK as u64 + 7);
    let budget = Some(Arc::new(Budget::new(amount)));
    let pool = Setup::with_buffers(BufferKind::Blocks, pattern)
        .sender(|c| tcp::Sender::with_source(source, near, BLOCK as u64, c).with_bytes(budget))
        .start();
    eventually("all is sent", || pool.senders_finished());
    drop(pool);
    read_exactly(&far, BLOCK + 7)
}

fn read_exactly(mut socket: &TcpStream, length: usize) -> Vec<u8> {
    let mut bytes = vec![0; length];
    socket.set_nonblocking(false).expect("blocks");
    socket.read_exact(&mut bytes).expect("read");
    bytes
}

/// The counters of a sender and of its receiver after [`DATAGRAMS`].
fn moved(sends_whole: bool, takes_whole: bool) -> (StreamCounters, StreamCounters) {
    let (near, far) = udp_pair();
    linux::udp::check_gso(&near, DATAGRAM).expect("the kernel segments");
    if takes_whole {
        linux::udp::enable_gro(&far).expect("the kernel coalesces");
    }
    let setup = Setup::with_buffers(BufferKind::Segments, PayloadPattern::Random);
    let setup = if sends_whole {
        setup.sender(|c| limited(udp::Sender::gso(near, WIDTH, c)))
    } else {
        setup.sender(|c| limited(udp::Sender::new(near, WIDTH, c)))
    };
    let pool =
        setup.receiver(|c| udp::Receiver::new(Arc::<UdpSocket>::clone(&far), WIDTH, c)).start();
    eventually("all is sent", || pool.senders_finished());
    eventually("all is received", || counters(&pool, 2).blocks == DATAGRAMS);
    (counters(&pool, 1), counters(&pool, 2))
}

/// [`DATAGRAMS`] at a pace that the receive buffer can take.
fn limited<O: udp::SendMethod>(sender: udp::Sender<O>) -> udp::Sender<O> {
    let rate = BitRate::from_bits_per_second(100_000_000);
    let pacer = Pacer::for_datagrams(rate, DATAGRAM as u64).with_burst(segments(DATAGRAM));
    sender.with_datagrams(Some(Arc::new(Budget::new(DATAGRAMS)))).with_pacer(Some(pacer))
}

/// A file of its own, gone when dropped.
struct Scrap(PathBuf);

impl Scrap {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("linerate-engines-{}-{name}", std::process::id())))
    }
}

impl Drop for Scrap {
    fn drop(&mut self) {
        _ = std::fs::remove_file(&self.0);
    }
}

const WIDTH: CounterWidth = CounterWidth::Bits64;
/// Not a multiple of the block.
const BYTES: u64 = 3_000_001;
/// Not a multiple of a piece.
const DATAGRAMS: u64 = 10 * 64 + 13;
