//! A covering array of strength two: rows so that any two factors meet in all their
//! permitted values.
//!
//! Greedy and deterministic: of all permitted rows, each turn takes the first that
//! covers the most pairs not covered yet (the scheme of D. M. Cohen et al., "The AETG
//! System", IEEE TSE 23(7), 1997, with all rows as candidates). It is meant for a few
//! hundred combinations, which it enumerates.

use std::collections::BTreeSet;

/// The index of a value for each factor.
pub(crate) type Row = Vec<usize>;

/// Two factors and their values.
type Pair = (usize, usize, usize, usize);

/// Rows that cover every pair which at least one permitted row has. The first rows
/// cover the most.
pub(crate) fn rows(levels: &[usize], permits: impl Fn(&[usize]) -> bool) -> Vec<Row> {
    let candidates: Vec<Row> = product(levels).into_iter().filter(|row| permits(row)).collect();
    let mut open: BTreeSet<Pair> = candidates.iter().flat_map(|row| pairs(row)).collect();
    let mut chosen = Vec::new();
    while !open.is_empty() {
        let gain = |row: &Row| pairs(row).filter(|pair| open.contains(pair)).count();
        // Reversed, since the last of equals is what `max_by_key` returns.
        let Some(best) = candidates.iter().rev().max_by_key(|row| gain(row)) else { break };
        for pair in pairs(best) {
            open.remove(&pair);
        }
        chosen.push(best.clone());
    }
    chosen
}

fn product(levels: &[usize]) -> Vec<Row> {
    levels.iter().fold(vec![Row::new()], |rows, count| {
        let extended = |row: Row| (0..*count).map(move |value| [row.as_slice(), &[value]].concat());
        rows.into_iter().flat_map(extended).collect()
    })
}

fn pairs(row: &[usize]) -> impl Iterator<Item = Pair> {
    let indices = 0..row.len();
    indices.flat_map(move |a| (a + 1..row.len()).map(move |b| (a, row[a], b, row[b])))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_permitted_pair_is_covered() {
        let permits = |row: &[usize]| row[0] != 1 || row[3] != 5;
        let levels = [2, 3, 2, 8, 2];
        let chosen = rows(&levels, permits);
        let covered: BTreeSet<Pair> = chosen.iter().flat_map(|row| pairs(row)).collect();
        for row in product(&levels).iter().filter(|row| permits(row)) {
            assert!(pairs(row).all(|pair| covered.contains(&pair)), "{row:?}");
        }
        assert!(chosen.iter().all(|row| permits(row)));
        assert!((24..=30).contains(&chosen.len()), "{}", chosen.len());
    }

    #[test]
    fn the_same_factors_give_the_same_rows() {
        assert_eq!(rows(&[3, 3, 3], |_| true), rows(&[3, 3, 3], |_| true));
    }

    #[test]
    fn a_pair_that_no_row_permits_is_not_waited_for() {
        assert_eq!(rows(&[2, 2], |row| row == [0, 1]), vec![vec![0, 1]]);
    }
}
