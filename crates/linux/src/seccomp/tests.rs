//! Every call that is denied, in each thread, and what a service needs.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::os::unix::net::UnixStream;
use std::{io, process, thread};

use super::*;

/// Error number of a system call whose arguments are numbers of no meaning or null pointers.
fn errno_of(number: libc::c_long, arguments: [libc::c_long; 3]) -> i32 {
    let [a, b, c] = arguments;
    // SAFETY: the calls of these tests take numbers, or fail at a null pointer.
    let done = unsafe { libc::syscall(number, a, b, c) };
    if done < 0 { io::Error::last_os_error().raw_os_error().unwrap_or(0) } else { 0 }
}

/// Runs `test` in a thread with the filter and in one that this starts: it holds for no other.
fn filtered(work: Work, test: fn()) {
    let outer = thread::spawn(move || {
        if let Err(error) = allow_only(work) {
            return eprintln!("skipped: {error}");
        }
        test();
        thread::spawn(test).join().expect("no panic");
    });
    outer.join().expect("no panic");
}

#[test]
fn calls_that_no_service_makes_are_denied_in_each_thread() {
    for work in [Work::Serve, Work::Test] {
        filtered(work, || {
            for number in DENIED {
                assert_eq!(errno_of(*number, [0, 0, 0]), libc::EPERM, "{number}");
            }
        });
    }
    for work in [Work::Serve, Work::Tune] {
        filtered(work, || {
            assert_eq!(errno_of(libc::SYS_perf_event_open, [0, 0, 0]), libc::EPERM);
        });
    }
    filtered(Work::Tune, || {
        for number in DENIED.iter().filter(|number| !OF_A_JOURNAL.contains(number)) {
            assert_eq!(errno_of(*number, [0, 0, 0]), libc::EPERM, "{number}");
        }
    });
}

#[test]
fn calls_that_name_others_are_denied() {
    filtered(Work::Test, || {
        let other = libc::c_long::from(process::id()) + 1;
        let (packet, unix) = (libc::AF_PACKET.into(), libc::AF_UNIX.into());
        let fork = libc::SIGCHLD.into();
        let writable_code = libc::c_long::from(libc::PROT_WRITE | libc::PROT_EXEC);
        for (number, arguments) in [
            (libc::SYS_socket, [packet, libc::SOCK_DGRAM.into(), 0]),
            (libc::SYS_socket, [libc::AF_INET.into(), 10, 0x300]),
            (libc::SYS_socket, [unix, libc::SOCK_STREAM.into(), 0]),
            (libc::SYS_tgkill, [other, other, 0]),
            (libc::SYS_prlimit64, [other, 0, 0]),
            (libc::SYS_sched_setaffinity, [other, 0, 0]),
            (libc::SYS_clone, [fork, 0, 0]),
            (libc::SYS_mprotect, [0, 0, writable_code]),
            (libc::SYS_fcntl, [0, libc::F_SETOWN.into(), 0]),
            (libc::SYS_prctl, [libc::PR_SET_DUMPABLE.into(), 1, 0]),
        ] {
            assert_eq!(errno_of(number, arguments), libc::EPERM, "{number} {arguments:?}");
        }
        // Pushes a character into the input of a terminal.
        assert_eq!(errno_of(libc::SYS_ioctl, [0, 0x5412, 0]), libc::EPERM);
        assert_eq!(
            UnixStream::pair().map(drop).map_err(|e| e.raw_os_error()),
            Err(Some(libc::EPERM))
        );
    });
}

#[test]
fn a_service_connects_to_nobody_in_ways_that_landlock_does_not_see() {
    filtered(Work::Serve, || {
        let stream = libc::SOCK_STREAM.into();
        let mptcp = [libc::AF_INET.into(), stream, libc::IPPROTO_MPTCP.into()];
        assert_eq!(errno_of(libc::SYS_socket, mptcp), libc::EPERM);
        let fast_open = [-1, 0, libc::MSG_FASTOPEN.into()];
        assert_eq!(errno_of(libc::SYS_sendmsg, fast_open), libc::EPERM);
        assert_eq!(errno_of(libc::SYS_sendmsg, [-1, 0, 0]), libc::EBADF);
    });
}

