//! Reads the build options of the kernel: `/proc/config.gz`, or `/boot/config-RELEASE`.

use std::collections::BTreeMap;
use std::io::Read;
use std::sync::OnceLock;

use measurement::{Gap, IntoMap};

use crate::Tree;

/// The build options of interest, and a gap if the kernel does not publish them. Those of the running
/// kernel, which do not change, are decompressed once.
pub(super) fn options(tree: &Tree, release: &str) -> (BTreeMap<String, String>, Option<Gap>) {
    static RUNNING: OnceLock<BTreeMap<String, String>> = OnceLock::new();
    // A capture needs the file itself.
    let is_running = tree.is_live() && !tree.is_recorded();
    if let Some(options) = RUNNING.get().filter(|_| is_running) {
        return (options.clone(), None);
    }
    let Some(text) = text(tree, release) else {
        return (BTreeMap::new(), Some(missing(release)));
    };
    let options = read(&text);
    if is_running {
        // Another thread may have read the same.
        _ = RUNNING.set(options.clone());
    }
    (options, None)
}

/// The configuration of the kernel; none: it does not publish it.
pub(super) fn text(tree: &Tree, release: &str) -> Option<String> {
    let packed = tree.bytes("proc/config.gz").ok().and_then(|bytes| unpack(&bytes));
    // The release comes from a file of a captured tree.
    let path = format!("boot/config-{release}");
    let file = || tree.text(&path).ok().filter(|_| !release.contains('/'));
    packed.or_else(file)
}

pub(super) fn missing(release: &str) -> Gap {
    Gap {
        what: "options of the kernel".to_owned(),
        why: format!(
            "neither /proc/config.gz nor /boot/config-{release} is there: modprobe configs"
        ),
    }
}

/// Decompresses gzip (RFC 1952), up to 4 MiB, which is more than any kernel configuration has;
/// bytes that are not UTF-8 are replaced. None: `bytes` are not gzip.
pub fn unpack(bytes: &[u8]) -> Option<String> {
    let mut text = Vec::new();
    flate2::read::GzDecoder::new(bytes).take(MOST_BYTES).read_to_end(&mut text).ok()?;
    Some(String::from_utf8_lossy(&text).into_owned())
}

/// Parses a kernel configuration, and returns the values of the relevant options by name
/// (Documentation/kbuild/kconfig.rst). An option that is not set has the value `n`.
pub fn read(text: &str) -> BTreeMap<String, String> {
    let option = |line: &str| {
        let unset = line.strip_prefix("# ").and_then(|rest| rest.strip_suffix(" is not set"));
        let (name, value) = unset.map(|name| (name, "n")).or_else(|| line.split_once('='))?;
        let matters = NAMES.contains(&name) || PREFIXES.iter().any(|one| name.starts_with(one));
        matters.then(|| (name.to_owned(), value.trim_matches('"').to_owned()))
    };
    text.lines().filter_map(option).into_map()
}

const MOST_BYTES: u64 = 4 << 20;

const NAMES: [&str; 33] = [
    "CONFIG_BPF_JIT",
    "CONFIG_DEFAULT_NET_SCH",
    "CONFIG_DEFAULT_TCP_CONG",
    "CONFIG_HAVE_EFFICIENT_UNALIGNED_ACCESS",
    "CONFIG_HZ",
    "CONFIG_IRQ_FORCED_THREADING",
    "CONFIG_IRQ_TIME_ACCOUNTING",
    "CONFIG_MITIGATIONS",
    "CONFIG_CPU_MITIGATIONS",
    "CONFIG_MPTCP",
    "CONFIG_NET_FLOW_LIMIT",
    "CONFIG_NET_RX_BUSY_POLL",
    "CONFIG_NET_SCH_CAKE",
    "CONFIG_NET_SCH_FQ",
    "CONFIG_NET_SCH_FQ_CODEL",
    "CONFIG_NET_SCH_HTB",
    "CONFIG_NET_SCH_NETEM",
    "CONFIG_NET_SCH_TBF",
    "CONFIG_NO_HZ_FULL",
    "CONFIG_NO_HZ_IDLE",
    "CONFIG_PAGE_POOL",
    "CONFIG_RFS_ACCEL",
    "CONFIG_RISCV_ISA_V",
    "CONFIG_RISCV_ISA_V_UCOPY_THRESHOLD",
    "CONFIG_RISCV_ISA_ZBB",
    "CONFIG_RPS",
    "CONFIG_SMP",
    "CONFIG_SWIOTLB",
    "CONFIG_TCP_CONG_BBR",
    "CONFIG_TLS",
    "CONFIG_VIRT_CPU_ACCOUNTING_GEN",
    "CONFIG_XDP_SOCKETS",
    "CONFIG_XPS",
];
/// Several exclude each other.
const PREFIXES: [&str; 2] = ["CONFIG_PREEMPT", "CONFIG_RISCV_MISALIGNED"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_interest_are_kept() {
        let options = read(
            "CONFIG_HZ=250\n# CONFIG_NET_SCH_FQ is not set\nCONFIG_PREEMPT_DYNAMIC=y\n\
             CONFIG_DEFAULT_TCP_CONG=\"cubic\"\nCONFIG_SOUND=m\n#\n# Comment\n",
        );
        let expected = [
            ("CONFIG_DEFAULT_TCP_CONG", "cubic"),
            ("CONFIG_HZ", "250"),
            ("CONFIG_NET_SCH_FQ", "n"),
            ("CONFIG_PREEMPT_DYNAMIC", "y"),
        ];
        let expected = expected.map(|(name, value)| (name.to_owned(), value.to_owned()));
        assert_eq!(options, BTreeMap::from(expected));
    }

    #[test]
    fn what_is_no_gzip_is_no_text() {
        assert_eq!(unpack(b"CONFIG_HZ=250"), None);
    }
}
