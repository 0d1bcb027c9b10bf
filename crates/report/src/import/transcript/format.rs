//! Output of iperf3 and iperf as an input format ([`Transcript`]): all runs in a text. Which text has
//! which ends of a run is a matter of [`super::Reading`].

use measurement::RecordSet;

use super::super::{Content, HEAD, Import, ImportError, Imported};
use super::{reader, runs};

/// The output of iperf3 or iperf.
pub(in crate::import) struct Transcript;

impl Import for Transcript {
    fn name(&self) -> &'static str {
        "output of iperf3 or iperf"
    }

    fn content(&self) -> Content {
        Content::Records
    }

    fn recognises(&self, bytes: &[u8]) -> bool {
        let head = &bytes[..bytes.len().min(HEAD)];
        !reader::read(0, head).views.is_empty()
    }

    fn read(&self, bytes: &[u8]) -> Result<Imported, ImportError> {
        let records: Vec<_> = runs(&[bytes]).runs.into_iter().map(|run| run.record).collect();
        if records.is_empty() {
            return Err(ImportError::Unrecognised);
        }
        Ok(Imported::Records(RecordSet::new(records)))
    }

    fn unread(&self, bytes: &[u8]) -> Vec<usize> {
        runs(&[bytes]).unread.into_iter().flatten().collect()
    }
}
