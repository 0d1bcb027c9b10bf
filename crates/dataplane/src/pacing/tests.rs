//! The pacer, played against workers that are late in every way.

use super::*;

fn at(micros: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + micros * 1_000)
}

fn at_nanos(nanos: u64) -> Timestamp {
    Timestamp::from_nanos(1_000_000_000 + nanos)
}

/// One block of 125 bytes each 100 microseconds, one by one.
fn pacer() -> Pacer {
    Pacer::for_datagrams(BitRate::from_bits_per_second(10_000_000), 125).with_burst(1)
}

/// Sends what may go at `now`, and looks again at once as a worker does; how many went.
fn go(pacer: &mut Pacer, now: Timestamp) -> usize {
    let Ok(count) = pacer.allowance(now, 64) else { return 0 };
    pacer.sent(count);
    _ = pacer.allowance(now, 64);
    count
}

#[test]
fn blocks_are_due_one_gap_apart() {
    let mut pacer = pacer();
    assert_eq!(pacer.allowance(at(0), 64), Ok(1));
    pacer.sent(1);
    assert_eq!(pacer.allowance(at(40), 64), Err(at(100)));
    assert_eq!(pacer.allowance(at(100), 64), Ok(1));
}

#[test]
fn a_whole_number_of_gaps_has_as_many_blocks() {
    let sent = |pacer: Pacer, micros: u64| {
        let mut pacer = pacer;
        // The end comes a little late.
        (0..micros + 5).map(|now| go(&mut pacer, at(now))).sum::<usize>()
    };
    assert_eq!(sent(pacer(), 10_000), 101);
    assert_eq!(sent(pacer().centred(), 10_000), 100);
    assert_eq!(sent(pacer().with_burst(4).centred(), 10_000), 100);
    // Who sends next to nothing begins soon all the same.
    let slow = Pacer::for_datagrams(BitRate::from_bits_per_second(8_000), 1_000).centred();
    assert_eq!((sent(slow, 4_900), sent(slow, 5_000)), (0, 1));
}

#[test]
fn a_short_lateness_is_made_up_for_block_by_block() {
    let mut pacer = pacer();
    assert_eq!(go(&mut pacer, at(0)), 1);
    assert_eq!(go(&mut pacer, at(450)), 1);
    // Three are owed, and the next one goes 100 / 1.05 microseconds later, less a third.
    assert_eq!(pacer.allowance(at(500), 64), Err(at_nanos(450_000 + 95_238 - 33_333)));
    assert_eq!(go(&mut pacer, at_nanos(511_905)), 1);
    assert_eq!(pacer.allowance(at(550), 64), Err(at_nanos(511_905 + 95_238)));
}

#[test]
fn a_sender_without_a_cpu_for_two_fifths_of_each_millisecond_keeps_the_rate() {
    // A datagram each 20 microseconds.
    let mut pacer = Pacer::for_datagrams(BitRate::from_bits_per_second(580_000_000), 1_450);
    let (mut sent, mut most) = (0, 0);
    let runs = (0..1_000_000).filter(|micros| micros % 1_000 < 600);
    for micros in runs {
        // A datagram takes 2 microseconds, so that a batch is not sent at once.
        if micros % 2 == 0 {
            let count = go(&mut pacer, at(micros));
            (sent, most) = (sent + count, most.max(count));
        }
    }
    assert!((49_400..=50_100).contains(&sent), "{sent}");
    assert!(most <= 50, "a batch of {most} is longer than a millisecond");
}

#[test]
fn the_blocks_of_a_stall_are_dropped_or_repaid() {
    let lost = |pacing| {
        let mut pacer = pacer().with_pacing(pacing);
        let mut sent = 0;
        let mut now = 0;
        while now < 1_000_000 {
            // It sleeps for 3 ms in the middle.
            now += if now == 500_000 { 3_000 } else { 1 };
            sent += go(&mut pacer, at(now));
        }
        10_000 - sent
    };
    assert!((29..=31).contains(&lost(Pacing::Smooth)), "{}", lost(Pacing::Smooth));
    assert!(lost(Pacing::Repay) <= 1, "{}", lost(Pacing::Repay));
}

#[test]
fn the_mean_is_kept_by_a_sender_that_is_stalled_for_a_third_of_the_time() {
    let lost = |pacing| {
        let mut pacer = pacer().with_pacing(pacing);
        let mut sent = 0;
        let mut now = 0;
        while now < 1_000_000 {
            now += if now % 9_000 < 6_000 { 1 } else { 3_000 };
            sent += go(&mut pacer, at(now));
        }
        10_000 - sent
    };
    assert!(lost(Pacing::Repay) > 1_000, "{}", lost(Pacing::Repay));
    assert!(lost(Pacing::Average) <= 31, "{}", lost(Pacing::Average));
}

