//! Parses `/proc/cpuinfo` (proc_cpuinfo(5)), whose fields differ between architectures.

use std::collections::BTreeMap;

/// Contents of `/proc/cpuinfo` (proc_cpuinfo(5)): fields of each CPU, and fields of the machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CpuInfo {
    /// Fields of each CPU, by its number.
    pub cpus: BTreeMap<u32, Fields>,
    /// Fields of the machine, which belong to no CPU, e.g. `Hardware` or `machine`.
    pub machine: Fields,
}

/// Values of fields in `/proc/cpuinfo`, by field name.
pub type Fields = BTreeMap<String, String>;

/// Parses the text of `/proc/cpuinfo` (proc_cpuinfo(5)). A field before the first CPU, or in a
/// paragraph without one, belongs to the machine.
pub fn read(text: &str) -> CpuInfo {
    let mut info = CpuInfo::default();
    let mut number: Option<u32> = None;
    for line in text.lines() {
        let Some((name, value)) = line.split_once(':') else {
            // Between CPUs stands an empty line, of some kernels with a tab in it.
            number = None;
            continue;
        };
        let (name, value) = (name.trim(), value.trim());
        // Old ARM: `Processor : ARMv7 …` names the machine; `processor : 0` numbers a CPU.
        if let ("processor", Ok(cpu)) = (name, value.parse()) {
            number = Some(cpu);
            info.cpus.entry(cpu).or_default();
            continue;
        }
        let of_cpu = number.and_then(|cpu| info.cpus.get_mut(&cpu));
        of_cpu.unwrap_or(&mut info.machine).insert(name.to_owned(), value.to_owned());
    }
    info
}

impl CpuInfo {
    /// Value of the field `name` of the CPU `cpu`, or else of the machine. `None`: the field is
    /// missing or empty.
    pub fn field(&self, cpu: u32, name: &str) -> Option<&str> {
        let own = self.cpus.get(&cpu).and_then(|fields| fields.get(name));
        own.or_else(|| self.machine.get(name)).map(String::as_str).filter(|text| !text.is_empty())
    }

    /// Model of the board or machine. `None` on architectures whose `/proc/cpuinfo` does not
    /// contain it.
    pub fn model(&self) -> Option<&str> {
        let of_machine = |name: &&str| self.machine.get(*name).map(String::as_str);
        // MIPS writes these lines in the paragraph of its first CPU.
        let of_first = |name: &&str| self.cpus.values().next()?.get(*name).map(String::as_str);
        let names = ["machine", "Model", "Hardware", "system type"];
        let model = names.iter().find_map(|name| of_machine(name).or_else(|| of_first(name)));
        model.filter(|text| !text.is_empty())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_belong_to_the_cpu_above_them_or_to_the_machine() {
        let info = read(
            "processor\t: 0\nmodel name\t: ARMv7 Processor rev 5 (v7l)\nCPU part\t: 0xc07\n\n\
             processor\t: 1\nCPU part\t: 0xc07\n\nHardware\t: Allwinner sun8i Family\n",
        );
        assert_eq!(info.cpus.len(), 2);
        assert_eq!(info.field(1, "CPU part"), Some("0xc07"));
        assert_eq!(info.field(1, "model name"), None);
        assert_eq!(info.model(), Some("Allwinner sun8i Family"));
    }

    #[test]
    fn mips_names_its_machine_first() {
        let info = read(
            "system type\t\t: MediaTek MT7621 ver:1 eco:3\nmachine\t\t\t: Ubiquiti EdgeRouter X\n\
             processor\t\t: 0\ncpu model\t\t: MIPS 1004Kc V2.15\n",
        );
        assert_eq!(info.model(), Some("Ubiquiti EdgeRouter X"));
        assert_eq!(info.field(0, "cpu model"), Some("MIPS 1004Kc V2.15"));
    }
}
