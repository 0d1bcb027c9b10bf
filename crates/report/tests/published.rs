//! Figures that were published, in texts with prose of our own: a study of a HiFive Unleashed by
//! iperf3 and iperf (24 runs of UDP, 12 of TCP, 5 of an iperf against an iperf3), the rates and shares
//! of a talk on copies on RISC-V, and a table of a review of a NanoPi R4S. Each number that was
//! printed is found, one by one.

use std::fmt::Write;

use linerate_report::import::transcript::{Runs, TranscriptRun, runs};
use linerate_report::import::{Imported, importer};
use measurement::{BitRate, Direction, LoadCurve, Stamp, Transport};

/// A run of UDP: `-b` (empty: as iperf3 does by itself), amount and rate as the receiver's row has
/// them, jitter in milliseconds, lost datagrams and all.
type Udp = (&'static str, &'static str, &'static str, &'static str, u64, u64);

/// The board sends.
const SENDS: [Udp; 12] = [
    ("", "1.25 MBytes", "1.05", "0.014", 0, 905),
    ("2M", "2.38 MBytes", "2.00", "0.019", 0, 1_727),
    ("4M", "4.77 MBytes", "4.00", "0.029", 0, 3_453),
    ("8M", "9.54 MBytes", "8.00", "0.063", 0, 6_905),
    ("16M", "19.1 MBytes", "16.0", "0.074", 0, 13_808),
    ("32M", "38.1 MBytes", "32.0", "0.060", 0, 27_621),
    ("64M", "76.3 MBytes", "64.0", "0.073", 0, 55_245),
    ("128M", "106 MBytes", "88.6", "0.077", 0, 76_504),
    ("256M", "106 MBytes", "89.1", "0.083", 0, 76_960),
    ("512M", "79.2 MBytes", "66.5", "0.021", 0, 57_375),
    ("1000M", "76.6 MBytes", "64.3", "0.033", 0, 55_496),
    ("70M", "83.4 MBytes", "70.0", "0.072", 0, 60_427),
];
/// The board receives.
const RECEIVES: [Udp; 12] = [
    ("", "1.25 MBytes", "1.05", "0.005", 0, 906),
    ("2M", "2.38 MBytes", "2.00", "0.006", 0, 1_727),
    ("4M", "4.77 MBytes", "4.00", "0.023", 0, 3_453),
    ("8M", "9.54 MBytes", "8.00", "0.005", 0, 6_906),
    ("16M", "19.1 MBytes", "16.0", "0.027", 0, 13_811),
    ("32M", "38.1 MBytes", "32.0", "0.058", 0, 27_622),
    ("64M", "76.3 MBytes", "64.0", "0.066", 0, 55_244),
    ("128M", "153 MBytes", "128", "0.080", 0, 110_489),
    ("256M", "219 MBytes", "183", "0.127", 62_608, 220_852),
    ("512M", "209 MBytes", "175", "0.075", 290_265, 441_703),
    ("1000M", "209 MBytes", "175", "0.097", 673_764, 825_232),
    ("160M", "162 MBytes", "136", "0.148", 20_737, 137_984),
];
/// Which runs of [`RECEIVES`] both ends printed, and which the server alone.
const BOTH_ENDS: std::ops::Range<usize> = 8..11;
const SERVER_ALONE: usize = 11;

