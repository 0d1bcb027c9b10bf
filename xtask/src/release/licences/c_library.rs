//! The C library that is linked in: musl, which rust-std brings, or glibc of Debian's cross
//! compilers.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Part, tidy};
use crate::static_binary::Target;

/// The one that a target is linked with.
pub(super) fn read(target: &Target) -> Result<Part> {
    if !target.is_glibc() {
        return Ok(Part {
            name: "musl".to_owned(),
            licence: "MIT".to_owned(),
            texts: vec![tidy(MUSL)],
        });
    }
    let copyright = format!("/usr/share/doc/{}/copyright", target.c_library());
    let mut texts = Vec::new();
    for path in [copyright.as_str(), "/usr/share/common-licenses/LGPL-2.1"] {
        texts.push(tidy(&text(Path::new(path))?));
    }
    Ok(Part { name: "glibc".to_owned(), licence: "LGPL-2.1-or-later".to_owned(), texts })
}

fn text(path: &Path) -> Result<String> {
    fs::read_to_string(path)
        .with_context(|| format!("cannot read {}: run this task on Debian", path.display()))
}

/// The notice in musl's file COPYRIGHT.
const MUSL: &str = include_str!("musl.txt");
