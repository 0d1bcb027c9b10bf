//! The content of requests and responses over UDP (docs/protocol/iperf3.md, clause 13.18).

use measurement::Timestamp;

/// The number of a request.
pub(super) fn number(datagram: &[u8]) -> Option<u64> {
    word(datagram, 0)
}

/// Writes the number of a request.
pub(super) fn write_number(datagram: &mut [u8], number: u64) {
    write(datagram, 0, number);
}

/// The time when the request arrived and the time when the response left, on the clock of the
/// responder; zero: the response is too short for it.
pub(super) fn times(answer: &[u8]) -> (Timestamp, Timestamp) {
    let time = |place| word(answer, place).map(Timestamp::from_nanos).unwrap_or_default();
    (time(1), time(2))
}

/// Writes the times of [`times`] as far as the response has room for them.
pub(super) fn write_times(answer: &mut [u8], arrived: Timestamp, answered: Timestamp) {
    write(answer, 1, arrived.nanos());
    write(answer, 2, answered.nanos());
}

fn word(datagram: &[u8], place: usize) -> Option<u64> {
    let bytes = datagram.get(place * 8..place * 8 + 8)?;
    Some(u64::from_be_bytes(bytes.try_into().ok()?))
}

fn write(datagram: &mut [u8], place: usize, value: u64) {
    if let Some(room) = datagram.get_mut(place * 8..place * 8 + 8) {
        room.copy_from_slice(&value.to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_without_room_are_left_out() {
        let mut answer = [0xff; 16];
        write_number(&mut answer, 7);
        write_times(&mut answer, Timestamp::from_nanos(8), Timestamp::from_nanos(9));
        assert_eq!(number(&answer), Some(7));
        assert_eq!(times(&answer), (Timestamp::from_nanos(8), Timestamp::default()));
        assert_eq!(number(&answer[..7]), None);
    }
}
