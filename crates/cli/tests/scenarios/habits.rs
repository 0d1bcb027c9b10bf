//! What people type out of habit, mostly that of iperf3: it works, or one sentence says what to
//! type.

use std::fmt::Write as _;
use std::process::Command;

use serde_json::Value;

use crate::support::{Directory, LINERATE, Server, has_ipv6, linerate, program, run, skip};

#[test]
fn each_wrong_input_gets_one_sentence_that_says_what_to_type() {
    let (mut told, mut too_long) = (String::new(), Vec::new());
    for input in WRONG {
        let finished = run(linerate(input));
        assert_eq!(finished.stdout, "", "{input}: {finished:?}");
        let sentence = finished.stderr.strip_suffix('\n').unwrap_or_default();
        assert!(sentence.starts_with("linerate: "), "{input}: {finished:?}");
        if sentence.contains('\n') || sentence.chars().count() > 100 {
            too_long.push(sentence.to_owned());
        }
        let code = finished.code.unwrap_or(-1);
        writeln!(told, "$ linerate {input}\n{code} {sentence}").expect("memory");
    }
    assert!(WRONG.len() >= 60, "{}", WRONG.len());
    insta::assert_snapshot!("wrong_inputs", told);
    assert!(too_long.is_empty(), "{too_long:#?}");
}

#[test]
fn variables_that_are_wrong_or_contradict_each_other_are_named() {
    let mut told = String::new();
    for (variables, input) in WRONG_VARIABLES {
        let mut command = linerate(input);
        for variable in variables.split(' ') {
            let (name, value) = variable.split_once('=').expect("name and value");
            command.env(name, value);
        }
        let finished = run(command);
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{finished:?}");
        write!(told, "$ {variables} linerate {input}\n{}", finished.stderr).expect("memory");
    }
    insta::assert_snapshot!("wrong_variables", told);
}

#[test]
fn what_users_of_iperf3_type_is_understood() {
    let server = Server::spawn(linerate("-p 0 -s -B 127.0.0.1 -V --forceflush"));
    let (ip, port) = (server.address.ip(), server.address.port());
    let short = "-t 100ms --json";
    let plan = |line: &str| {
        let finished = run(linerate(line));
        assert!(finished.ran_to_its_end() && finished.stderr.is_empty(), "{line}: {finished:?}");
        finished.json()["plan"].clone()
    };
    for line in [
        format!("-c {ip} -p {port} -R -P 2 -t 0.1 --tcp -J"),
        format!("test -c {ip} --port={port} --reverse --parallel 2 -t 0.1s --tcp -J"),
        format!("test {ip}:{port} -R -P 1 -P 2 {short} --tcp --forceflush"),
        format!("-P2 -R --tcp {short} --client={ip}:{port}"),
    ] {
        let plan = plan(&line);
        let (direction, streams, seconds) =
            (&plan["direction"], &plan["streams"], &plan["end"]["time_seconds"]);
        assert_eq!((direction, streams), (&"receive".into(), &2.into()), "{line}: {plan}");
        assert_eq!(seconds, 0.1, "{line}");
    }
    let options =
        |options: &str| plan(&format!("test {ip}:{port} {short} {options}"))["options"].clone();
    for rate in ["8M", "8Mbit", "8mbps", "8mb", "8e6", "8000kbit", "8Mb/s", "8M/s"] {
        assert_eq!(
            options(&format!("-u --send --bitrate {rate}"))["rate_bits_per_second"],
            8_000_000,
            "{rate}"
        );
    }
    let asked = options("--tcp --send -S 0x20 --ttl 9 -w 256K -Z -N --set-mss 1000");
    assert_eq!((&asked["type_of_service"], &asked["hop_limit"]), (&0x20.into(), &9.into()));
    assert_eq!((&asked["zero_copy"], &asked["window_bytes"]), (&true.into(), &(256 << 10).into()));
    assert_eq!((&asked["mss_bytes"], &asked["no_delay"]), (&1000.into(), &true.into()));
    assert_eq!(options("--udp --send -b 1M --dscp ef")["type_of_service"], 0xb8);
    let verbose = run(linerate(&format!("test {ip}:{port} --tcp --send -t 100ms -V")));
    assert!(verbose.stderr.contains("1 stream opened"), "{verbose:?}");
    let amounts = plan(&format!("test {ip}:{port} --json --tcp --send --blockcount 1K"));
    assert_eq!(amounts["end"]["blocks"], 1024);
}

