//! The core of a CPU and its pipeline, in order or out of order, from `/proc/cpuinfo`.

use measurement::host::Pipeline;

use super::cpuinfo::CpuInfo;

/// Name and pipeline (in order or out of order) of the core of the CPU `cpu`. Each is `None` where
/// it is not known.
pub fn core(info: &CpuInfo, cpu: u32) -> (Option<String>, Option<Pipeline>) {
    let field = |name| info.field(cpu, name);
    if let (Some(implementer), Some(part)) = (field("CPU implementer"), field("CPU part")) {
        return arm(implementer, part);
    }
    if let Some(core) = field("uarch") {
        return (Some(core.to_owned()), risc_v(core));
    }
    if let Some(model) = field("cpu model") {
        return (Some(model.to_owned()), mips(model));
    }
    let model = field("model name").or_else(|| field("cpu"));
    (model.map(str::to_owned), field("vendor_id").and_then(|vendor| x86(info, cpu, vendor)))
}

/// Instruction set of the CPU `cpu` (`isa`), or its extensions for copies, checksums and
/// encryption, separated by spaces. `None`: `/proc/cpuinfo` has neither.
pub fn instructions(info: &CpuInfo, cpu: u32) -> Option<String> {
    if let Some(isa) = info.field(cpu, "isa") {
        return Some(isa.to_owned());
    }
    let flags = info.field(cpu, "flags").or_else(|| info.field(cpu, "Features"))?;
    let matters = |flag: &&str| EXTENSIONS.contains(flag);
    let extensions: Vec<_> = flags.split_whitespace().filter(matters).collect();
    (!extensions.is_empty()).then(|| extensions.join(" "))
}

/// By the main identification register (MIDR_EL1), whose parts the kernel shows.
fn arm(implementer: &str, part: &str) -> (Option<String>, Option<Pipeline>) {
    let number = |text: &str| u32::from_str_radix(text.trim_start_matches("0x"), 16).ok();
    let numbers = number(implementer).zip(number(part));
    let known = ARM.iter().find(|core| Some((core.0, core.1)) == numbers);
    match known {
        Some((_, _, name, pipeline)) => (Some((*name).to_owned()), Some(*pipeline)),
        None => (Some(format!("implementer {implementer}, part {part}")), None),
    }
}

fn risc_v(core: &str) -> Option<Pipeline> {
    let begins = |names: &[&str]| names.iter().any(|name| core.starts_with(name));
    if begins(&RISC_V_OUT_OF_ORDER) {
        Some(Pipeline::OutOfOrder)
    } else {
        begins(&RISC_V_IN_ORDER).then_some(Pipeline::InOrder)
    }
}

fn mips(model: &str) -> Option<Pipeline> {
    let has = |names: &[&str]| names.iter().any(|name| model.contains(name));
    if has(&["74K", "1074K", "P5600", "R10000", "R12000", "Octeon III"]) {
        Some(Pipeline::OutOfOrder)
    } else {
        has(&["24K", "34K", "1004K", "4KEc", "interAptiv", "Octeon"]).then_some(Pipeline::InOrder)
    }
}

/// All since the Pentium Pro, but for the first Atoms (Bonnell and Saltwell).
fn x86(info: &CpuInfo, cpu: u32, vendor: &str) -> Option<Pipeline> {
    let number = |name| info.field(cpu, name).and_then(|text| text.parse::<u32>().ok());
    let (family, model) = (number("cpu family")?, number("model")?);
    let is_early_atom =
        vendor == "GenuineIntel" && family == 6 && [0x1c, 0x26, 0x27, 0x35, 0x36].contains(&model);
    Some(if family < 6 || is_early_atom { Pipeline::InOrder } else { Pipeline::OutOfOrder })
}

const IN: Pipeline = Pipeline::InOrder;
const OUT: Pipeline = Pipeline::OutOfOrder;

