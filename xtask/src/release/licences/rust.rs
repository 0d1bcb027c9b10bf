//! Rust's standard library, by the notices that its release has in `share/doc/rust`.

use std::fs;
use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::{Part, choose, tidy};
use crate::command;

/// The library itself, and the crates that it is made of.
pub(super) fn read() -> Result<Vec<Part>> {
    let sysroot = command::output(Command::new("rustc").args(["--print", "sysroot"]))?;
    let version = command::output(Command::new("rustc").arg("--version"))?;
    let folder = Path::new(sysroot.trim()).join("share/doc/rust");
    let text = |name: &str| {
        fs::read_to_string(folder.join(name))
            .with_context(|| format!("cannot read {name} of {}", folder.display()))
    };
    let mut texts = Vec::new();
    for name in LICENCES {
        texts.push(tidy(&text(&format!("licenses/{name}.txt"))?));
    }
    let licence = "(MIT OR Apache-2.0) AND Apache-2.0 WITH LLVM-exception AND Unicode-3.0, \
                   Copyright The Rust Project Developers";
    let version = version.split(' ').nth(1).context("rustc --version has a version")?;
    let library = Part { name: format!("std {version}"), licence: licence.to_owned(), texts };
    let crates = crates(&text("COPYRIGHT-library.html")?);
    ensure!(!crates.is_empty(), "COPYRIGHT-library.html lists no crate");
    Ok([library].into_iter().chain(crates).collect())
}

/// Of a page that has a heading, a licence and notices for each crate.
fn crates(page: &str) -> Vec<Part> {
    let sections = page.split("<h3>\u{1f4e6} ").skip(1);
    let part = |section: &str| {
        let name = section.split_once("</h3>")?.0;
        if ELSEWHERE.iter().any(|crates| name.starts_with(crates)) {
            return None;
        }
        let licence = section.split_once("<b>License:</b> ")?.1.split_once("</p>")?.0;
        let files = section.split("<summary><code>").skip(1).filter_map(file).collect();
        Some(Part {
            name: format!("{name}, of std"),
            licence: plain(licence).replace('/', " OR "),
            texts: choose(licence, files),
        })
    };
    sections.filter_map(part).collect()
}

/// Name and text of a notice.
fn file(text: &str) -> Option<(String, String)> {
    let (name, rest) = text.split_once("</code>")?;
    let text = rest.split_once("<pre>")?.1.split_once("</pre>")?.0;
    Some((plain(name), plain(text)))
}

/// Characters in place of references to them (HTML, numeric in decimal).
fn plain(html: &str) -> String {
    let mut parts = html.split("&#");
    let mut text = parts.next().unwrap_or("").to_owned();
    for part in parts {
        let reference = part.split_once(';');
        let character = reference.and_then(|(number, _)| char::from_u32(number.parse().ok()?));
        match (character, reference) {
            (Some(character), Some((_, rest))) => {
                text.push(character);
                text.push_str(rest);
            }
            _ => text.extend(["&#", part]),
        }
    }
    text
}

/// Of its own sources, where MIT is to choose as well, of what the LLVM project gave to them, and of
/// its tables of Unicode.
const LICENCES: [&str; 3] = ["Apache-2.0", "LLVM-exception", "Unicode-3.0"];

/// Crates that the library has for other systems, or for its own build and tests.
const ELSEWHERE: [&str; 12] = [
    "cc-",
    "dlmalloc-",
    "fortanix-",
    "getopts-",
    "hermit-",
    "moto-",
    "r-efi-",
    "rand",
    "vex-",
    "wasi-",
    "windows",
    "wit-",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_of_the_toolchain_has_the_crates_of_the_library() {
        let parts = read().expect("notices of the toolchain");
        assert!(parts[0].name.starts_with("std 1."), "{:?}", parts[0].name);
        let hashbrown = parts.iter().find(|part| part.name.starts_with("hashbrown-"));
        let hashbrown = hashbrown.expect("maps are made of it");
        assert_eq!(hashbrown.licence, "MIT OR Apache-2.0");
        assert_eq!(hashbrown.texts.len(), 1);
        assert!(!parts.iter().any(|part| part.texts.is_empty()), "{parts:?}");
        assert!(hashbrown.texts[0].contains("\"Software\""), "{}", hashbrown.texts[0]);
    }

    #[test]
    fn references_to_characters_are_read() {
        assert_eq!(plain("a &#60;b&#62; &#34;c&#34; &#x; d"), "a <b> \"c\" &#x; d");
    }
}
