//! System calls that this process gives up for good (seccomp(2)): a filter that answers them with
//! `EPERM`, and lets all others pass.
//!
//! It is meant for a process with a single thread; threads that are started later inherit the
//! filter. What is submitted to io_uring(7) is not filtered: there Landlock and the lack of
//! capabilities hold.

use std::io;

/// Forbids this process calls that no server of a network service needs: to execute programs, to
/// start processes, to trace, signal or read other processes, to change users, mounts, namespaces,
/// modules, the clock or the name of the host, to map memory that can be executed, and sockets other
/// than IPv4, IPv6, Unix and netlink.
///
/// # Errors
/// `EINVAL` if the kernel has no seccomp, [`io::ErrorKind::Unsupported`] on an architecture whose
/// calls are not known here.
pub fn forbid_calls() -> io::Result<()> {
    let Some(architecture) = ARCHITECTURE else { return Err(io::ErrorKind::Unsupported.into()) };
    let mut filter = program(architecture);
    let length = u16::try_from(filter.len()).map_err(io::Error::other)?;
    let program = libc::sock_fprog { len: length, filter: filter.as_mut_ptr() };
    // SAFETY: the first call has no pointers. The kernel only reads the program of the second one,
    // which lives until the call has returned.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(libc::PR_SET_SECCOMP, libc::SECCOMP_MODE_FILTER, &raw const program) != 0
    };
    if failed { Err(io::Error::last_os_error()) } else { Ok(()) }
}

/// The program of the filter, in the instructions of classic BPF (bpf(4); seccomp(2), NOTES).
fn program(architecture: u32) -> Vec<libc::sock_filter> {
    let mut program = vec![load(ARCHITECTURE_OFFSET), skip_if_equal(architecture, 1, 0), deny()];
    program.push(load(NUMBER_OFFSET));
    // Calls of x32 (asm/unistd.h of x86).
    program.extend([jump(libc::BPF_JGE, X32, 0, 1), deny()]);
    for number in FORBIDDEN {
        program.extend([skip_if_equal(call(*number), 0, 1), deny()]);
    }
    // The C library starts its threads by clone(2) then, whose flags can be seen.
    program.extend([skip_if_equal(call(libc::SYS_clone3), 0, 1), answer(libc::ENOSYS)]);
    let flag = |flag: i32| u32::try_from(flag).unwrap_or_default();
    let is_thread = [jump(libc::BPF_JSET, flag(libc::CLONE_THREAD), 1, 0), deny(), allow()];
    program.extend(of_argument(libc::SYS_clone, 0, &is_thread));
    for number in MAPPING {
        let executable = [jump(libc::BPF_JSET, flag(libc::PROT_EXEC), 0, 1), deny(), allow()];
        program.extend(of_argument(*number, 2, &executable));
    }
    let mut families: Vec<_> =
        FAMILIES.iter().flat_map(|family| [skip_if_equal(flag(*family), 0, 1), allow()]).collect();
    families.push(deny());
    program.extend(of_argument(libc::SYS_socket, 0, &families));
    program.push(allow());
    program
}

/// What is done for one call by the lower half of its argument `index`.
fn of_argument(
    number: libc::c_long,
    index: u32,
    then: &[libc::sock_filter],
) -> Vec<libc::sock_filter> {
    let length = u8::try_from(then.len() + 1).unwrap_or(u8::MAX);
    let head = [skip_if_equal(call(number), 0, length), load(ARGUMENTS_OFFSET + 8 * index)];
    [&head[..], then].concat()
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

/// Of `struct seccomp_data` (linux/seccomp.h): the number of the call, the architecture, the
/// arguments, of which the lower half comes first.
const NUMBER_OFFSET: u32 = 0;
const ARCHITECTURE_OFFSET: u32 = 4;
const ARGUMENTS_OFFSET: u32 = 16;
/// `__X32_SYSCALL_BIT`, which is above every number of the other architectures.
const X32: u32 = 0x4000_0000;

/// `AUDIT_ARCH_*` (linux/audit.h); none: there is no filter.
const ARCHITECTURE: Option<u32> = if cfg!(target_endian = "big") {
    None
} else if cfg!(target_arch = "x86_64") {
    Some(0xc000_003e)
} else if cfg!(target_arch = "aarch64") {
    Some(0xc000_00b7)
} else if cfg!(target_arch = "riscv64") {
    Some(0xc000_00f3)
} else {
    None
};

/// Address families of a server's sockets (socket(2)).
const FAMILIES: [i32; 4] = [libc::AF_INET, libc::AF_INET6, libc::AF_UNIX, libc::AF_NETLINK];
/// Calls whose third argument says whether memory can be executed.
const MAPPING: &[libc::c_long] = &[
    #[cfg(target_pointer_width = "64")]
    libc::SYS_mmap,
    libc::SYS_mprotect,
];

const FORBIDDEN: &[libc::c_long] = &[
    // Programs and other processes.
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pidfd_getfd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_fork,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_vfork,
    // Users.
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setreuid,
    libc::SYS_setregid,
    libc::SYS_setresuid,
    libc::SYS_setresgid,
    libc::SYS_setgroups,
    libc::SYS_personality,
    // Mounts and namespaces.
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_move_mount,
    libc::SYS_open_tree,
    libc::SYS_fsopen,
    libc::SYS_fsmount,
    // The kernel and the host.
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_swapoff,
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_request_key,
    libc::SYS_keyctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_mknodat,
];

#[cfg(test)]
mod tests {
    use std::net::TcpListener;
    use std::process;

    use super::*;

    /// What a system call without arguments of interest gives.
    fn errno_of(number: libc::c_long, arguments: [libc::c_long; 3]) -> i32 {
        let [a, b, c] = arguments;
        // SAFETY: the calls of this test take numbers, or fail at a null pointer.
        let done = unsafe { libc::syscall(number, a, b, c) };
        if done < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 }
    }

    #[test]
    fn a_thread_with_the_filter_has_the_calls_of_a_server_and_no_others() {
        // The filter holds for one thread, so that the others of this test go on as before.
        std::thread::spawn(|| {
            if let Err(error) = forbid_calls() {
                return eprintln!("skipped: {error}");
            }
            let packet = [libc::AF_PACKET.into(), libc::SOCK_DGRAM.into(), 0];
            assert_eq!(errno_of(libc::SYS_socket, packet), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_unshare, [0, 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_execve, [0, 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_ptrace, [0, 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_kill, [process::id().into(), 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_mprotect, [0, 0, libc::PROT_EXEC.into()]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_clone, [libc::SIGCHLD.into(), 0, 0]), libc::EPERM);
            assert_eq!(errno_of(libc::SYS_clone3, [0, 0, 0]), libc::ENOSYS);
            let denied = process::Command::new("/bin/true").status().map_err(|error| error.kind());
            assert!(denied.is_err(), "{denied:?}");
            TcpListener::bind("127.0.0.1:0").expect("a socket");
            let thread = std::thread::spawn(|| vec![1_u8; 1 << 20].len());
            assert_eq!(thread.join().expect("a thread"), 1 << 20);
        })
        .join()
        .expect("no panic");
    }
}
