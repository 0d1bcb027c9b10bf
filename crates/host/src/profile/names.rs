//! Resolves addresses in the kernel to the names of its functions (`/proc/kallsyms`, proc(5)).
//!
//! The list has over a hundred thousand lines: it is read once, and only what is wanted is kept.

use std::io::{BufRead, BufReader, Read};

/// A function of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Function {
    /// Without what a compiler added.
    pub(super) name: String,
    /// `stmmac`; none: the kernel itself.
    pub(super) module: Option<String>,
    at: u64,
}

/// Functions for addresses.
#[derive(Debug, Default)]
pub(super) struct Names {
    addresses: Vec<u64>,
    /// The nearest function that begins at or before each address.
    functions: Vec<Function>,
}

impl Names {
    /// Resolves `addresses`, which are sorted, with the text of `/proc/kallsyms`.
    pub(super) fn resolve(addresses: &[u64], list: Option<impl Read>) -> Self {
        let functions = vec![Function::default(); addresses.len()];
        let mut names = Self { addresses: addresses.to_vec(), functions };
        if let Some(list) = list {
            names.read(BufReader::with_capacity(BUFFER, list));
        }
        names.fill_up();
        names
    }

    /// Whether there are addresses and no name for any: to a process without the permission the
    /// kernel shows zeros (`kernel.kptr_restrict`).
    pub(super) fn are_hidden(&self) -> bool {
        !self.addresses.is_empty() && self.functions.iter().all(|one| one.name.is_empty())
    }

    /// The function in which an address is.
    pub(super) fn function(&self, address: u64) -> Option<&Function> {
        let index = self.addresses.binary_search(&address).ok()?;
        self.functions.get(index).filter(|function| !function.name.is_empty())
    }

    /// A list that ends in the middle gives what it has.
    fn read(&mut self, mut list: impl BufRead) {
        let mut line = Vec::new();
        while list.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            if let Ok(text) = std::str::from_utf8(&line) {
                self.consider(text);
            }
            line.clear();
        }
    }

    /// Keeps a function for the first address that is not before it, if it is nearer.
    fn consider(&mut self, line: &str) {
        let Some((at, rest)) = line.split_once(' ') else { return };
        let Ok(at) = u64::from_str_radix(at, 16) else { return };
        let index = self.addresses.partition_point(|address| *address < at);
        let Some(kept) = self.functions.get_mut(index) else { return };
        if at == 0 || at < kept.at {
            return;
        }
        let Some((kind, rest)) = rest.split_once(' ') else { return };
        if !matches!(kind, "t" | "T" | "w" | "W") {
            return;
        }
        let (name, module) = rest.trim_end().split_once('\t').unwrap_or((rest.trim_end(), ""));
        let name = bare(name);
        if at > kept.at || is_plainer(name, &kept.name) {
            let module = module.trim_matches(['[', ']']);
            let module = (!module.is_empty()).then(|| module.to_owned());
            *kept = Function { name: name.to_owned(), module, at };
        }
    }

    /// Addresses between which no function begins are in the same one.
    fn fill_up(&mut self) {
        for index in 1..self.functions.len() {
            if self.functions[index].at < self.functions[index - 1].at {
                self.functions[index] = self.functions[index - 1].clone();
            }
        }
    }
}

/// Whether `name` is preferred to `than` for the same address: it has fewer leading
/// underscores, or as many and is shorter.
fn is_plainer(name: &str, than: &str) -> bool {
    let rank = |name: &str| {
        let plain = name.trim_start_matches('_');
        (name.len() - plain.len(), name.len())
    };
    rank(name) < rank(than)
}

/// Without what a compiler adds to the names of parts and clones.
fn bare(name: &str) -> &str {
    let cut = ADDED.iter().filter_map(|added| name.find(added)).min();
    &name[..cut.unwrap_or(name.len())]
}

const ADDED: [&str; 5] = [".isra.", ".part.", ".constprop.", ".cold", ".llvm."];
const BUFFER: usize = 64 * 1024;

#[cfg(test)]
mod tests {
    use super::*;

    const LIST: &str = "0000000000000000 A fixed_percpu
ffffffff81000000 T _stext
ffffffff81000100 T __pi_memcpy
ffffffff81000100 T memcpy
ffffffff81000100 W __memcpy
ffffffff81000200 t fold.isra.0.cold
ffffffff81000250 d data
ffffffffc0000010 t stmmac_xmit\t[stmmac]
ffffffffc0000000 t stmmac_open\t[stmmac]
";

    fn names(addresses: &[u64]) -> Vec<String> {
        let names = Names::resolve(addresses, Some(LIST.as_bytes()));
        let function = |address| names.function(address).cloned().unwrap_or_default();
        addresses.iter().map(|address| function(*address).name).collect()
    }

    #[test]
    fn an_address_has_the_name_of_the_function_before_it() {
        let found = names(&[
            0xffff_ffff_8100_0100,
            0xffff_ffff_8100_01ff,
            0xffff_ffff_8100_0200,
            0xffff_ffff_8100_0260,
            0xffff_ffff_c000_000f,
            0xffff_ffff_c000_0020,
        ]);
        assert_eq!(found, ["memcpy", "memcpy", "fold", "fold", "stmmac_open", "stmmac_xmit"]);
    }

    #[test]
    fn a_module_is_named_and_an_address_before_all_has_no_name() {
        let names = Names::resolve(&[1, 0xffff_ffff_c000_0020], Some(LIST.as_bytes()));
        let function = names.function(0xffff_ffff_c000_0020).expect("it is in the list");
        assert_eq!(function.module.as_deref(), Some("stmmac"));
        assert_eq!(names.function(1), None);
        assert!(!names.are_hidden());
    }

    #[test]
    fn zeros_hide_all_names() {
        let list = "0000000000000000 T _stext\n0000000000000000 T memcpy\n";
        assert!(Names::resolve(&[7, 9], Some(list.as_bytes())).are_hidden());
        assert!(Names::resolve(&[7], None::<&[u8]>).are_hidden());
        assert!(!Names::resolve(&[], Some(list.as_bytes())).are_hidden());
    }
}
