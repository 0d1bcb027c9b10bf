//! `rules`: a page for each rule of analysis, from the code of the rule.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use anyhow::{Context, Result, bail};
use clap::Args;

use crate::generated::{self, File};
use crate::workspace::Workspace;

/// Writes docs/rules/*.md, a page for each rule
#[derive(Debug, Args)]
pub(crate) struct Rules {
    /// Write nothing; fail if a page is not what would be written
    #[arg(long)]
    check: bool,
}

impl Rules {
    pub(crate) fn run(self) -> Result<String> {
        let root = Workspace::find()?.root;
        if self.check {
            check(&root)?;
            return Ok("rules: up to date".to_owned());
        }
        for stale in stale(&root)? {
            fs::remove_file(root.join(FOLDER).join(&stale))
                .with_context(|| format!("cannot remove {FOLDER}/{stale}"))?;
        }
        generated::write(&root, &files())?;
        Ok(format!("rules: {} files written", files().len()))
    }
}

/// Fails if a page on disk is not that of its rule, or has none.
pub(crate) fn check(root: &Path) -> Result<()> {
    generated::check(root, &files(), "rules")?;
    let stale = stale(root)?;
    if stale.is_empty() {
        return Ok(());
    }
    bail!("{FOLDER} has pages of no rule: {}; run `cargo xtask rules`", stale.join(", "))
}

fn files() -> Vec<File> {
    let pages = analysis::pages();
    let page = |page: &&measurement::Page| File {
        path: format!("{FOLDER}/{}.md", page.id),
        text: report::page::markdown(page),
    };
    let mut files: Vec<_> = pages.iter().map(page).collect();
    let text = report::page::markdown_list(&pages);
    files.push(File { path: format!("{FOLDER}/README.md"), text });
    files
}

/// Pages of rules that are no more.
fn stale(root: &Path) -> Result<Vec<String>> {
    let known: BTreeSet<_> = files().into_iter().map(|file| file.path).collect();
    let Ok(folder) = fs::read_dir(root.join(FOLDER)) else { return Ok(Vec::new()) };
    let mut stale = Vec::new();
    for entry in folder {
        let name = entry?.file_name().to_string_lossy().into_owned();
        if !known.contains(&format!("{FOLDER}/{name}")) {
            stale.push(name);
        }
    }
    stale.sort();
    Ok(stale)
}

const FOLDER: &str = "docs/rules";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_rule_has_a_page_and_the_list_names_it() {
        let files = files();
        let list = files.last().expect("the list is there");
        for file in &files[..files.len() - 1] {
            let name = file.path.rsplit('/').next().expect("a path has a name");
            assert!(list.text.contains(&format!("]({name})")), "{name}");
        }
    }
}
