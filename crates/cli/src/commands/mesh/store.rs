//! The file of a mesh: a line of JSON for each pair, which is on the disk before the next round
//! begins, and for each host that was lost.

use std::fs::{File, OpenOptions};
use std::io::{BufRead, BufReader, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};

use anyhow::Context;
use campaign::mesh::MeshHost;
use measurement::mesh::MeshSchema;
use measurement::{MeshEvent, MeshPair};

use super::SEED;
use crate::exit::UsageError;

/// An open file of a mesh, and the pairs that were in it.
pub(super) struct Store {
    path: PathBuf,
    file: File,
    pub(super) seed: u64,
    pub(super) pairs: Vec<MeshPair>,
}

impl Store {
    /// Makes a new file, or opens that of a mesh of the same hosts to go on with. What a kill left
    /// of a last line is cut off.
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
        if let Ok(false) = linux::file_lock::try_lock(&file) {
            let text = format!("another mesh writes {shown}: wait for its end");
            return Err(UsageError(text).into());
        }
        let mut store = Self { path: path.to_owned(), file, seed: SEED, pairs: Vec::new() };
        let names: Vec<_> = hosts.iter().map(|host| host.name.clone()).collect();
        if !store.read(&names)? {
            store.write(&MeshEvent::Mesh { schema: MeshSchema::V1, hosts: names, seed: SEED })?;
        }
        Ok(store)
    }

    /// Reads what is there; false: nothing is.
    fn read(&mut self, hosts: &[String]) -> anyhow::Result<bool> {
        let shown = self.path.display().to_string();
        let refuse = |text: String| UsageError(format!("{text}: choose another file"));
        let (mut whole, mut number) = (0, 0);
        let mut reader = BufReader::new(&self.file);
        let mut line = Vec::new();
        while reader.read_until(b'\n', &mut line).with_context(|| format!("cannot read {shown}"))?
            > 0
        {
            if line.last() != Some(&b'\n') {
                break;
            }
            number += 1;
            let event = serde_json::from_slice(&line);
            match event.map_err(|_| refuse(format!("line {number} of {shown} is of no mesh")))? {
                MeshEvent::Mesh { hosts: known, .. } if known != hosts => {
                    return Err(refuse(format!("{shown} is of other hosts")).into());
                }
                MeshEvent::Mesh { seed, .. } => self.seed = seed,
                MeshEvent::Pair(pair) => self.pairs.push(pair),
                MeshEvent::Lost { .. } => {}
            }
            whole += line.len() as u64;
            line.clear();
        }
        self.file.set_len(whole).with_context(|| format!("cannot write {shown}"))?;
        self.file.seek(SeekFrom::Start(whole)).with_context(|| format!("cannot write {shown}"))?;
        Ok(number > 0)
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
