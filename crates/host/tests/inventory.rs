//! The inventory of captured hosts, and of this one.

use std::io::Cursor;
use std::path::{Path, PathBuf};

use linerate_host::capture::Capture;
use linerate_host::inventory::read;
use linerate_host::{Archive, Tree};
use measurement::{Gap, Inventory};
use serde::Serialize;

fn tree(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/trees").join(name)
}

/// One line for each thing: a person sees at once which one is read otherwise.
fn lines((inventory, gaps): &(Inventory, Vec<Gap>)) -> String {
    let Inventory { host, kernel, architecture, model, boot, .. } = inventory;
    let mut lines = vec![line(&(host, kernel, architecture, model, boot))];
    lines.extend(inventory.cpus.iter().map(line));
    lines.extend(inventory.memory.iter().map(line));
    lines.extend(inventory.interfaces.iter().map(line));
    lines.extend(inventory.irqs.iter().map(line));
    lines.extend(inventory.settings.iter().map(|(name, value)| format!("{name} = {value}")));
    lines.extend(inventory.routes.iter().map(line));
    lines.push(line(&inventory.limits));
    lines.push(line(&inventory.kernel_options));
    lines.extend(gaps.iter().map(line));
    lines.join("\n")
}

fn line(thing: &impl Serialize) -> String {
    serde_json::to_string(thing).expect("serialises")
}

#[test]
fn every_captured_host_is_read() {
    for name in
        ["armv7-old", "hifive-unleashed", "nanopi-r4s", "nanopi-r4s-tuned", "server-numa", "x86-vm"]
    {
        insta::assert_snapshot!(name, lines(&read(&Tree::captured(&tree(name)))));
    }
}

/// This host at one moment: what counts on meanwhile is left out.
fn still((mut inventory, gaps): (Inventory, Vec<Gap>)) -> (Inventory, Vec<Gap>) {
    for irq in &mut inventory.irqs {
        irq.counts.clear();
    }
    // Tests beside this one make and delete interfaces.
    inventory.interfaces.retain(|interface| interface.kind.as_deref() != Some("veth"));
    (inventory, gaps)
}

#[test]
fn a_captured_host_has_what_the_live_one_has() {
    let mut bytes = Vec::new();
    Capture::take().write(&mut bytes).expect("a Vec takes everything");
    let live = still(read(&Tree::live()));
    let archive = Archive::read(Cursor::new(&bytes)).expect("an archive");
    let archived = still(read(&Tree::archived(archive)));
    assert_eq!(lines(&archived), lines(&live));

    let folder = std::env::temp_dir().join(format!("linerate-capture-{}", std::process::id()));
    std::fs::create_dir(&folder).expect("a folder");
    tar::Archive::new(Cursor::new(&bytes)).unpack(&folder).expect("unpacks");
    let unpacked = still(read(&Tree::captured(&folder)));
    std::fs::remove_dir_all(&folder).expect("removed");
    assert_eq!(lines(&unpacked), lines(&live));
}

#[test]
fn a_masked_capture_does_not_identify_its_host() {
    let (live, _) = read(&Tree::live());
    let mut bytes = Vec::new();
    Capture::take().masked().write(&mut bytes).expect("a Vec takes everything");
    let text = String::from_utf8_lossy(&bytes);
    let is_own = |address: &str| !address.starts_with("127.") && !address.starts_with("::1");
    let addresses = live.interfaces.iter().flat_map(|interface| &interface.addresses);
    for address in addresses.map(|text| text.split('/').next().unwrap_or_default()) {
        // A host may have an address that is a stand-in.
        let is_stand_in = address.starts_with("198.51.100.") || address.starts_with("fe80::");
        assert!(!is_own(address) || is_stand_in || !text.contains(address), "{address}");
    }
    let archive = Archive::read(Cursor::new(&bytes)).expect("an archive");
    let (masked, _) = read(&Tree::archived(archive));
    assert_eq!(masked.host, "host-1");
    assert_eq!((masked.kernel, masked.cpus), (live.kernel, live.cpus));
    assert_ne!(masked.boot, live.boot);
}

#[test]
fn a_namespace_without_its_own_sysfs_shows_nothing_of_another() {
    // Without privileges there is no other namespace.
    let Ok(namespace) = linux::namespace::NetworkNamespace::create() else { return };
    let (inventory, gaps) = namespace.run(|| read(&Tree::live())).expect("entered");
    let names: Vec<_> = inventory.interfaces.iter().map(|one| one.name.as_str()).collect();
    assert_eq!(names, ["lo"]);
    assert!(inventory.irqs.is_empty(), "{:?}", inventory.irqs);
    assert_eq!(inventory.interfaces[0].state.as_deref(), Some("down"), "as it is made");
    let sysfs_shows_more = std::fs::read_dir("/sys/class/net").is_ok_and(|all| all.count() > 1);
    let is_reported = gaps.iter().any(|gap| gap.why.contains("another network namespace"));
    assert_eq!(is_reported, sysfs_shows_more, "{gaps:?}");
}
