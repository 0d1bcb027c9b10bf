//! Build script: compresses the page of reports, so that it takes a third of the room in the
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
    println!("cargo:rerun-if-changed={PAGE}");
    let folder = env::var_os("OUT_DIR").ok_or(io::ErrorKind::NotFound)?;
    let file = File::create(Path::new(&folder).join("shell.html.zlib"))?;
    let mut encoder = ZlibEncoder::new(file, Compression::best());
    encoder.write_all(&fs::read(PAGE)?)?;
    encoder.finish().map(drop)
}

/// As `cargo xtask web` writes it.
const PAGE: &str = "src/html/shell.html";
