//! The calls of linerate's services, as system calls of tests of every engine, of the drop-ins and of
//! the samplers show, with glibc and with musl.

use std::process;

use super::Work;

/// Calls that any argument is allowed for.
pub(super) const ALLOWED: &[libc::c_long] = &[
    // Payload.
    libc::SYS_recvmsg,
    libc::SYS_recvfrom,
    libc::SYS_recvmmsg,
    libc::SYS_read,
    libc::SYS_write,
    libc::SYS_readv,
    libc::SYS_writev,
    libc::SYS_splice,
    libc::SYS_vmsplice,
    libc::SYS_sendfile,
    libc::SYS_io_uring_enter,
    libc::SYS_io_uring_setup,
    libc::SYS_io_uring_register,
    libc::SYS_memfd_create,
    libc::SYS_ftruncate,
    libc::SYS_pipe2,
    // Waiting, and the time.
    #[cfg(target_arch = "x86_64")]
    libc::SYS_epoll_wait,
    libc::SYS_epoll_pwait,
    EPOLL_PWAIT2,
    libc::SYS_epoll_ctl,
    libc::SYS_epoll_create1,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_poll,
    libc::SYS_ppoll,
    libc::SYS_eventfd2,
    libc::SYS_signalfd4,
    libc::SYS_timerfd_create,
    libc::SYS_timerfd_settime,
    libc::SYS_futex,
    libc::SYS_clock_gettime,
    libc::SYS_clock_getres,
    libc::SYS_clock_nanosleep,
    libc::SYS_nanosleep,
    libc::SYS_gettimeofday,
    // Sockets.
    libc::SYS_accept,
    libc::SYS_accept4,
    libc::SYS_bind,
    libc::SYS_connect,
    libc::SYS_listen,
    libc::SYS_shutdown,
    libc::SYS_getsockname,
    libc::SYS_getpeername,
    libc::SYS_getsockopt,
    libc::SYS_setsockopt,
    // Files, of which Landlock decides, and descriptors.
    libc::SYS_close,
    libc::SYS_dup,
    libc::SYS_dup3,
    libc::SYS_lseek,
    libc::SYS_pread64,
    libc::SYS_pwrite64,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_open,
    libc::SYS_openat,
    libc::SYS_fstat,
    libc::SYS_newfstatat,
    libc::SYS_statx,
    libc::SYS_statfs,
    libc::SYS_fstatfs,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_stat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_lstat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_access,
    libc::SYS_faccessat,
    FACCESSAT2,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_readlink,
    libc::SYS_readlinkat,
    libc::SYS_getdents64,
    libc::SYS_getcwd,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_unlink,
    libc::SYS_unlinkat,
    libc::SYS_fsync,
    libc::SYS_fdatasync,
    libc::SYS_flock,
    // Memory.
    libc::SYS_munmap,
    libc::SYS_mremap,
    libc::SYS_madvise,
    libc::SYS_brk,
    // Threads, and the end.
    libc::SYS_set_robust_list,
    RSEQ,
    libc::SYS_set_tid_address,
    libc::SYS_sigaltstack,
    libc::SYS_rt_sigaction,
    libc::SYS_rt_sigprocmask,
    libc::SYS_rt_sigreturn,
    libc::SYS_restart_syscall,
    libc::SYS_membarrier,
    libc::SYS_sched_yield,
    libc::SYS_sched_getaffinity,
    libc::SYS_exit,
    libc::SYS_exit_group,
    libc::SYS_wait4,
    libc::SYS_waitid,
    // What the process and its host are.
    libc::SYS_getpid,
    libc::SYS_gettid,
    libc::SYS_getppid,
    libc::SYS_getuid,
    libc::SYS_geteuid,
    libc::SYS_getgid,
    libc::SYS_getegid,
    libc::SYS_getrandom,
    libc::SYS_getrusage,
    libc::SYS_getcpu,
    libc::SYS_uname,
    libc::SYS_sysinfo,
    libc::SYS_times,
    libc::SYS_umask,
    #[cfg(target_arch = "riscv64")]
    RISCV_HWPROBE,
];

/// Further calls of a process that runs tests itself.
pub(super) const FOR_TESTS: &[libc::c_long] = &[libc::SYS_perf_event_open, libc::SYS_capget];

/// Further calls of a process that keeps a journal of the settings that it changes.
pub(super) const FOR_TUNING: &[libc::c_long] = &[
    libc::SYS_capget,
    libc::SYS_fchmod,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_mkdir,
    libc::SYS_mkdirat,
    #[cfg(target_arch = "x86_64")]
    libc::SYS_rename,
    #[cfg(not(target_arch = "riscv64"))]
    libc::SYS_renameat,
    libc::SYS_renameat2,
];

/// A call that is allowed by one of its arguments.
pub(super) struct Bound {
    pub(super) number: libc::c_long,
    /// Index of the argument, of which the lower half counts.
    pub(super) argument: u32,
    pub(super) values: Values,
}

/// Which values are allowed.
pub(super) enum Values {
    /// These.
    Among(Vec<u32>),
    /// Those with a bit of this.
    With(u32),
    /// Those without.
    Without(u32),
    /// None of these; others are as the next bound of the call has it.
    Never(Vec<u32>),
}

