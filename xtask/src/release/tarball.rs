//! An archive to unpack anywhere.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::Linerate;
use super::tree::{self, Tree};

/// Packs the program with its texts.
pub(super) fn pack(linerate: &Linerate<'_>, folder: &Path) -> Result<PathBuf> {
    let name = linerate.name();
    files(linerate)?.write(&folder.join(&name))?;
    let archive = format!("{name}.tar");
    tree::archive(folder, &[&name], &folder.join(&archive), linerate.seconds)?;
    tree::compress(folder, &[&archive])?;
    Ok(folder.join(archive + ".gz"))
}

fn files(linerate: &Linerate<'_>) -> Result<Tree> {
    let mut tree = Tree::default();
    tree.program("linerate", linerate.binary.clone());
    for path in PROJECT {
        let name = Path::new(path).file_name().context("a file has a name")?.to_string_lossy();
        tree.text(name, linerate.text(path)?);
    }
    for (name, text) in linerate.licences()? {
        tree.text(name, text);
    }
    let texts = &linerate.texts;
    for (name, page) in &texts.pages {
        tree.text(format!("man/{name}"), page.as_str());
    }
    let completions =
        [("linerate.bash", &texts.bash), ("linerate.fish", &texts.fish), ("_linerate", &texts.zsh)];
    for (name, text) in completions {
        tree.text(format!("completions/{name}"), text.as_str());
    }
    Ok(tree)
}

const PROJECT: [&str; 3] = ["CHANGELOG.md", "README.md", "contrib/linerate.service"];
