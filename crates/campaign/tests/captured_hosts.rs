//! What would limit hosts that were captured.

use std::path::{Path, PathBuf};

use host::Tree;
use host::inventory::read;
use linerate_campaign::diagnose;
use measurement::verdict::Finding;
use measurement::{Certainty, RuleId};

fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../host/tests/trees").join(name)
}

fn findings(name: &str) -> Vec<Finding> {
    let (inventory, gaps) = read(&Tree::captured(&tree(name)));
    diagnose(inventory, gaps)
}

fn of_rule(name: &str, rule: RuleId) -> Vec<Finding> {
    findings(name).into_iter().filter(|finding| finding.rule == rule).collect()
}

#[test]
fn both_interrupts_of_a_router_belong_on_its_fast_cores() {
    let found = of_rule("nanopi-r4s", RuleId::IrqOnSlowCore);
    let [found] = found.as_slice() else { panic!("one finding is due: {found:?}") };
    assert_eq!(found.certainty, Certainty::Candidate);
    let core = "goes to CPU 0, a Cortex-A53 of capacity 485; the fastest core has 1,024";
    assert_eq!(
        found.evidence,
        [format!("interrupt 27 of eth0 {core}"), format!("interrupt 234 of eth1 {core}")]
    );
    let remedy = found.remedy.to_string();
    assert!(remedy.contains("echo 10 > /proc/irq/27/smp_affinity"), "{remedy}");
    assert!(remedy.contains("echo 20 > /proc/irq/234/smp_affinity"), "{remedy}");
}

/// The CPU that fetches packets is none to hand them to (Documentation/networking/scaling.rst).
#[test]
fn rps_leaves_out_the_core_to_which_the_interrupt_moves() {
    let changes = |rule| {
        let found = of_rule("nanopi-r4s", rule).into_iter();
        found.flat_map(|one| one.remedy.changes).map(|one| one.command()).collect::<Vec<_>>()
    };
    assert_eq!(
        changes(RuleId::IrqOnSlowCore),
        ["echo 10 > /proc/irq/27/smp_affinity", "echo 20 > /proc/irq/234/smp_affinity"]
    );
    assert_eq!(
        changes(RuleId::RpsOff),
        [
            "echo 20 > /sys/class/net/eth0/queues/rx-0/rps_cpus",
            "echo 10 > /sys/class/net/eth1/queues/rx-0/rps_cpus"
        ]
    );
}

#[test]
fn where_they_are_there_already_nothing_is_to_be_moved() {
    for rule in [
        RuleId::ReceiveOnOneCpu,
        RuleId::IrqOnSlowCore,
        RuleId::IrqAffinityNotHonoured,
        RuleId::RpsOff,
    ] {
        assert_eq!(of_rule("nanopi-r4s-tuned", rule), []);
    }
}

/// Without a test no host shows what limits it.
#[test]
fn nothing_that_was_only_looked_at_is_sure() {
    for name in TREES {
        let sure = findings(name).into_iter().find(|one| one.certainty == Certainty::Limit);
        assert_eq!(sure, None, "{name}");
    }
}

#[test]
fn every_captured_host_is_diagnosed() {
    for name in TREES {
        let lines: Vec<_> = findings(name).iter().map(line).collect();
        insta::assert_snapshot!(name, lines.join("\n"));
    }
}

fn line(finding: &Finding) -> String {
    let Finding { rule, certainty, text, evidence, remedy, effect, .. } = finding;
    let allows = effect.bound().map(|bound| format!("allows {bound}"));
    let shown: Vec<_> = evidence.iter().cloned().chain(allows).collect();
    format!("{rule} {certainty:?}: {text}\n    {}\n    -> {remedy}", shown.join("\n    "))
}

const TREES: [&str; 6] =
    ["armv7-old", "hifive-unleashed", "nanopi-r4s", "nanopi-r4s-tuned", "server-numa", "x86-vm"];
