//! `picture`: the screen of a test as docs/picture.svg, for README.md, and in docs/screens at three
//! widths, for light and dark pages.
//!
//! What they show are runs: two hosts in namespaces, with a router between them that shapes.

mod screen;
mod svg;

use std::path::{Path, PathBuf};
use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use lab::Access;

use self::svg::Scheme;
use crate::generated::{self, File};
use crate::hosts::home::Home;
use crate::output::say;
use crate::workspace::Workspace;

/// Runs tests through a router that shapes and writes their screens to docs/picture.svg and
/// docs/screens
#[derive(Debug, Args)]
pub(crate) struct Picture {
    /// Program that is shown [default: built from this tree]
    #[arg(long, value_name = "FILE")]
    linerate: Option<PathBuf>,
}

impl Picture {
    pub(crate) fn run(self) -> Result<String> {
        if let Access::Forbidden { reason } = lab::prepare() {
            bail!("a picture takes network namespaces: {reason}");
        }
        let workspace = Workspace::find()?;
        let program = match self.linerate {
            Some(path) => path,
            None => workspace.build_release()?,
        };
        let home = Home::new()?;
        let server = home.serve(&program)?;
        let screens = WIDTHS.map(|width| screen_of(&home, &program, width));
        thread::spawn(move || server.stop()).join().ok().context("the server did not stop")??;
        let mut files = Vec::new();
        for (width, screen) in WIDTHS.into_iter().zip(screens) {
            let (typed, printed) = screen?;
            let lines = screen::lines(&format!("$ {typed}\n{printed}"), width);
            let drawn = |path, scheme| File { path, text: svg::draw(&typed, &lines, scheme) };
            files.extend([Scheme::Light, Scheme::Dark].map(|one| drawn(file(width, one), one)));
            if width == OF_README {
                files.push(drawn(README_FILE.to_owned(), Scheme::OfTheReader));
            }
        }
        generated::write(&workspace.root, &files)?;
        Ok(format!("picture: {} files", files.len()))
    }
}

/// What is typed at home, and what it prints on a terminal of so many columns.
fn screen_of(home: &Home, program: &Path, width: usize) -> Result<(String, String)> {
    let words = format!("test {}", home.server());
    say(format!("$ linerate {words} # {width} columns"));
    let mut test = home.typed(program, &words, width);
    // As on a terminal: without a line for each interval.
    test.args(["--color", "always", "--quiet"]);
    let ended = test.output().context("cannot run the test")?;
    ensure!(ended.status.success(), "the test ended with {}", ended.status);
    let printed = String::from_utf8(ended.stdout).context("the test did not print UTF-8")?;
    Ok((format!("linerate {words}"), printed))
}

fn file(width: usize, scheme: Scheme) -> String {
    format!("docs/screens/test-{width}-{}.svg", scheme.name())
}

/// Columns of terminals: half of a screen, the usual one, a wide one.
const WIDTHS: [usize; 3] = [60, 80, 120];
const OF_README: usize = 80;
const README_FILE: &str = "docs/picture.svg";

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn texts(path: &str) -> Vec<String> {
        let path = format!("{}/../{path}", env!("CARGO_MANIFEST_DIR"));
        let svg = fs::read_to_string(path).expect("cargo xtask picture has written it");
        let document = roxmltree::Document::parse(&svg).expect("it is well-formed");
        let lines = document.descendants().filter(|node| node.has_tag_name("text"));
        let text = |line: roxmltree::Node<'_, '_>| {
            let spans = line.children().filter_map(|span| span.text());
            spans.collect::<Vec<_>>().join(" ").replace('\u{a0}', " ")
        };
        lines.map(text).collect()
    }

    #[test]
    fn pictures_are_those_of_a_test_with_four_rows() {
        let schemes = [Scheme::Light, Scheme::Dark];
        let files = WIDTHS.iter().flat_map(|width| schemes.map(|scheme| file(*width, scheme)));
        for path in files.chain([README_FILE.to_owned()]) {
            let lines = texts(&path);
            assert!(lines[0].starts_with("$ linerate test "), "{lines:?}");
            assert!(lines.iter().any(|line| line.trim_start().starts_with("LIMIT")), "{lines:?}");
            assert!(!lines.contains(&screen::CUT.to_owned()), "{lines:?}");
            for row in ["TCP send", "TCP receive", "UDP send", "UDP receive"] {
                let row = lines.iter().find(|line| line.trim_start().starts_with(row)).expect(row);
                assert!(row.contains("bit/s"), "{row}");
                let stamp = row.split_whitespace().last();
                assert!(["VALID", "SUSPECT"].map(Some).contains(&stamp), "{row}");
            }
        }
    }

    #[test]
    fn the_readme_shows_it() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let readme = fs::read_to_string(readme).expect("it is there");
        assert!(readme.contains(&format!("]({README_FILE})")), "README.md shows {README_FILE}");
    }
}
