//! The page of reports, which names what its program has parts of, with the licence.

use std::fs;
use std::path::Path;

use anyhow::{Context, Result};

use super::{Part, tidy};

/// What is built into the page of the workspace in the folder `root`.
pub(super) fn read(root: &Path) -> Result<Part> {
    let path = root.join(PAGE);
    let page =
        fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    parse(&page).with_context(|| format!("{} names no part with its licence", path.display()))
}

/// Of a comment with the name and the text.
fn parse(page: &str) -> Option<Part> {
    let (name, rest) = page.split_once(BEGIN)?.1.split_once(":\n")?;
    let text = tidy(rest.split_once("\n-->")?.0);
    let licence = text.starts_with("Copyright").then(|| "ISC".to_owned())?;
    Some(Part { name: name.to_owned(), licence, texts: vec![text] })
}

const PAGE: &str = "crates/report/src/html/shell.html";
const BEGIN: &str = "<!-- The program has parts of ";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_a_licence_for_its_part() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let part = read(&root).expect("the page is committed");
        assert!(part.name.starts_with("d3-array "), "{}", part.name);
        assert!(part.texts[0].contains("Permission to use, copy, modify"), "{part:?}");
        assert_eq!(parse("<!-- nothing -->"), None);
    }
}