#[test]
fn with_iperf3s_option_for_the_server_a_test_is_that_of_iperf3() {
    let server = Server::start();
    let (ip, port) = (server.address.ip(), server.address.port());
    let rows = |options: &str| {
        let finished = run(linerate(&format!("{options} -p {port} --json")));
        assert!(finished.ran_to_its_end(), "{options}: {finished:?}");
        let json = finished.json();
        let all = json["records"].as_array().cloned().unwrap_or_else(|| vec![json.clone()]);
        let row = |record: &Value| {
            let plan = &record["plan"];
            let words = ["transport", "direction"].map(|part| plan[part].as_str().unwrap_or("?"));
            format!("{} {}", words[0], words[1])
        };
        all.iter().map(row).collect::<Vec<_>>()
    };
    for (options, expected) in [
        ("-t 0.1", "tcp send"),
        ("-R -P 2 -t 0.1", "tcp receive"),
        ("--bidir -t 0.1", "tcp both"),
        ("-u -b 10M -t 0.1", "udp send"),
        ("-u -b 10M -R -n 100K", "udp receive"),
        ("-k 10", "tcp send"),
        ("-b 10M --pacing even -t 0.1", "udp send"),
        ("--engine sendmmsg -b 10M -t 0.1", "udp send"),
    ] {
        assert_eq!(rows(&format!("-c {ip} {options}")), [expected], "{options}");
    }
    let both = rows(&format!("test {ip} -R -b 10M -t 0.1"));
    assert_eq!(both, ["tcp receive", "udp receive"]);
}

#[test]
fn an_address_of_ipv6_and_a_port_stand_in_brackets() {
    if !has_ipv6() {
        return;
    }
    let server = Server::start_with("--bind ::1");
    let port = server.address.port();
    run(linerate(&format!("test [::1]:{port} --tcp --send -t 100ms --json"))).assert_success();
}

#[test]
fn what_is_typed_goes_before_the_environment() {
    let server = Server::start();
    let (ip, port) = (server.address.ip(), server.address.port());
    let host = format!("{ip}:{port}");
    let plan = |variables: &str, options: &str| {
        let mut command = linerate(&format!("test {options} --json"));
        command.env("LINERATE_HOST", &host);
        for variable in variables.split(' ') {
            let (name, value) = variable.split_once('=').expect("name and value");
            command.env(name, value);
        }
        let finished = run(command);
        assert!(finished.ran_to_its_end(), "{variables} {options}: {finished:?}");
        let record = finished.json();
        let first = record["records"].get(0).unwrap_or(&record).clone();
        first["plan"].clone()
    };
    let cases: [(&str, &str, &str, Value); 14] = [
        ("LINERATE_TIME=1s", "--tcp --send -n 1M", "/end/bytes", (1 << 20).into()),
        ("LINERATE_BYTES=1M", "--tcp --send -t 100ms", "/end/time_seconds", 0.1.into()),
        ("LINERATE_BLOCKS=9", "--tcp --send -t 100ms", "/end/time_seconds", 0.1.into()),
        (
            "LINERATE_BLOCKS=9 LINERATE_TIME=1s",
            "--tcp --send -n 1M",
            "/end/bytes",
            (1 << 20).into(),
        ),
        ("LINERATE_UDP=1", "--tcp --send -t 100ms", "/transport", "tcp".into()),
        ("LINERATE_TCP=1", "-u --send -b 1M -t 100ms", "/transport", "udp".into()),
        ("LINERATE_SEND=1", "--tcp -R -t 100ms", "/direction", "receive".into()),
        ("LINERATE_BIDIR=1", "--tcp --send -t 100ms", "/direction", "send".into()),
        ("LINERATE_RECEIVE=1", "--tcp --bidir -t 100ms", "/direction", "both".into()),
        ("LINERATE_IPV6=1", "--tcp --send -4 -t 100ms", "/direction", "send".into()),
        (
            "LINERATE_FASTEST=1",
            "--tcp --send --engine write -t 100ms",
            "/options/engines/0",
            "write".into(),
        ),
        ("LINERATE_ENGINE=sendfile", "-u --send -b 1M -t 100ms", "/transport", "udp".into()),
        ("LINERATE_DSCP=ef", "--tcp --send -S 4 -t 100ms", "/options/type_of_service", 4.into()),
        ("LINERATE_UDP=0 LINERATE_TCP=1", "--send -t 100ms", "/transport", "tcp".into()),
    ];
    for (variables, options, place, expected) in cases {
        let plan = plan(variables, options);
        assert_eq!(plan.pointer(place), Some(&expected), "{variables} {options}: {plan}");
    }
}

