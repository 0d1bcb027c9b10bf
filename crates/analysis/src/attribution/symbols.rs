//! What functions of a kernel work at, by their names: tables, one for all architectures and
//! one for each that has names of its own.

use std::collections::HashMap;
use std::io::Read;
use std::sync::OnceLock;

use flate2::read::ZlibDecoder;
use measurement::profile::Mode;
use measurement::{Order, ProfileRow, verdict::Work};

/// Patterns of names.
pub(super) struct Symbols {
    whole: HashMap<&'static str, Work>,
    /// Those with a star, those with the most letters first.
    stars: Vec<Star>,
    /// Modules that drive interfaces of the host.
    drivers: Vec<String>,
}

/// A pattern with a star.
struct Star {
    /// The letters of the pattern before its first star.
    begin: &'static str,
    /// The letters of the pattern behind its first star, further stars among them.
    rest: &'static str,
    work: Work,
}

impl Symbols {
    /// Those of a kernel on an architecture, in the words of uname(2): `riscv64`. Of an unknown
    /// one all are tried.
    pub(super) fn for_architecture(architecture: Option<&str>) -> Self {
        let is_its = |table: &str| {
            table == ANY || architecture.is_none_or(|architecture| architecture.starts_with(table))
        };
        let mut symbols = Self { whole: HashMap::new(), stars: Vec::new(), drivers: Vec::new() };
        // What stands first stays: an architecture knows its names best.
        let named = tables().split('=').filter_map(|table| table.split_once('\n'));
        named.filter(|(table, _)| is_its(table)).for_each(|(_, text)| symbols.add(text));
        symbols.stars.order_by_key(|star| std::cmp::Reverse(star.begin.len() + star.rest.len()));
        symbols
    }

    /// The same on a host with these drivers of interfaces.
    pub(super) fn with_drivers<'a>(self, drivers: impl Iterator<Item = &'a str>) -> Self {
        Self { drivers: drivers.map(module_name).collect(), ..self }
    }

    fn add(&mut self, text: &'static str) {
        for (work, patterns) in text.lines().filter_map(|line| line.split_once(' ')) {
            let Some(work) = named(work) else { continue };
            for pattern in patterns.split_whitespace() {
                match pattern.split_once('*') {
                    Some((begin, rest)) => self.stars.push(Star { begin, rest, work }),
                    None => _ = self.whole.entry(pattern).or_insert(work),
                }
            }
        }
    }

    /// What was done where samples were found.
    pub(super) fn work(&self, row: &ProfileRow) -> Work {
        if row.mode == Mode::User {
            return Work::User;
        }
        let work = self.of_name(&row.symbol);
        match (work, &row.within, &row.module) {
            (Some(Work::CopyMemory), Some(caller), _) => self.copy_for(caller),
            (Some(work), _, _) => work,
            (None, Some(caller), _) => self.of_name(caller).unwrap_or(Work::Other),
            (None, None, Some(module)) => self.of_module(module),
            (None, None, None) => Work::Other,
        }
    }

    /// A plain copy is its caller's where that tells what is copied.
    fn copy_for(&self, caller: &str) -> Work {
        match self.of_name(caller) {
            Some(work @ (Work::CopyUser | Work::CopyIterator | Work::Allocation)) => work,
            _ => Work::CopyMemory,
        }
    }

    /// Functions that no table knows of a module.
    fn of_module(&self, module: &str) -> Work {
        let module = module_name(module);
        let begins = |prefixes: &[&str]| prefixes.iter().any(|prefix| module.starts_with(prefix));
        if begins(&FILTERS) {
            Work::Filters
        } else if begins(&STACK) {
            Work::Transmit
        } else if self.drivers.contains(&module) || begins(&DRIVERS) {
            Work::Driver
        } else {
            Work::Other
        }
    }

    fn of_name(&self, name: &str) -> Option<Work> {
        let name = plain(name);
        let whole = self.whole.get(name).copied();
        let star = || self.stars.iter().find(|star| star.fits(name));
        whole.or_else(|| star().map(|star| star.work))
    }
}

