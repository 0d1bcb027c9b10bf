//! Shapes of public threads about iperf3 and iperf, with figures of our own: issues, mail, forums and
//! logs of services, of which each has its expected runs.

use std::fmt::Write;

use super::{find, printed, summary};
use linerate_report::import::transcript::runs;

/// What a program printed, by its file.
fn text_of(name: &str) -> String {
    printed().into_iter().find(|one| one.name == name).expect("it is there").text
}

/// Lines of both ends in turns, each behind the name of its program.
fn mixed(client: &str, server: &str, name: impl Fn(&str, &str) -> String) -> String {
    let (client, server) = (text_of(client), text_of(server));
    let (mut client, mut server) = (client.lines(), server.lines());
    let mut out = String::new();
    loop {
        let (one, other) = (client.next(), server.next());
        if one.is_none() && other.is_none() {
            return out;
        }
        out += &one.map(|line| name("client", line)).unwrap_or_default();
        out += &other.map(|line| name("server", line)).unwrap_or_default();
    }
}

#[test]
fn programs_whose_lines_a_log_mixes_are_told_apart() {
    for name in ["iperf3-3.12-tcp", "iperf3-3.12-udp", "iperf3-3.12-streams", "iperf-2.1-udp"] {
        let (client, server) = (format!("{name}.client.txt"), format!("{name}.server.txt"));
        let apart = summary(&find(&(text_of(&client) + "\n" + &text_of(&server))));
        let logs: [fn(&str, &str) -> String; 3] = [
            |name, line| format!("{name}-1  | {line}\n"),
            |name, line| format!("Nov 25 01:57:30 host {name}[{}]: {line}\n", name.len() * 7),
            |name, line| format!("[pod/{name}-7c9f/iperf3] {line}\n"),
        ];
        for log in logs {
            let found = find(&mixed(&client, &server, log));
            assert_eq!(found.runs.len(), 1, "{name}\n{}", summary(&found));
            assert_eq!(summary(&found), apart, "{name}");
        }
    }
}

#[test]
fn lines_that_a_page_joined_are_rows_again() {
    for one in ["iperf3-3.12-tcp", "iperf3-3.12-udp", "iperf3-3.12-udp-reverse", "iperf-2.1-tcp"] {
        let text = text_of(&format!("{one}.client.txt"));
        let joined = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert_eq!(summary(&find(&joined)), summary(&find(&text)), "{one}");
    }
}

#[test]
fn utf_16_of_either_order_is_read() {
    for one in printed() {
        let units = || one.text.encode_utf16();
        let little: Vec<u8> =
            [0xff, 0xfe].into_iter().chain(units().flat_map(u16::to_le_bytes)).collect();
        let big: Vec<u8> =
            [0xfe, 0xff].into_iter().chain(units().flat_map(u16::to_be_bytes)).collect();
        let expected = summary(&find(&one.text));
        for text in [&little, &big, &[&little[..], &[0xd8]].concat()] {
            assert_eq!(summary(&runs(&[text])), expected, "{}", one.name);
        }
    }
}

#[test]
fn lines_that_a_terminal_cut_are_whole_again() {
    for one in
        ["iperf3-3.12-udp.client.txt", "iperf3-3.12-udp.server.txt", "iperf3-3.12-tcp.client.txt"]
    {
        let text = text_of(one);
        for width in 78..84 {
            let cut = text.lines().map(|line| {
                let (line, rest) = line.split_at_checked(width).unwrap_or((line, ""));
                if rest.trim().is_empty() {
                    format!("{line}\r\n")
                } else {
                    format!("{line}\r\n{rest}\r\n")
                }
            });
            let found = find(&cut.collect::<String>());
            assert_eq!(summary(&found), summary(&find(&text)), "{one} at {width}");
        }
    }
}