#[test]
fn of_any_two_options_that_contradict_each_other_the_typed_one_counts() {
    // Nobody listens there: to fail is to be past the command line.
    for command in ["test", "latency"] {
        for (one, other) in CONTRADICTIONS {
            for (typed, set) in [(one, other), (other, one)] {
                let (name, value) = set.split_once(' ').unwrap_or((set, "1"));
                let value = value.split(' ').next().unwrap_or_default();
                let name = name.trim_start_matches('-').replace('-', "_").to_uppercase();
                let mut line = linerate(&format!("{command} 127.0.0.1:1 {typed}"));
                line.env(format!("LINERATE_{name}"), value);
                let finished = run(line);
                if command == "latency" && finished.stderr.contains("type linerate test") {
                    continue;
                }
                assert_eq!(finished.code, Some(1), "{set} and {typed}: {finished:?}");
            }
        }
    }
    let both = run(linerate("test h --tcp --udp"));
    both.assert_refusal(2, &["'--tcp' and '--udp' contradict each other"]);
}

#[test]
fn the_port_is_that_behind_the_host_or_of_the_option_or_of_the_environment() {
    let server = Server::start();
    let host = format!("{}:{}", server.address.ip(), server.address.port());
    let port = server.address.port();
    for (variables, target) in [
        ("LINERATE_PORT=1", host.clone()),
        ("LINERATE_HOST=127.0.0.1:1", format!("-p {port}")),
        ("LINERATE_HOST=no-such-host.invalid", format!("-c {host}")),
        (&format!("LINERATE_HOST={host}"), String::new()),
        (&format!("LINERATE_PORT={port}"), "127.0.0.1".to_owned()),
    ] {
        let mut command = linerate(&format!("test {target} --tcp --send -t 100ms -q"));
        command.envs(variables.split_once('='));
        let finished = run(command);
        assert!(finished.ran_to_its_end(), "{variables} {target}: {finished:?}");
    }
}

#[test]
fn variables_that_need_a_host_mean_nothing_without_one() {
    let mut command = linerate("diagnose --json");
    command.env("LINERATE_WINDOW", "4M").env("LINERATE_PORT", "7").env("LINERATE_RATE", "1M");
    // It would be traffic that nobody typed.
    command.env("LINERATE_HOST", "127.0.0.1:1");
    let finished = run(command);
    assert_eq!(finished.code, Some(0), "{finished:?}");
}

