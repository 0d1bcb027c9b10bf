//! Lists of numbers as records have them: the first number, then the differences from each to the
//! next. Differences of zero at the end are left out.

/// The first of `values`, then the differences; empty: all are zero.
pub(crate) fn written(values: impl Iterator<Item = u64>) -> Vec<i64> {
    let mut before = 0_u64;
    let mut differences: Vec<_> = values
        .map(|value| value.wrapping_sub(std::mem::replace(&mut before, value)).cast_signed())
        .collect();
    let used = differences.iter().rposition(|difference| *difference != 0).map_or(0, |at| at + 1);
    differences.truncate(used);
    differences
}

/// The `length` numbers of such a list, which may be shorter.
pub(crate) fn read(differences: &[i64], length: usize) -> impl Iterator<Item = u64> {
    let rest = std::iter::repeat(&0);
    let all = differences.iter().chain(rest).take(length);
    all.scan(0_u64, |sum, difference| {
        *sum = sum.wrapping_add(difference.cast_unsigned());
        Some(*sum)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_numbers_come_back() {
        for values in [vec![7, 7, 9, 4, 4], vec![0, 0], vec![u64::MAX, 0, 1 << 63], vec![]] {
            let differences = written(values.iter().copied());
            assert!(differences.last() != Some(&0));
            assert_eq!(read(&differences, values.len()).collect::<Vec<_>>(), values);
        }
        assert_eq!(written([7, 7, 9, 4, 4].into_iter()), [7, 0, 2, -5]);
        assert_eq!(written([5, 5, 5].into_iter()), [5]);
    }
}
