//! Short fuzzing, for every change: each target reads its corpus, and inputs that are changed in a
//! way that a seed decides. The same inputs are read each time; new ones are found by `cargo xtask fuzz`.

use std::fs;
use std::panic::{self, AssertUnwindSafe};
use std::path::{Path, PathBuf};

use fastrand::Rng;
use linerate_fuzz::{TARGETS, Target};

/// One test, since memory is counted for the whole process.
#[test]
fn no_input_of_the_corpus_and_none_like_it_breaks_a_promise() {
    let broken: Vec<_> = TARGETS.iter().filter_map(|target| fuzz(*target).err()).collect();
    assert!(broken.is_empty(), "{}", broken.join("\n"));
}

/// The first input that breaks a promise is kept in a file, which the error names.
fn fuzz(target: Target) -> Result<(), String> {
    let corpus = corpus(target.name);
    assert!(!corpus.is_empty(), "{} has no corpus", target.name);
    for input in &corpus {
        run(target, input)?;
    }
    let mut random = Rng::with_seed(SEED);
    for input in corpus.iter().flat_map(|input| [input; CHANGED]) {
        run(target, &changed(input, &corpus, &mut random))?;
    }
    Ok(())
}

fn run(target: Target, input: &[u8]) -> Result<(), String> {
    panic::catch_unwind(AssertUnwindSafe(|| (target.run)(input))).map_err(|_| {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(target.name);
        fs::write(&file, input).expect("a writable folder");
        let name = target.name;
        let file = file.display();
        format!("{name}: `cargo xtask fuzz --target {name} --replay {file}` shows it again")
    })
}

/// Inputs that the project keeps: of the corpus, and those that broke something once.
fn corpus(target: &str) -> Vec<Vec<u8>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let folders = ["corpus", "regressions"].map(|kind| root.join(kind).join(target));
    // A target without regressions has no folder of them.
    let entries = folders.iter().filter_map(|folder| fs::read_dir(folder).ok()).flatten();
    let mut files: Vec<PathBuf> = entries.map(|entry| entry.expect("readable").path()).collect();
    files.sort();
    files.iter().map(|file| fs::read(file).expect("readable")).collect()
}

/// An input with a few changes: bytes of other values, without a part, with a part twice, with a part of
/// another input.
fn changed(input: &[u8], corpus: &[Vec<u8>], random: &mut Rng) -> Vec<u8> {
    let mut bytes = input.to_vec();
    for _ in 0..random.usize(1..=MOST_CHANGES) {
        let range = part(bytes.len(), random);
        match random.u8(0..5) {
            0 => bytes[range].iter_mut().for_each(|byte| *byte = random.u8(..)),
            1 => bytes[range].iter_mut().for_each(|byte| *byte ^= 1 << random.u8(0..8)),
            2 => drop(bytes.drain(range)),
            3 => {
                let twice = bytes[range.clone()].to_vec();
                bytes.splice(range.start..range.start, twice);
            }
            _ => {
                let other = &corpus[random.usize(0..corpus.len())];
                let other = &other[part(other.len(), random)];
                bytes.splice(range, other.iter().copied());
            }
        }
    }
    bytes.truncate(LONGEST);
    bytes
}

/// A part of so many bytes, most often a short one.
fn part(length: usize, random: &mut Rng) -> std::ops::Range<usize> {
    let start = random.usize(0..=length);
    let longest = if random.bool() { SHORT_PART } else { length };
    start..length.min(start + random.usize(0..=longest))
}

const SEED: u64 = 1;
/// Changed inputs for each of the corpus.
const CHANGED: usize = 20;
const MOST_CHANGES: usize = 4;
/// Bytes, as `cargo xtask fuzz` has it.
const LONGEST: usize = 8_192;
const SHORT_PART: usize = 8;