#[test]
fn short_help_fits_a_screen_and_names_options_that_there_are() {
    for name in ["", "test", "search", "sweep", "ladder", "ab", "serve", "diagnose", "latency"] {
        let mut command = linerate(&format!("{name} -h"));
        command.env("COLUMNS", "80");
        let finished = run(command);
        finished.assert_success();
        let lines: Vec<_> = finished.stdout.lines().collect();
        assert!(lines.len() <= 24, "{name}: {} lines", lines.len());
        assert!(lines.iter().all(|line| line.chars().count() <= 80), "{name}: {lines:#?}");
        finished.assert_prints(&["Examples:", "--help"]);
        let screen = if name.is_empty() { "short_help" } else { &format!("short_help_{name}") };
        insta::assert_snapshot!(screen, finished.stdout);
    }
    assert_eq!(run(linerate("test -vh")).stdout, run(linerate("test -h")).stdout);
}

#[test]
fn the_version_has_its_long_name_behind_a_command() {
    for command in ["show", "search", "test", "sweep", "calc packets", "completions"] {
        let finished = run(linerate(&format!("{command} --version")));
        finished.assert_success();
        finished.assert_prints(&[env!("CARGO_PKG_VERSION"), "target: "]);
    }
    for command in ["history", "calc packets", "ladder h"] {
        run(linerate(&format!("{command} -V"))).assert_complaint(2, &["type linerate --version"]);
    }
    assert_eq!(run(linerate("-V")).stdout, format!("linerate {}\n", env!("CARGO_PKG_VERSION")));
    assert_eq!(run(linerate("help --help")).stdout, run(linerate("--help")).stdout);
    assert_eq!(run(linerate("help test -h")).stdout, run(linerate("test --help")).stdout);
}

#[test]
fn each_command_has_a_manual_page() {
    for command in [
        "test", "serve", "latency", "search", "ladder", "ab", "copy", "diagnose", "explain",
        "iperf3", "man",
    ] {
        let page = run(linerate(&format!("man {command}")));
        page.assert_success();
        let version = env!("CARGO_PKG_VERSION");
        let title = format!(".TH linerate-{command} 1 \"\" \"linerate {version}\"\n");
        page.assert_prints(&[&title, ".SH EXAMPLES", ".SH NAME"]);
        assert!(!page.stdout.contains("(1)"), "{command} names pages that may not be there");
    }
    run(linerate("man iperf3")).assert_prints(&["\\-\\-get\\-server\\-output"]);
    let page = run(linerate("man"));
    page.assert_prints(&["linerate iperf3 \\-c 10.0.0.2 \\-J"]);
    assert!(!page.stdout.contains("(1)"), "{}", page.stdout);
}

#[test]
fn scripts_complete_rules_engines_formats_and_the_link_named_iperf3() {
    for shell in ["bash", "zsh", "fish", "elvish", "powershell"] {
        let script = run(linerate(&format!("completions {shell}")));
        script.assert_success();
        script.assert_prints(&["dscp", "receive"]);
        script.assert_prints(&["rx-ring-overrun", "latency"]);
        script.assert_prints(&["vmsplice", "json-compact"]);
        let link = run(linerate(&format!("completions {shell} iperf3")));
        link.assert_success();
        link.assert_prints(&["iperf3", "get-server-output", "bitrate"]);
    }
}

#[test]
fn elvish_completes_what_is_typed() {
    if Command::new("elvish").arg("-version").output().is_err() {
        return skip("there is no elvish").unwrap_or_default();
    }
    let directory = Directory::new("completions-elvish");
    let script = run(linerate("completions elvish")).stdout;
    let completed = |words: &str| {
        let file = directory.file("ask.elv");
        // What its line editor has, which a script has not.
        let editor = "fn complex-candidate {|text &display=''| put $text}\n\
                      var edit: = (ns [&completion:=(ns [&arg-completer=[&]]) \
                      &complex-candidate~=$complex-candidate~])\n";
        let ask =
            format!("$edit:completion:arg-completer[linerate] {words} | each {{|c| echo $c}}");
        std::fs::write(&file, format!("{editor}{script}\n{ask}\n")).expect("a file");
        let mut command = program(Command::new("elvish"));
        command.arg(&file);
        let completed = run(command);
        completed.assert_success();
        completed.stdout
    };
    let has = |found: &str, word: &str| found.lines().any(|line| line == word);
    let found = completed("linerate test 10.0.0.2 --engine ''");
    assert!(has(&found, "vmsplice") && !has(&found, "--engine"), "{found}");
    let found = completed("linerate test 10.0.0.2 --format j");
    assert!(has(&found, "json-compact"), "{found}");
    let found = completed("linerate explain ''");
    assert!(has(&found, "gro-off") && has(&found, "last"), "{found}");
    let found = completed("linerate test 10.0.0.2 ''");
    assert!(has(&found, "--receive"), "{found}");
}