impl Star {
    /// Whether a name has the parts between stars, in their order, and nothing before or behind.
    fn fits(&self, name: &str) -> bool {
        let Some(mut name) = name.strip_prefix(self.begin) else { return false };
        let mut parts = self.rest.split('*').peekable();
        while let Some(part) = parts.next() {
            if parts.peek().is_none() {
                return name.ends_with(part);
            }
            match name.find(part) {
                Some(at) => name = &name[at + part.len()..],
                None => return false,
            }
        }
        true
    }
}

/// As `/proc/kallsyms` writes it: files and drivers may have hyphens where it has underscores.
fn module_name(name: &str) -> String {
    name.replace('-', "_")
}

/// Without what says nothing: underscores, and `__pi_` of copies that run at any address.
fn plain(name: &str) -> &str {
    let plain = name.trim_start_matches('_');
    match plain.strip_prefix("pi_") {
        Some(rest) if plain.len() < name.len() => rest.trim_start_matches('_'),
        _ => plain,
    }
}

fn named(word: &str) -> Option<Work> {
    WORDS.iter().find(|(name, _)| *name == word).map(|(_, work)| *work)
}

/// The tables of this folder, one after the other: `=`, its name, and its lines.
fn tables() -> &'static str {
    static TABLES: OnceLock<String> = OnceLock::new();
    TABLES.get_or_init(|| {
        let mut tables = String::new();
        // It was compressed by this build: without it no function is known.
        _ = ZlibDecoder::new(PACKED).read_to_string(&mut tables);
        tables
    })
}

/// As `build.rs` compresses them; that of all architectures is the last.
const PACKED: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/symbols.zlib"));
/// Name of the table for every architecture.
const ANY: &str = "any";
/// Begins of the names of modules.
const FILTERS: [&str; 7] = ["nf_", "nft_", "xt_", "ip_tables", "ip6_tables", "iptable", "x_tables"];
const STACK: [&str; 6] = ["sch_", "tcp_", "act_", "cls_", "ipv6", "mptcp"];
/// Of modules below `drivers/net` of the kernel, and of those that vendors of boards have beside
/// it.
const DRIVERS: [&str; 62] = [
    "8139",
    "alx",
    "amd_xgbe",
    "aqc111",
    "ath",
    "atl1",
    "atlantic",
    "ax88179",
    "b44",
    "bcmgenet",
    "be2net",
    "bna",
    "bnx2",
    "bnxt",
    "brcmfmac",
    "cdc_",
    "cxgb",
    "dwmac",
    "dummy",
    "e100",
    "ena",
    "enic",
    "fec",
    "forcedeth",
    "fsl_",
    "gve",
    "hinic",
    "hns",
    "i40e",
    "iavf",
    "ice",
    "igb",
    "igc",
    "ixgb",
    "iwl",
    "jme",
    "k1_emac",
    "lan7",
    "macb",
    "mlx",
    "mt76",
    "mtk_",
    "mvneta",
    "mvpp2",
    "nfp",
    "octeon",
    "pcs_",
    "qede",
    "r815",
    "r816",
    "ravb",
    "rtl",
    "rtw",
    "sfc",
    "sky2",
    "smsc",
    "starfive_gmac",
    "stmmac",
    "tg3",
    "usbnet",
    "veth",
    "virtio_net",
];
const WORDS: [(&str, Work); 16] = [
    ("copy_user", Work::CopyUser),
    ("copy_iterator", Work::CopyIterator),
    ("copy_memory", Work::CopyMemory),
    ("copy_checks", Work::CopyChecks),
    ("checksum", Work::Checksum),
    ("allocation", Work::Allocation),
    ("system_call", Work::SystemCall),
    ("wakeup", Work::Wakeup),
    ("receive", Work::Receive),
    ("transmit", Work::Transmit),
    ("driver", Work::Driver),
    ("filters", Work::Filters),
    ("locking", Work::Locking),
    ("scheduler", Work::Scheduler),
    ("trap_emulation", Work::TrapEmulation),
    ("idle", Work::Idle),
];

#[cfg(test)]
mod tests {
    use super::*;

    fn of(architecture: &str, symbol: &str) -> Work {
        let row = ProfileRow { symbol: symbol.to_owned(), ..ProfileRow::default() };
        Symbols::for_architecture(Some(architecture)).work(&row)
    }

