//! CPUs to which an interrupt may be delivered (Documentation/core-api/irq/irq-affinity.rst). One
//! that the kernel manages is known by its file, which nobody may write, and is not tried.

use std::io;

use measurement::remedy::{CpuMask, Setting};

use super::adjustable::{Adjustable, Value};
use super::kernel::Kernel;
use super::{Refusal, Risk};

/// An interrupt and its new CPUs.
#[derive(Debug)]
pub(super) struct IrqAffinity {
    irq: u32,
    cpus: CpuMask,
}

impl IrqAffinity {
    pub(super) fn new(irq: u32, cpus: &CpuMask) -> Self {
        Self { irq, cpus: cpus.clone() }
    }

    fn path(&self) -> String {
        format!("proc/irq/{}/smp_affinity", self.irq)
    }

    /// Whether the kernel places it (`IRQD_AFFINITY_MANAGED`): the file is read-only since Linux
    /// 6.10, and debugfs tells where it is mounted.
    fn is_managed(&self, kernel: &Kernel) -> bool {
        let state = kernel.tree().text(&format!("sys/kernel/debug/irq/irqs/{}", self.irq));
        !kernel.is_writable(&self.path())
            || state.is_ok_and(|text| text.contains("IRQD_AFFINITY_MANAGED"))
    }
}

impl Adjustable for IrqAffinity {
    fn targets(&self) -> Vec<String> {
        vec![self.path()]
    }

    fn read(&self, kernel: &Kernel) -> Result<Value, Refusal> {
        let what = format!("interrupt {}", self.irq);
        let text = kernel.tree().text(&self.path());
        let text = text.map_err(|source| Refusal::reading(what, source))?;
        Ok(Value::plain(text.trim()))
    }

    fn check(&self, kernel: &Kernel, _before: &Value) -> Result<(), Refusal> {
        if self.cpus.cpus().next().is_none() {
            let why = "an interrupt needs a CPU".to_owned();
            return Err(Refusal::Impossible { value: self.cpus.to_string(), why });
        }
        if self.is_managed(kernel) {
            let what = format!("the CPU of interrupt {}, which the kernel manages,", self.irq);
            return Err(Refusal::Fixed { what });
        }
        Ok(())
    }

    fn write(&self, kernel: &Kernel) -> io::Result<()> {
        kernel.write(&self.path(), &self.cpus.to_string())
    }

    fn restore(&self, kernel: &Kernel, exact: &str) -> io::Result<()> {
        kernel.write(&self.path(), exact)
    }

    fn is_set(&self, shown: &str) -> bool {
        shown.parse::<CpuMask>().is_ok_and(|shown| shown == self.cpus)
    }

    fn undo_commands(&self, exact: &str) -> Vec<String> {
        let with = |cpus| Setting::IrqAffinity { irq: self.irq, cpus }.to_string();
        exact.parse().map(with).into_iter().collect()
    }

    fn risks(&self) -> &'static [Risk] {
        &[]
    }

    /// Another device may have its number then.
    fn outlives_boots(&self) -> bool {
        false
    }

    fn rewriters(&self) -> &'static [&'static str] {
        &["irqbalance", "tuned"]
    }
}
