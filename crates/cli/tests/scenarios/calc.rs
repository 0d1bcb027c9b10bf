//! `linerate calc`.

use crate::support::{linerate, run};

#[test]
fn the_figures_of_the_review_of_800_gbits_are_reproduced() {
    let first = |arguments: &str| {
        let finished = run(linerate(&format!("calc {arguments} --json")));
        finished.assert_success();
        finished.json()[0].clone()
    };
    let number = |value: &serde_json::Value| value.as_f64().expect("a number");
    let pages = first("packets 400G --mtu 4096 --l2");
    assert!(number(&pages["pages_per_second"]) > 12e6, "{pages}");
    let split = first("packets 400G --mtu 1500 --per-page 2 --layer frames");
    assert_eq!(format!("{:.1}", number(&split["pages_per_second"]) / 1e6), "16.5");
    let full = first("tso --mtu 8000 --gso-max-size 65535");
    assert_eq!(full["packets_bytes"], 64_000);
    let small = first("fragments 64K --page 4K");
    assert_eq!(small["any_offset_fragments"], 17);
    let huge = first("fragments 64K --page 2M");
    assert_eq!(
        (&huge["any_offset_fragments"], &huge["two_writes_fragments"]),
        (&2.into(), &3.into())
    );
}

#[test]
fn tables_are_for_people_and_csv_for_programs() {
    for (name, arguments) in [
        ("calc_tso", "tso"),
        ("calc_packets", "packets 400G"),
        ("calc_fragments", "fragments"),
        ("calc_goodput", "goodput 1G"),
    ] {
        let finished = run(linerate(&format!("calc {arguments}")));
        finished.assert_success();
        assert!(finished.stdout.lines().all(|line| line.chars().count() <= 80), "{finished:?}");
        insta::assert_snapshot!(name, finished.stdout);
        let csv = run(linerate(&format!("calc {arguments} --csv")));
        csv.assert_success();
        let columns = |line: &str| line.split(',').count();
        let head = columns(csv.stdout.lines().next().expect("a head"));
        assert!(head >= 5 && csv.stdout.lines().all(|line| columns(line) == head), "{csv:?}");
    }
}

#[test]
fn the_manual_page_has_its_calculations() {
    let page = run(linerate("man calc"));
    page.assert_success();
    page.assert_prints(&[".SH LINERATE CALC TSO", "gso\\-max\\-size", ".SH LINERATE CALC GOODPUT"]);
}

#[test]
fn what_cannot_be_calculated_is_one_sentence() {
    for (arguments, words) in [
        ("tso --mtu 60", "choose 68 to 65,535 bytes"),
        ("tso --mtu 9000..512", "type the lower value first"),
        ("tso --gso-max-size 100", "choose 322 to 524,280 bytes"),
        ("tso --mtu 100 --headers vxlan,ipv6", "leaves no room behind the headers"),
        ("packets 100MB", "rates are in bits: type 800M"),
        ("packets 1G --mtu 9000 --per-page 2", "do not fit a page"),
        ("packets 1G --page 0", "a page has at least 1 byte"),
        ("packets 1G --mtu 75 --l2", "choose 68"),
        ("fragments 0", "at least 1"),
        ("fragments 64K --page 4K,x", "is not a size"),
        ("goodput 1G --headers gre", "there is no header 'gre'"),
        ("tso --json --csv", "contradict each other"),
    ] {
        run(linerate(&format!("calc {arguments}"))).assert_refusal_or_json(arguments, words);
    }
}

impl crate::support::Finished {
    /// A refusal; with `--json` standard output has it too.
    fn assert_refusal_or_json(&self, arguments: &str, words: &str) {
        assert_eq!(self.code, Some(2), "{self:?}");
        assert!(self.stderr.contains(words) && self.stderr.lines().count() == 1, "{self:?}");
        assert_eq!(self.stdout.is_empty(), !arguments.contains("--json"), "{self:?}");
    }
}
