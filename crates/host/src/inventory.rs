//! What a host has: a file for each thing that is read.
//!
//! Everything that can be read without privileges is read; what cannot is named as a gap,
//! with what to do about it.

use std::io;

use measurement::{Gap, Inventory};

use crate::Tree;

pub mod answers;
mod asked;
pub mod cores;
pub mod cpuinfo;
mod cpus;
mod interfaces;
pub mod irqs;
pub mod limits;
pub mod lists;
pub mod options;
pub mod routes;
mod services;
mod settings;
pub mod told;

use told::Told;

/// Reads the inventory of a host, and the gaps: what could not be read, and why.
pub fn of(tree: &Tree) -> (Inventory, Vec<Gap>) {
    with(tree, answers::answers(tree))
}

/// Reads the inventory of a host with the answers `told`, which its kernel gave before, and
/// the gaps: what could not be read, and why.
pub fn with(tree: &Tree, told: Told) -> (Inventory, Vec<Gap>) {
    let info = cpuinfo::read(&tree.text("proc/cpuinfo").unwrap_or_default());
    let (interfaces, other_namespace) = interfaces::interfaces(tree, &told.interfaces);
    let (irqs, no_irqs) = irqs::irqs(tree, &interfaces);
    let (settings, refused) = settings::settings(tree);
    let (kernel_options, no_options) = options::options(tree, &told.kernel);
    let gaps = told.gaps.into_iter().chain(other_namespace).chain(no_irqs);
    let gaps = gaps.chain(refused).chain(no_options).collect();
    let inventory = Inventory {
        host: told.host,
        kernel: told.kernel,
        architecture: told.architecture,
        model: model(tree, &info),
        boot: tree.value("proc/sys/kernel/random/boot_id"),
        cpus: cpus::cpus(tree, &info, &told.misaligned),
        interfaces,
        irqs,
        settings,
        routes: told.routes,
        services: services::services(tree),
        limits: limits::limits(tree),
        kernel_options,
    };
    (inventory, gaps)
}

/// The board by the device tree, the machine by its firmware (DMI), or what the kernel
/// writes beside the CPUs.
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

/// Why something could not be read, and what to do.
fn gap(what: impl Into<String>, error: &io::Error) -> Gap {
    let why = match error.kind() {
        io::ErrorKind::PermissionDenied => "not permitted: run linerate as root".to_owned(),
        io::ErrorKind::NotFound => "not there".to_owned(),
        _ => error.to_string(),
    };
    Gap { what: what.into(), why }
}