#[test]
fn a_stall_is_told_once_with_its_length() {
    let mut pacer = pacer();
    assert_eq!(go(&mut pacer, at(0)), 1);
    assert_eq!(pacer.take_begun().map(|batch| batch.before), Some(None));
    assert_eq!(pacer.allowance(at(5_100), 64), Ok(1));
    let batch = pacer.take_begun().expect("a batch began");
    assert_eq!(batch.stalled, Duration::from_millis(5));
    let before = batch.before.expect("there was one before");
    assert_eq!((before.blocks, before.took), (1, Duration::from_micros(5_100)));
    assert_eq!(pacer.take_begun(), None);
    pacer.sent(1);
    assert_eq!(pacer.allowance(at(5_101), 64), Err(at(5_200)));
}

#[test]
fn slow_datagrams_are_not_taken_for_stalls() {
    let mut pacer = Pacer::for_datagrams(BitRate::from_bits_per_second(8_000), 100);
    for step in 0..10 {
        assert_eq!(pacer.allowance(at(step * 100_000 + 15_000), 64), Ok(1));
        assert_eq!(pacer.take_begun().map(|batch| batch.stalled), Some(Duration::ZERO));
        pacer.sent(1);
    }
}

#[test]
fn a_burst_goes_at_once_when_its_first_block_is_due() {
    let mut pacer = pacer().with_burst(10);
    assert_eq!(pacer.allowance(at(0), 64), Ok(10));
    pacer.sent(10);
    assert_eq!(pacer.allowance(at(999), 64), Err(at(1_000)));
    assert_eq!(pacer.allowance(at(1_000), 4), Ok(4));
    pacer.sent(4);
    // The rest of a burst waits for nothing, though the average is above the rate.
    assert_eq!(pacer.allowance(at(1_001), 64), Ok(6));
    pacer.sent(6);
    assert_eq!(pacer.allowance(at(1_002), 64), Err(at(2_000)));
}

#[test]
fn the_average_of_bursts_is_the_rate_even_block_by_block() {
    let mut pacer = pacer().with_burst(7);
    let mut sent = 0;
    for step in 0..10_000 {
        if pacer.allowance(at(step * 10), 1).is_ok() {
            pacer.sent(1);
            sent += 1;
        }
    }
    assert!((1_000..=1_007).contains(&sent), "{sent} blocks in 100 ms");
}

#[test]
fn batches_grow_with_the_rate() {
    let batch = |megabits: u64| {
        let rate = BitRate::from_bits_per_second(megabits * 1_000_000);
        let pacer = Pacer::for_datagrams(rate, 1460);
        pacer.batch.blocks(&pacer.schedule)
    };
    assert_eq!([1, 10, 100, 1_000, 10_000, 100_000].map(batch), [1, 1, 4, 4, 40, 402]);
}

/// Plays a worker that is late as `lateness` says, in nanoseconds, and spends `cost` on each
/// block; when each batch began and how long it was.
fn play(
    mut pacer: Pacer,
    seconds: u64,
    cost: u64,
    mut lateness: impl FnMut() -> u64,
) -> Vec<(u64, usize)> {
    let (mut now, mut batches) = (0, Vec::new());
    while now < seconds * 1_000_000_000 {
        match pacer.allowance(at_nanos(now), 64) {
            Ok(count) => {
                batches.push((now, count));
                now += cost * count as u64;
                pacer.sent(count);
            }
            Err(due) => now = due.nanos() - 1_000_000_000 + lateness(),
        }
    }
    batches
}

/// Numbers that only look random (Knuth, The Art of Computer Programming 3.3.4).
fn noise() -> impl FnMut() -> u64 {
    let mut state = 1_u64;
    move || {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        state >> 33
    }
}

/// Mostly up to `mostly` nanoseconds, 20 times of `rarity` up to 40 microseconds, once most of
/// a millisecond.
fn late_at_times(mostly: u64, rarity: u64) -> impl FnMut() -> u64 {
    let mut noise = noise();
    move || match noise() % rarity {
        0 => noise() % 900_000,
        1..=20 => noise() % 40_000,
        _ => noise() % mostly,
    }
}

#[test]
fn the_average_is_the_rate_whatever_is_late() {
    // Who spins is hardly late, and looks ten times as often at the same clock.
    let (sleeps, spins) = ((Pacing::Smooth, 2_000), (Pacing::Even, 200));
    for (megabits, (pacing, mostly)) in
        [(100, sleeps), (1_000, sleeps), (100, spins), (1_000, spins)]
    {
        let rate = BitRate::from_bits_per_second(megabits * 1_000_000);
        let pacer = Pacer::for_datagrams(rate, 1460).with_pacing(pacing);
        let batches = play(pacer, 4, 2_000, late_at_times(mostly, 2_000_000 / mostly));
        let bits = batches.iter().map(|(_, count)| *count as u64).sum::<u64>() * 1460 * 8;
        let error = bits as f64 / 4.0 / (megabits as f64 * 1e6) - 1.0;
        assert!(error.abs() < 0.005, "{megabits} Mbit/s, {pacing}: {error}");
    }
}