    #[test]
    fn each_architecture_knows_its_copies() {
        for (architecture, symbol) in [
            ("x86_64", "rep_movs_alternative"),
            ("x86_64", "copy_user_enhanced_fast_string"),
            ("aarch64", "__arch_copy_to_user"),
            ("armv7l", "arm_copy_from_user"),
            ("riscv64", "__asm_copy_to_user_sum_enabled"),
            ("riscv64", "fallback_scalar_usercopy"),
            ("mips", "src_unaligned_dst_aligned"),
        ] {
            assert_eq!(of(architecture, symbol), Work::CopyUser, "{architecture} {symbol}");
        }
        for (architecture, symbol) in
            [("x86_64", "memcpy_orig"), ("armv7l", "mmiocpy"), ("riscv64", "__pi_memcpy")]
        {
            assert_eq!(of(architecture, symbol), Work::CopyMemory, "{architecture} {symbol}");
        }
    }

    #[test]
    fn functions_of_each_kind_are_known() {
        for (symbol, work) in [
            ("_copy_to_iter", Work::CopyIterator),
            ("__check_object_size", Work::CopyChecks),
            ("csum_partial", Work::Checksum),
            ("__alloc_skb", Work::Allocation),
            ("entry_SYSCALL_64_after_hwframe", Work::SystemCall),
            ("sock_def_readable", Work::Wakeup),
            ("__napi_poll", Work::Receive),
            ("tcp_v4_rcv", Work::Receive),
            ("__tcp_transmit_skb", Work::Transmit),
            ("__dev_queue_xmit", Work::Transmit),
            ("stmmac_napi_poll_rx", Work::Driver),
            ("__bpf_prog_run", Work::Filters),
            ("native_queued_spin_lock_slowpath", Work::Locking),
            ("__pv_queued_spin_lock_slowpath", Work::Locking),
            ("osq_lock", Work::Locking),
            ("rwsem_down_write_slowpath", Work::Locking),
            ("_raw_spin_lock", Work::Scheduler),
            ("_raw_spin_unlock_irqrestore", Work::Scheduler),
            ("__local_bh_enable_ip", Work::Scheduler),
            ("try_to_wake_up", Work::Scheduler),
            ("pv_native_safe_halt", Work::Idle),
            ("do_trap_load_misaligned", Work::TrapEmulation),
            ("no_such_function_of_linux", Work::Other),
        ] {
            assert_eq!(of("x86_64", symbol), work, "{symbol}");
        }
    }

    #[test]
    fn a_name_that_only_begins_like_a_known_one_is_not_known() {
        let names = "in_flight_count d_none output_queue tcp_nonesuch skb_nonesuch sk_nonesuch \
                     ip_nonesuch dev_nonesuch save_all wait_here nv_read irq_nonesuch \
                     number_of_things string_theory";
        for symbol in names.split_whitespace() {
            assert_eq!(of("x86_64", symbol), Work::Other, "{symbol}");
        }
    }

    #[test]
    fn ticket_locks_wait_in_place() {
        assert_eq!(of("riscv64", "_raw_spin_lock"), Work::Locking);
        assert_eq!(of("riscv64", "_raw_spin_unlock"), Work::Scheduler);
        assert_eq!(of("aarch64", "_raw_spin_lock"), Work::Scheduler);
    }

    #[test]
    fn maintenance_of_caches_for_dma_is_the_drivers() {
        for (architecture, symbol) in [
            ("aarch64", "dcache_clean_inval_poc"),
            ("aarch64", "__pi_dcache_clean_poc"),
            ("aarch64", "__pi___clean_dcache_area_poc"),
            ("aarch64", "__dma_map_area"),
            ("armv7l", "v7_dma_inv_range"),
            ("armv7l", "v7_flush_kern_dcache_area"),
            ("mips", "dma_cache_wback_inv"),
            ("mips", "r4k_dma_cache_inv"),
            ("riscv64", "arch_sync_dma_for_device"),
            ("riscv64", "sifive_ccache_flush_range"),
            ("x86_64", "swiotlb_find_slots"),
            ("x86_64", "clflush_cache_range"),
        ] {
            assert_eq!(of(architecture, symbol), Work::Driver, "{architecture} {symbol}");
        }
        // The bounce buffers themselves are copied.
        assert_eq!(of("x86_64", "swiotlb_bounce"), Work::CopyMemory);
    }

