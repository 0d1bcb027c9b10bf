//! Copies by the routines that are named, from and to every alignment of a word, every length up to
//! 300: what `cargo xtask proof copy` counts the memory accesses of.

use std::error::Error;

use linerate_copy::Routine;

fn main() -> Result<(), Box<dyn Error>> {
    let source: Vec<u8> = (0..LONGEST + 8).map(|place| place.to_le_bytes()[0]).collect();
    for name in std::env::args().skip(1) {
        let routine: Routine = name.parse()?;
        let copier = routine.copier().ok_or("this processor cannot run it")?;
        for length in 0..=LONGEST {
            for alignments in 0..64 {
                let source = &source[alignments / 8..][..length];
                let mut destination = vec![0; LONGEST + 8];
                let destination = &mut destination[alignments % 8..][..length];
                copier.copy(destination, source);
                if destination != source {
                    return Err(format!("{routine} does not copy {length} bytes").into());
                }
            }
        }
    }
    Ok(())
}

const LONGEST: usize = 300;
