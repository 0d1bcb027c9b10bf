//! Build script: compresses the tables of kernel functions, so that they take a third of the room in the
//! program.

#![expect(
    clippy::disallowed_methods,
    clippy::disallowed_types,
    reason = "cargo tells where files are, and the crate itself reads none"
)]

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use flate2::Compression;
use flate2::write::ZlibEncoder;

fn main() -> io::Result<()> {
    println!("cargo:rerun-if-changed=build.rs");
    println!("cargo:rerun-if-changed={FOLDER}");
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let file = File::create(Path::new(&folder).join("symbols.zlib"))?;
    let mut encoder = ZlibEncoder::new(file, Compression::best());
    for table in TABLES {
        let text = fs::read_to_string(Path::new(FOLDER).join(format!("{table}.txt")))?;
        let lines = text.lines().filter(|line| !line.starts_with('#') && !line.is_empty());
        writeln!(encoder, "={table}")?;
        lines.into_iter().try_for_each(|line| writeln!(encoder, "{line}"))?;
    }
    encoder.finish().map(drop)
}

const FOLDER: &str = "src/attribution/symbols";
/// Begins of the names of architectures, and what all have.
const TABLES: [&str; 6] = ["x86_64", "aarch64", "arm", "riscv", "mips", "any"];
