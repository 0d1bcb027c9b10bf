//! Properties of this host and limits of this process: names, CPUs, CPU time, open files,
//! threads, memory.

use std::ffi::CStr;
use std::io;
use std::mem::MaybeUninit;
use std::time::Duration;

/// The names that uname(2) reports.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SystemNames {
    /// Name of the operating system (`sysname`).
    pub system: String,
    /// Name of the host (`nodename`).
    pub host: String,
    /// Release of the kernel (`release`).
    pub kernel: String,
    /// Build of the kernel (`version`).
    pub build: String,
    /// Architecture of the machine (`machine`), e.g. `riscv64`.
    pub architecture: String,
}

/// Reads the names of the running system: kernel, host and architecture (uname(2)).
pub fn system_names() -> SystemNames {
    let mut names = MaybeUninit::<libc::utsname>::zeroed();
    // SAFETY: the pointer is valid for the call, which fails only for bad ones;
    // an all-zero utsname holds empty strings.
    let names = unsafe {
        libc::uname(names.as_mut_ptr());
        names.assume_init()
    };
    let text = |field: &[libc::c_char]| {
        let bytes: Vec<u8> = field.iter().map(|c| c.to_ne_bytes()[0]).collect();
        CStr::from_bytes_until_nul(&bytes)
            .map_or_else(|_| String::new(), |text| text.to_string_lossy().into_owned())
    };
    SystemNames {
        system: text(&names.sysname),
        host: text(&names.nodename),
        kernel: text(&names.release),
        build: text(&names.version),
        architecture: text(&names.machine),
    }
}

/// The CPUs that this process may run on, in ascending order (sched_getaffinity(2)).
///
/// # Errors
/// `EINVAL` if the kernel supports more CPUs than the set holds (1,024).
pub fn allowed_cpus() -> io::Result<Vec<usize>> {
    let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed();
    let size = std::mem::size_of::<libc::cpu_set_t>();
    // SAFETY: pointer and size describe the set; all-zero is the empty set.
    let set = unsafe {
        if libc::sched_getaffinity(0, size, set.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        set.assume_init()
    };
    // SAFETY: every index is below the number of bits in the set.
    Ok((0..size * 8).filter(|cpu| unsafe { libc::CPU_ISSET(*cpu, &set) }).collect())
}

/// Pins the calling thread to one CPU (sched_setaffinity(2)).
///
/// # Errors
/// `EINVAL` if the CPU does not exist, is offline, or is not in the cpuset of this process.
pub fn pin_thread(cpu: usize) -> io::Result<()> {
    let size = std::mem::size_of::<libc::cpu_set_t>();
    if cpu >= size * 8 {
        return Err(io::Error::from_raw_os_error(libc::EINVAL));
    }
    // SAFETY: an all-zero set is the empty one, the index is inside of it, and
    // pointer and size describe it.
    let done = unsafe {
        let mut set = MaybeUninit::<libc::cpu_set_t>::zeroed().assume_init();
        libc::CPU_SET(cpu, &mut set);
        libc::sched_setaffinity(0, size, &raw const set)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// Rank of a thread among those with a real-time policy (sched(7)).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Rank {
    /// A host at the end of a path.
    Host = 1,
    /// The path, which no host may hold up.
    Path = 2,
}

/// Lets the calling thread run before all threads without a real-time policy, and those of a lower rank:
/// `SCHED_RR` (sched_setscheduler(2)).
///
/// # Errors
/// `EPERM` without `CAP_SYS_NICE`, or where the control group has no real-time budget.
pub fn run_before_others(rank: Rank) -> io::Result<()> {
    let parameter = rank as i32;
    // The wrapper of musl refuses: POSIX means processes, the kernel threads.
    // SAFETY: 0 is the calling thread; the structure that the kernel reads is one int, the priority.
    let done = unsafe {
        libc::syscall(libc::SYS_sched_setscheduler, 0, libc::SCHED_RR, &raw const parameter)
    };
    if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

/// The CPU that runs the calling thread now (getcpu(2)); none: the kernel does not say.
pub fn current_cpu() -> Option<usize> {
    // SAFETY: it takes nothing.
    usize::try_from(unsafe { libc::sched_getcpu() }).ok()
}

/// CPU time that this process has used since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuTime {
    /// CPU time in user mode.
    pub user: Duration,
    /// In the kernel on behalf of this process.
    pub system: Duration,
}

/// Reads the CPU time of all threads of this process (`RUSAGE_SELF`, getrusage(2)).
pub fn cpu_time() -> CpuTime {
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: the pointer is valid for the call; an all-zero rusage is a valid one.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    let span = |time: libc::timeval| {
        Duration::from_secs(u64::try_from(time.tv_sec).unwrap_or(0))
            + Duration::from_micros(u64::try_from(time.tv_usec).unwrap_or(0))
    };
    CpuTime { user: span(usage.ru_utime), system: span(usage.ru_stime) }
}

/// Times of a CPU since the system started (`/proc/stat`, proc_stat(5)), to a clock tick.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CpuStates {
    /// The CPU.
    pub cpu: usize,
    /// Time in softirqs.
    pub softirq: Duration,
    /// Time that the hypervisor took.
    pub stolen: Duration,
}

/// Reads the times of each CPU; empty where there is no `/proc`.
pub fn cpu_states() -> Vec<CpuStates> {
    let text = std::fs::read_to_string("/proc/stat").unwrap_or_default();
    text.lines().take_while(|line| line.starts_with("cpu")).filter_map(states_of).collect()
}

/// A line of a CPU; none: it is that of all together.
fn states_of(line: &str) -> Option<CpuStates> {
    let (name, ticks) = line.split_once(' ')?;
    let cpu = name.strip_prefix("cpu")?.parse().ok()?;
    let ticks: Vec<u64> =
        ticks.split_ascii_whitespace().map_while(|one| one.parse().ok()).collect();
    let span = |field: usize| {
        let ticks = ticks.get(field).copied().unwrap_or(0);
        Duration::from_micros(ticks.saturating_mul(1_000_000 / ticks_per_second()))
    };
    Some(CpuStates { cpu, softirq: span(6), stolen: span(7) })
}

/// Clock ticks per second: the unit in which `/proc` counts CPU time (`USER_HZ`;
/// `_SC_CLK_TCK`, sysconf(3)). 100 on nearly every machine.
pub fn ticks_per_second() -> u64 {
    // SAFETY: this takes one number and touches no memory.
    let ticks = unsafe { libc::sysconf(libc::_SC_CLK_TCK) };
    u64::try_from(ticks).ok().filter(|ticks| *ticks > 0).unwrap_or(100)
}

/// Raises the soft limit of open files to the hard limit (`RLIMIT_NOFILE`, setrlimit(2)).
pub fn raise_file_limit() {
    raise_file_limit_to(0);
}

/// Raises the soft limit of open files to the hard limit, and a process with
/// `CAP_SYS_RESOURCE` also the hard limit if that is below `wanted` (`RLIMIT_NOFILE`,
/// setrlimit(2)). The limits stay as they are where the kernel refuses.
pub fn raise_file_limit_to(wanted: usize) {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: both pointers are valid for the calls; an all-zero rlimit is a valid one,
    // and it is used only if the kernel filled it. A refusal leaves the limit as it is.
    unsafe {
        if libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr()) == 0 {
            let mut limit = limit.assume_init();
            limit.rlim_cur = limit.rlim_max;
            libc::setrlimit(libc::RLIMIT_NOFILE, &raw const limit);
            let wanted = libc::rlim_t::try_from(wanted).unwrap_or(libc::RLIM_INFINITY);
            if wanted > limit.rlim_max {
                let more = libc::rlimit { rlim_cur: wanted, rlim_max: wanted };
                libc::setrlimit(libc::RLIMIT_NOFILE, &raw const more);
            }
        }
    }
}