/// Implementer and part (arch/arm64/include/asm/cputype.h), name, pipeline (the makers'
/// technical reference manuals).
const ARM: [(u32, u32, &str, Pipeline); 51] = [
    (0x41, 0xc05, "Cortex-A5", IN),
    (0x41, 0xc07, "Cortex-A7", IN),
    (0x41, 0xc08, "Cortex-A8", IN),
    (0x41, 0xc09, "Cortex-A9", OUT),
    (0x41, 0xc0d, "Cortex-A12", OUT),
    (0x41, 0xc0e, "Cortex-A17", OUT),
    (0x41, 0xc0f, "Cortex-A15", OUT),
    (0x41, 0xd01, "Cortex-A32", IN),
    (0x41, 0xd02, "Cortex-A34", IN),
    (0x41, 0xd03, "Cortex-A53", IN),
    (0x41, 0xd04, "Cortex-A35", IN),
    (0x41, 0xd05, "Cortex-A55", IN),
    (0x41, 0xd06, "Cortex-A65", OUT),
    (0x41, 0xd07, "Cortex-A57", OUT),
    (0x41, 0xd08, "Cortex-A72", OUT),
    (0x41, 0xd09, "Cortex-A73", OUT),
    (0x41, 0xd0a, "Cortex-A75", OUT),
    (0x41, 0xd0b, "Cortex-A76", OUT),
    (0x41, 0xd0c, "Neoverse-N1", OUT),
    (0x41, 0xd0d, "Cortex-A77", OUT),
    (0x41, 0xd0e, "Cortex-A76AE", OUT),
    (0x41, 0xd40, "Neoverse-V1", OUT),
    (0x41, 0xd41, "Cortex-A78", OUT),
    (0x41, 0xd42, "Cortex-A78AE", OUT),
    (0x41, 0xd44, "Cortex-X1", OUT),
    (0x41, 0xd46, "Cortex-A510", IN),
    (0x41, 0xd47, "Cortex-A710", OUT),
    (0x41, 0xd48, "Cortex-X2", OUT),
    (0x41, 0xd49, "Neoverse-N2", OUT),
    (0x41, 0xd4a, "Neoverse-E1", OUT),
    (0x41, 0xd4b, "Cortex-A78C", OUT),
    (0x41, 0xd4c, "Cortex-X1C", OUT),
    (0x41, 0xd4d, "Cortex-A715", OUT),
    (0x41, 0xd4e, "Cortex-X3", OUT),
    (0x41, 0xd4f, "Neoverse-V2", OUT),
    (0x41, 0xd80, "Cortex-A520", IN),
    (0x41, 0xd81, "Cortex-A720", OUT),
    (0x41, 0xd82, "Cortex-X4", OUT),
    (0x41, 0xd84, "Neoverse-V3", OUT),
    (0x41, 0xd87, "Cortex-A725", OUT),
    (0x41, 0xd8e, "Neoverse-N3", OUT),
    (0x43, 0x0a1, "ThunderX", IN),
    (0x43, 0x0af, "ThunderX2", OUT),
    (0x48, 0xd01, "TSV110", OUT),
    (0x51, 0x800, "Kryo-2XX-Gold", OUT),
    (0x51, 0x801, "Kryo-2XX-Silver", IN),
    (0x51, 0x803, "Kryo-3XX-Silver", IN),
    (0x51, 0x804, "Kryo-4XX-Gold", OUT),
    (0x51, 0x805, "Kryo-4XX-Silver", IN),
    (0xc0, 0xac3, "Ampere-1", OUT),
    (0xc0, 0xac4, "Ampere-1A", OUT),
];

/// `compatible` of the core in the device tree, its beginning.
const RISC_V_IN_ORDER: [&str; 13] = [
    "sifive,rocket",
    "sifive,e",
    "sifive,s",
    "sifive,u",
    // The FU740's, before its cores were named U74.
    "sifive,bullet",
    "thead,c906",
    "thead,c908",
    "thead,e90",
    "spacemit,x60",
    "andestech,a25",
    "andestech,ax25",
    "andestech,ax45",
    "starfive,u74",
];
const RISC_V_OUT_OF_ORDER: [&str; 5] =
    ["sifive,p", "sifive,u8", "thead,c910", "thead,c920", "thead,c930"];

/// Instruction set extensions to report, as `flags` (x86) and `Features` (ARM) of
/// `/proc/cpuinfo` spell them.
const EXTENSIONS: [&str; 22] = [
    "sse2",
    "sse4_2",
    "ssse3",
    "pclmulqdq",
    "aes",
    "avx",
    "avx2",
    "avx512f",
    "erms",
    "fsrm",
    "vaes",
    "hypervisor",
    "neon",
    "vfpv4",
    "asimd",
    "pmull",
    "crc32",
    "atomics",
    "sve",
    "sve2",
    "mops",
    "fp",
];

#[cfg(test)]
mod tests {
    use super::super::cpuinfo::read;
    use super::*;

    fn core_in(text: &str) -> (Option<String>, Option<Pipeline>) {
        core(&read(&format!("processor\t: 0\n{text}\n")), 0)
    }

    #[test]
    fn cores_are_known_by_the_numbers_and_names_of_their_makers() {
        let named = |name: &str, pipeline| (Some(name.to_owned()), Some(pipeline));
        let arm = |part| format!("CPU implementer : 0x41\nCPU part : {part}");
        assert_eq!(core_in(&arm("0xd03")), named("Cortex-A53", IN));
        assert_eq!(core_in(&arm("0xd08")), named("Cortex-A72", OUT));
        assert_eq!(core_in("uarch : sifive,u54-mc"), named("sifive,u54-mc", IN));
        assert_eq!(core_in("uarch : thead,c910"), named("thead,c910", OUT));
        assert_eq!(core_in("uarch : sifive,p550"), named("sifive,p550", OUT));
        assert_eq!(core_in("cpu model : MIPS 1004Kc V2.15"), named("MIPS 1004Kc V2.15", IN));
        let x86 = "vendor_id : GenuineIntel\ncpu family : 6\nmodel : 28\nmodel name : Atom N270";
        assert_eq!(core_in(x86), named("Atom N270", IN));
    }

    #[test]
    fn what_is_not_known_is_not_guessed() {
        assert_eq!(core_in("CPU implementer : 0x41\nCPU part : 0xfff").1, None);
        assert_eq!(core_in("uarch : vendor,new"), (Some("vendor,new".to_owned()), None));
        assert_eq!(core_in(""), (None, None));
    }
}
