//! The machines that linerate is built for, and with which tools.

use std::env::consts::ARCH;
use std::process::Command;

use anyhow::Result;
use clap::ValueEnum;
use clap::builder::PossibleValue;

use crate::command;
use crate::packages::Needed;

/// A kind of machine.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Target {
    /// Its architecture, in names of files.
    pub(crate) name: &'static str,
    /// As rustc names it. Where rust-std for musl is not handed out, the C library is glibc.
    pub(crate) triple: &'static str,
    /// As Debian names its architecture.
    pub(crate) debian: &'static str,
    /// What the names of Debian's cross compiler and its binutils begin with.
    tools: &'static str,
    /// What rustc is told for it alone.
    pub(super) flags: &'static [&'static str],
    /// What builds for it on a machine of another architecture, and what runs that there.
    cross: [Needed; 4],
}

impl Target {
    /// That of this machine.
    pub(crate) fn native() -> Option<&'static Self> {
        TARGETS.iter().find(|target| target.is_native())
    }

    /// Whether this machine is such a one.
    pub(crate) fn is_native(&self) -> bool {
        self.name == ARCH
    }

    /// Installs Rust's library for it.
    pub(crate) fn provide_library(&self) -> Result<()> {
        command::run(Command::new("rustup").args(["target", "add", self.triple]))
    }

    /// The programs that build and run it.
    pub(crate) fn needs(&self) -> &[Needed] {
        if self.is_native() { &NATIVE } else { &self.cross }
    }

    /// The C compiler; that of another machine links as well.
    pub(crate) fn compiler(&self) -> String {
        match (self.is_native(), self.is_glibc()) {
            (true, true) => "gcc".to_owned(),
            (true, false) => "musl-gcc".to_owned(),
            (false, _) => format!("{}-gcc", self.tools),
        }
    }

    /// What takes symbols away.
    pub(crate) fn strip(&self) -> String {
        if self.is_native() { "strip".to_owned() } else { format!("{}-strip", self.tools) }
    }

    /// What runs its programs here, if this machine does not.
    pub(crate) fn runner(&self) -> Option<&'static str> {
        (!self.is_native()).then_some(self.cross[RUNNER].0)
    }

    /// Debian's package of the C library that it is linked with, if that is glibc.
    pub(crate) fn c_library(&self) -> &'static str {
        if self.is_native() { "libc6-dev" } else { self.cross[C_LIBRARY].1 }
    }

    /// Whether the functions that LLVM 22 makes of sequences of instructions that are alike return to
    /// where they were called. Of 32-bit ARM and RISC-V they can lose that address: `--version` of armv7
    /// and `man tune` of riscv64 ended by SIGSEGV.
    pub(crate) fn is_outlined_rightly(&self) -> bool {
        !self.triple.starts_with("arm") && !self.triple.starts_with("riscv")
    }

    /// Whether it is linked with glibc, which has to be asked to be linked statically.
    pub(crate) fn is_glibc(&self) -> bool {
        self.triple.contains("-gnu")
    }
}

impl ValueEnum for &'static Target {
    fn value_variants<'a>() -> &'a [Self] {
        &CHOICES
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        Some(PossibleValue::new(self.name).alias(self.triple).alias(self.debian))
    }
}

/// The package of [`Target::cross`] with the C library.
const C_LIBRARY: usize = 2;
/// The program of [`Target::cross`] that runs what was built.
const RUNNER: usize = 3;

/// musl is made to be linked statically, and the C library of most systems is not.
const NATIVE: [Needed; 2] = [("musl-gcc", "musl-tools"), ("strip", "binutils")];