/// A run of TCP: whether the board sends, `-b`, amount and rate sent, segments again, amount and rate
/// that arrived, and whether the server's output is there too.
type Tcp = (bool, &'static str, [&'static str; 2], u64, [&'static str; 2], bool);

const TCP: [Tcp; 12] = [
    (true, "", ["152 MBytes", "127"], 0, ["152 MBytes", "127"], true),
    (false, "", ["269 MBytes", "226"], 29, ["266 MBytes", "223"], true),
    (false, "", ["78.7 MBytes", "66.1"], 0, ["76.9 MBytes", "64.5"], true),
    (false, "", ["9.34 MBytes", "7.84"], 0, ["9.09 MBytes", "7.62"], true),
    (true, "1000M", ["164 MBytes", "138"], 0, ["164 MBytes", "138"], false),
    (true, "140M", ["164 MBytes", "137"], 0, ["164 MBytes", "137"], false),
    (true, "130M", ["155 MBytes", "130"], 0, ["155 MBytes", "130"], false),
    (true, "100M", ["119 MBytes", "100"], 0, ["119 MBytes", "99.9"], false),
    (true, "50M", ["59.6 MBytes", "50.0"], 0, ["59.6 MBytes", "50.0"], false),
    (true, "10M", ["12.0 MBytes", "10.1"], 0, ["12.0 MBytes", "10.1"], false),
    (true, "", ["115 MBytes", "96.2"], 58, ["114 MBytes", "95.3"], true),
    (false, "", ["1.02 GBytes", "874"], 0, ["1.01 GBytes", "872"], false),
];
/// `-b`, amount and rate of iperf against port 5201; one has no command line above it.
const OLD: [(&str, &str, &str); 5] = [
    ("1G", "222 MBytes", "186"),
    ("100M", "52.4 MBytes", "43.9"),
    ("10M", "9.00 MBytes", "7.54"),
    ("", "42.5 MBytes", "35.6"),
    ("1G", "4.50 MBytes", "3.73"),
];

const BOARD: &str = "192.168.0.3";
const HOST: &str = "192.168.0.10";
const HEAD_OF_LOSS: &str =
    "[ ID] Interval           Transfer     Bitrate         Jitter    Lost/Total Datagrams\n";
const RULE: &str = "- - - - - - - - - - - - - - - - - - - - - - - - -\n";

/// All runs as a page has them.
fn page() -> String {
    let mut page = String::from("Our notes on a board, with everything that we typed.\n\n");
    let mut port = 41_000;
    for (runs, from, to) in [(&SENDS, BOARD, HOST), (&RECEIVES, HOST, BOARD)] {
        for (at, run) in runs.iter().enumerate() {
            port += 1;
            let receives = from == HOST;
            if !(receives && at == SERVER_ALONE) {
                page += &udp_client(run, from, to, port);
            }
            if receives && (BOTH_ENDS.contains(&at) || at == SERVER_ALONE) {
                page += "The other side printed:\n\n";
                page += &udp_server(run, from, to, port);
            }
            _ = writeln!(page, "\nThat was number {at} of twelve, and 5.00-6.00 of us agreed.\n");
        }
    }
    for run in &TCP {
        port += 1;
        page += &tcp(run, port);
    }
    for run in &OLD {
        port += 1;
        page += &old(run, port);
    }
    page
}

fn udp_client(
    (asked, _, rate, jitter, lost, all): &Udp,
    from: &str,
    to: &str,
    port: u16,
) -> String {
    let option = if asked.is_empty() { String::new() } else { format!(" -b {asked}") };
    let sent = all * 1_448;
    let (amount, sent_rate) = (sent as f64 / 1_048_576.0, sent as f64 * 8.0 / 1e7);
    let arrived = (all - lost) as f64 * 1_448.0 / 1_048_576.0;
    format!(
        "$ iperf3 -c {to} -u{option}\n\
         Connecting to host {to}, port 5201\n\
         [  5] local {from} port {port} connected to {to} port 5201\n\
         {RULE}{HEAD_OF_LOSS}\
         [  5]   0.00-10.00  sec  {amount:.2} MBytes  {sent_rate:.2} Mbits/sec  0.000 ms  0/{all} (0%)  sender\n\
         [  5]   0.00-10.00  sec  {arrived:.1} MBytes  {rate} Mbits/sec  {jitter} ms  {lost}/{all} ({:.0}%)  receiver\n\n\
         iperf Done.\n",
        *lost as f64 * 100.0 / *all as f64
    )
}

fn udp_server(
    (_, amount, rate, jitter, lost, all): &Udp,
    from: &str,
    to: &str,
    port: u16,
) -> String {
    format!(
        "Accepted connection from {from}, port 40999\n\
         [  5] local {to} port 5201 connected to {from} port {port}\n\
         {RULE}{HEAD_OF_LOSS}\
         [  5]   0.00-10.00  sec  {amount}  {rate} Mbits/sec  {jitter} ms  {lost}/{all} ({:.0}%)  receiver\n",
        *lost as f64 * 100.0 / *all as f64
    )
}

fn tcp((sends, asked, [amount, rate], again, [arrived, reached], both): &Tcp, port: u16) -> String {
    let (from, to) = if *sends { (BOARD, HOST) } else { (HOST, BOARD) };
    let option = if asked.is_empty() { String::new() } else { format!(" -b {asked}") };
    let receiver = format!(
        "[  5]   0.00-10.00  sec  {arrived}  {reached} Mbits/sec                  receiver\n"
    );
    let mut text = format!(
        "root@board:~# iperf3 -c {to}{option}\n\
         Connecting to host {to}, port 5201\n\
         [  5] local {from} port {port} connected to {to} port 5201\n\
         {RULE}[ ID] Interval           Transfer     Bitrate         Retr\n\
         [  5]   0.00-10.00  sec  {amount}  {rate} Mbits/sec  {again:>3}             sender\n\
         {receiver}\n\
         iperf Done.\n"
    );
    if *both {
        _ = write!(
            text,
            "And there:\n\
             Accepted connection from {from}, port 40998\n\
             [  5] local {to} port 5201 connected to {from} port {port}\n\
             {RULE}[ ID] Interval           Transfer     Bitrate\n{receiver}"
        );
    }
    text
}

fn old((asked, amount, rate): &(&str, &str, &str), port: u16) -> String {
    let command = if asked.is_empty() {
        String::new()
    } else {
        format!("root@board:~# iperf -p 5201 -b {asked} -c {HOST}\n")
    };
    format!(
        "{command}\
         ------------------------------------------------------------\n\
         Client connecting to {HOST}, TCP port 5201\n\
         TCP window size: 85.0 KByte (default)\n\
         ------------------------------------------------------------\n\
         [  3] local {BOARD} port {port} connected with {HOST} port 5201\n\
         [ ID] Interval       Transfer     Bandwidth\n\
         [  3]  0.0-10.0 sec  {amount}  {rate} Mbits/sec\n\nThen we waited.\n\n"
    )
}

/// The runs of the page, judged.
fn found() -> Runs {
    let mut found = runs(&[page().as_bytes()]);
    for run in &mut found.runs {
        run.record.judgement = Some(analysis::judge(&run.record));
    }
    found
}

/// Megabits in a second of what arrived.
fn arrived(run: &TranscriptRun) -> Option<f64> {
    let delivered = run.record.outcome.directions[0].delivered?;
    Some(delivered.rate.bits_per_second() as f64 / 1e6)
}

/// Whether a rate is what was printed, in its digits.
fn is_printed(rate: f64, printed: &str) -> bool {
    let decimals = printed.split_once('.').map_or(0, |(_, decimals)| decimals.len());
    let half = 0.5 * 10_f64.powi(-i32::try_from(decimals).expect("few"));
    // The rows of datagrams tell more than the rounded rate.
    (rate - printed.parse::<f64>().expect("a number")).abs() <= 1.2 * half
}

fn mega(text: &str) -> Option<BitRate> {
    text.strip_suffix('M').or(text.strip_suffix('G')).map(|_| text.parse().expect("a rate"))
}

#[test]
fn each_run_of_the_study_is_found_once_with_its_numbers() {
    let found = found();
    assert_eq!(found.runs.len(), 24 + 12 + 5);
    assert!(found.broken.iter().all(Vec::is_empty), "{:?}", found.broken);
    let (udp, others) = found.runs.split_at(24);
    for (run, figures) in udp.iter().zip(SENDS.iter().chain(&RECEIVES)) {
        let (asked, _, rate, jitter, lost, all) = figures;
        let outcome = &run.record.outcome.directions[0];
        assert_eq!(run.record.plan.transport, Transport::Udp);
        assert_eq!(run.record.outcome.contradictions, [""; 0], "{figures:?}");
        assert!(is_printed(arrived(run).expect("it arrived"), rate), "{figures:?}: {outcome:?}");
        let datagrams = outcome.datagrams.expect("counted");
        assert_eq!((datagrams.lost, datagrams.sent), (*lost, *all), "{figures:?}");
        let seconds: f64 = jitter.parse().expect("a number");
        let jitter = outcome.jitter_seconds.expect("printed");
        assert!(jitter.mul_add(1e3, -seconds).abs() < 1e-9, "{figures:?}");
        if *asked != "160M" {
            let usual = BitRate::from_bits_per_second(1_048_576);
            assert_eq!(outcome.asked, Some(mega(asked).unwrap_or(usual)), "{figures:?}");
        }
    }
    let (tcp, old) = others.split_at(12);
    for (run, figures) in tcp.iter().zip(&TCP) {
        let (_, asked, [_, sent], again, [_, reached], both) = figures;
        let outcome = &run.record.outcome.directions[0];
        let offered = outcome.offered.expect("printed").rate.bits_per_second() as f64 / 1e6;
        assert!(is_printed(offered, sent), "{figures:?}: {outcome:?}");
        assert!(is_printed(arrived(run).expect("it arrived"), reached), "{figures:?}");
        assert_eq!((outcome.retransmits, outcome.asked), (Some(*again), mega(asked)));
        assert_eq!(run.lines.len(), 1 + usize::from(*both), "{figures:?}");
    }
    for (run, figures) in old.iter().zip(&OLD) {
        let outcome = &run.record.outcome.directions[0];
        let sent = outcome.offered.expect("printed").rate.bits_per_second() as f64 / 1e6;
        assert!(is_printed(sent, figures.2) && arrived(run).is_none(), "{figures:?}");
        assert_eq!(outcome.asked, mega(figures.0), "{figures:?}");
        let judgement = run.record.judgement.as_ref().expect("judged");
        assert_eq!(judgement.stamp, Stamp::Invalid, "no server ever confirmed it");
        assert!(run.record.outcome.notes.iter().any(|note| note.contains("never confirms")));
    }
}

#[test]
fn the_board_has_a_ceiling_where_it_sends_and_a_knee_where_it_receives() {
    let found = found();
    let curves = analysis::load_curves(found.runs.iter().map(|run| &run.record));
    let [sends, receives] = &curves[..] else { panic!("{curves:?}") };
    let rate = |rate: Option<BitRate>| rate.expect("a rate").bits_per_second() as f64 / 1e6;
    let all = |curve: &LoadCurve| curve.points.len();
    assert_eq!((all(sends), all(receives)), (12, 12));
    assert!(sends.is_of_sender && sends.knee.is_none(), "{sends:?}");
    assert!((rate(sends.ceiling) - 89.1).abs() < 0.1, "{sends:?}");
    let (kept, missed) = receives.knee.expect("a knee");
    assert_eq!(kept, BitRate::from_bits_per_second(128_000_000));
    assert!((rate(Some(missed)) - 160.0).abs() < 0.5, "{receives:?}");
    assert!(!receives.is_of_sender && (rate(receives.ceiling) - 183.0).abs() < 0.5);
    let at_the_knee = receives.points.iter().find(|point| point.load == missed).expect("a point");
    assert!((at_the_knee.loss.expect("counted") - 0.1503).abs() < 1e-4);
    assert_eq!(at_the_knee.sent, None, "only the server printed this run");
}

/// The ten rates of the talk: a heading, those before in the first column and those after in the
/// second, in the order in which they are printed.
const RATES: &str = "--- TCP recv ---\n                 904 Mbits/sec\n686 Mbits/sec\n683 Mbits/sec\n                 \
898 Mbits/sec\n                 905 Mbits/sec\n695 Mbits/sec\n--- TCP send ---\n383 Mbits/sec\n                 393 \
Mbits/sec\n384 Mbits/sec\n                 392 Mbits/sec\n--- UDP recv ---\n630 Mbits/sec\n                 875 \
Mbits/sec\n730 Mbits/sec\n                 873 Mbits/sec\n--- UDP send ---\n307 Mbits/sec | 402 Mbits/sec\n\
307 Mbits/sec | 402 Mbits/sec\n";

#[test]
fn each_rate_of_the_talk_is_in_its_column() {
    let text = format!("What we saw, before and after.\n\n{RATES}\nSo much for rates.\n");
    let found = runs(&[text.as_bytes()]);
    assert!(found.runs.is_empty(), "no run was printed");
    let mega = |column: &Vec<BitRate>| {
        column.iter().map(|rate| rate.bits_per_second() / 1_000_000).collect::<Vec<_>>()
    };
    let tables: Vec<_> = found
        .rates
        .iter()
        .map(|one| (one.heading.as_str(), one.columns.iter().map(mega).collect::<Vec<_>>()))
        .collect();
    let expected = [
        ("TCP recv", vec![vec![686, 683, 695], vec![904, 898, 905]]),
        ("TCP send", vec![vec![383, 384], vec![393, 392]]),
        ("UDP recv", vec![vec![630, 730], vec![875, 873]]),
        ("UDP send", vec![vec![307, 307], vec![402, 402]]),
    ];
    assert_eq!(tables, expected);
}

/// The sixteen shares of the talk, in percent: heading, memcpy and copies to programs.
const SHARES: [(&str, [&str; 2]); 8] = [
    ("--- TCP recv --- Before", ["40.40", "33.09"]),
    ("--- TCP recv --- After", ["50.35", "13.76"]),
    ("--- TCP send --- Before", ["19.96", "9.84"]),
    ("--- TCP send --- After", ["14.27", "7.37"]),
    ("--- UDP send --- Before", ["25.18", "22.50"]),
    ("--- UDP send --- After", ["28.90", "9.49"]),
    ("--- UDP recv --- Before", ["44.45", "31.04"]),
    ("--- UDP recv --- After", ["55.62", "11.22"]),
];

#[test]
fn each_share_of_the_talk_is_in_its_table() {
    let mut text = String::from("Shares of one CPU, with words of ours between them.\n\n");
    for (heading, [memcpy, user]) in SHARES {
        _ = write!(
            text,
            "{heading}\n  {memcpy}% [kernel] [k] memcpy\n {user}% [kernel] [k] asm copy to user\n\n"
        );
    }
    let format = importer(text.as_bytes()).expect("a format");
    let Imported::Tables(tables) = format.read(text.as_bytes()).expect("tables") else {
        panic!("eight tables are no one profile")
    };
    assert_eq!(tables.len(), SHARES.len());
    for (table, (_, shares)) in tables.iter().zip(SHARES) {
        let all = table.profile.samples as f64;
        let found: Vec<_> = table.profile.rows.iter().map(|row| row.count as f64 / all).collect();
        assert_eq!(found.len(), 2, "{table:?}");
        for (found, printed) in found.iter().zip(shares) {
            let printed: f64 = printed.parse().expect("a number");
            assert!(found.mul_add(100.0, -printed).abs() < 0.005, "{table:?}");
        }
    }
}

#[test]
fn a_table_of_single_runs_has_its_numbers_and_the_doubted_one_does_not_count() {
    let text = "What the small router did, in our words.\n\n\
        | MTU\t| proto |\tResults Mbits/sec | Results Mbits/sec  |\n\
        |     |         |     (default)\t    | (optimized)        |\n\
        |-----|---------|-------------------|--------------------|\n\
        | 1500|    TCP\t|       941\t        |     941            |\n\
        | 1500|    UDP\t|       808\t        |     742            |\n\
        | 512\t|    TCP\t|       575\t        |     588            |\n\
        | 512\t|    UDP\t|       556\t        |     (854)          |\n\n\
        The last one had a warning:\n\n\
        WARNING: did not receive ack of last datagram after 10 tries.\n";
    let found = runs(&[text.as_bytes()]);
    let rate = |mbps: u64| BitRate::from_bits_per_second(mbps * 1_000_000);
    let lines: Vec<_> =
        found.rates.iter().map(|one| (one.heading.as_str(), one.columns.clone())).collect();
    let both = |a, b| vec![vec![rate(a)], vec![rate(b)]];
    let expected = [
        ("1500 TCP", both(941, 941)),
        ("1500 UDP", both(808, 742)),
        ("512 TCP", both(575, 588)),
        ("512 UDP", vec![vec![rate(556)], vec![]]),
    ];
    assert_eq!(lines, expected);
    assert_eq!(found.rates[3].doubted, [(1, rate(854))]);
    assert_eq!(found.rates[3].unconfirmed, Some(13));
    assert_eq!(found.unread, [[1, 11]], "every line of the table is read");
}

#[test]
fn the_other_end_of_a_run_turns_no_direction() {
    assert!(found().runs.iter().all(|run| {
        run.record.outcome.directions.iter().all(|one| one.direction == Direction::Send)
    }));
}
