//! A test between two hosts over several links: over the first alone, then over all at once.

use std::thread;

use measurement::{BitRate, MeshReading};

/// Tests the other host at all its addresses at once; before that at the first alone, if `first_alone`
/// says so. The readings are sums over the links, from here and back.
///
/// # Errors
/// A test failed.
pub(super) fn tested(
    to: &[String],
    first_alone: bool,
    test: &(dyn Fn(&str) -> Result<Vec<MeshReading>, String> + Sync),
) -> Result<Vec<MeshReading>, String> {
    let [first, further @ ..] = to else { return Err("the order has no address".to_owned()) };
    if further.is_empty() {
        return test(first);
    }
    let alone = first_alone.then(|| test(first)).transpose()?;
    let by_link = thread::scope(|scope| -> Result<Vec<_>, String> {
        let mut threads = Vec::new();
        for address in further {
            let started = thread::Builder::new().spawn_scoped(scope, || test(address));
            threads.push(started.map_err(|error| format!("cannot start a thread: {error}"))?);
        }
        let mut by_link = vec![test(first)?];
        for thread in threads {
            by_link.push(thread.join().map_err(|_| "a test ended in the middle")??);
        }
        Ok(by_link)
    })?;
    let directions = by_link.iter().map(Vec::len).min().unwrap_or_default();
    let of = |direction: usize| {
        let links = by_link.iter().map(|readings| readings[direction].clone()).collect();
        let first = alone.as_ref().and_then(|alone| alone.get(direction));
        sum(links, first.map(|reading| reading.rate))
    };
    Ok((0..directions).filter_map(of).collect())
}

/// One direction of all links: the rate is their sum, the rest that of the worst.
fn sum(links: Vec<MeshReading>, first_alone: Option<BitRate>) -> Option<MeshReading> {
    let rates: Vec<_> = links.iter().map(|link| link.rate).collect();
    let bits = rates.iter().map(|rate| rate.bits_per_second()).sum();
    let most_lost = links.iter().filter_map(|link| link.retransmitted_ratio).max_by(f64::total_cmp);
    let worst = links.into_iter().min_by_key(|link| link.rate)?;
    Some(MeshReading {
        rate: BitRate::from_bits_per_second(bits),
        retransmitted_ratio: most_lost,
        links: rates,
        first_alone,
        ..worst
    })
}
