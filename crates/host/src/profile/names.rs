//! Resolves addresses in the kernel to the names of its functions (`/proc/kallsyms`, proc(5)).
//!
//! The list has over a hundred thousand lines, of which a profile refers to some hundred: of the
//! others nothing is kept. To write the list takes the kernel some hundredths of a second, so that
//! functions that were found are kept for later profiles.

use std::io::{self, BufRead, BufReader, Read};

/// A function of the kernel.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Function {
    /// Without what a compiler added.
    pub(super) name: String,
    /// `stmmac`; none: the kernel itself.
    pub(super) module: Option<String>,
}

/// Functions that were found, in the order of their addresses.
#[derive(Debug, Default)]
pub(super) struct Table {
    places: Vec<Place>,
}

/// The addresses of one function, or those before all functions.
#[derive(Clone, Debug)]
struct Place {
    first: u64,
    /// The last address before the next function.
    last: u64,
    function: Option<Function>,
}

impl Table {
    /// Whether so much is kept that it is better to begin anew.
    pub(super) const fn is_full(&self) -> bool {
        self.places.len() >= MOST_KEPT
    }

    /// Those of `addresses`, which are sorted, whose functions were not looked for.
    pub(super) fn lacks(&self, addresses: &[u64]) -> Vec<u64> {
        addresses.iter().copied().filter(|address| self.place(*address).is_none()).collect()
    }

    /// Looks for the functions of `addresses`, which are sorted and lacking, in the text of
    /// `/proc/kallsyms`. False: its addresses are hidden, or there are none.
    pub(super) fn read(&mut self, addresses: &[u64], list: impl Read) -> bool {
        let mut search = Search::new(addresses);
        // A list that ends in the middle gives what it has.
        _ = search.read(list);
        if search.has_found {
            self.places.extend(search.places());
            self.places.sort_unstable_by_key(|place| place.first);
            self.places.dedup_by_key(|place| place.first);
        }
        search.has_found
    }

    fn place(&self, address: u64) -> Option<&Place> {
        let next = self.places.partition_point(|place| place.first <= address);
        self.places.get(next.checked_sub(1)?).filter(|place| address <= place.last)
    }
}

/// Functions around some addresses in the part of the list that was read: of those between an
/// address and the one before it the first and the last.
struct Search<'a> {
    addresses: &'a [u64],
    /// One for each address, and one for what is beyond the last.
    gaps: Vec<Gap>,
    /// Whether there was a function.
    has_found: bool,
}

/// The functions behind one address, up to the next one.
#[derive(Clone, Debug, Default)]
struct Gap {
    /// Begin of the first of them; none: there is none.
    first: Option<u64>,
    /// The last of them: its begin, its name with what a compiler added, its module.
    last: Option<(u64, Vec<u8>, Vec<u8>)>,
}

impl<'a> Search<'a> {
    fn new(addresses: &'a [u64]) -> Self {
        Self { addresses, gaps: vec![Gap::default(); addresses.len() + 1], has_found: false }
    }

    fn read(&mut self, list: impl Read) -> io::Result<()> {
        let mut list = BufReader::with_capacity(BUFFER, list);
        let mut line = Vec::new();
        while list.read_until(b'\n', &mut line)? > 0 {
            self.add(&line);
            line.clear();
        }
        Ok(())
    }

    /// Adds a line, of which nothing is looked at twice: there are very many.
    fn add(&mut self, line: &[u8]) {
        let Some((at, [b' ', b't' | b'T' | b'w' | b'W', b' ', rest @ ..])) = address(line) else {
            return;
        };
        // To a process without the permission the kernel shows zeros (`kernel.kptr_restrict`).
        if at == 0 {
            return;
        }
        self.has_found = true;
        let gap = &mut self.gaps[self.addresses.partition_point(|address| *address < at)];
        gap.first = Some(gap.first.map_or(at, |first| first.min(at)));
        let end = rest.iter().position(u8::is_ascii_whitespace);
        let (name, module) = rest.split_at(end.unwrap_or(rest.len()));
        let (kept_at, kept_name, kept_module) = gap.last.get_or_insert_default();
        let is_nearer = at > *kept_at || at == *kept_at && rank(name) < rank(kept_name);
        if is_nearer {
            *kept_at = at;
            name.clone_into(kept_name);
            module.trim_ascii().clone_into(kept_module);
        }
    }