#[test]
fn a_service_goes_on_behind_the_filter() {
    filtered(Work::Serve, || {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a port");
        let address = listener.local_addr().expect("an address");
        let mut near = TcpStream::connect(address).expect("a connection");
        let (mut far, _) = listener.accept().expect("a connection");
        near.write_all(b"payload").expect("room");
        let mut read = [0; 7];
        far.read_exact(&mut read).expect("all of it");
        assert_eq!(&read, b"payload");
        UdpSocket::bind("[::1]:0").expect("a port of IPv6");
        let own = libc::c_long::from(process::id());
        assert_eq!(errno_of(libc::SYS_tgkill, [own, this_thread(), 0]), 0);
        assert!(std::fs::read_to_string("/proc/self/stat").is_ok());
    });
}

/// The number of this thread.
fn this_thread() -> libc::c_long {
    // SAFETY: the call has no arguments.
    unsafe { libc::syscall(libc::SYS_gettid) }
}

/// Denied calls that the files of a journal need all the same.
const OF_A_JOURNAL: [libc::c_long; 2] = [libc::SYS_mkdirat, libc::SYS_renameat2];
/// Kinds of what SECURITY.md denies: programs and other processes, users, mounts and namespaces, memory
/// that others share, the kernel and the host.
const DENIED: &[libc::c_long] = &[
    libc::SYS_execve,
    libc::SYS_execveat,
    libc::SYS_fork,
    libc::SYS_vfork,
    libc::SYS_ptrace,
    libc::SYS_process_vm_readv,
    libc::SYS_process_vm_writev,
    libc::SYS_kcmp,
    libc::SYS_kill,
    libc::SYS_tkill,
    libc::SYS_rt_sigqueueinfo,
    libc::SYS_rt_tgsigqueueinfo,
    libc::SYS_pidfd_open,
    libc::SYS_pidfd_send_signal,
    libc::SYS_pidfd_getfd,
    libc::SYS_setpriority,
    libc::SYS_sched_setscheduler,
    libc::SYS_sched_setattr,
    libc::SYS_setuid,
    libc::SYS_setgid,
    libc::SYS_setresuid,
    libc::SYS_setgroups,
    libc::SYS_setfsuid,
    libc::SYS_capset,
    libc::SYS_personality,
    libc::SYS_mount,
    libc::SYS_umount2,
    libc::SYS_pivot_root,
    libc::SYS_chroot,
    libc::SYS_unshare,
    libc::SYS_setns,
    libc::SYS_open_by_handle_at,
    libc::SYS_move_mount,
    libc::SYS_fsopen,
    libc::SYS_mknodat,
    libc::SYS_chmod,
    libc::SYS_fchownat,
    libc::SYS_renameat2,
    libc::SYS_linkat,
    libc::SYS_symlinkat,
    libc::SYS_mkdirat,
    libc::SYS_shmget,
    libc::SYS_shmat,
    libc::SYS_msgget,
    libc::SYS_mq_open,
    libc::SYS_pkey_mprotect,
    libc::SYS_remap_file_pages,
    libc::SYS_init_module,
    libc::SYS_finit_module,
    libc::SYS_delete_module,
    libc::SYS_kexec_load,
    libc::SYS_reboot,
    libc::SYS_swapon,
    libc::SYS_acct,
    libc::SYS_bpf,
    libc::SYS_userfaultfd,
    libc::SYS_add_key,
    libc::SYS_keyctl,
    libc::SYS_settimeofday,
    libc::SYS_clock_settime,
    libc::SYS_clock_adjtime,
    libc::SYS_adjtimex,
    libc::SYS_sethostname,
    libc::SYS_setdomainname,
    libc::SYS_iopl,
    libc::SYS_ioperm,
    libc::SYS_modify_ldt,
    libc::SYS_syslog,
    libc::SYS_quotactl,
    libc::SYS_fanotify_init,
];
