//! Numbers that cannot be, zeros that mean that nothing is known, and texts that are no output.

use super::{find, summary};

/// A client over UDP with one interval of a second and this summary.
fn udp(summary: &str) -> String {
    format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port 40000 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Total Datagrams\n\
         [  5]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec  863\n\
         [  5]   1.00-2.00   sec  1.19 MBytes  10.0 Mbits/sec  863\n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n\
         {summary}\n"
    )
}

const SENT: &str =
    "[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  0.000 ms  0/1726 (0%)  sender\n";

/// A client over TCP with this begin, rows and summary.
fn tcp(rows: &str) -> String {
    format!(
        "Connecting to host 10.0.0.2, port 5201\n\
         [  5] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bitrate         Retr  Cwnd\n{rows}"
    )
}

#[track_caller]
fn told(text: &str, contradiction: &str) {
    let summary = summary(&find(text));
    assert!(summary.contains(&format!("contradiction: {contradiction}")), "{summary}");
}

#[track_caller]
fn has(text: &str, part: &str) {
    let summary = summary(&find(text));
    assert!(summary.contains(part) && !summary.contains("contradiction"), "{summary}");
}

#[test]
fn a_loss_below_zero_is_told() {
    let arrived = "[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  0.010 ms  -3/1726 (-0.17%)  receiver";
    told(&udp(&format!("{SENT}{arrived}")), "line 9: -3 datagrams lost");
}

#[test]
fn more_lost_than_sent_is_told() {
    let arrived = "[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  0.010 ms  1800/1726 (104%)  receiver";
    told(&udp(&format!("{SENT}{arrived}")), "line 9: 1800 of 1726 datagrams lost");
}

#[test]
fn a_share_that_is_not_that_of_its_numbers_is_told() {
    let arrived =
        "[  5]   0.00-2.00   sec  2.14 MBytes  8.98 Mbits/sec  0.010 ms  172/1726 (1%)  receiver";
    told(&udp(&format!("{SENT}{arrived}")), "line 9: 172 of 1726 datagrams are 9.97 %");
}

#[test]
fn datagrams_that_nobody_sent_are_told() {
    let arrived =
        "[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  0.010 ms  74/1800 (4.1%)  receiver";
    told(&udp(&format!("{SENT}{arrived}")), "the receiver counts 1800 datagrams, the sender 1726");
}

#[test]
fn a_rate_that_is_not_the_amount_over_the_time_is_told() {
    let wrong =
        "[  5]   0.00-2.00   sec  2.38 MBytes  100 Mbits/sec  0.000 ms  0/1726 (0%)  sender";
    told(&udp(wrong), "line 8: the rate is not that of the amount");
    let backwards =
        "[  5]   2.00-0.00   sec  2.38 MBytes  10.0 Mbits/sec  0.000 ms  0/1726 (0%)  sender";
    told(&udp(backwards), "line 8: the interval ends before it begins");
}

#[test]
fn a_summary_that_is_not_the_sum_is_told() {
    let more =
        "[  5]   0.00-2.00   sec  4.77 MBytes  20.0 Mbits/sec  0.000 ms  0/3453 (0%)  sender";
    told(&udp(more), "the summary is not the sum of the intervals");
    let streams =
        tcp("[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec    0             sender\n\
         [  7]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec    0             sender\n\
         [SUM]   0.00-2.00   sec  9.54 MBytes  40.0 Mbits/sec    0             sender\n");
    told(&streams, "the sum is not that of the streams");
}

#[test]
fn more_that_arrived_than_was_sent_is_told() {
    let text =
        tcp("[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec    0             sender\n\
         [  5]   0.00-2.00   sec  4.77 MBytes  20.0 Mbits/sec                  receiver\n");
    told(&text, "more arrived than was sent");
}

#[test]
fn ends_that_disagree_are_told() {
    let client =
        tcp("[  5]   0.00-2.00   sec  4.77 MBytes  20.0 Mbits/sec    0             sender\n\
         [  5]   0.00-2.00   sec  4.77 MBytes  20.0 Mbits/sec                  receiver\n");
    let server = "Accepted connection from 10.0.0.1, port 40000\n\
         [  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40002\n\
         [ ID] Interval           Transfer     Bitrate\n\
         [  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec                  receiver\n";
    told(&(client + server), "the two ends print different amounts for the receiver");
}

