//! tcpdump on a host's interface, and the times in what it writes.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Child, ChildStderr, Stdio};
use std::{env, fs, process};

use anyhow::{Context, Result, bail, ensure};

/// A capture that goes on.
pub(super) struct Capture {
    tcpdump: Child,
    /// Kept open: tcpdump says at its end how much it saw.
    talk: BufReader<ChildStderr>,
    file: PathBuf,
}

impl Capture {
    /// Begins to stamp what leaves `host` for a UDP port.
    pub(super) fn begin(host: &lab::Host, port: u16) -> Result<Self> {
        let file = env::temp_dir().join(format!("linerate-pacing-{}.pcap", process::id()));
        let output = File::create(&file).context("cannot make a file for the capture")?;
        let filter = format!("udp and dst port {port}");
        let mut tcpdump = host
            .command("tcpdump")
            .args(["-i", host.interface(), "-s", SNAP_LENGTH, "-B", BUFFER_KIB, "-w", "-"])
            .args(["--time-stamp-precision=nano", &filter])
            .stdin(Stdio::null())
            .stdout(output)
            .stderr(Stdio::piped())
            .spawn()
            .context("cannot start tcpdump")?;
        let stderr = tcpdump.stderr.take().context("tcpdump has no standard error")?;
        let mut capture = Self { tcpdump, talk: BufReader::new(stderr), file };
        let mut line = String::new();
        while !line.contains("listening on") {
            line.clear();
            ensure!(capture.talk.read_line(&mut line)? > 0, "tcpdump does not listen");
        }
        Ok(capture)
    }

    /// Ends it: when each frame of `length` bytes left, in nanoseconds.
    pub(super) fn end(mut self, length: u32) -> Result<Vec<u64>> {
        // It writes what it still holds.
        testbed::process::signal(self.tcpdump.id(), "TERM")?;
        let mut line = String::new();
        while self.talk.read_line(&mut line)? > 0 {
            let dropped = line.contains("dropped by kernel") && !line.starts_with("0 ");
            ensure!(!dropped, "tcpdump missed datagrams: {}", line.trim());
            line.clear();
        }
        self.tcpdump.wait()?;
        times(&fs::read(&self.file)?, length)
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // It has ended already, unless something failed before.
        _ = self.tcpdump.kill();
        _ = self.tcpdump.wait();
        _ = fs::remove_file(&self.file);
    }
}

/// The times in a file of pcap-savefile(5) that was written on this host.
fn times(file: &[u8], length: u32) -> Result<Vec<u64>> {
    let number = |bytes: &[u8]| bytes.try_into().map_or(0, u32::from_ne_bytes);
    let Some((header, mut rest)) = file.split_at_checked(FILE_HEADER) else {
        bail!("the capture is empty");
    };
    ensure!(number(&header[..4]) == NANOSECONDS, "the capture has no nanoseconds");
    let mut times = Vec::with_capacity(rest.len() / 64);
    while let Some((header, behind)) = rest.split_at_checked(RECORD_HEADER) {
        let [seconds, nanos, kept, whole] =
            [0, 4, 8, 12].map(|from| number(&header[from..from + 4]));
        if whole == length {
            times.push(u64::from(seconds) * 1_000_000_000 + u64::from(nanos));
        }
        rest = behind.get(kept as usize..).unwrap_or_default();
    }
    Ok(times)
}

const NANOSECONDS: u32 = 0xa1b2_3c4d;
const FILE_HEADER: usize = 24;
const RECORD_HEADER: usize = 16;
/// Headers are enough.
const SNAP_LENGTH: &str = "64";
const BUFFER_KIB: &str = "65536";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_frames_of_the_length() {
        let mut file = NANOSECONDS.to_ne_bytes().to_vec();
        file.resize(FILE_HEADER, 0);
        for (seconds, nanos, whole) in [(1_u32, 5_u32, 1502_u32), (1, 6, 46), (2, 7, 1502)] {
            for number in [seconds, nanos, 3, whole] {
                file.extend(number.to_ne_bytes());
            }
            file.extend([0; 3]);
        }
        assert_eq!(times(&file, 1502).expect("readable"), [1_000_000_005, 2_000_000_007]);
        assert_eq!(times(&file[..file.len() - 20], 1502).expect("readable").len(), 1);
        assert!(times(&[0; 24], 1502).is_err() && times(&[], 1502).is_err());
    }
}
