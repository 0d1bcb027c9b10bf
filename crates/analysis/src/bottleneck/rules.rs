//! Every rule of what limits.

use std::fmt::Display;

use measurement::remedy::{Setting, Switch};
use measurement::{ByteSize, Page, RuleId};

use super::case::Device;
use super::silent::{self, Arrivals};
use super::transfer::{self, Transfer};
use super::{Case, Class, Found, Rule, UsualEffect};

#[cfg(test)]
use super::fixture::Fixture;

mod ack_path_limited;
mod application_limited;
mod big_tcp_off;
mod bql_missing;
mod bus_bandwidth;
mod cgroup_cpu_quota;
mod channels_unused;
mod checksum_cost;
mod checksum_offload_off;
mod conntrack_full;
mod copy_cost;
mod cpu_frequency_drop;
mod cpu_saturated;
mod cpu_steal;
mod cpufreq_governor;
mod cwnd_growing;
mod dma_sync_cost;
mod duplex_mismatch;
mod ecn_marked;
mod eee_active;
mod foreign_traffic;
mod forward_drops;
mod gro_not_merging;
mod gro_off;
mod hw_gro_off;
mod in_order_core;
mod ingress_drops;
mod input_drops;
mod interrupt_storm;
mod iommu_mapping_cost;
mod irq_affinity_not_honoured;
mod irq_and_app_on_one_cpu;
mod irq_coalescing_delay;
mod irq_on_remote_node;
mod irq_on_slow_core;
mod irqbalance_running;
mod link_saturated;
mod link_speed_low;
mod lock_contention;
mod misaligned_access;
mod mtu_small;
mod napi_budget_exhausted;
mod netem_active;
mod other_processes;
mod output_drops;
mod pacing_without_fq;
mod packet_filter_cost;
mod packet_processing_cost;
mod packet_reordering;
mod path_mtu_black_hole;
mod path_mtu_exceeded;
mod path_rate_limit;
mod pause_frames;
mod process_stopped;
mod qdisc_limit;
mod queued_at_sender;
mod receive_on_one_cpu;
mod receive_queue_pruned;
mod receive_window_limited;
mod rfs_off;
mod rps_flow_limit;
mod rps_off;
mod rps_redundant;
mod rss_imbalance;
mod run_delay;
mod rx_frame_errors;
mod rx_ring_overrun;
mod rx_ring_small;
mod scatter_gather_off;
mod send_buffer_limited;
mod sender_below_rate;
mod single_thread_saturated;
mod socket_buffer_below_bdp;
mod socket_buffer_maximum;
mod softirq_saturated;
mod softnet_backlog_overflow;
mod standing_queue;
mod syscall_cost;
mod tcp_memory_pressure;
mod tcp_options_missing;
mod tcp_path_loss;
mod tso_off;
mod tx_drops;
mod udp_damaged_or_fragmented;
mod udp_memory_exhausted;
mod udp_path_loss;
mod udp_port_closed;
mod udp_receive_buffer;
mod udp_segmentation_off;
mod udp_send_blocked;
mod udp_socket_lock;
mod vector_copy_unused;
mod worker_saturated;
mod xps_off;
mod zerocopy_optmem_limit;
mod zerocopy_small_pages;

/// Lists the rules, and in tests what shows that each works.
macro_rules! registry {
    ($($rule:ident,)*) => {
        pub(super) const RULES: &[Rule] = &[$($rule::RULE),*];
        #[cfg(test)]
        pub(super) const FIXTURES: &[Fixture] = &[$($rule::FIXTURE),*];
    };
}