#[test]
fn a_jitter_that_is_no_number_is_not_known() {
    let arrived =
        "[  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec  -nan ms  0/1726 (0%)  receiver";
    let found = find(&udp(&format!("{SENT}{arrived}")));
    let outcome = &found.runs[0].record.outcome.directions[0];
    assert_eq!((outcome.jitter_seconds, outcome.datagrams.map(|all| all.lost)), (None, Some(0)));
}

#[test]
fn zeros_of_a_server_are_not_known() {
    let server = "Accepted connection from 10.0.0.1, port 40000\n\
         [  5] local 10.0.0.2 port 5201 connected to 10.0.0.1 port 40002\n\
         [ ID] Interval           Transfer     Bandwidth\n\
         [  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec\n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bandwidth\n\
         [  5]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec                  sender\n\
         [  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec                  receiver\n";
    has(server, "TCP send: sent ?, arrived 10.00 Mbit/s, 2.00 s\n");
}

#[test]
fn zeros_of_an_interrupted_client_are_not_known() {
    let text = tcp("[  5]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec    0    148 KBytes\n\
         ^C- - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-1.37   sec  1.63 MBytes  10.0 Mbits/sec    0             sender\n\
         [  5]   0.00-1.37   sec  0.00 Bytes  0.00 bits/sec                  receiver\n\
         iperf3: interrupt - the client has terminated\n");
    has(&text, "sent 10.00 Mbit/s, arrived ?");
    has(&text, "failed: the client has terminated");
}

#[test]
fn all_datagrams_lost_are_a_loss() {
    let arrived =
        "[  5]   0.00-2.00   sec  0.00 Bytes  0.00 bits/sec  0.000 ms  0/0 (0%)  receiver";
    has(&udp(&format!("{SENT}{arrived}")), "lost 1726 of 1726");
}

#[test]
fn a_text_that_breaks_off_has_what_was_printed() {
    let text = tcp("[  5]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec    0    148 KBytes\n\
         [  5]   1.00-2.00   sec  1.19 MBytes  10.0 Mbi\n");
    let found = find(&text);
    assert_eq!(found.broken, [[5]]);
    has(&text, "failed: the text ends before the summary");
    has(&text, "sent 9.982 Mbit/s, arrived ?, 1.00 s");
}

#[test]
fn builds_without_tcp_info_send_too() {
    // Windows, macOS: neither segments sent again nor a window.
    let text = "Connecting to host 10.0.0.2, port 5201\n\
         [  4] local 10.0.0.1 port 40002 connected to 10.0.0.2 port 5201\n\
         [ ID] Interval           Transfer     Bandwidth\n\
         [  4]   0.00-1.00   sec  1.19 MBytes  10.0 Mbits/sec\n\
         [  4]   1.00-2.00   sec  1.19 MBytes  10.0 Mbits/sec\n\
         - - - - - - - - - - - - - - - - - - - - - - - - -\n\
         [ ID] Interval           Transfer     Bandwidth\n\
         [  4]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec                  sender\n\
         [  4]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec                  receiver\n\niperf Done.\n";
    has(text, "TCP send: sent 10.00 Mbit/s, arrived 10.00 Mbit/s, 2.00 s\n");
    let command = "C:\\iperf> iperf3.exe -c 10.0.0.2 -b 10M\n";
    has(&format!("{command}{text}"), "asked 10.00 Mbit/s");
}

