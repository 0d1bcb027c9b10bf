//! `picture`: the screen of a test as docs/picture.svg, for README.md.
//!
//! What it shows is a run: two hosts in namespaces, with a shaped link between them.

mod screen;
mod svg;

use std::thread;

use anyhow::{Context, Result, bail, ensure};
use clap::Args;
use lab::{Access, Link, LinkSpec, Rate, Shape};
use testbed::port;
use testbed::process::Running;

use crate::generated::{self, File};
use crate::output::say;
use crate::workspace::Workspace;

/// Runs a test over a shaped link and writes its screen to docs/picture.svg
#[derive(Debug, Args)]
pub(crate) struct Picture {}

impl Picture {
    #[expect(clippy::unused_self, reason = "each task is run by its value")]
    pub(crate) fn run(self) -> Result<String> {
        if let Access::Forbidden { reason } = lab::prepare() {
            bail!("a picture takes network namespaces: {reason}");
        }
        let workspace = Workspace::find()?;
        let program = workspace.build_release()?;
        let rate = Rate::from_bits_per_second(RATE).context("the rate of the link is zero")?;
        let spec = LinkSpec { shape: Some(Shape::with_rate(rate)), ..LinkSpec::default() };
        let path = Link::create(&spec)?;
        let mut serve = path.far.command(&program);
        serve.args(["serve", "--quiet"]);
        let mut server = Running::silent(serve)?;
        port::await_listener(Some(&path.far), PORT, &mut server)?;
        let typed = format!("linerate test {}", path.far.ipv4());
        say(format!("$ {typed}"));
        let mut test = path.near.command(&program);
        // As on a terminal: without a line for each interval.
        test.args(typed.split(' ').skip(1)).args(["--color", "always", "--quiet"]);
        let ended = test.output().context("cannot run the test")?;
        ensure!(ended.status.success(), "the test ended with {}", ended.status);
        thread::spawn(move || server.stop()).join().ok().context("the server did not stop")??;
        let printed = String::from_utf8(ended.stdout).context("the test did not print UTF-8")?;
        let lines = screen::lines(&format!("$ {typed}\n{printed}"));
        let file = File { path: FILE.to_owned(), text: svg::draw(&typed, &lines) };
        generated::write(&workspace.root, &[file])?;
        Ok(format!("picture: {} lines", lines.len()))
    }
}

const FILE: &str = "docs/picture.svg";
/// Of the link, in bit/s: far below what two CPUs move.
const RATE: u64 = 600_000_000;
/// The usual one, so that the command can be typed as it is shown.
const PORT: u16 = 5201;

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn texts() -> Vec<String> {
        let path = format!("{}/../{FILE}", env!("CARGO_MANIFEST_DIR"));
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
    fn the_picture_is_that_of_a_test_with_four_rows() {
        let lines = texts();
        assert!(lines[0].starts_with("$ linerate test "), "{lines:?}");
        for row in ["TCP send", "TCP receive", "UDP send", "UDP receive"] {
            let row = lines.iter().find(|line| line.trim_start().starts_with(row)).expect(row);
            assert!(row.contains("bit/s"), "{row}");
            let stamp = row.split_whitespace().last();
            assert!(["VALID", "SUSPECT"].map(Some).contains(&stamp), "{row}");
        }
    }

    #[test]
    fn the_readme_shows_it() {
        let readme = concat!(env!("CARGO_MANIFEST_DIR"), "/../README.md");
        let readme = fs::read_to_string(readme).expect("it is there");
        assert!(readme.contains(&format!("]({FILE})")), "README.md shows {FILE}");
    }
}
