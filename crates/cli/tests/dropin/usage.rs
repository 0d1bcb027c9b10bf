//! How arguments may be written, and what is said of wrong ones.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;

use crate::peer::parameters;
use crate::support::{
    Directory, LINERATE, client, free_port, iperf3, program, report, run, side_by_side, test,
};

#[test]
fn a_link_named_iperf3_is_iperf3() {
    let directory = Directory::new("link");
    let link = directory.file("iperf3");
    std::os::unix::fs::symlink(LINERATE, &link).expect("a link");
    let mut command = program(std::process::Command::new(link));
    command.arg("-v");
    let finished = run(command);
    finished.assert_success();
    assert!(finished.stdout.starts_with("iperf 3.21"), "{finished:?}");
}

#[test]
fn long_flags_may_be_cut_short() {
    let asked = parameters("--par 2 --rev --leng 4000");
    assert_eq!((&asked["parallel"], &asked["len"]), (&2.into(), &4000.into()), "{asked}");
    assert_eq!(asked["reverse"], true);
    run(iperf3("-c 127.0.0.1 --ver")).assert_unrecognized("--ver");
}

#[test]
fn short_flags_may_stand_together() {
    let asked = parameters("-uR");
    assert_eq!((&asked["udp"], &asked["reverse"]), (&true.into(), &true.into()), "{asked}");
    assert_eq!(parameters("-RP2")["parallel"], 2);
}

#[test]
fn values_may_be_attached() {
    let asked = parameters("-P2 -t3 --length=4000");
    assert_eq!((&asked["parallel"], &asked["time"]), (&2.into(), &3.into()), "{asked}");
    assert_eq!(asked["len"], 4000);
}

#[test]
fn of_repeated_flags_the_last_one_counts() {
    assert_eq!(parameters("-P 2 -P 3 -t 1 -t 4")["parallel"], 3);
    let asked = parameters("-R -R -t 1 -t 4");
    assert_eq!((&asked["time"], &asked["reverse"]), (&4.into(), &true.into()), "{asked}");
}

#[test]
fn suffixes_multiply() {
    assert_eq!(parameters("-n 2M")["num"], 2 << 20);
    assert_eq!(parameters("-n 0.5K")["num"], 512);
    assert_eq!(parameters("-b 2M")["bandwidth"], 2_000_000);
    assert_eq!(parameters("-l 2k")["len"], 2048);
}

#[test]
fn numbers_end_where_those_of_the_c_library_end() {
    let asked = parameters("-n 1e3 -l 0x400 -P 2x -M 1000x -i x --snd-timeout 5x");
    assert_eq!((&asked["num"], &asked["len"]), (&1000.into(), &1024.into()), "{asked}");
    assert_eq!((&asked["parallel"], &asked["MSS"]), (&2.into(), &1000.into()), "{asked}");
    assert_eq!(parameters("-t abc")["time"], 0);
    let said = [
        ("-n 10x", "invalid unit value or suffix: '10x'"),
        ("-p -1", "port number must be between 1 and 65535 inclusive"),
        ("-P 0", "invalid number of parallel streams (min = 1, max = 128)"),
        ("-R --rcv-timeout 10", "receive timeout value is incorrect or not in range: "),
        ("--cntl-ka=10/5/2", "Keepalive period should be larger than the full retry period"),
    ];
    for (wrong, words) in said {
        run(iperf3(&format!("-c 127.0.0.1 {wrong}"))).assert_usage(words);
    }
    run(iperf3("-s --idle-timeout 0")).assert_usage("idle timeout parameter is not positive");
}

#[test]
fn arguments_need_not_be_utf8() {
    let no_text = || OsString::from_vec(vec![0xa0]);
    let with = |flag: &str, value: OsString| {
        let mut command = client(free_port(), flag);
        command.arg(value);
        run(command)
    };
    for flag in ["-t", "-M", "-T", "--extra-data", "-i"] {
        with(flag, no_text()).assert_error("unable to connect to server");
    }
    with("-n", no_text()).assert_usage("invalid unit value or suffix: '\u{fffd}'");
}

#[test]
fn what_is_wrong_with_all_of_the_arguments_has_its_time() {
    let finished = run(iperf3("-s --bidir --timestamps=now:"));
    let line = "now:iperf3: parameter error - some option you are trying to set is client only\n";
    assert!(finished.stderr.starts_with(line), "{finished:?}");
}