// In the order of the way; of findings that are as telling as each other the first is told
// first.
registry![
    // Links.
    link_speed_low,
    duplex_mismatch,
    rx_frame_errors,
    pause_frames,
    eee_active,
    link_saturated,
    path_mtu_exceeded,
    path_mtu_black_hole,
    mtu_small,
    bus_bandwidth,
    // Interfaces and interrupts.
    rx_ring_overrun,
    rx_ring_small,
    receive_on_one_cpu,
    channels_unused,
    irq_on_slow_core,
    irq_and_app_on_one_cpu,
    irq_affinity_not_honoured,
    irqbalance_running,
    rss_imbalance,
    interrupt_storm,
    irq_coalescing_delay,
    rps_redundant,
    ingress_drops,
    input_drops,
    forward_drops,
    output_drops,
    // Softirq.
    softnet_backlog_overflow,
    napi_budget_exhausted,
    rps_off,
    rps_flow_limit,
    softirq_saturated,
    rfs_off,
    // Sockets of UDP.
    udp_receive_buffer,
    udp_memory_exhausted,
    udp_send_blocked,
    udp_port_closed,
    udp_damaged_or_fragmented,
    path_rate_limit,
    udp_path_loss,
    udp_socket_lock,
    // TCP.
    receive_window_limited,
    send_buffer_limited,
    cwnd_growing,
    application_limited,
    tcp_path_loss,
    packet_reordering,
    receive_queue_pruned,
    tcp_memory_pressure,
    ack_path_limited,
    standing_queue,
    socket_buffer_below_bdp,
    socket_buffer_maximum,
    tcp_options_missing,
    ecn_marked,
    queued_at_sender,
    gro_not_merging,
    // CPUs.
    copy_cost,
    checksum_cost,
    misaligned_access,
    vector_copy_unused,
    in_order_core,
    dma_sync_cost,
    cpufreq_governor,
    syscall_cost,
    packet_filter_cost,
    lock_contention,
    packet_processing_cost,
    single_thread_saturated,
    cpu_saturated,
    process_stopped,
    // Offloads.
    checksum_offload_off,
    scatter_gather_off,
    tso_off,
    gro_off,
    hw_gro_off,
    udp_segmentation_off,
    big_tcp_off,
    // Queues for sending.
    qdisc_limit,
    netem_active,
    pacing_without_fq,
    bql_missing,
    tx_drops,
    xps_off,
    // Memory and bus.
    irq_on_remote_node,
    zerocopy_optmem_limit,
    zerocopy_small_pages,
    conntrack_full,
    iommu_mapping_cost,
    // Causes that also make a result doubtful.
    sender_below_rate,
    worker_saturated,
    run_delay,
    cpu_steal,
    cgroup_cpu_quota,
    cpu_frequency_drop,
    other_processes,
    foreign_traffic,
];

/// The finding of a check in a transfer of TCP whose sender reports.
type InTransfer = fn(&Case<'_>, &Transfer<'_>) -> Option<Found>;
/// The finding of a check in a transfer of TCP whose sender reports nothing.
type InArrivals = fn(&Case<'_>, &Arrivals<'_>) -> Option<Found>;

/// The findings of `told` in each transfer whose sender reports.
fn in_transfers(case: &Case<'_>, told: InTransfer) -> Vec<Found> {
    transfer::wanting(case).iter().filter_map(|transfer| told(case, transfer)).collect()
}

/// The findings of `told` in each transfer whose sender reports, and of `silent` in each other one.
fn in_all_transfers(case: &Case<'_>, told: InTransfer, silent: InArrivals) -> Vec<Found> {
    let mut found = in_transfers(case, told);
    found.extend(silent::wanting(case).iter().filter_map(|arrivals| silent(case, arrivals)));
    found
}

/// The setting of a variable below `/proc/sys`.
fn sysctl(name: &str, value: impl Display) -> Setting {
    Setting::Sysctl { name: name.to_owned(), value: value.to_string() }
}

/// The setting of the usual blocks of a TCP stream.
const fn usual_blocks() -> Setting {
    Setting::Length(ByteSize::from_bytes(128 << 10))
}

/// The setting that switches a feature of a device on; `feature` as ethtool(8) calls it.
fn switch_on(device: &Device<'_, '_>, feature: &str) -> Setting {
    let interface = device.interface.name.clone();
    Setting::Feature { interface, feature: feature.to_owned(), state: Switch::On }
}

/// Sets an offload of an interface.
#[cfg(test)]
fn switch(
    record: &mut measurement::TestRecord,
    role: &measurement::Role,
    offload: &str,
    state: &str,
) {
    let interface = crate::test_record::interface_of(record, role);
    interface.offloads.insert(offload.to_owned(), state.to_owned());
}