    #[test]
    fn vector_registers_for_the_kernel_are_saved_like_those_of_programs() {
        for (architecture, symbol) in [
            ("x86_64", "kernel_fpu_begin_mask"),
            ("x86_64", "kernel_fpu_end"),
            ("aarch64", "kernel_neon_begin"),
            ("aarch64", "fpsimd_save_state"),
            ("riscv64", "kernel_vector_begin"),
        ] {
            assert_eq!(of(architecture, symbol), Work::SystemCall, "{architecture} {symbol}");
        }
    }

    #[test]
    fn who_waits_for_a_lock_is_told_from_who_finds_it_free() {
        let waits = "queued_spin_lock_slowpath mutex_spin_on_owner rwsem_spin_on_owner \
                     osq_lock arch_spin_lock_wait hv_qlock_wait";
        for symbol in waits.split_whitespace() {
            assert_eq!(of("aarch64", symbol), Work::Locking, "{symbol}");
        }
        for symbol in ["arch_spin_lock", "do_raw_spin_lock"] {
            assert_eq!(of("riscv64", symbol), Work::Locking, "{symbol}");
            assert_eq!(of("x86_64", symbol), Work::Scheduler, "{symbol}");
        }
        assert_eq!(of("riscv64", "arch_spin_unlock"), Work::Scheduler);
    }

    #[test]
    fn a_plain_copy_belongs_to_who_tells_what_is_copied() {
        let within = |symbol: &str, caller: &str| {
            let (symbol, within) = (symbol.to_owned(), Some(caller.to_owned()));
            Symbols::for_architecture(None).work(&ProfileRow {
                symbol,
                within,
                ..ProfileRow::default()
            })
        };
        assert_eq!(within("memcpy", "_copy_from_iter"), Work::CopyIterator);
        assert_eq!(within("memset", "__alloc_skb"), Work::Allocation);
        assert_eq!(within("memcpy", "stmmac_rx"), Work::CopyMemory);
        assert_eq!(within("native_queued_spin_lock_slowpath", "sch_direct_xmit"), Work::Locking);
    }

    #[test]
    fn what_no_table_knows_is_its_modules() {
        let of = |module: &str| {
            let module = Some(module.to_owned());
            let symbol = "strange_thing".to_owned();
            let symbols = Symbols::for_architecture(None).with_drivers(["my-nic"].into_iter());
            symbols.work(&ProfileRow { symbol, module, ..ProfileRow::default() })
        };
        assert_eq!(of("my_nic"), Work::Driver);
        assert_eq!(of("btrfs"), Work::Other);
        assert_eq!(of("starfive_gmac"), Work::Driver);
        assert_eq!(of("nf_conntrack"), Work::Filters);
        assert_eq!(of("sch_cake"), Work::Transmit);
    }

    #[test]
    fn a_star_stands_for_any_letters() {
        let fits = |pattern: &'static str, name: &str| {
            let (begin, rest) = pattern.split_once('*').expect("a star");
            Star { begin, rest, work: Work::Other }.fits(name)
        };
        assert!(fits("copy_*_user*", "copy_to_user_std") && fits("*lock*", "spin_lock"));
        assert!(!fits("copy_*_user", "copy_to_user_std") && !fits("a*b", "b"));
        assert!(fits("a*", "a") && !fits("a*a", "a"));
    }

    #[test]
    fn all_lines_are_patterns_of_some_work() {
        let lines = || tables().lines();
        assert_eq!(lines().filter(|line| line.starts_with('=')).count(), 6, "one an architecture");
        for line in lines().filter(|line| !line.starts_with('=')) {
            let (word, patterns) = line.split_once(' ').expect("work and patterns");
            assert!(named(word).is_some(), "{line}");
            let is_plain = |pattern: &str| plain(pattern) == pattern && pattern != "*";
            assert!(patterns.split_whitespace().all(is_plain), "{line}");
        }
    }
}
