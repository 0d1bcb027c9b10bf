//! Settings: those that limit, and those that differ from the kernel's defaults.

use measurement::Inventory;

use super::head;
use crate::columns::{Cell, Columns, Emphasis};

/// The table of settings that differ from the defaults, or that limit tests.
pub(super) fn table(inventory: &Inventory) -> Columns {
    let mut columns = Columns::default();
    columns.push(head(&["setting", "value", "kernel's own"]));
    for (name, value) in &inventory.settings {
        let usual = USUAL.iter().find(|(known, _)| known == name).map(|(_, values)| *values);
        let is_changed = usual.is_some_and(|values| !values.contains(&value.as_str()));
        if !is_changed && !LIMITS.contains(&name.as_str()) {
            continue;
        }
        let usual = usual.filter(|_| is_changed).unwrap_or_default();
        let usual = usual.iter().take(2).copied().collect::<Vec<_>>().join(" or ");
        columns.push(vec![
            name.clone().into(),
            value.clone().into(),
            Cell::new(usual, Emphasis::Faint),
        ]);
    }
    columns
}

/// Shown whatever they are: what they allow, others must live with.
const LIMITS: [&str; 7] = [
    "net.core.default_qdisc",
    "net.core.rmem_default",
    "net.core.rmem_max",
    "net.core.wmem_max",
    "net.ipv4.tcp_congestion_control",
    "net.ipv4.tcp_rmem",
    "net.ipv4.tcp_wmem",
];

/// Defaults of kernels since 4.19 (docs.kernel.org, networking/ip-sysctl and
/// admin-guide/sysctl/net), the newest first.
const USUAL: [(&str, &[&str]); 28] = [
    ("net.core.busy_poll", &["0"]),
    ("net.core.busy_read", &["0"]),
    ("net.core.dev_weight", &["64"]),
    ("net.core.flow_limit_cpu_bitmap", &["0", "00", "00000000"]),
    ("net.core.gro_normal_batch", &["8"]),
    ("net.core.netdev_budget", &["300"]),
    // In jiffies of the kernel: two of them.
    ("net.core.netdev_budget_usecs", &["2000", "8000", "6666", "20000"]),
    ("net.core.netdev_max_backlog", &["1000"]),
    ("net.core.rmem_default", &["212992", "180224", "163840"]),
    ("net.core.rmem_max", &["4194304", "212992", "180224", "163840"]),
    ("net.core.rps_sock_flow_entries", &["0"]),
    ("net.core.wmem_default", &["212992", "180224", "163840"]),
    ("net.core.wmem_max", &["4194304", "212992", "180224", "163840"]),
    ("net.ipv4.ip_forward", &["0"]),
    ("net.ipv4.ip_no_pmtu_disc", &["0"]),
    ("net.ipv4.tcp_autocorking", &["1"]),
    ("net.ipv4.tcp_dsack", &["1"]),
    ("net.ipv4.tcp_ecn", &["2"]),
    ("net.ipv4.tcp_moderate_rcvbuf", &["1"]),
    ("net.ipv4.tcp_mtu_probing", &["0"]),
    ("net.ipv4.tcp_no_metrics_save", &["0"]),
    ("net.ipv4.tcp_notsent_lowat", &["4294967295", "-1"]),
    ("net.ipv4.tcp_sack", &["1"]),
    ("net.ipv4.tcp_slow_start_after_idle", &["1"]),
    ("net.ipv4.tcp_timestamps", &["1"]),
    ("net.ipv4.tcp_window_scaling", &["1"]),
    ("net.ipv4.udp_rmem_min", &["4096"]),
    ("vm.nr_hugepages", &["0"]),
];
