//! Packets as they pass an interface, by tcpdump(8).

use std::path::PathBuf;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};
use std::time::Duration;
use std::{env, fs, process};

use anyhow::{Context, Result, ensure};

use crate::process::Running;
use crate::wait::{self, PATIENCE};

/// A running packet capture by tcpdump(8). It ends, and its file is removed, when this value is
/// dropped.
pub struct Capture {
    tcpdump: Option<Running>,
    file: PathBuf,
}

/// Captured packets: the content of a file of pcap-savefile(5), written on this host.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    file: Vec<u8>,
    /// Packets that the kernel had no room for.
    pub dropped: u64,
}

/// One captured link-layer frame, with its time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'a> {
    /// When it passed, since 1970.
    pub at: Duration,
    /// Bytes of the whole frame.
    pub length: u32,
    /// Its first bytes, as many as were asked for.
    pub bytes: &'a [u8],
}

impl Capture {
    /// Starts to capture the packets of `interface` that the pcap-filter(7) `filter` admits.
    /// `tcpdump` is the command of tcpdump(8) with its options; interface, file and filter are
    /// added.
    ///
    /// # Errors
    /// tcpdump(8) cannot be started, or does not begin to capture within 30 s, e.g. without
    /// permission.
    pub fn begin(mut tcpdump: Command, interface: &str, filter: &str) -> Result<Self> {
        let number = CAPTURES.fetch_add(1, Relaxed);
        let file = env::temp_dir().join(format!("linerate-{}-{number}.pcap", process::id()));
        tcpdump.args(["-i", interface, "--time-stamp-precision=nano", "-w"]).arg(&file).arg(filter);
        let mut capture = Self { tcpdump: None, file };
        let tcpdump = capture.tcpdump.insert(Running::captured(tcpdump)?);
        let listens = wait::within(PATIENCE, || {
            let listens = tcpdump.stderr().contains("listening on");
            (listens || !tcpdump.is_running()).then_some(listens)
        });
        ensure!(listens == Some(true), "tcpdump does not listen: {}", tcpdump.stderr().trim());
        Ok(capture)
    }

    /// Ends the capture and returns all captured packets.
    ///
    /// # Errors
    /// tcpdump(8) does not end, or its file cannot be read.
    pub fn end(mut self) -> Result<Recording> {
        let tcpdump = self.tcpdump.take().context("it ended before")?;
        tcpdump.signal("TERM")?;
        let ended = tcpdump.finish(PATIENCE)?;
        let line = ended.stderr.lines().find(|line| line.contains("dropped by kernel"));
        let dropped = line.and_then(|line| line.split_whitespace().next()?.parse().ok());
        let file = fs::read(&self.file).context("cannot read the capture")?;
        Ok(Recording { file, dropped: dropped.unwrap_or_default() })
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        self.tcpdump = None;
        _ = fs::remove_file(&self.file);
    }
}

impl Recording {
    /// The captured frames, in the order of their arrival at the interface.
    ///
    /// # Errors
    /// The recording is empty, or is no pcap file with nanoseconds.
    pub fn frames(&self) -> Result<impl Iterator<Item = Frame<'_>>> {
        let (header, mut rest) = self.file.split_at_checked(FILE_HEADER).context("it is empty")?;
        ensure!(number(header, 0) == NANOSECONDS, "the capture has no nanoseconds");
        Ok(std::iter::from_fn(move || {
            let (header, behind) = rest.split_at_checked(RECORD_HEADER)?;
            let at = Duration::new(number(header, 0).into(), number(header, 4));
            let (bytes, behind) = behind.split_at_checked(number(header, 8) as usize)?;
            rest = behind;
            Some(Frame { at, length: number(header, 12), bytes })
        }))
    }
}

fn number(header: &[u8], at: usize) -> u32 {
    header[at..at + 4].try_into().map_or(0, u32::from_ne_bytes)
}

/// So that two captures have two files.
static CAPTURES: AtomicU32 = AtomicU32::new(0);
const NANOSECONDS: u32 = 0xa1b2_3c4d;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_have_their_times_and_lengths() {
        let mut file = NANOSECONDS.to_ne_bytes().to_vec();
        file.resize(FILE_HEADER, 0);
        for (seconds, nanos, whole) in [(1_u32, 5_u32, 1502_u32), (1, 6, 46), (2, 7, 1502)] {
            for number in [seconds, nanos, 3, whole] {
                file.extend(number.to_ne_bytes());
            }
            file.extend([9; 3]);
        }
        let recording = |file: &[u8]| Recording { file: file.to_vec(), dropped: 0 };
        let whole = recording(&file);
        let frames: Vec<_> = whole.frames().expect("readable").collect();
        assert_eq!(frames.len(), 3);
        let last = Frame { at: Duration::new(2, 7), length: 1502, bytes: &[9; 3] };
        assert_eq!(frames[2], last);
        let cut = recording(&file[..file.len() - 4]);
        assert_eq!(cut.frames().expect("readable").count(), 2);
        assert!(recording(&[0; 24]).frames().is_err() && recording(&[]).frames().is_err());
    }
}
