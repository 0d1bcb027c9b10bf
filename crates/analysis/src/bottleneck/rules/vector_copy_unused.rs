//! `vector-copy-unused`: copies do not use the vector unit.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load;
use crate::words::{self, percent};
use measurement::Work;

const PAGE: Page = Page {
    id: RuleId::VectorCopyUnused,
    title: "Copies without vector instructions",
    what: "A RISC-V CPU with vectors was full, copied for at least a quarter of its time, and its \
           kernel was never found in the copies that use vectors.",
    why: "Copies by vectors move several times as much with each instruction. The kernel uses \
          them above a threshold, if it was built so.",
    evidence: "The CPU's instruction set; samples of `enter_vector_usercopy`, which is absent.",
    remedy: "A kernel with `CONFIG_RISCV_ISA_V` and `CONFIG_RISCV_ISA_V_UCOPY_THRESHOLD` below \
             the length of the reads; longer reads (`-l`).",
    source: "arch/riscv/lib/riscv_v_helpers.c",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Costly, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    load::full(case).iter().filter_map(|full| finding(case, full)).collect()
}

fn finding(case: &Case<'_>, full: &load::Full<'_>) -> Option<Found> {
    let host = case.host(&full.role)?;
    let has_vectors = host
        .evidence
        .inventory
        .cpus
        .iter()
        .any(|cpu| cpu.instructions.as_deref().is_some_and(has_vectors));
    let copies = full.share(Work::is_copy);
    let is_used = full.share_of_rows(|row| row.symbol.contains("vector_usercopy")) > 0.0;
    (has_vectors && copies >= LEAST && !is_used).then(|| {
        Found::candidate(format!(
            "copies on {} do not use the vector unit",
            words::host(&full.role)
        ))
        .at(&full.role)
        .explaining(copies / 2.0)
        .seen(format!("copies took {} of a full CPU, none of them by vectors", percent(copies)))
        .remedy("use a kernel with CONFIG_RISCV_ISA_V, and longer reads (-l)")
    })
}

/// `rv64imafdcv_zicsr…`: single letters stand before the first underscore.
fn has_vectors(instructions: &str) -> bool {
    let letters = instructions.strip_prefix("rv64").or_else(|| instructions.strip_prefix("rv32"));
    letters.is_some_and(|rest| rest.split('_').next().is_some_and(|first| first.contains('v')))
}

/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.25;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| board(record, "rv64imafdcv_zicsr"))
    .silent(|record| board(record, "rv64imafdc_zve"));

#[cfg(test)]
fn board(record: &mut measurement::TestRecord, instructions: &str) {
    crate::test_record::full_of(record, Work::CopyUser, 60);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let instructions = Some(instructions.to_owned());
    host.inventory.cpus = vec![measurement::host::Cpu { instructions, ..Default::default() }];
}