/// Number of threads that this process may have: the smaller one of the limits of its user
/// (`RLIMIT_NPROC`, getrlimit(2)) and of its control group (`pids.max`, cgroups(7)).
pub fn thread_limit() -> usize {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the pointer is valid for the call; an all-zero rlimit is a valid one.
    let (done, limit) = unsafe {
        let done = libc::getrlimit(libc::RLIMIT_NPROC, limit.as_mut_ptr());
        (done, limit.assume_init())
    };
    let told = (done == 0).then_some(limit.rlim_cur);
    let of_user = told.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    group_threads().map_or(of_user, |of_group| of_group.min(of_user))
}

/// The limit of this process's control group; `None` if there is none or it cannot be read.
fn group_threads() -> Option<usize> {
    let groups = std::fs::read_to_string("/proc/self/cgroup").ok()?;
    let limit = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let folder = match controllers {
            "" => "/sys/fs/cgroup".to_owned(),
            _ if controllers.split(',').any(|name| name == "pids") => {
                "/sys/fs/cgroup/pids".to_owned()
            }
            _ => return None,
        };
        std::fs::read_to_string(format!("{folder}{path}/pids.max")).ok()?.trim().parse().ok()
    };
    groups.lines().filter_map(limit).min()
}

/// Bytes of memory that can be allocated without swapping (`MemAvailable`,
/// proc_meminfo(5)); `None` if the kernel does not report it.
pub fn available_memory() -> Option<u64> {
    let text = std::fs::read_to_string("/proc/meminfo").ok()?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    Some(kibibytes * 1024)
}

/// Number of files that this process may have open: the soft limit (`RLIMIT_NOFILE`,
/// getrlimit(2)).
pub fn file_limit() -> usize {
    let mut limit = MaybeUninit::<libc::rlimit>::zeroed();
    // SAFETY: the pointer is valid for the call; an all-zero rlimit is a valid one.
    let (done, limit) = unsafe {
        let done = libc::getrlimit(libc::RLIMIT_NOFILE, limit.as_mut_ptr());
        (done, limit.assume_init())
    };
    // The usual soft limit on Linux, if the call fails.
    if done == 0 { usize::try_from(limit.rlim_cur).unwrap_or(usize::MAX) } else { 1024 }
}

/// Lets the timers of the calling thread fire when they are due, not up to 50 microseconds
/// later (`PR_SET_TIMERSLACK`, prctl(2)).
pub fn minimize_timer_slack() {
    let least: libc::c_ulong = 1;
    // SAFETY: this option takes one number and touches no memory.
    unsafe { libc::prctl(libc::PR_SET_TIMERSLACK, least) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_host_has_a_name_and_a_cpu() {
        let names = system_names();
        assert!(!names.kernel.is_empty() && !names.architecture.is_empty());
        assert!(!allowed_cpus().expect("an affinity").is_empty());
    }

    #[test]
    fn a_second_has_ticks() {
        assert!((1..=10_000).contains(&ticks_per_second()));
    }

    #[test]
    fn a_thread_can_be_pinned_to_an_allowed_cpu_only() {
        let cpu = allowed_cpus().expect("an affinity")[0];
        std::thread::spawn(move || {
            pin_thread(cpu).expect("allowed");
            assert_eq!(allowed_cpus().expect("an affinity"), [cpu]);
            assert!(pin_thread(1 << 20).is_err());
        })
        .join()
        .expect("no panic");
    }
}