/// Calls that are allowed by what they name; those that are made often come first.
pub(super) fn bounds(work: Work) -> Vec<Bound> {
    let own = process::id();
    let among = |number, argument, values: &[u32]| Bound {
        number,
        argument,
        values: Values::Among(values.to_vec()),
    };
    let without =
        |number, argument, value| Bound { number, argument, values: Values::Without(flag(value)) };
    let never =
        |number, argument, values| Bound { number, argument, values: Values::Never(values) };
    // A service connects to nobody by MPTCP, to which Landlock does not apply.
    let protocols = if work == Work::Serve { vec![flag(libc::IPPROTO_MPTCP)] } else { Vec::new() };
    let executable = Values::Without(flag(libc::PROT_EXEC));
    let also_executable = Values::Without(flag(libc::PROT_EXEC));
    vec![
        // Nor does it connect by what it sends (tcp(7)).
        without(libc::SYS_sendmsg, 2, libc::MSG_FASTOPEN),
        without(libc::SYS_sendto, 3, libc::MSG_FASTOPEN),
        without(libc::SYS_sendmmsg, 3, libc::MSG_FASTOPEN),
        Bound { number: libc::SYS_mmap, argument: 2, values: executable },
        Bound { number: libc::SYS_mprotect, argument: 2, values: also_executable },
        Bound {
            number: libc::SYS_clone,
            argument: 0,
            values: Values::With(flag(libc::CLONE_THREAD)),
        },
        never(libc::SYS_socket, 1, PACKET_TYPES.to_vec()),
        never(libc::SYS_socket, 2, protocols),
        among(libc::SYS_socket, 0, &FAMILIES.map(flag)),
        among(libc::SYS_fcntl, 1, &CONTROLS.map(flag)),
        among(libc::SYS_ioctl, 1, &REQUESTS),
        among(libc::SYS_prctl, 0, &PROCESS_CONTROLS.map(flag)),
        // This process and its threads alone: its end by abort(3), its limits, its CPUs.
        among(libc::SYS_tgkill, 0, &[own]),
        among(libc::SYS_prlimit64, 0, &[0, own]),
        among(libc::SYS_sched_setaffinity, 0, &[0]),
        among(libc::SYS_sched_getscheduler, 0, &[0]),
        among(libc::SYS_sched_getparam, 0, &[0]),
    ]
}

fn flag(flag: i32) -> u32 {
    flag.cast_unsigned()
}

/// Address families of the sockets that a service makes (socket(2)). Its Unix sockets are made before.
const FAMILIES: [i32; 3] = [libc::AF_INET, libc::AF_INET6, libc::AF_NETLINK];
/// `SOCK_PACKET`, of which the kernel makes a socket of packet(7) whatever its family is, also with
/// `SOCK_NONBLOCK` and `SOCK_CLOEXEC`.
const PACKET_TYPES: [u32; 4] = [0xa, 0x80a, 0x8_000a, 0x8_080a];
/// Commands of fcntl(2) that a service uses: none by which the kernel signals others (`F_SETOWN`).
const CONTROLS: [i32; 12] = [
    libc::F_DUPFD,
    libc::F_DUPFD_CLOEXEC,
    libc::F_GETFD,
    libc::F_SETFD,
    libc::F_GETFL,
    libc::F_SETFL,
    libc::F_GETLK,
    libc::F_SETLK,
    libc::F_SETLKW,
    libc::F_GETPIPE_SZ,
    libc::F_SETPIPE_SZ,
    libc::F_ADD_SEALS,
];
/// Requests of ioctl(2) that a service makes: what terminals are like, and never what is typed there (ioctl_tty(2)); how many bytes a
/// socket or pipe holds; interfaces (netdevice(7)); counters of perf_event_open(2).
const REQUESTS: [u32; 11] = [
    // TCGETS, TIOCGWINSZ
    0x5401, 0x5413, // TIOCOUTQ, FIONREAD, FIONBIO
    0x5411, 0x541b, 0x5421, // SIOCGIFFLAGS, SIOCGIFINDEX, SIOCETHTOOL
    0x8913, 0x8933, 0x8946, // PERF_EVENT_IOC_ENABLE, DISABLE, RESET
    0x2400, 0x2401, 0x2403,
];
/// Operations of prctl(2) that a service uses.
const PROCESS_CONTROLS: [i32; 6] = [
    libc::PR_SET_NAME,
    libc::PR_GET_NAME,
    libc::PR_SET_TIMERSLACK,
    libc::PR_GET_TIMERSLACK,
    libc::PR_CAPBSET_READ,
    PR_SET_VMA,
];
/// `linux/prctl.h`: the C library names its memory.
const PR_SET_VMA: i32 = 0x5356_4d41;
/// Numbers from 424 on are those of every architecture (`asm-generic/unistd.h`).
const EPOLL_PWAIT2: libc::c_long = 441;
const FACCESSAT2: libc::c_long = 439;
/// `asm/unistd.h` of each architecture.
const RSEQ: libc::c_long = if cfg!(target_arch = "x86_64") { 334 } else { 293 };
/// `asm/unistd.h` of RISC-V: what the CPU can do.
#[cfg(target_arch = "riscv64")]
const RISCV_HWPROBE: libc::c_long = 258;
