//! What a UDP server says of its version (clause 4.7).

use super::word;

/// Turns the datagram `end`, which ends a flow with a wide number, into one for the server that
/// answered with `answer`, if that is 2.0.13 (clauses 4.5 and 4.7 of docs/protocol/iperf2.md). False:
/// it says nothing like that, and `end` is as it was.
pub fn end_for_old_server(answer: &[u8], end: &mut [u8]) -> bool {
    let says = |at, expected| word(answer, at) == Some(expected);
    let is_old = says(0, ACK) && says(4, ACK_LENGTH) && says(12, MAJOR) && says(16, MINOR);
    let Some(number) = word(end, 0).filter(|_| is_old) else { return false };
    let Some(header) = end.get_mut(..16) else { return false };
    header[..4].copy_from_slice(&(number.wrapping_neg() | ENDED).to_be_bytes());
    header[12..].fill(0);
    true
}

const ACK: u32 = 2;
const ACK_LENGTH: u32 = 28;
const MAJOR: u32 = 0x0002_0000;
const MINOR: u32 = 0x000d_0000;
const ENDED: u32 = 0x8000_0000;

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;
    use crate::iperf2::Datagram;

    #[test]
    fn only_2_0_13_has_an_end_of_its_own() {
        let mut answer = [0; 28];
        for (at, word) in [(0, ACK), (4, ACK_LENGTH), (12, MAJOR), (16, MINOR)] {
            answer[at..at + 4].copy_from_slice(&word.to_be_bytes());
        }
        let mut end = [0; 40];
        Datagram { sequence: -0x36, sent: Duration::from_secs(1) }.write(&mut end);
        let before = end;
        for other in [&answer[..12], &[0; 28], &[]] {
            assert!(!end_for_old_server(other, &mut end) && end == before);
        }
        assert!(end_for_old_server(&answer, &mut end));
        assert_eq!((word(&end, 0), word(&end, 12)), (Some(0x8000_0036), Some(0)));
        assert!(!end_for_old_server(&answer, &mut [0; 3]));
    }
}
