//! The text of `perf script`, samples one by one: a line that names process, CPU and time, and below it or behind it the
//! function and those that called it, the innermost first.

use std::path::Path;

use measurement::profile::{Mode, is_generic};
use measurement::{Profile, ProfileRow};

use super::plain::plain;
use super::samples::{Samples, bare_symbol, row};
use super::{Content, Import, ImportError, Imported, head, profile};

/// The text of `perf script`.
pub(super) struct PerfScript;

impl Import for PerfScript {
    fn name(&self) -> &'static str {
        "output of perf script"
    }

    fn content(&self) -> Content {
        Content::Profile
    }

    fn recognises(&self, bytes: &[u8]) -> bool {
        head(bytes).lines().any(is_header)
    }

    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        profile(read(&plain(bytes)))
    }

    fn unread(&self, bytes: &[u8]) -> Vec<usize> {
        let text = plain(bytes);
        let lines = text.lines().enumerate();
        lines.filter(|(_, line)| !is_known(line)).map(|(at, _)| at + 1).collect()
    }
}

/// None: there is no sample in the text.
fn read(text: &str) -> Option<Profile> {
    let mut samples = Samples::default();
    let mut current: Option<Sample<'_>> = None;
    let mut event = "";
    for line in text.lines() {
        if line.starts_with(char::is_whitespace) && !is_header(line) {
            if let (Some(sample), Some(frame)) = (&mut current, Frame::parse(line)) {
                sample.frames.push(frame);
            }
            continue;
        }
        finish(current.take(), &mut samples);
        current = Sample::parse(line);
        if let Some(sample) = &current {
            event = sample.event;
        }
    }
    finish(current, &mut samples);
    if samples.is_empty() {
        return None;
    }
    let count = samples.count();
    Some(Profile { event: event.to_owned(), ..samples.profile("perf script", count) })
}

/// A sample's first line, and frames that follow.
struct Sample<'a> {
    command: &'a str,
    cpu: Option<u32>,
    event: &'a str,
    frames: Vec<Frame<'a>>,
}

struct Frame<'a> {
    symbol: &'a str,
    file: &'a str,
}

/// Short names of processes are set to the right, so that blanks begin no frame for sure.
fn is_header(line: &str) -> bool {
    Sample::parse(line).is_some()
}

/// A line of a sample, a comment, or the end of a sample.
fn is_known(line: &str) -> bool {
    let is_frame = || line.starts_with(char::is_whitespace) && Frame::parse(line).is_some();
    line.trim().is_empty() || line.starts_with('#') || is_header(line) || is_frame()
}

impl<'a> Sample<'a> {
    /// `iperf3  1234 [001]  5678.901234:  250000 cpu-clock:  ffffffff81 memcpy+0x1 ([kernel])`.
    fn parse(line: &'a str) -> Option<Self> {
        let (before, after) = split_at_time(line)?;
        let (before, cpu) = match before.trim_end().rsplit_once('[') {
            Some((rest, cpu)) => (rest, cpu.trim_end_matches(']').parse().ok()),
            None => (before, None),
        };
        let (command, number) = before.trim().rsplit_once(char::is_whitespace)?;
        number.split('/').all(|part| part.parse::<u32>().is_ok()).then_some(())?;
        let mut words = after.split_whitespace();
        let event = words.by_ref().find(|word| word.ends_with(':'))?;
        let place = after.split_once(event).map_or("", |(_, place)| place);
        let event = event.split(':').next().unwrap_or("");
        let is_plain = |letter: char| letter.is_ascii_alphanumeric() || "-_/".contains(letter);
        let event = if event.chars().all(is_plain) { event } else { "" };
        let frames = Frame::parse(place).into_iter().collect();
        Some(Self { command: command.trim(), cpu, event, frames })
    }
}

/// At the word that is seconds and a colon.
fn split_at_time(line: &str) -> Option<(&str, &str)> {
    let word = line.split_whitespace().find(|word| {
        let number = word.strip_suffix(':').filter(|number| number.contains('.'));
        number
            .is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit() || byte == b'.'))
    })?;
    line.split_once(word)
}

impl<'a> Frame<'a> {
    /// `ffffffff81234567 memcpy+0x12 ([kernel.kallsyms])`.
    fn parse(line: &'a str) -> Option<Self> {
        let (address, rest) = line.trim().split_once(char::is_whitespace)?;
        u64::from_str_radix(address, 16).ok()?;
        let (symbol, file) = rest.trim().rsplit_once('(').unwrap_or((rest, ""));
        let symbol = symbol.trim();
        (!symbol.is_empty()).then_some(Self { symbol, file: file.trim_end_matches(')') })
    }

    fn mode(&self) -> Mode {
        // Modules stand in brackets too; so do pieces of programs that are no files.
        let is_kernel = self.file.starts_with("[kernel")
            || Path::new(self.file).extension().is_some_and(|end| end == "ko")
            || (self.file.starts_with('[') && !NO_FILES.contains(&self.file));
        if is_kernel { Mode::Kernel } else { Mode::User }
    }
}

fn finish(sample: Option<Sample<'_>>, samples: &mut Samples) {
    let Some(sample) = sample else { return };
    let Some(leaf) = sample.frames.first() else { return };
    let place = row(sample.command, leaf.file, leaf.mode(), leaf.symbol);
    let mut names = sample.frames.iter().take(DEEPEST).map(|frame| bare_symbol(frame.symbol));
    let within =
        if is_generic(&place.symbol) { names.find(|name| !is_generic(name)) } else { None };
    samples.add_stack(stack(&sample), 1);
    samples.add(ProfileRow { cpu: sample.cpu, within, ..place }, 1);
}

fn stack(sample: &Sample<'_>) -> String {
    let mut frames = bare_symbol(sample.command).replace(';', ":");
    for frame in sample.frames.iter().take(DEEPEST).rev() {
        frames.push(';');
        frames.push_str(&bare_symbol(frame.symbol).replace(';', ":"));
    }
    frames
}

const NO_FILES: [&str; 4] = ["[vdso]", "[unknown]", "[heap]", "[stack]"];
/// As deep as perf goes by itself.
const DEEPEST: usize = 127;
