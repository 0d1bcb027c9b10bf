//! Build options that attribution, tests and tracing use and a kernel lacks, as a fragment of a
//! kernel configuration (`scripts/kconfig/merge_config.sh`).

use std::fmt::{self, Display, Formatter};

use measurement::Gap;

use super::options;
use crate::Tree;

/// A build option of Linux, and what it brings.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KernelOption {
    /// The kind of work that uses the option.
    pub purpose: Purpose,
    /// Its name, e.g. `CONFIG_PERF_EVENTS`.
    pub name: &'static str,
    /// The gain from the option, in a few words.
    pub brings: &'static str,
    /// Whether one can choose it: others come with what selects them, or with the architecture.
    pub is_chosen: bool,
    /// Whether it slows the kernel, so that it is not to be there while rates are measured.
    pub is_slow: bool,
}

/// Kinds of work that use options of the kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Purpose {
    /// Where CPU time went, who waited for a CPU.
    Attribution,
    /// Tests, and what shapes and paces traffic.
    Tests,
    /// ftrace, for trace-cmd(1), and perf trace; linerate needs none of it.
    Tracing,
}

/// The options of a kernel's configuration that are neither built in nor modules.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lacking {
    kernel: String,
    /// In the order of their purposes.
    pub options: Vec<&'static KernelOption>,
}

/// Reads which options the kernel `release` of a host lacks.
///
/// # Errors
/// A gap if it does not publish its options.
pub fn lacking(tree: &Tree, release: &str) -> Result<Lacking, Gap> {
    let text = options::text(tree, release).ok_or_else(|| options::missing(release))?;
    Ok(of_text(&text, release))
}

fn of_text(text: &str, release: &str) -> Lacking {
    let set: Vec<&str> = text
        .lines()
        .filter_map(|line| line.split_once('='))
        .filter(|(_, value)| matches!(*value, "y" | "m"))
        .map(|(name, _)| name)
        .collect();
    let options = OPTIONS.iter().filter(|option| !set.contains(&option.name)).collect();
    Lacking { kernel: release.to_owned(), options }
}

impl Lacking {
    /// How many options it lacks that something uses.
    pub fn count(&self, purpose: Purpose) -> usize {
        self.options.iter().filter(|option| option.purpose == purpose).count()
    }
}

/// A fragment for `scripts/kconfig/merge_config.sh` of the kernel's sources.
impl Display for Lacking {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "# What Linux {} lacks. In its sources:", self.kernel)?;
        writeln!(f, "#   scripts/kconfig/merge_config.sh .config FRAGMENT && make olddefconfig")?;
        for (purpose, title) in TITLES {
            let options = self.options.iter().filter(|option| option.purpose == purpose);
            let options: Vec<_> = options.collect();
            if !options.is_empty() {
                writeln!(f, "\n# {title}")?;
            }
            for option in options {
                let KernelOption { name, brings, .. } = option;
                match (option.is_chosen, option.is_slow) {
                    (false, _) => writeln!(f, "# {name}: {brings}; it comes with others")?,
                    (_, true) => writeln!(f, "# {name}: {brings}; it slows the kernel")?,
                    _ => writeln!(f, "# {brings}\n{name}=y")?,
                }
            }
        }
        Ok(())
    }
}

const TITLES: [(Purpose, &str); 3] = [
    (Purpose::Attribution, "For where CPU time goes, and who waits for a CPU"),
    (Purpose::Tests, "For tests, pacing and shaping"),
    (Purpose::Tracing, "For ftrace (trace-cmd, perf trace); linerate needs none of it"),
];

const fn uses(purpose: Purpose, name: &'static str, brings: &'static str) -> KernelOption {
    KernelOption { purpose, name, brings, is_chosen: true, is_slow: false }
}

const fn attribution(name: &'static str, brings: &'static str) -> KernelOption {
    uses(Purpose::Attribution, name, brings)
}

const fn tests(name: &'static str, brings: &'static str) -> KernelOption {
    uses(Purpose::Tests, name, brings)
}

const fn tracing(name: &'static str, brings: &'static str) -> KernelOption {
    uses(Purpose::Tracing, name, brings)
}

/// One without a prompt in Kconfig.
const fn selected(name: &'static str, brings: &'static str) -> KernelOption {
    KernelOption { is_chosen: false, ..tracing(name, brings) }
}

