//! `in-order-core`: a core that executes in order is full of copies.

use super::{Case, Class, Found, Page, Rule, RuleId};
use crate::bottleneck::load::{self, Full};
use crate::words::{self, percent};
use measurement::Work;
use measurement::host::{Inventory, Pipeline};

const PAGE: Page = Page {
    id: RuleId::InOrderCore,
    title: "Copies on an in-order core",
    what: "A full CPU that executes in program order copied for at least a quarter of its time.",
    why: "Such a core stalls at each use of a value that is still being loaded (a U74: 3 to 4 \
          cycles), and only software can put other work there. Copied byte by byte a byte takes 4 \
          to 7 cycles; with eight loads before eight stores 0.3, shifted and merged where source \
          and destination differ in alignment 0.5. Kernels copy by bytes where they differ: from \
          and to processes on RISC-V before Linux 5.14, within the kernel still in early 2026.",
    evidence: "The design of the core (`uarch`, `Cortex-A53`, `sifive,u54` …); samples of copies; \
               the kernel's release.",
    remedy: "`linerate copy` shows by which routine this core copies fastest, and how far the \
             kernel's copies are from it. On RISC-V Linux 5.14 or later. Fewer bytes copied (TCP: \
             `--fastest`, `--engine msg-trunc`), a larger MTU, more cores (`-P`, RPS).",
    source: "A. Tsukamoto, \"Alignments tweaks on RISC-V for Network speeds\"; \
             arch/riscv/lib/uaccess.S (Linux 5.14); docs/copy.md",
};

pub(super) const RULE: Rule = Rule::new(&PAGE, Class::Work, check);

fn check(case: &Case<'_>) -> Vec<Found> {
    load::full(case).iter().filter_map(|full| finding(case, full)).collect()
}

fn finding(case: &Case<'_>, full: &Full<'_>) -> Option<Found> {
    let inventory = &case.host(&full.role)?.evidence.inventory;
    let cpus = &inventory.cpus;
    let is_its = |number: u32| full.cpu.is_none_or(|cpu| cpu == number);
    let cpu = cpus.iter().find(|cpu| is_its(cpu.number))?;
    let copies = full.share(Work::is_copy);
    (cpu.pipeline == Some(Pipeline::InOrder) && copies >= LEAST).then(|| {
        let model = cpu.model.as_deref().unwrap_or("core");
        let host = words::host(&full.role);
        Found::candidate(format!("{host}'s in-order core ({model}) is full of copies"))
            .at(&full.role)
            .explaining(copies / 2.0)
            .seen(format!("copies took {} of a full CPU", percent(copies)))
            .remedy(if copies_bytes(inventory) {
                NEWER
            } else if case.is_udp() {
                DATAGRAMS
            } else {
                SEGMENTS
            })
    })
}

/// Whether its kernel copies bytes where a process has another alignment than itself: on RISC-V
/// before 5.14.
fn copies_bytes(inventory: &Inventory) -> bool {
    let mut numbers = inventory.kernel.split(['.', '-']).map_while(|part| part.parse::<u32>().ok());
    let release = numbers.next().zip(numbers.next());
    inventory.architecture.starts_with("riscv") && release.is_some_and(|release| release < (5, 14))
}

const NEWER: &str = "use Linux 5.14 or later, whose copies shift words in place of copying bytes";
const SEGMENTS: &str = "copy less (--fastest, --engine msg-trunc), or use more cores (-P); linerate \
                        copy on that host shows what faster copies give";
const DATAGRAMS: &str = "use larger datagrams (-l), or more cores (-P); linerate copy on that host \
                         shows what faster copies give";
/// Share of the busy time. To be calibrated.
const LEAST: f64 = 0.25;

#[cfg(test)]
pub(super) const FIXTURE: super::Fixture = super::Fixture::on(&RULE, crate::test_record::tcp)
    .fires(|record| board(record, Pipeline::InOrder))
    .silent(|record| board(record, Pipeline::OutOfOrder));

#[cfg(test)]
fn board(record: &mut measurement::TestRecord, pipeline: Pipeline) {
    crate::test_record::full_of(record, Work::CopyUser, 60);
    let host = crate::test_record::host(record, &measurement::Role::Peer);
    let pipeline = Some(pipeline);
    host.inventory.cpus = vec![measurement::host::Cpu { pipeline, ..Default::default() }];
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_of_risc_v_before_5_14_copy_bytes() {
        let copies = |architecture: &str, kernel: &str| {
            copies_bytes(&Inventory {
                architecture: architecture.to_owned(),
                kernel: kernel.to_owned(),
                ..Inventory::default()
            })
        };
        assert!(copies("riscv64", "5.13.0-starlight") && copies("riscv64", "4.19"));
        assert!(!copies("riscv64", "5.14.0") && !copies("riscv64", "6.12.107+deb13-riscv64"));
        assert!(!copies("aarch64", "5.10.0") && !copies("riscv64", ""));
    }
}