#[test]
fn bash_completes_what_is_typed() {
    let directory = Directory::new("completions");
    let completed = |name: &str, line: &str| {
        let file = directory.file(name);
        let script = run(linerate(&format!("completions bash {name}"))).stdout;
        std::fs::write(&file, script).expect("a file");
        let words: Vec<_> = line.split(' ').collect();
        let last = words.len() - 1;
        let ask = format!(
            "source {}; COMP_WORDS=({line} ''); COMP_WORDS=(${{COMP_WORDS[@]:0:{}}}); \
             COMP_WORDS[{last}]='{}'; COMP_CWORD={last}; _{name} {name} '{}' '{}'; \
             echo \"${{COMPREPLY[@]}}\"",
            file.display(),
            words.len(),
            words[last],
            words[last],
            words[last - 1],
        );
        let mut command = program(Command::new("bash"));
        command.args(["-c", &ask]);
        run(command).stdout
    };
    if Command::new("bash").arg("-c").arg("true").status().is_err() {
        return skip("there is no bash").unwrap_or_default();
    }
    let found = completed("linerate", "linerate explain rx-");
    assert!(found.contains("rx-ring-overrun"), "{found}");
    let found = completed("linerate", "linerate test --engine v");
    assert!(found.contains("vmsplice"), "{found}");
    let found = completed("linerate", "linerate test --format json-");
    assert!(found.contains("json-compact"), "{found}");
    let found = completed("linerate", "linerate man lat");
    assert!(found.contains("latency"), "{found}");
    let found = completed("linerate", "linerate iperf3 --get");
    assert!(found.contains("--get-server-output"), "{found}");
    let found = completed("iperf3", "iperf3 --get");
    assert!(found.contains("--get-server-output"), "{found}");
    assert!(LINERATE.ends_with("linerate"));
}

#[test]
fn a_congestion_control_that_this_host_lacks_is_told_before_connecting() {
    // Nobody listens there.
    for command in ["test 127.0.0.1:1 -C nonesuch", "latency 127.0.0.1:1 -C nonesuch"] {
        let finished = run(linerate(command));
        let available = std::fs::read_to_string(AVAILABLE).unwrap_or_default();
        let first = available.split_whitespace().next().unwrap_or_default();
        finished.assert_refusal(2, &["no congestion control 'nonesuch' here", first]);
    }
    // Over UDP there is none.
    run(linerate("test 127.0.0.1:1 --udp -C nonesuch")).assert_refusal(1, &["connection refused"]);
}

const AVAILABLE: &str = "/proc/sys/net/ipv4/tcp_available_congestion_control";

/// Options of clients as they are typed.
const CONTRADICTIONS: [(&str, &str); 18] = [
    ("--tcp", "--udp"),
    ("--send", "--receive"),
    ("--bidir", "--send"),
    ("--bidir", "--receive"),
    ("--time 1s", "--bytes 1M"),
    ("--time 1s", "--blocks 1"),
    ("--bytes 1M", "--blocks 1"),
    ("--fastest", "--engine write"),
    ("--zerocopy", "--engine write"),
    ("--zerocopy", "--fastest"),
    ("--zerocopy", "--udp"),
    ("--mptcp", "--udp"),
    ("--dscp ef", "--tos 4"),
    ("--ipv4", "--ipv6"),
    ("--quiet", "--verbose"),
    ("--udp", "--engine write"),
    ("--tcp", "--engine gso"),
    ("--tcp", "--pacing even -b 1M"),
];

