//! What is undone after the end of a process that changed settings: killed at any instant, or with
//! a journal of which a loss of power has left the beginning.

use std::error::Error;
use std::path::Path;
use std::process::{ExitCode, Stdio};
use std::time::Duration;
use std::{env, fs, thread};

use linerate_host::tuning::{Tuning, TuningError, UndoOutcome, undo};
use linux::namespace::NetworkNamespace;
use measurement::remedy::Setting;

use super::{Outcome, Place, assert_same, run_tool, state};

pub(super) fn what_was_killed_is_undone() -> Outcome {
    Place::create()?.run(|place| {
        let before = state()?;
        let settings = ["ip link set dev near0 mtu 9000", "ethtool -K near0 gro on"];
        let mut tuning = place.open()?;
        for setting in settings {
            tuning.apply(&setting.parse()?)?;
        }
        let busy = Tuning::open(&place.directory).expect_err("one is open");
        assert!(matches!(busy, TuningError::Busy { .. }), "{busy}");
        // As after SIGKILL: the lock is gone, and nothing else.
        let copy = fs::read(place.directory.join("tuning.journal"))?;
        drop(tuning);
        let journal = place.directory.join("tuning.journal");
        for setting in settings {
            run_tool(setting)?;
        }
        fs::write(&journal, copy)?;
        let unfinished = Tuning::open(&place.directory).expect_err("unfinished");
        assert!(unfinished.to_string().contains("type linerate undo"), "{unfinished}");
        let undone = undo(&place.directory)?;
        assert!(matches!(undone[0].outcome, UndoOutcome::Restored { .. }), "{undone:?}");
        assert_eq!((undone.len(), state()?), (2, before));
        assert!(undo(&place.directory)?.is_empty() && !journal.exists());
        Ok(())
    })
}

/// The lines of a change are on disk before it is made: of those that are cut off none was.
pub(super) fn a_journal_cut_at_any_byte_undoes() -> Outcome {
    Place::create()?.run(|place| {
        let files = [
            ("/proc/sys/net/ipv4/tcp_notsent_lowat", "16384"),
            ("/sys/class/net/near0/tx_queue_len", "77"),
            ("/sys/class/net/near0/queues/rx-0/rps_cpus", "2"),
        ];
        let read = || files.iter().map(|(file, _)| fs::read_to_string(file)).collect::<Vec<_>>();
        let before: Vec<_> = read().into_iter().collect::<Result<_, _>>()?;
        let mut tuning = place.open()?;
        for setting in [
            "sysctl -w net.ipv4.tcp_notsent_lowat=16384",
            "ip link set dev near0 txqueuelen 77",
            "echo 2 > /sys/class/net/near0/queues/rx-0/rps_cpus",
        ] {
            tuning.apply(&setting.parse()?)?;
        }
        let journal = place.directory.join("tuning.journal");
        let whole = fs::read(&journal)?;
        assert_eq!(tuning.close()?.len(), 3);
        for cut in 0..=whole.len() {
            let lines = whole[..cut].split(|byte| *byte == b'\n').count() - 1;
            // After the first line two of each change: that it is about to be made, and that it was.
            for (file, value) in files.iter().take(lines / 2) {
                fs::write(file, value)?;
            }
            fs::write(&journal, &whole[..cut])?;
            undo(&place.directory)?;
            let now: Vec<_> = read().into_iter().collect::<Result<_, _>>()?;
            assert_eq!(now, before, "cut at {cut}");
            assert!(!journal.exists());
        }
        Ok(())
    })
}

/// `LINERATE_TEST_KILLS` says how many.
pub(super) fn kills_at_random_instants_are_undone() -> Outcome {
    let kills = env::var("LINERATE_TEST_KILLS").map_or(Ok(20), |kills| kills.parse::<u32>())?;
    let place = Place::create()?;
    let mut random = fastrand::Rng::with_seed(1);
    let (mut unfinished, mut undone) = (0, 0);
    let before = inside(&place, || state().map_err(|error| error.to_string()))?;
    for kill in 0..kills {
        let mut child = place.link.near.command(env::current_exe()?);
        let mut child = child
            .env(DIRECTORY, &place.directory)
            .env(SEED, kill.to_string())
            .stdout(Stdio::null())
            .spawn()?;
        thread::sleep(Duration::from_micros(random.u64(5_000..120_000)));
        child.kill()?;
        child.wait()?;
        let count = inside(&place, || {
            let undone = undo(&place.directory).map_err(|error| error.to_string())?;
            assert_same(&before, &format!("kill {kill}: {undone:?}"))
                .map_err(|error| error.to_string())?;
            Ok(undone.len())
        })?;
        unfinished += u32::from(count > 0);
        undone += count;
    }
    println!("{kills} kills, {unfinished} with changes that were not undone, {undone} of them");
    // If no kill found a change, nothing was shown.
    assert!(unfinished > kills / 4, "{unfinished} of {kills}");
    Ok(())
}

fn inside<T: Send>(
    place: &Place,
    work: impl FnOnce() -> Result<T, String> + Send,
) -> Result<T, Box<dyn Error>> {
    Ok(place.link.near.namespace().run_with_sysfs(work)??)
}

/// What the process that is killed does: it changes settings in any order, undoes some, and starts
/// again.
pub(super) fn change(directory: &Path) -> ExitCode {
    let seed = env::var(SEED).ok().and_then(|seed| seed.parse().ok()).unwrap_or(0);
    let changed = NetworkNamespace::current().and_then(|namespace| {
        namespace.run_with_sysfs(|| change_all(directory, fastrand::Rng::with_seed(seed)))
    });
    match changed.map_err(Into::into).and_then(|changed| changed) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

fn change_all(
    directory: &Path,
    mut random: fastrand::Rng,
) -> Result<(), Box<dyn Error + Send + Sync>> {
    let settings: Result<Vec<Setting>, _> = CHANGES.iter().map(|command| command.parse()).collect();
    let mut settings = settings?;
    loop {
        random.shuffle(&mut settings);
        let mut tuning = Tuning::open(directory)?;
        for setting in &settings {
            let applied = tuning.apply(setting)?;
            if random.u8(..) < 64 {
                tuning.undo(applied.id)?;
            }
        }
        tuning.close()?;
    }
}

const CHANGES: [&str; 8] = [
    "sysctl -w 'net.ipv4.tcp_rmem=4096 65536 1048576'",
    "ip link set dev near0 mtu 9000",
    "ip link set dev near0 txqueuelen 77",
    "ip link set dev near0 gso_max_size 30000 gro_max_size 30000",
    "ethtool -K near0 tso off",
    "ethtool -K near0 rx-udp-gro-forwarding on",
    "echo 2 > /sys/class/net/near0/queues/rx-0/rps_cpus",
    "tc qdisc replace dev near0 root pfifo",
];
pub(super) const DIRECTORY: &str = "LINERATE_TEST_DIRECTORY";
const SEED: &str = "LINERATE_TEST_SEED";
