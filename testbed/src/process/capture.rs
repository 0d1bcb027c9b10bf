//! What a child prints, line by line, as it comes.

use std::io::Read;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// A line that a child process has printed, and when it came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// When its end came.
    pub at: Instant,
    /// Without the end of the line.
    pub text: String,
}

/// A pipe that a thread reads to its end.
#[derive(Default)]
pub(super) struct Capture {
    printed: Arc<Mutex<Printed>>,
    reader: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Printed {
    lines: Vec<Line>,
    /// What stands behind the last end of a line.
    rest: Vec<u8>,
}

impl Capture {
    pub(super) fn start(pipe: Option<impl Read + Send + 'static>) -> Self {
        let printed = Arc::default();
        let reader = pipe.map(|pipe| {
            let into = Arc::clone(&printed);
            thread::spawn(move || read(pipe, &into))
        });
        Self { printed, reader }
    }

    pub(super) fn text(&self) -> String {
        let printed = lock(&self.printed);
        let mut text: String = printed.lines.iter().flat_map(|line| [&*line.text, "\n"]).collect();
        text.push_str(&String::from_utf8_lossy(&printed.rest));
        text
    }

    pub(super) fn lines_from(&self, first: usize) -> Vec<Line> {
        lock(&self.printed).lines.get(first..).unwrap_or_default().to_vec()
    }

    pub(super) fn is_complete(&self) -> bool {
        self.reader.as_ref().is_none_or(JoinHandle::is_finished)
    }

    /// All of it, once the child has ended. A process that the child left behind may hold the
    /// pipe.
    pub(super) fn finish(&self) -> String {
        let deadline = Instant::now() + PATIENCE;
        while !self.is_complete() && Instant::now() < deadline {
            thread::sleep(Duration::from_millis(1));
        }
        self.text()
    }
}

fn read(mut pipe: impl Read, into: &Mutex<Printed>) {
    let mut some = [0; 1 << 14];
    // What came before an error is all there is.
    while let Some(length) = pipe.read(&mut some).ok().filter(|length| *length > 0) {
        lock(into).take(&some[..length], Instant::now());
    }
}

impl Printed {
    fn take(&mut self, bytes: &[u8], at: Instant) {
        let mut parts = bytes.split(|byte| *byte == b'\n');
        self.rest.extend(parts.next().unwrap_or_default());
        for part in parts {
            let text = String::from_utf8_lossy(&self.rest).into_owned();
            self.lines.push(Line { at, text });
            self.rest = part.to_vec();
        }
    }
}

fn lock(printed: &Mutex<Printed>) -> MutexGuard<'_, Printed> {
    printed.lock().unwrap_or_else(PoisonError::into_inner)
}

/// How long the pipe of a child that has ended is read on.
const PATIENCE: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_what_came_in_whichever_pieces() {
        let mut printed = Printed::default();
        for piece in ["on", "e\ntw", "o\n\nth"] {
            printed.take(piece.as_bytes(), Instant::now());
        }
        let lines: Vec<_> = printed.lines.iter().map(|line| line.text.as_str()).collect();
        assert_eq!((lines, printed.rest.as_slice()), (vec!["one", "two", ""], &b"th"[..]));
        let capture = Capture { printed: Arc::new(Mutex::new(printed)), reader: None };
        assert_eq!(capture.text(), "one\ntwo\n\nth");
    }
}
