//! Reads the settings of the kernel (sysctl(8)) that affect networking.

use std::collections::BTreeMap;
use std::io;

use measurement::Gap;

use crate::Tree;

/// Values of the settings that this kernel has, by name, and gaps for those that it refused.
pub(super) fn settings(tree: &Tree) -> (BTreeMap<String, String>, Vec<Gap>) {
    let mut settings = BTreeMap::new();
    let mut gaps = Vec::new();
    for name in NAMES {
        match tree.text(&format!("proc/sys/{}", name.replace('.', "/"))) {
            Ok(text) => _ = settings.insert(name.to_owned(), words(&text)),
            // This kernel does not have it.
            Err(error) if error.kind() == io::ErrorKind::NotFound => {}
            Err(error) => gaps.push(super::gap(format!("setting {name}"), &error)),
        }
    }
    (settings, gaps)
}

/// Some settings are several numbers with tabs between them.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// docs.kernel.org: admin-guide/sysctl/net, networking/ip-sysctl, admin-guide/sysctl/vm.
const NAMES: [&str; 62] = [
    "kernel.numa_balancing",
    "kernel.sched_rt_runtime_us",
    "net.bridge.bridge-nf-call-iptables",
    "net.core.bpf_jit_enable",
    "net.core.busy_poll",
    "net.core.busy_read",
    "net.core.default_qdisc",
    "net.core.dev_weight",
    "net.core.flow_limit_cpu_bitmap",
    "net.core.flow_limit_table_len",
    "net.core.gro_normal_batch",
    "net.core.high_order_alloc_disable",
    "net.core.max_skb_frags",
    "net.core.netdev_budget",
    "net.core.netdev_budget_usecs",
    "net.core.netdev_max_backlog",
    "net.core.netdev_tstamp_prequeue",
    "net.core.optmem_max",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.rps_sock_flow_entries",
    "net.core.skb_defer_max",
    "net.core.somaxconn",
    "net.core.wmem_default",
    "net.core.wmem_max",
    "net.ipv4.conf.all.rp_filter",
    "net.ipv4.fib_multipath_hash_policy",
    "net.ipv4.ip_early_demux",
    "net.ipv4.ip_forward",
    "net.ipv4.ip_local_port_range",
    "net.ipv4.ip_no_pmtu_disc",
    "net.ipv4.ipfrag_high_thresh",
    "net.ipv4.tcp_adv_win_scale",
    "net.ipv4.tcp_allowed_congestion_control",
    "net.ipv4.tcp_autocorking",
    "net.ipv4.tcp_available_congestion_control",
    "net.ipv4.tcp_base_mss",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_dsack",
    "net.ipv4.tcp_early_demux",
    "net.ipv4.tcp_ecn",
    "net.ipv4.tcp_limit_output_bytes",
    "net.ipv4.tcp_mem",
    "net.ipv4.tcp_min_tso_segs",
    "net.ipv4.tcp_moderate_rcvbuf",
    "net.ipv4.tcp_mtu_probing",
    "net.ipv4.tcp_no_metrics_save",
    "net.ipv4.tcp_notsent_lowat",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_sack",
    "net.ipv4.tcp_slow_start_after_idle",
    "net.ipv4.tcp_timestamps",
    "net.ipv4.tcp_tso_win_divisor",
    "net.ipv4.tcp_window_scaling",
    "net.ipv4.tcp_wmem",
    "net.ipv4.udp_early_demux",
    "net.ipv4.udp_mem",
    "net.ipv4.udp_rmem_min",
    "net.ipv4.udp_wmem_min",
    "net.ipv6.conf.all.forwarding",
    "net.netfilter.nf_conntrack_max",
    "vm.nr_hugepages",
];
