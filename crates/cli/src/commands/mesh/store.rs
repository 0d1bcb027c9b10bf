//! The file of a mesh: a line of JSON for each pair, which is on the disk before the next round
//! begins, and for each host that was lost. Of results of an earlier run memory has their places in
//! the file only.

use std::collections::{BTreeSet, HashMap};
use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Read, Seek, SeekFrom, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use analysis::mesh::{HostId, Pair, Round};
use anyhow::Context;
use campaign::mesh::{self, MeshHost};
use linux::file_lock::Lock;
use measurement::mesh::MeshSchema;
use measurement::{MeshEvent, MeshPair, MeshStage};

use super::{SEED, slurm};
use crate::exit::UsageError;

/// An open file of a mesh, and where the pairs are that were in it.
pub(super) struct Store {
    path: PathBuf,
    file: File,
    _lock: Option<Lock>,
    pub(super) seed: u64,
    places: BTreeSet<Place>,
}

/// Where the result of a pair is: stage, hosts, offset and length of the line.
type Place = (MeshStage, HostId, HostId, u64, u32);

impl Store {
    /// Makes a new file, or opens that of a mesh of the same hosts to go on with; a job of Slurm that
    /// was put back in the queue may have others, and goes on with what is between those that it
    /// has still. What a kill left of a last line is cut off.
    pub(super) fn open(path: &Path, resume: bool, hosts: &[MeshHost]) -> anyhow::Result<Self> {
        let mut options = OpenOptions::new();
        options.read(true).write(true);
        if resume {
            options.create(true).truncate(false);
        } else {
            options.create_new(true);
        }
        let shown = path.display();
        let file = options.open(path).map_err(|error| {
            if error.kind() == std::io::ErrorKind::AlreadyExists {
                UsageError(format!("{shown} exists: add --resume, or choose another file"))
            } else {
                let why = session::reason(&error);
                UsageError(format!("cannot write {shown}: {why}; choose another file"))
            }
        })?;
        let lock = match Lock::take(&file) {
            Ok(None) => {
                let text = format!("another mesh writes {shown}: wait for its end");
                return Err(UsageError(text).into());
            }
            // A file system without locks is none the worse.
            taken => taken.ok().flatten(),
        };
        let (path, places) = (path.to_owned(), BTreeSet::new());
        let mut store = Self { path, file, _lock: lock, seed: SEED, places };
        let names: Vec<_> = hosts.iter().map(|host| host.name.clone()).collect();
        if !store.read(&names)? {
            let seed = store.seed;
            store.write(&MeshEvent::Mesh { schema: MeshSchema::V1, hosts: names, seed })?;
        }
        Ok(store)
    }

    /// Reads what is there; false: the last hosts that it names are others, or none.
    fn read(&mut self, hosts: &[String]) -> anyhow::Result<bool> {
        let shown = self.path.display().to_string();
        let refuse = |text: String| UsageError(format!("{text}: choose another file"));
        let ids: HashMap<&str, HostId> = hosts.iter().map(String::as_str).zip(0..).collect();
        let (mut whole, mut number) = (0, 0);
        let mut is_of_these = false;
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        loop {
            let read = (&mut reader).take(LONGEST_LINE).read_until(b'\n', &mut line);
            if read.with_context(|| format!("cannot read {shown}"))? as u64 == LONGEST_LINE {
                return Err(refuse(format!("line {} of {shown} is too long", number + 1)).into());
            }
            if line.last() != Some(&b'\n') {
                break;
            }
            number += 1;
            let event = serde_json::from_slice(&line);
            match event.map_err(|_| refuse(format!("line {number} of {shown} is of no mesh")))? {
                MeshEvent::Mesh { hosts: known, seed, .. } => {
                    is_of_these = known == hosts;
                    if !(is_of_these || slurm::is_requeued()) {
                        return Err(refuse(format!("{shown} is of other hosts")).into());
                    }
                    self.seed = seed;
                }
                // A test that failed is run again.
                MeshEvent::Pair(pair) if pair.readings.len() == 2 => {
                    let (a, b) = (ids.get(pair.a.as_str()), ids.get(pair.b.as_str()));
                    if let (Some(a), Some(b), Ok(length)) = (a, b, line.len().try_into()) {
                        self.places.insert((pair.stage, *a, *b, whole, length));
                    }
                }
                MeshEvent::Pair(_) | MeshEvent::Lost { .. } => {}
            }
            whole += line.len() as u64;
            line.clear();
        }
        self.file.set_len(whole).with_context(|| format!("cannot write {shown}"))?;
        self.file.seek(SeekFrom::Start(whole)).with_context(|| format!("cannot write {shown}"))?;
        Ok(is_of_these)
    }

    /// The first result of a pair that was not asked for yet.
    pub(super) fn stored(
        &mut self,
        round: &Round,
        Pair { a, b }: Pair,
    ) -> Result<Option<MeshPair>, String> {
        let stage = mesh::stage(round.stage);
        let of_pair = (stage, a, b, 0, 0)..=(stage, a, b, u64::MAX, u32::MAX);
        let Some(place) = self.places.range(of_pair).next().copied() else { return Ok(None) };
        self.places.remove(&place);
        let (.., offset, length) = place;
        let mut line = vec![0; length as usize];
        let read = self.file.read_exact_at(&mut line, offset);
        let shown = self.path.display();
        read.map_err(|error| format!("cannot read {shown}: {}", session::reason(&error)))?;
        match serde_json::from_slice(&line) {
            Ok(MeshEvent::Pair(pair)) => Ok(Some(pair)),
            _ => Err(format!("{shown} was changed by something else")),
        }
    }

    pub(super) fn pair(&mut self, pair: &MeshPair) -> Result<(), String> {
        self.write(&MeshEvent::Pair(pair.clone())).map_err(|error| format!("{error:#}"))
    }

    pub(super) fn lost(&mut self, host: &str, why: &str) -> Result<(), String> {
        let event = MeshEvent::Lost { host: host.to_owned(), error: why.to_owned() };
        self.write(&event).map_err(|error| format!("{error:#}"))
    }

    fn write(&mut self, event: &MeshEvent) -> anyhow::Result<()> {
        let mut line = serde_json::to_vec(event)?;
        line.push(b'\n');
        let written = self.file.write_all(&line).and_then(|()| self.file.sync_data());
        let shown = self.path.display();
        written.with_context(|| format!("cannot write {shown}; go on with --resume"))
    }
}

/// Length of the longest line, which has the names of all hosts, in bytes.
const LONGEST_LINE: u64 = 64 << 20;