#[test]
fn iperf_2_of_older_versions_is_read() {
    let text = "------------------------------------------------------------\n\
         Client connecting to 10.0.0.2, UDP port 5001\n\
         Sending 1470 byte datagrams\n\
         UDP buffer size:  208 KByte (default)\n\
         ------------------------------------------------------------\n\
         [  3] local 10.0.0.1 port 40004 connected with 10.0.0.2 port 5001\n\
         [ ID] Interval       Transfer     Bandwidth\n\
         [  3]  0.0- 1.0 sec  1.25 MBytes  10.5 Mbits/sec\n\
         [  3]  1.0- 2.0 sec  1.25 MBytes  10.5 Mbits/sec\n\
         [  3]  0.0- 2.0 sec  2.50 MBytes  10.5 Mbits/sec\n\
         [  3] Sent 1785 datagrams\n\
         [  3] Server Report:\n\
         [  3]  0.0- 2.0 sec  2.49 MBytes  10.4 Mbits/sec   0.014 ms   12/ 1785 (0.67%)\n\
         [  3]  0.0- 2.0 sec  1 datagrams received out-of-order\n";
    has(text, "UDP send: sent 10.50 Mbit/s, arrived 10.40 Mbit/s, 2.00 s, lost 12 of 1785");
    let lost = text.replace(
        "[  3] Server Report:",
        "[  3] WARNING: did not receive ack of last datagram after 10 tries.",
    );
    let lost = lost.split("[  3]  0.0- 2.0 sec  2.49").next().expect("the begin").to_owned();
    has(&lost, "arrived ?");
    has(&lost, "note: the server did not acknowledge the last datagram");
}

#[test]
fn numbers_of_json_that_are_none_are_not_known() {
    let text = "{\"start\": {\"version\": \"iperf 3.9\", \"connecting_to\": {\"host\": \"a\"}, \"test_start\": \
        {\"protocol\": \"UDP\", \"num_streams\": 1}}, \"intervals\": [], \"end\": {\"sum\": {\"start\": 0, \"end\": 2, \
        \"bytes\": 2500000, \"bits_per_second\": 10000000, \"jitter_ms\":\tnan, \"lost_packets\": 0, \"packets\": 1726}}}";
    has(text, "UDP send: sent 10.00 Mbit/s, arrived 10.00 Mbit/s, 2.00 s, lost 0 of 1726");
}

#[test]
fn what_is_no_output_is_no_run() {
    for text in [
        "",
        "I ran iperf3 -c 10.0.0.2 and got 127 Mbits/sec, which is 12.7 % of the line.",
        "iperf3: error - unable to connect to server: Connection refused\n",
        "Connecting to host 10.0.0.2, port 5201\n",
        "Server listening on 5201 (test #1)\n",
        "[ ID] Interval           Transfer     Bitrate\n",
        "| 5 | 0.00-1.00 sec | 15.1 MBytes | 124 Mbits/sec |\n",
        "see [5], pages 3-4, sec 12, and [12] 2020-2021\n",
        "[  5] 0.00-1.00 sec\n",
        "[  5] 0.00-1.00 sec 15.1 apples 124 Mbits/sec\n",
        "20261125015932,10.0.0.1,53888,10.0.0.2\n",
        "{\"start\": {\"version\": \"another\"}, \"intervals\": [], \"end\": {}}\n",
        "{\"start\": {\"version\": \"iperf 3.9\"",
        "  34.69%  [kernel]  [k] memcpy\n",
        "client <- server [5] local hero\n",
    ] {
        assert_eq!(summary(&find(text)), "", "{text}");
    }
}

#[test]
fn a_broken_row_is_listed() {
    let text =
        udp("[  5]   0.00-2.O0   sec  2.38 MBytes  10.0 Mbits/sec  0.000 ms  0/1726 (0%)  sender");
    assert_eq!(find(&text).broken, [[8]]);
    assert_eq!(find(&format!("hello\n{text}bye\n")).unread, [[1, 9, 10]]);
}

#[test]
fn a_translated_address_does_not_part_the_ends() {
    let client = "[  5] local 192.168.0.3 port 44460 connected to 203.0.113.9 port 5201\n\
         [  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec    0             sender\n";
    let server = "[  5] local 203.0.113.9 port 5201 connected to 198.51.100.7 port 44460\n\
         [  5]   0.00-2.00   sec  2.38 MBytes  10.0 Mbits/sec                  receiver\n";
    assert_eq!(find(&format!("{client}\n{server}")).runs.len(), 1);
    let other = server.replace("44460", "44462");
    assert_eq!(find(&format!("{client}\n{other}")).runs.len(), 2);
}
