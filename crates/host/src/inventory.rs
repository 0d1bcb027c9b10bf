//! Reads the inventory of a host ([`read`]): hardware, settings and limits; a source file for each
//! part.
//!
//! Everything that can be read without privileges is read. What cannot be read becomes a
//! [`Gap`] with the reason and a remedy.

use std::io;

use measurement::{Gap, Inventory};

use crate::Tree;

pub mod answers;
pub mod cores;
pub mod cpuinfo;
mod cpus;
mod interfaces;
pub mod irqs;
pub mod kernel_config;
mod kernel_queries;
pub mod limits;
pub mod lists;
pub mod memory;
pub mod options;
pub mod routes;
mod services;
mod settings;
mod traffic_control;

use answers::KernelAnswers;

/// Reads the inventory of a host: hardware, settings, limits. Also returns the gaps: what could not
/// be read, and why.
///
/// Interfaces and routes are those of the calling thread's network namespace.
pub fn read(tree: &Tree) -> (Inventory, Vec<Gap>) {
    read_with(tree, kernel_answers(tree))
}

/// What the kernel of a host reports by system calls only (netlink, ethtool, uname(2)): queried
/// from the running kernel, or read from a captured tree (a copy of a host's `/proc` and `/sys`).
pub fn kernel_answers(tree: &Tree) -> KernelAnswers {
    if tree.is_live() { kernel_queries::query() } else { KernelAnswers::from_capture(tree) }
}

/// Reads the inventory of a host (hardware, settings, limits), with `answers` that its kernel gave
/// earlier. Also returns the gaps: what could not be read, and why.
pub fn read_with(tree: &Tree, answers: KernelAnswers) -> (Inventory, Vec<Gap>) {
    let info = cpuinfo::read(&tree.text("proc/cpuinfo").unwrap_or_default());
    let (interfaces, other_namespace) = interfaces::interfaces(tree, &answers.interfaces);
    let (irqs, no_irqs) = irqs::irqs(tree, &interfaces);
    let (settings, refused) = settings::settings(tree);
    let (kernel_options, no_options) = options::options(tree, &answers.kernel);
    let gaps = answers.gaps.into_iter().chain(other_namespace).chain(no_irqs);
    let gaps = gaps.chain(refused).chain(no_options).collect();
    let inventory = Inventory {
        host: answers.host,
        kernel: answers.kernel,
        architecture: answers.architecture,
        model: model(tree, &info),
        boot: tree.value("proc/sys/kernel/random/boot_id"),
        cpus: cpus::cpus(tree, &info, &answers.misaligned),
        memory: memory::modules(tree),
        interfaces,
        irqs,
        settings,
        routes: answers.routes,
        services: services::services(tree),
        limits: limits::limits(tree),
        kernel_options,
    };
    (inventory, gaps)
}

/// The model of the machine: of the board by the device tree, else of the machine by its
/// firmware (DMI), else by `/proc/cpuinfo`.
fn model(tree: &Tree, info: &cpuinfo::CpuInfo) -> Option<String> {
    let of_firmware = || {
        let value = |file: &str| tree.value(&format!("sys/class/dmi/id/{file}"));
        let (vendor, product) = (value("sys_vendor"), value("product_name")?);
        let vendor = vendor.filter(|vendor| !product.starts_with(vendor.as_str()));
        Some(vendor.map_or_else(|| product.clone(), |vendor| format!("{vendor} {product}")))
    };
    let of_board = tree.value("proc/device-tree/model");
    of_board.or_else(of_firmware).or_else(|| info.model().map(str::to_owned))
}

/// A gap with the reason why `what` could not be read, and a remedy.
fn gap(what: impl Into<String>, error: &io::Error) -> Gap {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "not permitted: run linerate as root".to_owned(),
        io::ErrorKind::NotFound => "not there".to_owned(),
        _ => error.to_string(),
    };
    Gap { what: what.into(), why }
}