/// All of them; the third program is the C library, which is found by a file of it.
pub(crate) static TARGETS: [Target; 4] = [
    Target {
        name: "x86_64",
        triple: "x86_64-unknown-linux-musl",
        debian: "amd64",
        tools: "x86_64-linux-gnu",
        flags: &[],
        cross: [
            ("x86_64-linux-gnu-gcc", "gcc-x86-64-linux-gnu"),
            ("x86_64-linux-gnu-strip", "binutils-x86-64-linux-gnu"),
            ("/usr/x86_64-linux-gnu/include/stdio.h", "libc6-dev-amd64-cross"),
            ("qemu-x86_64-static", "qemu-user-static"),
        ],
    },
    Target {
        name: "aarch64",
        triple: "aarch64-unknown-linux-musl",
        debian: "arm64",
        tools: "aarch64-linux-gnu",
        flags: &[],
        cross: [
            ("aarch64-linux-gnu-gcc", "gcc-aarch64-linux-gnu"),
            ("aarch64-linux-gnu-strip", "binutils-aarch64-linux-gnu"),
            ("/usr/aarch64-linux-gnu/include/stdio.h", "libc6-dev-arm64-cross"),
            ("qemu-aarch64-static", "qemu-user-static"),
        ],
    },
    Target {
        name: "armv7",
        triple: "armv7-unknown-linux-gnueabihf",
        debian: "armhf",
        tools: "arm-linux-gnueabihf",
        flags: &["-Ctarget-feature=+thumb-mode"],
        cross: [
            ("arm-linux-gnueabihf-gcc", "gcc-arm-linux-gnueabihf"),
            ("arm-linux-gnueabihf-strip", "binutils-arm-linux-gnueabihf"),
            ("/usr/arm-linux-gnueabihf/lib/libc.a", "libc6-dev-armhf-cross"),
            ("qemu-arm-static", "qemu-user-static"),
        ],
    },
    Target {
        name: "riscv64",
        triple: "riscv64gc-unknown-linux-gnu",
        debian: "riscv64",
        tools: "riscv64-linux-gnu",
        flags: &["-Ctarget-feature=+relax,+save-restore"],
        cross: [
            ("riscv64-linux-gnu-gcc", "gcc-riscv64-linux-gnu"),
            ("riscv64-linux-gnu-strip", "binutils-riscv64-linux-gnu"),
            ("/usr/riscv64-linux-gnu/lib/libc.a", "libc6-dev-riscv64-cross"),
            ("qemu-riscv64-static", "qemu-user-static"),
        ],
    },
];

/// Machines of the other byte order, of 32 bits and of 64, that nothing is handed out for.
pub(crate) static BIG_ENDIAN: [Target; 2] = [
    Target {
        name: "powerpc",
        triple: "powerpc-unknown-linux-gnu",
        debian: "powerpc",
        tools: "powerpc-linux-gnu",
        flags: &[],
        cross: [
            ("powerpc-linux-gnu-gcc", "gcc-powerpc-linux-gnu"),
            ("powerpc-linux-gnu-strip", "binutils-powerpc-linux-gnu"),
            ("/usr/powerpc-linux-gnu/lib/libc.a", "libc6-dev-powerpc-cross"),
            ("qemu-ppc-static", "qemu-user-static"),
        ],
    },
    Target {
        name: "s390x",
        triple: "s390x-unknown-linux-gnu",
        debian: "s390x",
        tools: "s390x-linux-gnu",
        flags: &[],
        cross: [
            ("s390x-linux-gnu-gcc", "gcc-s390x-linux-gnu"),
            ("s390x-linux-gnu-strip", "binutils-s390x-linux-gnu"),
            ("/usr/s390x-linux-gnu/lib/libc.a", "libc6-dev-s390x-cross"),
            ("qemu-s390x-static", "qemu-user-static"),
        ],
    },
];

static CHOICES: [&Target; 4] = [&TARGETS[0], &TARGETS[1], &TARGETS[2], &TARGETS[3]];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_chosen_by_any_of_its_names() {
        for name in ["armv7", "armhf", "armv7-unknown-linux-gnueabihf"] {
            assert_eq!(<&Target>::from_str(name, false), Ok(&TARGETS[2]));
        }
        assert!(<&Target>::from_str("pdp11", false).is_err());
    }

    #[test]
    fn another_machine_has_tools_of_its_own_and_an_emulator() {
        let [foreign, ..] = TARGETS.iter().filter(|one| !one.is_native()).collect::<Vec<_>>()[..]
        else {
            panic!("this machine is of one kind")
        };
        assert_eq!(foreign.compiler(), foreign.cross[0].0);
        assert_eq!(foreign.strip(), foreign.cross[1].0);
        assert!(foreign.runner().is_some_and(|runner| runner.starts_with("qemu-")));
    }
}