const WRONG_VARIABLES: [(&str, &str); 6] = [
    ("LINERATE_RATE=fast", "test h"),
    ("LINERATE_TIME=1s LINERATE_BYTES=1M", "test h"),
    ("LINERATE_UDP=1 LINERATE_TCP=1", "test h"),
    ("LINERATE_PACING=evn LINERATE_RATE=1M", "test h"),
    ("LINERATE_PORT=x", "serve"),
    ("LINERATE_HOST=a:b:c", "test"),
];

/// None of them gets as far as a server.
const WRONG: [&str; 121] = [
    "10.0.0.2",
    "10.0.0.2:5201 -t 5",
    "tset h",
    "-u h",
    "-t 5 h",
    "client h",
    "run",
    "test",
    "test -t 5",
    "test h1 h2",
    "test http://h/",
    "test h:port",
    "test h:70000",
    "test h:0",
    "test [::1]x",
    "test 1:2:3",
    "test h:5201 -p 5300",
    "test h -c g",
    "test h --sned",
    "test h --foo",
    "test h -x",
    "test h -d",
    "test h -r",
    "test h -s",
    "test h -f x",
    "test h --format m",
    "test h --format jsno",
    "test h --format xml",
    "test h -A 2,3",
    "test h -F data.bin",
    "test h -T title",
    "test h -L 5",
    "test h -I pid",
    "test h -D",
    "test h -1",
    "test h -X a",
    "test h --sctp",
    "test h --cport 5000",
    "test h --bind-dev eth0",
    "test h --logfile log",
    "test h --get-server-output",
    "test h --json-stream-full-output",
    "test h --timestamps",
    "test h --fq-rate 1G",
    "test h --gsro",
    "test h --skip-rx-copy",
    "test h --rcv-timeout 500",
    "test h --username me",
    "test h --dont-fragment",
    "test h --repeating-payload",
    "test h --connect-timeout 3000",
    "test h --connect-timeout soon",
    "test h -b fast",
    "test h -b 10X",
    "test h -b 100MB/s",
    "test h -b 12.5MBps",
    "test h -b 10M/4",
    "test h -b -5",
    "test h -b",
    "test h -t soon",
    "test h -t -5",
    "test h -t 2d",
    "test h -t 0",
    "test h -t 1:30",
    "test h -t 1 -n 1M",
    "test h -k 5 -n 1M",
    "test h -k many",
    "test h -n 1Q",
    "test h -n 4Mbit",
    "test h -l 2M",
    "test h -u -l 15",
    "test h -w 1G",
    "test h -w lots",
    "test h -M 40",
    "test h -M x",
    "test h -P 0",
    "test h -P many",
    "test h -P 200000",
    "test h -p 65536",
    "test h -p http",
    "test h -B here",
    "test h -B eth0%1",
    "test h -O 1.5",
    "test h -i 1ms",
    "test h -S 256",
    "test h -S ef",
    "test h --dscp 64",
    "test h --dscp voice",
    "test h --dscp ef -S 4",
    "test h --ttl 0",
    "test h --ttl 256",
    "test h --tcp --udp",
    "test h --bidir --send",
    "test h -q -v",
    "test h -4 -6",
    "test h -u -Z",
    "test h -u --mptcp",
    "test h --engine nosuch",
    "test h -u --engine write",
    "test h --pacing even",
    "test h --color purple",
    "serve 127.0.0.1",
    "serve -u",
    "serve -D --server-bitrate-limit 1G",
    "serve --server-bitrate-limit 1G",
    "serve --rsa-private-key-path key.pem",
    "latency h -u",
    "latency h --bidir",
    "latency h -b 1M",
    "latency h --only load --busy",
    "latency h -O 1.5",
    "diagnose h -R",
    "diagnose h --parallell 4",
    "completions tcsh",
    "completions",
    "diagnose -w 4M",
    "explain no-such-rule",
    "explain rx-ring",
    "explain missing.json",
    "man nosuch",
    "demo --link-rate 0",
];
