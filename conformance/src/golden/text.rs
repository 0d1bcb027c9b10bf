//! The comparison of two texts: the sequences of their lines' shapes, and the columns
//! of lines of one shape.

use std::collections::BTreeMap;

use super::difference::What;
use super::layout::Layout;
use super::shape::Shaper;

/// A text without what differs between runs of one program.
#[derive(Debug)]
pub(crate) struct Text {
    /// The shapes in their order, repetitions taken out: how many intervals there are
    /// depends on when a test ends to the millisecond.
    shapes: Vec<String>,
    layouts: BTreeMap<String, Vec<Layout>>,
}

impl Text {
    pub(crate) fn parse(text: &str, shaper: &Shaper) -> Self {
        let mut layouts: BTreeMap<String, Vec<Layout>> = BTreeMap::new();
        let mut lines = Vec::new();
        for line in text.lines() {
            let shape = shaper.shape(line);
            layouts.entry(shape.clone()).or_default().push(Layout::parse(&shaper.plain(line)));
            lines.push(shape);
        }
        Self { shapes: without_repetitions(lines), layouts }
    }

    /// How `ours` differs from this.
    pub(crate) fn differences(&self, ours: &Self) -> Vec<What> {
        let mut found = edits(&self.shapes, &ours.shapes);
        for (shape, layouts) in &ours.layouts {
            let Some(theirs) = self.layouts.get(shape) else { continue };
            let fits = |layout: &&Layout| theirs.iter().any(|one| one.agrees(layout));
            if !layouts.iter().all(|layout| fits(&layout)) {
                found.push(What::Columns(shape.clone()));
            }
        }
        found
    }
}

/// Takes out of `a b b c b c d` what directly repeats what stands before it: `a b c d`.
fn without_repetitions(mut lines: Vec<String>) -> Vec<String> {
    let mut length = 1;
    while length <= LONGEST_REPETITION {
        match repetition(&lines, length) {
            Some(start) => {
                lines.drain(start..start + length);
                length = 1;
            }
            None => length += 1,
        }
    }
    lines
}

/// Where `length` lines start that stand there twice.
fn repetition(lines: &[String], length: usize) -> Option<usize> {
    let pairs = lines.windows(2 * length);
    pairs.enumerate().find(|(_, pair)| pair[..length] == pair[length..]).map(|(start, _)| start)
}

/// Lines of one that are not in the other, by their longest common subsequence.
fn edits(theirs: &[String], ours: &[String]) -> Vec<What> {
    let common = common_lengths(theirs, ours);
    let (mut i, mut j) = (0, 0);
    let mut found = Vec::new();
    while i < theirs.len() || j < ours.len() {
        if i < theirs.len() && j < ours.len() && theirs[i] == ours[j] {
            (i, j) = (i + 1, j + 1);
        } else if j == ours.len() || (i < theirs.len() && common[i + 1][j] >= common[i][j + 1]) {
            found.push(What::LineMissing(theirs[i].clone()));
            i += 1;
        } else {
            found.push(What::LineAdded(ours[j].clone()));
            j += 1;
        }
    }
    found
}

/// Element i, j: how much `theirs[i..]` and `ours[j..]` have in common.
fn common_lengths(theirs: &[String], ours: &[String]) -> Vec<Vec<usize>> {
    let mut lengths = vec![vec![0; ours.len() + 1]; theirs.len() + 1];
    for i in (0..theirs.len()).rev() {
        for j in (0..ours.len()).rev() {
            lengths[i][j] = if theirs[i] == ours[j] {
                lengths[i + 1][j + 1] + 1
            } else {
                lengths[i + 1][j].max(lengths[i][j + 1])
            };
        }
    }
    lengths
}

/// One interval of a bidirectional test of several streams.
const LONGEST_REPETITION: usize = 12;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::golden::shape::Units;

    fn differences(theirs: &str, ours: &str) -> Vec<What> {
        let text = |text| Text::parse(text, &Shaper::new("program", Units::Free));
        text(theirs).differences(&text(ours))
    }

    const REPORT: &str = "\
[ ID] Interval           Transfer     Bitrate
[  5]   0.00-1.00   sec  5.04 GBytes  43.2 Gbits/sec                  
- - - - - - - -
[  5]   0.00-1.00   sec  5.04 GBytes  43.2 Gbits/sec                  receiver
";

    #[test]
    fn other_numbers_and_another_interval_are_no_difference() {
        let interval = "[ 12]   1.00-1.00   sec   768 KBytes  12.6 Kbits/sec                  ";
        let more = REPORT.replacen("- - -", &format!("{interval}\n- - -"), 1);
        assert_eq!(differences(REPORT, REPORT), []);
        assert_eq!(differences(REPORT, &more), []);
    }

    #[test]
    fn an_added_and_a_missing_line_are_found() {
        let more = format!("{REPORT}iperf Done.\n");
        let added = What::LineAdded("iperf Done.".to_owned());
        assert_eq!(differences(REPORT, &more), [added]);
        let missing = What::LineMissing("iperf Done.".to_owned());
        assert_eq!(differences(&more, REPORT), [missing]);
    }

    #[test]
    fn a_moved_column_is_found() {
        let moved = REPORT.replace("sec  5.04", "sec   5.04");
        assert_eq!(differences(REPORT, &moved).len(), 2);
        let moved = REPORT.replace("Interval    ", "Interval   ");
        assert!(matches!(differences(REPORT, &moved)[..], [What::Columns(_)]));
        let trimmed = REPORT.replace("sec                  \n", "sec\n");
        assert!(matches!(differences(REPORT, &trimmed)[..], [What::Columns(_)]));
    }

    #[test]
    fn repetitions_of_several_lines_are_taken_out() {
        let lines = |text: &str| text.split(' ').map(str::to_owned).collect::<Vec<_>>();
        assert_eq!(without_repetitions(lines("a b b c b c d")), lines("a b c d"));
    }
}
