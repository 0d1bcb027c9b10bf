//! Texts as perf prints them, and what recognises them.

use measurement::profile::{Mode, ProfileSource};
use measurement::{ProfileRow, Task};

use super::*;

const REPORT: &str = "# To display the perf.data header info, please use --header options.
#
# Samples: 12K of event 'cpu-clock:pppH'
# Event count (approx.): 3000000000
#
# Children      Self  Command      Shared Object      Symbol
# ........  ........  ...........  .................  ......
#
    90.00%     0.00%  iperf3       [kernel.kallsyms]  [k] do_syscall_64
            |
            ---do_syscall_64
               |--40.40%--memcpy
    40.40%    40.40%  iperf3       [kernel.kallsyms]  [k] memcpy
    20.10%    20.10%  ksoftirqd/0  [stmmac]           [k] stmmac_rx.isra.0
     9.50%     9.50%  iperf3       libc.so.6          [.] __memcpy_avx_unaligned
     5.00%     5.00%  swapper      [kernel.kallsyms]  [k] default_idle      -      -
";

const SCREEN: &str =
    "   PerfTop:    1962 irqs/sec  kernel:95.0%  exact:  0.0% [4000Hz cycles],  (all, 4 CPUs)
-------------------------------------------------------------------------------

    33.09%  [kernel]  [k] __asm_copy_to_user
    40.40%  [kernel]  [k] memcpy
";

const SCRIPT: &str = "iperf3  4242 [001]  1234.567890:     250000 cpu-clock:pppH:
\tffffffff81a00010 memcpy+0x10 ([kernel.kallsyms])
\tffffffff81900020 stmmac_rx+0x20 ([stmmac])
\tffffffff81800030 net_rx_action+0x1 ([kernel.kallsyms])

my task  77/78 [000]  1234.600000: cycles:u:  7f0000001000 recv+0x4 (/usr/lib/libc.so.6)
   sh    9 1234.700000:          1 cycles:  ffffffff81000000 [unknown] ([kernel.kallsyms])
";

/// The profile in a text, by the importer that recognises it.
fn read(text: &str) -> Result<Profile, ImportError> {
    match importer(text.as_bytes())?.read(text.as_bytes())? {
        Imported::Profile(profile) => Ok(profile),
        other => panic!("no single profile is in this text: {other:?}"),
    }
}

fn counts(profile: &Profile) -> Vec<(&str, u64)> {
    profile.rows.iter().map(|row| (row.symbol.as_str(), row.count)).collect()
}

fn row_of<'a>(profile: &'a Profile, symbol: &str) -> &'a ProfileRow {
    profile.rows.iter().find(|row| row.symbol == symbol).expect("it is in the text")
}

#[test]
fn a_report_gives_each_functions_own_share() {
    let profile = read(REPORT).expect("a table");
    assert_eq!(profile.source, ProfileSource::Imported("perf report".to_owned()));
    assert_eq!((profile.event.as_str(), profile.samples), ("cpu-clock", 10_000));
    let shares = counts(&profile);
    assert_eq!(
        shares[..3],
        [("memcpy", 4_040), ("stmmac_rx", 2_010), ("__memcpy_avx_unaligned", 950)]
    );
    let driver = row_of(&profile, "stmmac_rx");
    assert_eq!((driver.task, driver.module.as_deref()), (Task::Kernel, Some("stmmac")));
    let library = row_of(&profile, "__memcpy_avx_unaligned");
    assert_eq!((library.mode, library.module.as_deref()), (Mode::User, Some("libc.so.6")));
    assert_eq!(row_of(&profile, "default_idle").task, Task::Idle);
}

#[test]
fn a_screen_gives_the_first_shares_of_all() {
    let profile = read(SCREEN).expect("a table");
    assert_eq!(profile.source, ProfileSource::Imported("perf top".to_owned()));
    assert_eq!((profile.event.as_str(), profile.samples), ("cycles", 10_000));
    assert_eq!(counts(&profile), [("memcpy", 4_040), ("__asm_copy_to_user", 3_309)]);
    assert!(profile.rows.iter().all(|row| row.module.is_none() && row.mode == Mode::Kernel));
}

#[test]
fn a_script_gives_callers_and_stacks() {
    let profile = read(SCRIPT).expect("samples");
    assert_eq!(profile.source, ProfileSource::Imported("perf script".to_owned()));
    assert_eq!(profile.samples, 3);
    let copy = row_of(&profile, "memcpy");
    assert_eq!((copy.cpu, copy.within.as_deref()), (Some(1), Some("stmmac_rx")));
    let library = row_of(&profile, "recv");
    assert_eq!((library.cpu, library.mode), (Some(0), Mode::User));
    let frames: Vec<_> = profile.stacks.iter().map(|stack| stack.frames.as_str()).collect();
    assert_eq!(frames, ["iperf3;net_rx_action;stmmac_rx;memcpy", "my task;recv", "sh;[unknown]"]);
}

#[test]
fn a_quoted_script_is_read_and_what_is_no_sample_is_counted() {
    let quoted = format!("> {}\r\n", SCRIPT.trim_end().replace('\n', "\r\n> "));
    assert_eq!(read(&quoted).ok(), read(SCRIPT).ok());
    let text = format!("{quoted}so far\n\tno frame\n");
    assert_eq!(
        importer(text.as_bytes()).map(|format| format.unread(text.as_bytes())).ok(),
        Some(vec![8, 9])
    );
    assert!(Record.unread(b"{}").is_empty());
}

#[test]
fn several_tables_are_no_single_profile() {
    let text = format!("before:\n{REPORT}after:\n{SCREEN}");
    let imported = importer(text.as_bytes()).and_then(|format| format.read(text.as_bytes()));
    let Ok(Imported::Tables(tables)) = imported else { panic!("two tables: {imported:?}") };
    let headings: Vec<_> = tables.iter().map(|table| table.heading.as_str()).collect();
    assert_eq!(headings, ["before:", "after:"]);
    assert_eq!(tables[0].profile, read(REPORT).expect("a table"));
    assert_eq!(tables[1].profile, read(SCREEN).expect("a table"));
}

#[test]
fn what_is_no_profile_is_refused() {
    for text in ["", "hello\n", "100%\n", "NaN%  [k] x\n", "-1.0% [kernel] [k] x\n", "1e9% [k] x\n"]
    {
        let refused = read(text).expect_err(text);
        assert!(matches!(refused, ImportError::Unrecognised), "{refused:?}");
    }
    assert!(ImportError::Unrecognised.to_string().contains("perf report --stdio"));
}

#[test]
fn each_text_is_recognised_by_its_own_importer() {
    let texts = [
        ("record of linerate test --output", " \n{\"schema\": 7}"),
        ("output of perf report --stdio or perf top --stdio", REPORT),
        ("output of perf report --stdio or perf top --stdio", SCREEN),
        ("output of perf script", SCRIPT),
        ("file of folded stacks", "a;b_[k] 3\na 1\n"),
    ];
    for (name, text) in texts {
        assert_eq!(importer(text.as_bytes()).map(Import::name).ok(), Some(name));
    }
}

#[test]
fn a_text_without_an_end_is_too_long() {
    assert!(matches!(read_up_to(8, io::repeat(b' ')), Err(ImportError::TooLong(8))));
    assert_eq!(read_up_to(8, &b"12345678"[..]).expect("just as long").len(), 8);
}
