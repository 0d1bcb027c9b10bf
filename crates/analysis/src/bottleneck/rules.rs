//! Every rule of what limits.

use std::fmt::Display;

use measurement::remedy::{Setting, Switch};
use measurement::{Page, RuleId};

use super::case::Device;
use super::{Case, Found, Rule};

#[cfg(test)]
use super::fixture::Fixture;

mod address_translation;
mod application_limited;
mod backlog;
mod balancer;
mod big_tcp;
mod bounce_buffers;
mod budget;
mod buffer_asked;
mod bus;
mod checksum_offload;
mod checksum_work;
mod congestion_marks;
mod congestion_window;
mod connection_table;
mod copying;
mod cpu_full;
mod damaged_frames;
mod damaged_or_fragments;
mod device_joins;
mod device_queue;
mod duplex;
mod far_from_program;
mod few_queues;
mod firewall;
mod flow_limit;
mod foreign_traffic;
mod governor;
mod immovable;
mod in_order_core;
mod inert_pacing;
mod interrupt_storm;
mod joined_packets;
mod late_interrupts;
mod link_full;
mod link_speed;
mod locks;
mod loss;
mod misaligned;
mod missed;
mod needless_steering;
mod no_steering;
mod nobody_listens;
mod one_core_receives;
mod one_thread;
mod other_node;
mod other_processes;
mod packet_memory;
mod path_loss;
mod path_mtu;
mod pause;
mod queue_drops;
mod quota;
mod rate_not_sent;
mod receive_window;
mod receiver_squeezed;
mod reordering;
mod scatter_gather;
mod segmentation;
mod send_buffer;
mod send_steering;
mod sender_socket_full;
mod shared_core;
mod short_ring;
mod sleeping_link;
mod slow_core;
mod slowed_down;
mod small_pages;
mod small_segments;
mod socket_lock;
mod softirq_full;
mod standing_queue;
mod standstill;
mod starved;
mod stolen;
mod stuck_in_queue;
mod system_calls;
mod tcp_memory;
mod tcp_options;
mod udp_memory;
mod udp_receive_buffer;
mod udp_segmentation;
mod uneven_queues;
mod unsent;
mod vector_copy;
mod worker_full;
mod zero_copy_refused;

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
    link_speed,
    duplex,
    damaged_frames,
    pause,
    sleeping_link,
    link_full,
    path_mtu,
    bus,
    // Interfaces and interrupts.
    missed,
    short_ring,
    one_core_receives,
    few_queues,
    slow_core,
    shared_core,
    immovable,
    balancer,
    uneven_queues,
    interrupt_storm,
    late_interrupts,
    needless_steering,
    // Softirq.
    backlog,
    budget,
    no_steering,
    flow_limit,
    softirq_full,
    far_from_program,
    // Sockets of UDP.
    udp_receive_buffer,
    udp_memory,
    sender_socket_full,
    nobody_listens,
    damaged_or_fragments,
    path_loss,
    socket_lock,
    // TCP.
    receive_window,
    send_buffer,
    congestion_window,
    application_limited,
    loss,
    reordering,
    receiver_squeezed,
    tcp_memory,
    standing_queue,
    buffer_asked,
    tcp_options,
    congestion_marks,
    stuck_in_queue,
    small_segments,
    // CPUs.
    copying,
    checksum_work,
    misaligned,
    vector_copy,
    in_order_core,
    bounce_buffers,
    governor,
    system_calls,
    firewall,
    locks,
    packet_memory,
    one_thread,
    cpu_full,
    standstill,
    // Offloads.
    checksum_offload,
    scatter_gather,
    segmentation,
    joined_packets,
    device_joins,
    udp_segmentation,
    big_tcp,
    // Queues for sending.
    queue_drops,
    inert_pacing,
    device_queue,
    unsent,
    send_steering,
    // Memory and bus.
    other_node,
    zero_copy_refused,
    small_pages,
    connection_table,
    address_translation,
    // Causes that also make a result doubtful.
    rate_not_sent,
    worker_full,
    starved,
    stolen,
    quota,
    slowed_down,
    other_processes,
    foreign_traffic,
];

/// The setting of a variable below `/proc/sys`.
fn sysctl(name: &str, value: impl Display) -> Setting {
    Setting::Sysctl { name: name.to_owned(), value: value.to_string() }
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
    let interface = crate::scene::interface_of(record, role);
    interface.offloads.insert(offload.to_owned(), state.to_owned());
}
