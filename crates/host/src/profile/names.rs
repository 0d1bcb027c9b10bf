//! Resolves addresses in the kernel to the names of its functions (`/proc/kallsyms`, proc(5)).
//!
//! The list has over a hundred thousand lines, which take the kernel a tenth of a second to write:
//! it is read once, and kept in little more than the bytes of the names.

use std::io::{BufRead, BufReader, Read};

/// A function of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Function {
    /// Without what a compiler added.
    pub(super) name: String,
    /// `stmmac`; none: the kernel itself.
    pub(super) module: Option<String>,
}

/// All functions, by where they begin.
#[derive(Debug, Default)]
pub(super) struct Table {
    entries: Vec<Entry>,
    /// Their names, one after another, with what a compiler added.
    names: Vec<u8>,
    modules: Vec<String>,
}

/// One function; where it begins comes first, for the order.
#[derive(Clone, Copy, Debug)]
struct Entry {
    at: u64,
    /// Where its name stands in [`Table::names`], and how long that is.
    name: (u32, u16),
    /// From 1 in [`Table::modules`]; 0: the kernel itself.
    module: u16,
}

impl Table {
    /// Reads the text of `/proc/kallsyms`. A list that ends in the middle gives what it has; one
    /// whose addresses are hidden, or none, gives nothing.
    pub(super) fn read(list: Option<impl Read>) -> Self {
        let mut table = Self::default();
        let Some(list) = list else { return table };
        let mut list = BufReader::with_capacity(BUFFER, list);
        let mut line = Vec::new();
        while list.read_until(b'\n', &mut line).is_ok_and(|read| read > 0) {
            table.add(&line);
            line.clear();
        }
        // Stable: of the names of one address the first of the best stays.
        table.entries.sort_by_key(|entry| entry.at);
        let names = &table.names;
        table.entries.dedup_by(|next, kept| {
            if next.at == kept.at && rank(next.name_in(names)) < rank(kept.name_in(names)) {
                *kept = *next;
            }
            next.at == kept.at
        });
        table.entries.shrink_to_fit();
        table.names.shrink_to_fit();
        table
    }

    /// Whether there is no function: to a process without the permission the kernel shows zeros
    /// (`kernel.kptr_restrict`).
    pub(super) const fn is_hidden(&self) -> bool {
        self.entries.is_empty()
    }

    /// The function in which an address is.
    fn function(&self, address: u64) -> Option<Function> {
        let next = self.entries.partition_point(|entry| entry.at <= address);
        let entry = self.entries.get(next.checked_sub(1)?)?;
        let module = usize::from(entry.module).checked_sub(1);
        let module = module.and_then(|index| self.modules.get(index)).cloned();
        let name = String::from_utf8_lossy(bare(entry.name_in(&self.names))).into_owned();
        Some(Function { name, module })
    }

    /// Adds a line, of which nothing is looked at twice: there are very many.
    fn add(&mut self, line: &[u8]) {
        let Some((at, [b' ', b't' | b'T' | b'w' | b'W', b' ', rest @ ..])) = address(line) else {
            return;
        };
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let (name, module) = rest.split_at(end.unwrap_or(rest.len()));
        let place = u32::try_from(self.names.len()).ok().zip(u16::try_from(name.len()).ok());
        let Some(place) = place.filter(|_| at > 0) else { return };
        let module = self.module(module.trim_ascii());
        self.names.extend_from_slice(name);
        self.entries.push(Entry { at, name: place, module });
    }

    /// Its number. Modules follow each other in the list.
    fn module(&mut self, name: &[u8]) -> u16 {
        if name.is_empty() {
            return 0;
        }
        let name = String::from_utf8_lossy(name);
        let name = name.trim_matches(['[', ']']);
        if self.modules.last().is_none_or(|last| last != name) {
            self.modules.push(name.to_owned());
        }
        u16::try_from(self.modules.len()).unwrap_or(0)
    }
}

/// The hexadecimal number at the begin of a line, and what follows it.
fn address(line: &[u8]) -> Option<(u64, &[u8])> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let length = line.iter().take_while(|byte| digit(byte).is_some()).count();
    let (digits, rest) = line.split_at(length);
    let at = digits.iter().filter_map(digit).fold(0_u64, |at, digit| at << 4 | u64::from(digit));
    (1..=16).contains(&length).then_some((at, rest))
}

impl Entry {
    fn name_in(self, names: &[u8]) -> &[u8] {
        let (from, length) = (self.name.0 as usize, usize::from(self.name.1));
        names.get(from..from + length).unwrap_or_default()
    }
}

/// Functions for addresses.
#[derive(Debug, Default)]
pub(super) struct Names {
    addresses: Vec<u64>,
    functions: Vec<Option<Function>>,
}

impl Names {
    /// Resolves `addresses`, which are sorted.
    pub(super) fn resolve(addresses: &[u64], table: &Table) -> Self {
        let functions = addresses.iter().map(|address| table.function(*address)).collect();
        Self { addresses: addresses.to_vec(), functions }
    }

    /// The function in which an address is.
    pub(super) fn function(&self, address: u64) -> Option<&Function> {
        let index = self.addresses.binary_search(&address).ok()?;
        self.functions.get(index)?.as_ref()
    }
}

/// Of names for one address the least is preferred: that with fewer leading underscores, or as many
/// and shorter.
fn rank(name: &[u8]) -> (usize, usize) {
    let underscores = name.iter().take_while(|byte| **byte == b'_').count();
    (underscores, bare(name).len())
}

/// Without what a compiler adds to the names of parts and clones.
fn bare(name: &[u8]) -> &[u8] {
    let is_added = |from: &usize| ADDED.iter().any(|added| name[*from..].starts_with(added));
    let dots = name.iter().enumerate().filter(|(_, byte)| **byte == b'.').map(|(at, _)| at);
    &name[..dots.into_iter().find(is_added).unwrap_or(name.len())]
}

const ADDED: [&[u8]; 5] = [b".isra.", b".part.", b".constprop.", b".cold", b".llvm."];
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

    fn table(list: &str) -> Table {
        Table::read(Some(list.as_bytes()))
    }

    fn names(addresses: &[u64]) -> Vec<String> {
        let names = Names::resolve(addresses, &table(LIST));
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
        let names = Names::resolve(&[1, 0xffff_ffff_c000_0020], &table(LIST));
        let function = names.function(0xffff_ffff_c000_0020).expect("it is in the list");
        assert_eq!(function.module.as_deref(), Some("stmmac"));
        assert_eq!(names.function(1), None);
        assert!(!table(LIST).is_hidden());
    }

    #[test]
    fn zeros_hide_all_names() {
        let list = "0000000000000000 T _stext\n0000000000000000 T memcpy\n";
        assert!(table(list).is_hidden());
        assert!(Table::read(None::<&[u8]>).is_hidden());
    }
}
