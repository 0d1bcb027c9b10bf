//! Speeds of the kernel's own copies, from and to this process.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::FileExt;

use measurement::copies::{KernelPath, KernelSpeed};

use super::Extent;
use super::sockets::Connection;
use super::stopwatch::{Work, best, timed};

/// The speeds of all paths, with each length of calls.
pub(super) fn speeds(extent: &Extent) -> io::Result<Vec<KernelSpeed>> {
    let file = linux::payload::memory_file()?;
    // What is written for the first time is allocated, which is no copy.
    file.write_all_at(&vec![1; FILE], 0)?;
    let mut paths = Paths { file, connection: Connection::new()?, buffer: vec![1; LONGEST], at: 0 };
    let mut speeds = Vec::new();
    for length in &extent.calls {
        for path in KernelPath::ALL {
            let speed = best(extent.each, || paths.step(path, *length))?;
            speeds.push(KernelSpeed { path, length: *length as u64, speed });
        }
    }
    Ok(speeds)
}

/// File, connection and buffer of the calls.
struct Paths {
    file: File,
    connection: Connection,
    buffer: Vec<u8>,
    /// Offset of the next call in the file, in bytes.
    at: usize,
}

impl Paths {
    fn step(&mut self, path: KernelPath, length: usize) -> io::Result<Work> {
        let length = length.clamp(1, LONGEST);
        match path {
            KernelPath::PageCacheRead | KernelPath::PageCacheWrite => self.page_cache(path, length),
            KernelPath::Pipe => pipe(&mut self.buffer[..length]),
            KernelPath::Send
            | KernelPath::Sendfile
            | KernelPath::Receive
            | KernelPath::ReceiveTruncated => {
                self.connection.step(path, &mut self.buffer[..length])
            }
        }
    }

    fn page_cache(&mut self, path: KernelPath, length: usize) -> io::Result<Work> {
        self.at = if self.at + length > FILE { 0 } else { self.at };
        let (at, buffer) = (self.at as u64, &mut self.buffer[..length]);
        let (done, took) = timed(|| match path {
            KernelPath::PageCacheWrite => self.file.write_at(buffer, at),
            _ => self.file.read_at(buffer, at),
        });
        let done = done?;
        self.at += done.max(1);
        Ok((done, took))
    }
}

/// Fills a pipe as far as it goes in one call, and empties it again.
fn pipe(buffer: &mut [u8]) -> io::Result<Work> {
    let (mut far, mut near) = io::pipe()?;
    let mut all = (0, std::time::Duration::ZERO);
    // The first page of a pipe is allocated then.
    for _ in 0..PIPE_CALLS {
        let (done, took) = timed(|| {
            near.write_all(buffer)?;
            far.read_exact(buffer)
        });
        done?;
        all = (all.0 + buffer.len(), all.1 + took);
    }
    Ok(all)
}

/// Size of the file, which many a second-level cache does not hold.
const FILE: usize = 4 << 20;
/// A pipe holds as much (pipe(7)), and TCP's window at first (RFC 9293).
const LONGEST: usize = 64 << 10;
const PIPE_CALLS: u32 = 16;