#[test]
fn nothing_is_caught_up_in_a_heap() {
    // But for one who keeps the mean, as iperf3 does.
    for pacing in Pacing::ALL.into_iter().filter(|pacing| *pacing != Pacing::Average) {
        let rate = BitRate::from_bits_per_second(1_000_000_000);
        let pacer = Pacer::for_datagrams(rate, 1460).with_pacing(pacing);
        let mut noise = noise();
        // Stalls of any length up to 30 ms as well.
        let late = move || {
            if noise().is_multiple_of(100) { noise() % 30_000_000 } else { noise() % 3_000 }
        };
        let batches = play(pacer, 2, 2_000, late);
        // A third of the first one's time is excused, and that of no other.
        let least = |batches: &[(u64, usize)]| {
            let nanos = |count: usize| 11_680 * count as u64;
            let shortest: u64 = batches.iter().map(|(_, count)| nanos(*count) * 100 / 105).sum();
            shortest - if pacing == Pacing::Even { 0 } else { nanos(batches[0].1) / 3 }
        };
        for several in [2, 10] {
            for several in batches.windows(several) {
                let (end, before) = several.split_last().expect("there are some");
                assert!(end.0 - before[0].0 >= least(before), "{pacing}: {several:?}");
            }
        }
        // The shortest: batches begin at most 3 microseconds late.
        assert!(batches.iter().all(|(_, count)| *count <= 4));
    }
}

#[test]
fn a_batch_that_was_interrupted_is_not_followed_at_once() {
    let mut pacer = Pacer::for_datagrams(BitRate::from_bits_per_second(1_000_000_000), 1460);
    assert_eq!(pacer.allowance(at(0), 64), Ok(4));
    pacer.sent(4);
    // Its last datagram may have gone but now.
    let due = at_nanos(300_000 + 46_720 * 100 / 105);
    assert_eq!(pacer.allowance(at(300), 64), Err(due));
    assert_eq!(pacer.allowance(due, 64), Ok(4));
    pacer.sent(4);
    assert!(pacer.allowance(due.after(Duration::from_millis(3)), 64).is_err());
    assert_eq!(pacer.allowance(due.after(Duration::from_millis(4)), 64), Ok(4));
    assert!(pacer.take_begun().is_some_and(|batch| batch.stalled > Duration::from_millis(3)));
}

#[test]
fn a_sender_that_is_too_slow_gives_up_what_it_cannot_send() {
    let mut pacer = Pacer::for_datagrams(BitRate::from_bits_per_second(1_000_000_000), 1460);
    let (mut now, mut forgone) = (0, Duration::ZERO);
    while now < 1_000_000_000 {
        if let Ok(count) = pacer.allowance(at_nanos(now), 64) {
            forgone += pacer.take_begun().map_or(Duration::ZERO, |batch| batch.forgone);
            pacer.sent(count);
            // Half as fast as asked.
            now += 23_360 * count as u64;
        }
    }
    assert!((470..=490).contains(&forgone.as_millis()), "{forgone:?}");
}

#[test]
fn a_fraction_of_a_nanosecond_is_not_lost() {
    // 16 bytes at 10 Gbit/s take 12.8 ns.
    let pacer = Pacer::for_datagrams(BitRate::from_bits_per_second(10_000_000_000), 16);
    let batches = play(pacer, 1, 0, || 0);
    let sent: usize = batches.iter().map(|(_, count)| count).sum();
    assert!((78_100_000..=78_130_000).contains(&sent), "{sent}");
}

#[test]
fn a_worker_that_always_wakes_late_keeps_the_rate_by_longer_batches() {
    let rate = BitRate::from_bits_per_second(200_000_000);
    for late in [0, 5, 20, 45, 70, 150] {
        let mut pacer = Pacer::for_datagrams(rate, 1_450);
        let (mut sent, mut now, mut most) = (0, 0, 0);
        while now < 1_000_000 {
            let count = go(&mut pacer, at(now));
            (sent, most) = (sent + count, most.max(count));
            // It sleeps until something is due.
            now += match pacer.allowance(at(now), 64) {
                Err(due) => (due.nanos() - at(now).nanos()) / 1_000 + 1 + late,
                Ok(_) => 0,
            };
        }
        // 58 microseconds each make 17,241 in a second.
        assert!((17_050..17_290).contains(&sent), "{sent} in a second, {late} us late");
        assert!(most <= if late > 75 { 9 } else { 4 }, "{most} at once, {late} us late");
    }
}