const fn slow(name: &'static str, brings: &'static str) -> KernelOption {
    KernelOption { is_slow: true, ..tracing(name, brings) }
}

/// As the Kconfig files of Linux 6.18 have them. Those of tracing are the 37 that a study of the
/// HiFive Unleashed built in.
static OPTIONS: [KernelOption; 71] = [
    attribution("CONFIG_PERF_EVENTS", "profiles of CPUs: shares by kind of work"),
    attribution("CONFIG_KALLSYMS", "names of kernel functions in profiles"),
    attribution("CONFIG_SCHED_INFO", "run delay of threads (/proc/PID/schedstat)"),
    attribution("CONFIG_SCHEDSTATS", "run delay, where nothing else selects SCHED_INFO"),
    attribution("CONFIG_PSI", "time in which tasks waited for a CPU (/proc/pressure)"),
    attribution("CONFIG_IRQ_TIME_ACCOUNTING", "exact times of interrupts and softirqs"),
    attribution("CONFIG_CFS_BANDWIDTH", "CPU quotas of control groups, and their counters"),
    attribution("CONFIG_HIGH_RES_TIMERS", "timers finer than a tick: even pacing"),
    attribution("CONFIG_IKCONFIG_PROC", "/proc/config.gz: what the kernel was built with"),
    tests("CONFIG_INET_DIAG", "sockets of others, by ss(8)"),
    tests("CONFIG_NET_SCH_FQ", "pacing of TCP by fq, BBR at its best"),
    tests("CONFIG_NET_SCH_FQ_CODEL", "short queues, fair between flows"),
    tests("CONFIG_NET_SCH_CAKE", "shaping of a home router (SQM)"),
    tests("CONFIG_NET_SCH_TBF", "a shaper, as linerate demo plants it"),
    tests("CONFIG_NET_SCH_HTB", "shapers in classes"),
    tests("CONFIG_NET_SCH_NETEM", "delay, loss and reordering on demand"),
    tests("CONFIG_NET_SCH_INGRESS", "policers and filters at the ingress hook"),
    tests("CONFIG_NET_ACT_POLICE", "policers of tc(8)"),
    tests("CONFIG_TCP_CONG_BBR", "a congestion control that bears loss (-C bbr)"),
    tests("CONFIG_MPTCP", "several paths for a connection (--mptcp)"),
    tests("CONFIG_IO_URING", "the engines of io_uring"),
    tests("CONFIG_XDP_SOCKETS", "AF_XDP"),
    tests("CONFIG_VETH", "links between namespaces, as linerate demo makes them"),
    tests("CONFIG_NET_NS", "network namespaces, as linerate demo makes them"),
    tests("CONFIG_USER_NS", "linerate demo without root"),
    tests("CONFIG_RPS", "softirqs of one queue on several CPUs"),
    tests("CONFIG_RFS_ACCEL", "flows steered by the NIC to the CPU of the reader"),
    tests("CONFIG_XPS", "a send queue for each CPU"),
    tests("CONFIG_BQL", "short queues in drivers"),
    tests("CONFIG_NET_FLOW_LIMIT", "no flow that fills a backlog alone"),
    tests("CONFIG_PAGE_POOL", "receive buffers that drivers use again"),
    tests("CONFIG_TRANSPARENT_HUGEPAGE", "huge pages for payload"),
    tests("CONFIG_HUGETLBFS", "huge pages that were set aside"),
    tests("CONFIG_BPF_JIT", "filters as machine code"),
    selected("CONFIG_TRACING_SUPPORT", "the architecture can trace"),
    tracing("CONFIG_FTRACE", "the menu of tracers"),
    selected("CONFIG_TRACING", "the core of ftrace"),
    selected("CONFIG_GENERIC_TRACER", "what tracers share"),
    selected("CONFIG_NOP_TRACER", "the tracer that does nothing"),
    selected("CONFIG_EVENT_TRACING", "events of tracepoints"),
    selected("CONFIG_CONTEXT_SWITCH_TRACER", "events of context switches"),
    selected("CONFIG_RING_BUFFER", "the buffer of traces"),
    selected("CONFIG_RING_BUFFER_ALLOW_SWAP", "buffers that are exchanged for a snapshot"),
    selected("CONFIG_TRACE_CLOCK", "clocks of traces"),
    selected("CONFIG_TRACER_MAX_TRACE", "the trace of the longest latency"),
    selected("CONFIG_HAVE_FUNCTION_TRACER", "the architecture can trace functions"),
    selected("CONFIG_HAVE_FUNCTION_GRAPH_TRACER", "the architecture can trace returns"),
    selected("CONFIG_HAVE_DYNAMIC_FTRACE", "the architecture can patch calls"),
    selected("CONFIG_HAVE_DYNAMIC_FTRACE_WITH_REGS", "the same with registers"),
    selected("CONFIG_HAVE_FTRACE_MCOUNT_RECORD", "places of calls are listed; until 6.16"),
    selected("CONFIG_HAVE_SYSCALL_TRACEPOINTS", "the architecture can trace system calls"),
    tracing("CONFIG_FUNCTION_TRACER", "which functions of the kernel run"),
    tracing("CONFIG_FUNCTION_GRAPH_TRACER", "how long functions of the kernel take"),
    tracing("CONFIG_DYNAMIC_FTRACE", "no cost while nothing is traced"),
    selected("CONFIG_DYNAMIC_FTRACE_WITH_REGS", "probes at the begin of functions"),
    selected("CONFIG_FTRACE_MCOUNT_RECORD", "the list of places of calls"),
    tracing("CONFIG_FUNCTION_PROFILER", "times of all functions (trace_stat)"),
    tracing("CONFIG_FTRACE_SYSCALLS", "events of system calls"),
    tracing("CONFIG_SCHED_TRACER", "the longest wait from wake-up to run"),
    tracing("CONFIG_IRQSOFF_TRACER", "the longest time with interrupts off"),
    tracing("CONFIG_HWLAT_TRACER", "times that firmware takes"),
    tracing("CONFIG_STACK_TRACER", "the deepest stack of the kernel"),
    tracing("CONFIG_TRACER_SNAPSHOT", "snapshots of a trace"),
    tracing("CONFIG_TRACER_SNAPSHOT_PER_CPU_SWAP", "snapshots of one CPU"),
    selected("CONFIG_PREEMPTIRQ_TRACEPOINTS", "tracepoints where interrupts go off and on"),
    tracing("CONFIG_PREEMPTIRQ_EVENTS", "events of these"),
    slow("CONFIG_LATENCYTOP", "what processes wait for (latencytop)"),
    slow("CONFIG_TRACE_BRANCH_PROFILING", "the choice of profiles of branches"),
    slow("CONFIG_PROFILE_ALL_BRANCHES", "counts of all branches of the kernel"),
    slow("CONFIG_TRACEPOINT_BENCHMARK", "a thread that measures a tracepoint all the time"),
    slow("CONFIG_PREEMPTIRQ_DELAY_TEST", "a module that tests tracers"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_built_in_or_a_module_is_not_lacking() {
        let lacking = of_text(
            "CONFIG_PERF_EVENTS=y\nCONFIG_NET_SCH_FQ=m\n# CONFIG_PSI is not set\n",
            "6.1.0",
        );
        let names: Vec<_> = lacking.options.iter().map(|option| option.name).collect();
        assert!(!names.contains(&"CONFIG_PERF_EVENTS") && !names.contains(&"CONFIG_NET_SCH_FQ"));
        assert!(names.contains(&"CONFIG_PSI") && names.contains(&"CONFIG_KALLSYMS"));
        assert_eq!(names.len(), OPTIONS.len() - 2);
    }

    #[test]
    fn a_fragment_sets_what_can_be_chosen_and_only_names_the_rest() {
        let fragment = of_text("", "6.1.0").to_string();
        assert!(fragment.contains("\nCONFIG_PERF_EVENTS=y\n"), "{fragment}");
        let is_form = |line: &str| {
            line.is_empty() || line.starts_with('#') || line.ends_with("=y") && !line.contains(' ')
        };
        assert!(fragment.lines().all(is_form), "{fragment}");
        let set = |name: &str| fragment.contains(&format!("\n{name}=y\n"));
        assert!(!set("CONFIG_TRACING") && !set("CONFIG_PROFILE_ALL_BRANCHES"), "{fragment}");
        let long: Vec<_> = fragment.lines().filter(|line| line.len() > 100).collect();
        assert!(long.is_empty(), "{long:?}");
    }

    #[test]
    fn every_option_is_there_once_and_those_of_the_study_are_all_there() {
        let mut names: Vec<_> = OPTIONS.iter().map(|option| option.name).collect();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), OPTIONS.len());
        assert_eq!(of_text("", "").count(Purpose::Tracing), 37);
    }
}
