//! Resolves addresses of this process to the files whose code is mapped (`/proc/self/maps`,
//! proc(5)).

use std::fs;

/// The files whose code is mapped into this process.
#[derive(Debug, Default)]
pub(super) struct MappedFiles {
    /// Begin, end and name.
    mapped: Vec<(u64, u64, String)>,
}

impl MappedFiles {
    /// The files that this process has mapped now (`/proc/self/maps`).
    pub(super) fn own() -> Self {
        let text = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        Self { mapped: text.lines().filter_map(parse).collect() }
    }

    /// Name of the file at an address, without its folders: `libc.so.6`, `[vdso]`.
    pub(super) fn file(&self, address: u64) -> Option<&str> {
        let index = self.mapped.partition_point(|(begin, _, _)| *begin <= address);
        let (_, end, name) = self.mapped.get(index.checked_sub(1)?)?;
        (address < *end).then_some(name)
    }
}

/// One line, if what it maps can be executed and has a name.
fn parse(line: &str) -> Option<(u64, u64, String)> {
    let mut words = line.split_whitespace();
    let (begin, end) = words.next()?.split_once('-')?;
    let access = words.next()?;
    let path = words.nth(3).filter(|_| access.contains('x'))?;
    let number = |text| u64::from_str_radix(text, 16).ok();
    let name = path.rsplit('/').next()?.to_owned();
    Some((number(begin)?, number(end)?, name))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_is_found_in_its_file_and_data_in_none() {
        let text = "1000-2000 r-xp 00001000 fd:00 7   /usr/bin/linerate\n\
                    2000-3000 rw-p 00002000 fd:00 7   /usr/bin/linerate\n\
                    7000-8000 r-xp 00000000 00:00 0   [vdso]\n\
                    9000-a000 r-xp 00000000 00:00 0\n";
        let mapped_files = MappedFiles { mapped: text.lines().filter_map(parse).collect() };
        let found = [0x1fff, 0x2000, 0x7000, 0x9000, 0].map(|at| mapped_files.file(at));
        assert_eq!(found, [Some("linerate"), None, Some("[vdso]"), None, None]);
    }

    #[test]
    fn this_function_is_in_a_file_of_this_process() {
        let here = parse as *const () as u64;
        assert!(MappedFiles::own().file(here).is_some());
    }
}