/// Threads, each with a name.
const THREADS: [(&str, &str); 17] = [
    ("an issue that was moved from another tracker, with a reference for %", "\
_From [somebody](https://example.org/u/1/) on November 26, 2013 08:01:12_

UDP reports 84&#37; loss no matter what rate I use. At 100M:

Test Complete. Summary Results:
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-10.00  sec   124 MBytes   104 Mbits/sec  0.038 ms  13456/15827 (85&#37;)
[  4] Sent 15827 datagrams

_Original issue: http://example.org/detail?id=1_
"),
    ("a window of one segment, with intervals of nothing", "\
user@host:~$ iperf3 -c 192.0.2.2 -t 3
Connecting to host 192.0.2.2, port 5201
[  4] local 192.0.2.1 port 60920 connected to 192.0.2.2 port 5201
[ ID] Interval           Transfer     Bandwidth       Retr  Cwnd
[  4]   0.00-1.00   sec  83.4 KBytes   683 Kbits/sec    2   1.41 KBytes       
[  4]   1.00-2.00   sec  0.00 Bytes  0.00 bits/sec    1   1.41 KBytes       
[  4]   2.00-3.00   sec  0.00 Bytes  0.00 bits/sec    0   1.41 KBytes       
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Retr
[  4]   0.00-3.00   sec  83.4 KBytes   228 Kbits/sec    3             sender
[  4]   0.00-3.00   sec  33.9 KBytes  92.7 Kbits/sec                  receiver

iperf Done.
"),
    ("bwctl in a quoted mail, without the summary", "\
> [me@pt1 ~]$ bwctl -T iperf3 -f m -t 30 -i 1 -c a.example.org -s b.example.org -L 1000 -w 32m
> bwctl: Using tool: iperf3
> bwctl: 201 seconds until test results available
>
> SENDER START
> Connecting to host 192.0.2.4, port 5019
> [ 15] local 192.0.2.9 port 42668 connected to 192.0.2.4 port 5019
> [ ID] Interval           Transfer     Bandwidth       Retr  Cwnd
> [ 15]   0.00-1.00   sec  47.5 MBytes   398 Mbits/sec    0    822 KBytes       
> [ 15]   1.00-2.00   sec  11.2 MBytes  94.0 Mbits/sec    0    822 KBytes       

Is that expected?
"),
    ("ten blocks asked, one that arrived, and a jitter that cannot be", "\
#iperf3 --client x.x.79.106 --port 5201  -u -k 10
Connecting to host x.x.79.106, port 5201
[  4] local x.x.230.164 port 53812 connected to x.x.79.106 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-0.10   sec  14.1 KBytes  1.16 Mbits/sec  10
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-0.10   sec  14.1 KBytes  1.16 Mbits/sec  28487.952 ms  0/1 (0%)
[  4] Sent 1 datagrams
"),
    ("an address of IPv6 that mail wrapped", "\
` root@1c:/app# iperf3 -c
2001:db8::e9 -u --get-server-output
Connecting to host 2001:db8::e9, port 5201
[  4] local 2001:db8::1 port 59867 connected to
2001:db8::e9 port 5201
[ ID] Interval           Transfer     Bandwidth       Total Datagrams
[  4]   0.00-1.00   sec   128 KBytes  1.05 Mbits/sec  16
[  4]   1.00-2.00   sec   128 KBytes  1.05 Mbits/sec  16
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter
Lost/Total Datagrams
[  4]   0.00-2.00   sec   256 KBytes  1.05 Mbits/sec  0.000 ms  0/0 (-nan%)
[  4] Sent 0 datagrams

iperf Done.`
"),
    ("the middle of a server, with the clock of another host", "\
[  5]   0.00-1.00   sec   129 KBytes  1.05 Mbits/sec  37140.469 ms  0/91 (0%)
[  5]   1.00-2.00   sec   127 KBytes  1.04 Mbits/sec  111.658 ms  0/90 (0%)
[  5]   2.00-3.00   sec   129 KBytes  1.05 Mbits/sec  0.494 ms  0/91 (0%)
"),
    ("a fork that prints its own details behind a time", "\
41:23.4: time: Thu, 31 Oct 2019 15:41:23 GMT  timesecs: 1572536483  Server mode: accepted_connection  host: 192.0.2.202  port: 40600
41:23.4: Accepted connection from 192.0.2.202, port 40600
41:24.4: [  7] local 192.0.2.4 port 14069 connected to 192.0.2.202 port 49732
41:24.4: protocol: UDP  num_streams: 1  blksize: 1448  omit: 0  duration: 32  bytes: 0  blocks: 0  reverse: 1
41:24.4: [ ID] Interval           Transfer     Bitrate         Total Datagrams
41:24.4: [  7]   0.00-1.00   sec   245 KBytes  2.00 Mbits/sec  173 
41:25.4: [  7]   1.00-2.00   sec   243 KBytes  1.99 Mbits/sec  172 
"),
    ("Cygwin, all in italics, and a jitter that overflowed", "\
_iperf3.exe --client speed.example.net --port 5201 --udp --interval 10 --time 30  --reverse
Connecting to host speed.example.net, port 5201
Reverse mode, remote host speed.example.net is sending
[  4] local 192.0.2.208 port 60533 connected to 192.0.2.155 port 5201
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-27.53  sec  8.00 KBytes  2.38 Kbits/sec  101327731611.758 ms  0/1 (0%)
[  4]  27.53-27.53  sec  0.00 Bytes  0.00 bits/sec  101327731611.758 ms  0/0 (0%)
[  4]  27.53-30.00  sec  80.0 KBytes   265 Kbits/sec  53142390297.363 ms  4/14 (29%)
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[  4]   0.00-30.00  sec  3.94 MBytes  1.10 Mbits/sec  53142390297.363 ms  4/15 (27%)
[  4] Sent 15 datagrams
iperf Done._
"),
    ("a receiver of Windows with a socket of three digits", "\
Connecting to host 192.0.2.2, port 20500
Reverse mode, remote host 192.0.2.2 is sending
[129] local 192.0.2.199 port 48117 connected to 192.0.2.2 port 20500
[ ID] Interval           Transfer     Bandwidth       Jitter    Lost/Total Datagrams
[129]   0.00-1.00   sec  15.9 MBytes   133 Mbits/sec  0.142 ms  13083/24418 (54%)  
[129]   1.00-2.00   sec  20.9 MBytes   176 Mbits/sec  0.043 ms  10385/25309 (41%)  
"),
    ("only the last two lines, in a sentence of a table", "\
| direction | result |
|---|---|
| up | `[  5]   0.00-10.00  sec  1.09 GBytes   936 Mbits/sec    0             sender` |
| down | 112 MB/s |
"),
    ("a client that could not connect, then one that could", "\
$ iperf3 -c nas
iperf3: error - unable to connect to server: Connection refused
$ iperf3 -c nas
Connecting to host nas, port 5201
[  5] local 192.0.2.3 port 51442 connected to 192.0.2.10 port 5201
[ ID] Interval           Transfer     Bitrate         Retr  Cwnd
[  5]   0.00-1.00   sec   112 MBytes   940 Mbits/sec    0    379 KBytes
- - - - - - - - - - - - - - - - - - - - - - - - -
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-1.00   sec   112 MBytes   940 Mbits/sec    0             sender
[  5]   0.00-1.04   sec   111 MBytes   895 Mbits/sec                  receiver

iperf Done.
"),
    ("a thread of both programs, and a speed test of a web site", "\
iperf (v2):
[  3]  0.0-10.0 sec   112 MBytes  93.9 Mbits/sec

iperf3:
[  5]   0.00-10.00  sec   113 MBytes  94.8 Mbits/sec    0             sender
[  5]   0.00-10.01  sec   112 MBytes  93.9 Mbits/sec                  receiver

speedtest: Download: 93.61 Mbit/s, Upload: 38.02 Mbit/s
dd: 1048576000 bytes (1.0 GB, 1000 MiB) copied, 9.1 s, 115 MB/s
"),
    ("kilobits of a microcontroller", "\
esp32> iperf -c 192.0.2.7 -i 1 -t 3
I (20345) iperf: mode=tcp-client sip=192.0.2.9:5001, dip=192.0.2.7:5001, interval=1, time=3
I (20355) iperf: want recv=0
Interval       Bandwidth
 0.0- 1.0 sec  12.58 Mbits/sec
 1.0- 2.0 sec  13.76 Mbits/sec
 0.0- 3.0 sec  13.17 Mbits/sec
"),
    ("a page that kept the numbers of its lines in a column of their own", "\
1
2
3
4
[ ID] Interval           Transfer     Bitrate         Retr
[  5]   0.00-2.00   sec   223 MBytes   935 Mbits/sec    7             sender
[  5]   0.00-2.04   sec   221 MBytes   909 Mbits/sec                  receiver
"),
    ("a test that the user stopped on Windows", "\
C:\\Users\\me\\Downloads\\iperf3> iperf3.exe -c 192.0.2.2 -P 2
Connecting to host 192.0.2.2, port 5201
[  4] local 192.0.2.1 port 52391 connected to 192.0.2.2 port 5201
[  6] local 192.0.2.1 port 52392 connected to 192.0.2.2 port 5201
[ ID] Interval           Transfer     Bandwidth
[  4]   0.00-1.00   sec  56.0 MBytes   470 Mbits/sec
[  6]   0.00-1.00   sec  56.0 MBytes   470 Mbits/sec
[SUM]   0.00-1.00   sec   112 MBytes   940 Mbits/sec
- - - - - - - - - - - - - - - - - - - - - - - - -
iperf3: interrupt - the client has terminated
"),
    ("a citation and numbers in brackets", "\
As [5] shows for 0.00-10.00 s, see [ 12] and [3, p. 4], the ID [5] of the stream is a descriptor.
[1] https://example.org/iperf3-results
[2] 10.0.0.0-10.0.0.255 sec
"),
    ("a patch of iperf3 itself", "\
--- a/src/iperf_locale.c
+++ b/src/iperf_locale.c
-\"[%3d] %6.2f-%-6.2f sec  %ss  %ss/sec  %s\\n\";
+\"[%3d]%s %6.2f-%-6.2f sec  %ss  %ss/sec  %s\\n\";
+ * [  5]   0.00-1.00   sec  %d MBytes
"),
];

#[test]
fn threads_have_the_runs_that_a_reader_sees() {
    let mut out = String::new();
    for (name, text) in THREADS {
        let found = find(text);
        _ = writeln!(out, "{name}\n{}", summary(&found));
        _ = writeln!(out, "  unread {:?}, broken {:?}\n", found.unread[0], found.broken[0]);
    }
    insta::assert_snapshot!(out);
}
