//! The licences of all that is linked into the static file: one text, with each licence once.

mod c_library;
mod crates;
mod page;
mod rust;

use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::{Linerate, VERSION};
use crate::static_binary::Target;

/// A part that is linked in, and what its licence asks to be handed on.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Part {
    /// Its name and version.
    name: String,
    /// An expression of SPDX, as the part gives it.
    licence: String,
    /// The texts with the notices of its authors.
    texts: Vec<String>,
}

/// The text for the file of a target, of the workspace in the folder `root`.
pub(super) fn read(target: &Target, root: &Path) -> Result<String> {
    let mut parts = crates::read(target, root)?;
    parts.push(page::read(root)?);
    parts.extend(rust::read()?);
    parts.push(c_library::read(target)?);
    Ok(write(&parts, target.triple))
}

/// Writes the text as a file of its own, for the static file that is handed out alone.
pub(super) fn pack(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let file = folder.join(format!("{}.licenses.txt", linerate.name()));
    fs::write(&file, &linerate.licences)
        .with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}

/// Lists the parts with the numbers of their texts, then the texts, in the order of their first use.
fn write(parts: &[Part], triple: &str) -> String {
    let mut texts: Vec<&str> = Vec::new();
    let mut list = String::new();
    for part in parts {
        let mut numbers = Vec::new();
        for text in &part.texts {
            let known = texts.iter().position(|one| *one == text.as_str());
            numbers.push(known.unwrap_or(texts.len()) + 1);
            if known.is_none() {
                texts.push(text);
            }
        }
        let numbers: Vec<_> = numbers.iter().map(|number| format!("[{number}]")).collect();
        _ = writeln!(list, "{}: {} {}", part.name, part.licence, numbers.join(" "));
    }
    let mut all = format!(
        "Licences of what is linked into linerate {VERSION} for {triple}, each with the numbers of \
         the texts below.\nlinerate itself: MIT or Apache-2.0, as you like.\n\n{list}"
    );
    for (number, text) in texts.iter().enumerate() {
        _ = write!(all, "\n{RULE}\n[{}]\n\n{text}\n", number + 1);
    }
    all
}

/// A text without what editors leave at the ends of lines, so that the same ones are found.
fn tidy(text: &str) -> String {
    let lines: Vec<_> = text.lines().map(str::trim_end).collect();
    lines.join("\n").trim_matches('\n').to_owned()
}

/// Of the licence texts of a part, those to hand on: that of MIT, where it is one to choose, as it
/// is the shortest; else all of them.
fn choose(licence: &str, files: Vec<(String, String)>) -> Vec<String> {
    let mut words = licence.split([' ', '/', '(', ')']);
    let has_choice = !licence.contains("AND") && words.any(|word| word == "MIT");
    let is_mit = |name: &str| name.to_uppercase().contains("-MIT");
    let mit = files.iter().any(|(name, _)| has_choice && is_mit(name));
    let chosen = files.into_iter().filter(|(name, _)| !mit || is_mit(name));
    chosen.map(|(_, text)| tidy(&text)).collect()
}

const RULE: &str =
    "--------------------------------------------------------------------------------";

#[cfg(test)]
mod tests {
    use super::*;

    fn part(name: &str, text: &str) -> Part {
        Part { name: name.to_owned(), licence: "MIT".to_owned(), texts: vec![text.to_owned()] }
    }

    #[test]
    fn a_text_that_parts_share_is_there_once() {
        let text = write(&[part("a 1", "of a"), part("b 2", "of b"), part("c 3", "of a")], "t");
        assert!(text.contains("\na 1: MIT [1]\nb 2: MIT [2]\nc 3: MIT [1]\n"), "{text}");
        assert!(text.ends_with(&format!("\n{RULE}\n[1]\n\nof a\n\n{RULE}\n[2]\n\nof b\n")));
    }

    #[test]
    fn mit_is_chosen_where_there_is_a_choice() {
        let files = || {
            ["LICENSE-APACHE", "LICENSE-MIT.md", "COPYRIGHT"]
                .map(|name| (name.to_owned(), format!("{name}  \n\n")))
                .to_vec()
        };
        assert_eq!(choose("MIT OR Apache-2.0", files()), ["LICENSE-MIT.md"]);
        assert_eq!(choose("MIT/Apache-2.0", files()), ["LICENSE-MIT.md"]);
        assert_eq!(choose("ISC AND (MIT OR ISC)", files()).len(), 3);
        assert_eq!(choose("Apache-2.0", files()).len(), 3);
        assert_eq!(choose("MIT", files()[..1].to_vec()), ["LICENSE-APACHE"]);
    }
}
