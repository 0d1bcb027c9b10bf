//! The initramfs: busybox, linerate, and the driver of the network interface.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result};

use super::Parts;
use crate::command;

/// Packs it.
pub(super) fn make(folder: &Path, parts: &Parts, binary: &Path) -> Result<PathBuf> {
    let tree = folder.join("initramfs");
    _ = fs::remove_dir_all(&tree);
    for name in ["bin", "dev", "proc", "sys", "tmp", "modules"] {
        fs::create_dir_all(tree.join(name)).context("cannot make the initramfs")?;
    }
    fs::copy(&parts.busybox, tree.join("bin/busybox"))?;
    fs::copy(binary, tree.join("bin/linerate"))?;
    for (number, module) in (0..).zip(MODULES) {
        let from = parts.modules.join("kernel").join(module);
        // They are loaded in the order of their names.
        let to = tree.join(format!("modules/{number}.ko"));
        let script = r#"xz --decompress --stdout "$0" > "$1""#;
        command::run(Command::new("sh").args(["-c", script]).arg(from).arg(to))?;
    }
    let init = tree.join("init");
    fs::write(&init, INIT)?;
    fs::set_permissions(&init, fs::Permissions::from_mode(0o755))?;
    let image = folder.join("initramfs.cpio");
    let script = r#"find . | cpio --create --format=newc --quiet > "$0""#;
    command::run(Command::new("sh").args(["-c", script]).arg(&image).current_dir(&tree))?;
    Ok(image)
}

/// What virtio-net is on.
const MODULES: [&str; 3] =
    ["net/core/failover.ko.xz", "drivers/net/net_failover.ko.xz", "drivers/net/virtio_net.ko.xz"];
/// Ends in a shell that reads commands from the console, and has no prompt since its errors go to a
/// pipe.
const INIT: &str = "#!/bin/busybox sh
/bin/busybox mkdir -p /usr/bin /usr/sbin /sbin
/bin/busybox --install -s
mount -t devtmpfs dev /dev
mount -t proc proc /proc
mount -t sysfs sys /sys
for module in /modules/*.ko; do insmod $module; done
ip link set lo up
ip address add 10.99.0.2/24 dev eth0
ip link set eth0 up
export PATH=/bin:/usr/bin:/sbin:/usr/sbin HOME=/tmp
cd /tmp
stty -echo -onlcr
echo @@0
sh 2>&1 | cat
poweroff -f
";
