//! The program of the filter, in the instructions of classic BPF (bpf(4); seccomp(2), NOTES).

use super::Work;
use super::calls::{ALLOWED, Bound, FOR_TESTS, FOR_TUNING, Values, bounds};

/// The whole program. Calls with bounds come first, since the kernel remembers which numbers are allowed
/// whatever their arguments.
pub(super) fn program(work: Work) -> Vec<libc::sock_filter> {
    let mut program = vec![load(ARCHITECTURE_OFFSET), skip_if_equal(ARCHITECTURE, 1, 0), deny()];
    program.push(load(NUMBER_OFFSET));
    // Calls of x32 (asm/unistd.h of x86).
    program.extend([jump(libc::BPF_JGE, X32, 0, 1), deny()]);
    let more = match work {
        Work::Serve => &[],
        Work::Test => FOR_TESTS,
        Work::Tune => FOR_TUNING,
    };
    for bound in bounds(work) {
        program.extend(of_argument(&bound));
    }
    for number in ALLOWED.iter().chain(more) {
        program.extend([skip_if_equal(call(*number), 0, 1), allow()]);
    }
    // The C library starts its threads by clone(2) then, whose flags can be seen.
    program.extend([skip_if_equal(call(libc::SYS_clone3), 0, 1), answer(libc::ENOSYS)]);
    program.push(deny());
    program
}

/// Instructions for a call that the lower half of an argument decides on.
fn of_argument(bound: &Bound) -> Vec<libc::sock_filter> {
    let mut then = vec![load(ARGUMENTS_OFFSET + 8 * bound.argument)];
    match &bound.values {
        Values::Among(values) => {
            then.extend(values.iter().flat_map(|value| [skip_if_equal(*value, 0, 1), allow()]));
            then.push(deny());
        }
        Values::Never(values) => {
            then.extend(values.iter().flat_map(|value| [skip_if_equal(*value, 0, 1), deny()]));
            then.push(load(NUMBER_OFFSET));
        }
        Values::With(flag) => {
            then.extend([jump(libc::BPF_JSET, *flag, 0, 1), allow(), deny()]);
        }
        Values::Without(flag) => {
            then.extend([jump(libc::BPF_JSET, *flag, 1, 0), allow(), deny()]);
        }
    }
    let length = u8::try_from(then.len()).unwrap_or(u8::MAX);
    [&[skip_if_equal(call(bound.number), 0, length)], then.as_slice()].concat()
}

fn call(number: libc::c_long) -> u32 {
    u32::try_from(number).unwrap_or(u32::MAX)
}

const fn load(offset: u32) -> libc::sock_filter {
    statement(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, offset)
}

const fn skip_if_equal(value: u32, equal: u8, other: u8) -> libc::sock_filter {
    jump(libc::BPF_JEQ, value, equal, other)
}

#[expect(clippy::cast_possible_truncation, reason = "codes have 16 bits (linux/bpf_common.h)")]
const fn jump(kind: u32, k: u32, jt: u8, jf: u8) -> libc::sock_filter {
    libc::sock_filter { code: (libc::BPF_JMP | kind | libc::BPF_K) as u16, jt, jf, k }
}

#[expect(clippy::cast_possible_truncation, reason = "codes have 16 bits (linux/bpf_common.h)")]
const fn statement(code: u32, k: u32) -> libc::sock_filter {
    libc::sock_filter { code: code as u16, jt: 0, jf: 0, k }
}

const fn allow() -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ALLOW)
}

const fn deny() -> libc::sock_filter {
    answer(libc::EPERM)
}

const fn answer(errno: i32) -> libc::sock_filter {
    statement(libc::BPF_RET | libc::BPF_K, libc::SECCOMP_RET_ERRNO | errno.cast_unsigned())
}

/// Offsets in `struct seccomp_data` (linux/seccomp.h): the number of the call, the architecture, the
/// arguments, of which the lower half comes first.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;
/// `__X32_SYSCALL_BIT`, which is above every number of the other architectures.
const X32: u32 = 0x4000_0000;

/// `AUDIT_ARCH_*` (linux/audit.h).
const ARCHITECTURE: u32 = if cfg!(target_arch = "x86_64") {
    0xc000_003e
} else if cfg!(target_arch = "aarch64") {
    0xc000_00b7
} else {
    0xc000_00f3
};
