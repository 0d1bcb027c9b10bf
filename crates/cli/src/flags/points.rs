//! Lists of values: `1,2,4`, by doubling `1..64`, or evenly spaced `10M..100M/10`.

/// The values of a list, each read by `read`, which also names what is wrong with one.
///
/// Parts stand between commas. `A..B` doubles from A to B, and has B too; `A..B/N` has N values in
/// equal steps.
pub(crate) fn parse_points(
    text: &str,
    read: impl Fn(&str) -> Result<u64, String>,
) -> Result<Vec<u64>, String> {
    let mut points: Vec<u64> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let values = match part.split_once("..") {
            None => vec![read(part)?],
            Some((from, rest)) => range(part, from, rest, &read)?,
        };
        for value in values {
            if !points.contains(&value) {
                points.push(value);
            }
        }
        if points.len() > MOST {
            return Err(format!("'{text}' has more than {MOST} values: choose fewer"));
        }
    }
    Ok(points)
}

fn range(
    part: &str,
    from: &str,
    rest: &str,
    read: impl Fn(&str) -> Result<u64, String>,
) -> Result<Vec<u64>, String> {
    let (to, count) = rest.split_once('/').map_or((rest, None), |(to, count)| (to, Some(count)));
    let (from, to) = (read(from)?, read(to)?);
    if from >= to {
        return Err(format!("'{part}' does not go up: type the lower value first"));
    }
    let Some(count) = count else {
        if from == 0 {
            return Err(format!(
                "'{part}' cannot double from 0: type a number of steps, 0..{to}/5"
            ));
        }
        let doubled = std::iter::successors(Some(from), |value| value.checked_mul(2));
        return Ok(doubled.take_while(|value| *value < to).chain([to]).collect());
    };
    let count = count.parse::<usize>().ok().filter(|count| (2..=MOST).contains(count));
    let steps = count.ok_or_else(|| {
        format!("'{part}' needs a number of values between 2 and {MOST} behind the stroke")
    })? as u128
        - 1;
    let between = |step: u128| {
        let part = (u128::from(to - from) * step + steps / 2) / steps;
        from + u64::try_from(part).unwrap_or(to - from)
    };
    Ok((0..=steps).map(between).collect())
}

/// Values of a list.
const MOST: usize = 1_000;

#[cfg(test)]
mod tests {
    use measurement::BitRate;

    use super::*;

    fn points(text: &str) -> Result<Vec<u64>, String> {
        parse_points(text, |text| {
            let rate = text.parse::<BitRate>().map_err(|error| error.to_string())?;
            Ok(rate.bits_per_second())
        })
    }

    #[test]
    fn lists_double_or_have_equal_steps() {
        assert_eq!(points("1,2,4"), Ok(vec![1, 2, 4]));
        assert_eq!(points("1..64"), Ok(vec![1, 2, 4, 8, 16, 32, 64]));
        assert_eq!(points("3..20"), Ok(vec![3, 6, 12, 20]));
        let tens: Vec<_> = (1..=10).map(|ten| ten * 10_000_000).collect();
        assert_eq!(points("10M..100M/10"), Ok(tens));
        assert_eq!(points("1, 1..4, 2..3/2"), Ok(vec![1, 2, 4, 3]));
        assert_eq!(points("0..10/3"), Ok(vec![0, 5, 10]));
    }

    #[test]
    fn what_is_wrong_with_a_list_is_told() {
        for (text, words) in [
            ("", "is not a rate"),
            ("1,,2", "is not a rate"),
            ("4..1", "type the lower value first"),
            ("2..2", "type the lower value first"),
            ("0..4", "cannot double from 0"),
            ("1..9/1", "between 2 and 1000"),
            ("1..9/x", "between 2 and 1000"),
            ("1..", "is not a rate"),
            ("1..1000000/1000,5G", "more than 1000 values"),
        ] {
            let error = points(text).expect_err(text);
            assert!(error.contains(words), "{text}: {error}");
        }
        assert!(points("1..9007199254740992").expect("powers").len() == 54);
    }
}
