//! What takes the place in the static file, by the names of its symbols.

use std::cmp::Reverse;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result};
use testbed::markdown::{Align, Table};

use crate::command;

/// A part and its bytes.
type Part = (&'static str, usize);

/// The parts of a file with symbols.
pub(super) fn sizes(binary: &Path) -> Result<Vec<Part>> {
    let mut nm = Command::new("nm");
    nm.args(["--demangle", "--print-size", "--format=posix"]).arg(binary);
    let symbols = command::output(&mut nm).context("--parts needs nm, of binutils")?;
    let mut parts = PARTS.map(|(name, _)| (name, 0)).to_vec();
    for (name, bytes) in symbols.lines().filter_map(symbol) {
        let at = PARTS.iter().position(|(_, words)| words.iter().any(|word| name.contains(word)));
        parts[at.unwrap_or(PARTS.len() - 1)].1 += bytes;
    }
    Ok(parts)
}

/// A table of them, the largest first. `size` is that of the file that is handed out, which has
/// more than what symbols name.
pub(super) fn table(mut parts: Vec<Part>, size: usize) -> Table {
    let named: usize = parts.iter().map(|(_, bytes)| bytes).sum();
    parts.push(("texts, tables of the linker", size.saturating_sub(named)));
    parts.sort_by_key(|(_, bytes)| Reverse(*bytes));
    let mut table = Table::new([("part", Align::Left), ("MB", Align::Right)]);
    for (name, bytes) in parts {
        table.push([name.to_owned(), format!("{:.2}", bytes as f64 / 1e6)]);
    }
    table
}

/// Name and size of a symbol that is in the file; `NAME TYPE VALUE SIZE` (nm(1), POSIX.2). Names
/// have blanks once they are demangled.
fn symbol(line: &str) -> Option<(&str, usize)> {
    let mut words = line.rsplitn(4, ' ');
    let (size, _value, kind) = (words.next()?, words.next()?, words.next()?);
    let is_in_file = !kind.eq_ignore_ascii_case("b");
    let size = usize::from_str_radix(size, 16).ok()?;
    is_in_file.then_some((words.next()?, size))
}

/// The first part of which a symbol's name has a word; the last has the others.
const PARTS: [(&str, &[&str]); 9] = [
    ("JSON (serde)", &["serde"]),
    ("command line (clap)", &["clap"]),
    ("backtraces", &["gimli", "addr2line", "backtrace", "libunwind"]),
    ("dataplane, linux, mars", &["linerate_dataplane", "linerate_linux", "linerate_mars"]),
    ("other crates of linerate", &["linerate"]),
    ("SQLite", &["sqlite3"]),
    ("RSA", &["rsa::", "crypto_bigint", "pkcs1", "sha1", "sha2"]),
    ("Rust's library, other crates", &["::"]),
    ("C: musl; outlined code", &[]),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_symbol_has_a_name_with_blanks_and_a_size() {
        let line = "<a::B as c::D>::e T 00000000000012f0 00000000000000ff";
        assert_eq!(symbol(line), Some(("<a::B as c::D>::e", 255)));
        assert_eq!(symbol("zeroes b 0000000000001000 0000000000000010"), None);
        assert_eq!(symbol("main T 1000 "), None);
    }
}
