//! CPU time that other programs, and the hypervisor, take from the CPUs of the tester.

use std::time::Duration;

use analysis::device::{OtherProgram, Tester};
use linux::host::CpuStates;
use linux::process::ThreadUse;
use measurement::Order;

use super::Lane;

/// Readings at the begin of a row.
pub(super) struct Watch {
    cpus: Vec<usize>,
    begun: Duration,
    threads: Vec<ThreadUse>,
    states: Vec<CpuStates>,
}

impl Watch {
    pub(super) fn begin(lanes: &[Lane]) -> Self {
        let pairs = lanes.iter().filter_map(|lane| lane.setup.cpus);
        let mut cpus: Vec<_> = pairs.flat_map(|(sender, receiver)| [sender, receiver]).collect();
        cpus.order();
        cpus.dedup();
        Self { cpus, begun: linux::clock::monotonic(), threads: threads(), states: states() }
    }

    pub(super) fn end(self, dropped: Vec<u64>) -> Tester {
        let span = linux::clock::monotonic().saturating_sub(self.begun);
        let mut others = Vec::new();
        for thread in threads() {
            let before = self.threads.iter().find(|before| before.thread == thread.thread);
            let before = before.map_or(Duration::ZERO, |before| before.time);
            let time = thread.time.saturating_sub(before);
            if self.cpus.contains(&thread.cpu) && !time.is_zero() {
                others.push(OtherProgram { name: thread.name, cpu: thread.cpu, time });
            }
        }
        let stolen = states().into_iter().filter(|now| self.cpus.contains(&now.cpu)).map(|now| {
            let before = self.states.iter().find(|before| before.cpu == now.cpu);
            let before = before.map_or(Duration::ZERO, |before| before.stolen);
            (now.cpu, now.stolen.saturating_sub(before))
        });
        Tester { dropped, span, others, stolen: stolen.collect() }
    }
}

/// Threads of other programs, without those of the kernel, which may be the device.
fn threads() -> Vec<ThreadUse> {
    let own = std::process::id().cast_signed();
    let all = linux::process::thread_uses().into_iter();
    all.filter(|one| !one.is_kernel && one.process != own).collect()
}

fn states() -> Vec<CpuStates> {
    linux::host::cpu_states()
}