    /// The functions in which the addresses are.
    fn places(&self) -> Vec<Place> {
        let mut places: Vec<Place> = Vec::with_capacity(self.addresses.len());
        let mut before = Place { first: 0, last: 0, function: None };
        for (address, gap) in self.addresses.iter().zip(&self.gaps) {
            if let Some((at, name, module)) = &gap.last {
                before = Place { first: *at, last: *at, function: Some(function(name, module)) };
            }
            places.push(Place { last: *address, ..before.clone() });
        }
        let mut next = None;
        for (place, gap) in places.iter_mut().zip(&self.gaps[1..]).rev() {
            next = gap.first.or(next);
            place.last = next.map_or(u64::MAX, |next| next - 1);
        }
        places
    }
}

fn function(name: &[u8], module: &[u8]) -> Function {
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    let module = text(module).trim_matches(['[', ']']).to_owned();
    Function { name: text(bare(name)), module: Some(module).filter(|module| !module.is_empty()) }
}

/// The hexadecimal number at the begin of a line, and what follows it.
fn address(line: &[u8]) -> Option<(u64, &[u8])> {
    let digit = |byte: &u8| char::from(*byte).to_digit(16);
    let length = line.iter().take_while(|byte| digit(byte).is_some()).count();
    let (digits, rest) = line.split_at(length);
    let at = digits.iter().filter_map(digit).fold(0_u64, |at, digit| at << 4 | u64::from(digit));
    (1..=16).contains(&length).then_some((at, rest))
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
        let function = |address: &u64| table.place(*address)?.function.clone();
        let functions = addresses.iter().map(function).collect();
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
/// Functions that are kept for later profiles; profiles have some hundred each.
const MOST_KEPT: usize = 8_192;

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

    fn table(addresses: &[u64]) -> Table {
        let mut table = Table::default();
        assert!(table.read(addresses, LIST.as_bytes()));
        table
    }

    fn names(addresses: &[u64], table: &Table) -> Vec<String> {
        let names = Names::resolve(addresses, table);
        let function = |address| names.function(address).cloned().unwrap_or_default();
        addresses.iter().map(|address| function(*address).name).collect()
    }

    #[test]
    fn an_address_has_the_name_of_the_function_before_it() {
        let addresses = [
            0xffff_ffff_8100_0100,
            0xffff_ffff_8100_01ff,
            0xffff_ffff_8100_0200,
            0xffff_ffff_8100_0260,
            0xffff_ffff_c000_000f,
            0xffff_ffff_c000_0020,
        ];
        let found = names(&addresses, &table(&addresses));
        assert_eq!(found, ["memcpy", "memcpy", "fold", "fold", "stmmac_open", "stmmac_xmit"]);
    }

    #[test]
    fn a_module_is_named_and_an_address_before_all_has_no_name() {
        let addresses = [1, 0xffff_ffff_c000_0020];
        let names = Names::resolve(&addresses, &table(&addresses));
        let function = names.function(0xffff_ffff_c000_0020).expect("it is in the list");
        assert_eq!(function.module.as_deref(), Some("stmmac"));
        assert_eq!(names.function(1), None);
    }

    #[test]
    fn what_was_found_serves_all_addresses_of_a_function_and_no_other() {
        let mut table = table(&[0xffff_ffff_8100_0180, 0xffff_ffff_c000_0010]);
        let first = 0xffff_ffff_8100_0100;
        let known = [first, first + 0xff, 0xffff_ffff_c000_0010, u64::MAX];
        assert!(table.lacks(&known).is_empty());
        assert_eq!(names(&known, &table), ["memcpy", "memcpy", "stmmac_xmit", "stmmac_xmit"]);
        let others = [first - 1, first + 0x100, 0xffff_ffff_c000_000f];
        assert_eq!(table.lacks(&others), others);
        assert!(table.read(&others, LIST.as_bytes()));
        assert_eq!(names(&others, &table), ["_stext", "fold", "stmmac_open"]);
        assert_eq!(names(&known, &table), ["memcpy", "memcpy", "stmmac_xmit", "stmmac_xmit"]);
    }

    #[test]
    fn zeros_hide_all_names() {
        let list = "0000000000000000 T _stext\n0000000000000000 T memcpy\n";
        let mut table = Table::default();
        assert!(!table.read(&[7], list.as_bytes()));
        assert!(!table.read(&[7], &[][..]));
        assert_eq!(table.lacks(&[7]), [7]);
    }
}