#[test]
fn unknown_flags_and_wrong_values_are_refused() {
    run(iperf3("-c 127.0.0.1 --bogus")).assert_unrecognized("--bogus");
    for wrong in ["-t -1", "-P 0", "-P 129", "-t 90000", "-O 601", "-p 0", "-p 70000", "-l 2G"] {
        run(iperf3(&format!("-c 127.0.0.1 {wrong}"))).assert_usage("");
    }
    for wrong in ["-b 1X", "-b 1M/2000", "-w 3G", "-M 40000", "-u -l 70000", "-L 0", "-A 2000"] {
        run(iperf3(&format!("-c 127.0.0.1 {wrong}"))).assert_usage("");
    }
    run(iperf3("-c 127.0.0.1 -t 1 -n 1M")).assert_usage("only one test end condition");
    run(iperf3("-c 127.0.0.1 -R --bidir")).assert_usage("cannot be both reverse");
}

#[test]
fn a_role_is_needed_and_only_one() {
    run(iperf3("")).assert_usage("must either be a client (-c) or server (-s)");
    run(iperf3("-s -c 127.0.0.1")).assert_usage("cannot be both server and client");
}

#[test]
fn flags_of_the_other_role_are_refused() {
    for flag in FOR_CLIENTS {
        run(iperf3(&format!("-s {flag}"))).assert_usage("client only");
    }
    for flag in FOR_SERVERS {
        run(iperf3(&format!("-c 127.0.0.1 {flag}"))).assert_usage("server only");
    }
}

#[test]
fn sctp_is_refused_in_one_sentence() {
    for options in ["--sctp", "-X here", "--xbind here", "--nstreams 3"] {
        run(client(1, options)).assert_error("SCTP");
    }
}

#[test]
fn both_forms_of_each_common_flag_are_one() {
    let asked = |options: &str| {
        let mut asked = parameters(options);
        asked.as_object_mut().expect("an object").remove("linerate");
        asked
    };
    side_by_side(
        [
            ("-t 3", "--time 3"),
            ("-n 1M", "--bytes 1M"),
            ("-k 5", "--blockcount 5"),
            ("-l 2K", "--length 2K"),
            ("-b 5M", "--bitrate 5M"),
            ("-w 64K", "--window 64K"),
            ("-M 1000", "--set-mss 1000"),
            ("-N", "--no-delay"),
            ("-S 4", "--tos 4"),
            ("-O 1", "--omit 1"),
            ("-Z", "--zerocopy"),
            ("-u", "--udp"),
            ("-T a", "--title a"),
        ],
        |(short, long)| {
            assert_eq!(asked(short), asked(long), "{short}");
        },
    );
}

#[test]
fn a_test_without_any_option_is_one_of_ten_seconds() {
    let asked = parameters("");
    assert_eq!((&asked["time"], &asked["tcp"]), (&10.into(), &true.into()), "{asked}");
    assert_eq!((&asked["len"], &asked["parallel"]), (&131_072.into(), &1.into()), "{asked}");
    assert_eq!(report("-n 1M")["start"]["test_start"]["protocol"], "TCP");
    test("-n 1M").assert_success();
}

const FOR_CLIENTS: [&str; 33] = [
    "-u",
    "--connect-timeout 1",
    "-b 1M",
    "--pacing-timer 1",
    "--fq-rate 1M",
    "--no-fq-socket-pacing",
    "-t 1",
    "-n 1M",
    "-k 1",
    "-l 1K",
    "-P 2",
    "-R",
    "--bidir",
    "-w 1K",
    "-C reno",
    "-M 1000",
    "-N",
    "-S 4",
    "--dscp ef",
    "-L 5",
    "-Z",
    "--skip-rx-copy",
    "-O 1",
    "-T here",
    "--extra-data here",
    "--get-server-output",
    "--udp-counters-64bit",
    "--gsro",
    "--repeating-payload",
    "--dont-fragment",
    "--username somebody",
    "--rsa-public-key-path file",
    "-A 0,0",
];
const FOR_SERVERS: [&str; 8] = [
    "-D",
    "-1",
    "--server-bitrate-limit 1M",
    "--idle-timeout 1",
    "--server-max-duration 1",
    "--rsa-private-key-path file",
    "--authorized-users-path file",
    "--time-skew-threshold 1",
];
