//! `cgroup.cpu.{nr_periods,nr_throttled,throttled_us}`: how often the process's control
//! group used up its CPU time before the period was over, and for how long it then stood
//! still, from `cpu.stat` (cgroups(7), Documentation/admin-guide/cgroup-v2.rst,
//! Documentation/scheduler/sched-bwc.rst).
//!
//! A limit of a group that this one is part of holds it back as well: this is the sum over
//! the group and those above it, as far as they can be seen. A group without a limit counts
//! nothing. Version 1 counts time in nanoseconds, version 2 in microseconds. Groups that are hidden
//! from this process are read as an ancestor of it sees them.

use measurement::Gap;
use measurement::host::{Family, counter};

use super::{Collector, ReadOutcome};
use crate::source::{Source, gap};
use crate::{Reading, Tree};

#[derive(Default)]
pub(super) struct ControlGroups {
    /// `cpu.stat` of the group and of those above it.
    sources: Option<Vec<Source>>,
}

impl Collector for ControlGroups {
    fn family(&self) -> Family {
        Family::CGROUP
    }

    fn read(&mut self, tree: &Tree, into: &mut Reading) -> Result<ReadOutcome, Gap> {
        let sources = match &mut self.sources {
            Some(sources) => sources,
            none => none.insert(find(tree)?),
        };
        let mut sum = Sum::default();
        let mut failure = None;
        let mut outcome = ReadOutcome::Nothing;
        for source in sources {
            match source.text(tree) {
                Ok(text) => {
                    sum.add(&text);
                    outcome = ReadOutcome::Complete;
                }
                Err(error) => failure = Some(error),
            }
        }
        sum.record(into);
        match failure {
            Some(error) if outcome == ReadOutcome::Nothing => Err(gap(WHAT, &error, ABSENT)),
            // The group at the root has none.
            _ => Ok(ReadOutcome::Complete),
        }
    }
}

/// Sums of the counters of several groups.
#[derive(Debug, Default, PartialEq, Eq)]
struct Sum {
    periods: u64,
    throttled: u64,
    throttled_micros: u64,
}

impl Sum {
    fn add(&mut self, text: &str) {
        for line in text.lines() {
            let Some((name, value)) = line.split_once(' ') else { continue };
            let Ok(value) = value.trim().parse::<u64>() else { continue };
            let (sum, value) = match name {
                "nr_periods" => (&mut self.periods, value),
                "nr_throttled" => (&mut self.throttled, value),
                "throttled_usec" => (&mut self.throttled_micros, value),
                "throttled_time" => (&mut self.throttled_micros, value / 1000),
                _ => continue,
            };
            *sum = sum.saturating_add(value);
        }
    }

    fn record(&self, into: &mut Reading) {
        into.counter(counter::CGROUP_PERIODS, self.periods);
        into.counter(counter::CGROUP_THROTTLED, self.throttled);
        into.counter(counter::CGROUP_THROTTLED_TIME, self.throttled_micros);
    }
}

fn find(tree: &Tree) -> Result<Vec<Source>, Gap> {
    let text = |path| tree.text(path).map_err(|error| gap(WHAT, &error, ABSENT));
    let groups = text("proc/self/cgroup")?;
    let mounts = text("proc/self/mountinfo")?;
    let own = folders(&groups, &mounts).filter(|all| is_seen(tree, all));
    let folders = own
        .or_else(|| seen_by_ancestors(tree, &groups))
        .ok_or_else(|| Gap { what: WHAT.to_owned(), why: ABSENT.to_owned() })?;
    let file = |folder: String| Source::new(format!("{folder}/cpu.stat"));
    Ok(folders.into_iter().map(file).collect())
}

/// Another file system may be mounted over the groups, as `ip netns exec` does (ip-netns(8)).
fn is_seen(tree: &Tree, folders: &[String]) -> bool {
    folders.iter().any(|folder| tree.text(&format!("{folder}/cpu.stat")).is_ok())
}

/// Those folders as the nearest ancestor of this process sees them that does: a command that hides
/// them was started where they are seen. It takes the permission to trace that ancestor
/// (`/proc/PID/root`, proc_pid_root(5)).
fn seen_by_ancestors(tree: &Tree, groups: &str) -> Option<Vec<String>> {
    let parents = std::iter::successors(parent(tree, "self"), |id| parent(tree, id));
    parents.take(DEEPEST).find_map(|id| {
        let mounts = tree.text(&format!("proc/{id}/mountinfo")).ok()?;
        let all = folders(groups, &mounts)?;
        let all: Vec<_> = all.iter().map(|folder| format!("proc/{id}/root/{folder}")).collect();
        is_seen(tree, &all).then_some(all)
    })
}

/// The parent of a process (proc_pid_stat(5), field 4); none: it is the first, or not seen.
fn parent(tree: &Tree, id: &str) -> Option<String> {
    let text = tree.text(&format!("proc/{id}/stat")).ok()?;
    let (_, fields) = text.rsplit_once(')')?;
    let parent = fields.split_ascii_whitespace().nth(1)?;
    (parent != "0").then(|| parent.to_owned())
}

/// Folders of the group and of those above it, by what `/proc/self/cgroup` and
/// `/proc/self/mountinfo` say.
pub(super) fn folders(groups: &str, mounts: &str) -> Option<Vec<String>> {
    Version::ALL.iter().find_map(|version| {
        let path = version.membership(groups)?;
        Some(version.mount(mounts)?.folders(path))
    })
}

/// Which control groups limit CPU time: on a host with both, those of version 1 if they have
/// the controller.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Version {
    One,
    Two,
}

impl Version {
    const ALL: [Self; 2] = [Self::One, Self::Two];

    /// The path of the group in `/proc/self/cgroup`: `2:cpu,cpuacct:/a` or `0::/a`.
    fn membership(self, text: &str) -> Option<&str> {
        text.lines().find_map(|line| {
            let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
            let is_it = match self {
                Self::One => controllers.split(',').any(|name| name == "cpu"),
                Self::Two => controllers.is_empty(),
            };
            is_it.then_some(path)
        })
    }

    /// Where its groups are mounted, in `/proc/self/mountinfo` (proc_pid_mountinfo(5)).
    fn mount(self, text: &str) -> Option<Mount<'_>> {
        text.lines().find_map(|line| {
            let (mount, kind) = line.split_once(" - ")?;
            let mut kind = kind.split(' ');
            let is_it = match self {
                Self::One => {
                    kind.next() == Some("cgroup")
                        && kind.nth(1)?.split(',').any(|option| option == "cpu")
                }
                Self::Two => kind.next() == Some("cgroup2"),
            };
            let mut words = mount.split(' ').skip(3);
            let mount = Mount { root: words.next()?, point: words.next()? };
            is_it.then_some(mount)
        })
    }
}

/// A mounted hierarchy of control groups.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mount<'a> {
    /// The group that is mounted.
    root: &'a str,
    point: &'a str,
}

impl Mount<'_> {
    /// Folders of the group at `path` and of those above it, from below `/`.
    fn folders(self, path: &str) -> Vec<String> {
        let point = self.point.trim_matches('/');
        let root = self.root.trim_end_matches('/');
        // A group outside of what is mounted, `/..`, is not seen: what is mounted is.
        let inside = path.strip_prefix(root).filter(|inside| !inside.contains(".."));
        let names = inside.unwrap_or_default().split('/').filter(|name| !name.is_empty());
        let mut folders = vec![point.to_owned()];
        for name in names.take(DEEPEST) {
            let above = &folders[folders.len() - 1];
            folders.push(format!("{above}/{name}"));
        }
        folders
    }
}

pub(super) fn parse(text: &str, into: &mut Reading) {
    let mut sum = Sum::default();
    sum.add(text);
    sum.record(into);
}

/// Groups that are made for programs are a handful below each other.
const DEEPEST: usize = 16;
const WHAT: &str = "limits of CPU time";
const ABSENT: &str = "there are no control groups for CPU time, or they are not mounted";

#[cfg(test)]
mod tests {
    use super::super::tests::{captured, counted, reading};
    use super::*;

    #[test]
    fn both_versions_count_in_their_units() {
        let counted_of = |text: &str| {
            let counted = counted(|into| parse(text, into));
            (counted["cgroup.cpu.nr_throttled"], counted["cgroup.cpu.throttled_us"])
        };
        let two = "usage_usec 5\nuser_usec 4\nnr_periods 90\nnr_throttled 7\nthrottled_usec 1500\n";
        assert_eq!(counted_of(two), (7, 1500));
        let one = "nr_periods 90\nnr_throttled 7\nthrottled_time 1500000\n";
        assert_eq!(counted_of(one), (7, 1500));
        assert_eq!(counted_of("usage_usec 5\n"), (0, 0), "a group without a limit");
    }

    #[test]
    fn a_group_is_found_where_it_is_mounted() {
        let mounts = "31 24 0:27 / /sys/fs/cgroup/unified rw,nosuid shared:5 - cgroup2 cgroup2 rw\n\
                      32 24 0:28 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct\n";
        let one = Version::One.mount(mounts).expect("mounted");
        assert_eq!(
            one.folders("/a/b"),
            [
                "sys/fs/cgroup/cpu,cpuacct",
                "sys/fs/cgroup/cpu,cpuacct/a",
                "sys/fs/cgroup/cpu,cpuacct/a/b"
            ]
        );
        let two = Version::Two.mount(mounts).expect("mounted");
        assert_eq!(two, Mount { root: "/", point: "/sys/fs/cgroup/unified" });
        let groups = "3:cpu,cpuacct:/docker/1\n0::/user.slice\n";
        assert_eq!(Version::One.membership(groups), Some("/docker/1"));
        assert_eq!(Version::Two.membership(groups), Some("/user.slice"));
        // In a container without a namespace of its own.
        let mount = Mount { root: "/docker/1", point: "/sys/fs/cgroup" };
        assert_eq!(mount.folders("/docker/1"), ["sys/fs/cgroup"]);
        assert_eq!(mount.folders("/../x"), ["sys/fs/cgroup"]);
    }

    #[test]
    fn groups_that_are_hidden_are_read_as_an_ancestor_sees_them() {
        let hidden = "24 1 0:22 / /sys rw - sysfs sysfs rw\n";
        let shown = "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n";
        let folder = captured(&[
            ("proc/self/cgroup", "0::/pod\n"),
            ("proc/self/mountinfo", hidden),
            ("proc/self/stat", "31 (a) b) S 30 31 31 0\n"),
            ("proc/30/stat", "30 (ip) S 7 30 30 0\n"),
            ("proc/30/mountinfo", hidden),
            ("proc/7/mountinfo", shown),
            (
                "proc/7/root/sys/fs/cgroup/pod/cpu.stat",
                "nr_periods 4\nnr_throttled 3\nthrottled_usec 50\n",
            ),
        ]);
        let tree = Tree::captured(folder.path());
        let reading = reading(|into| {
            assert_eq!(ControlGroups::default().read(&tree, into), Ok(ReadOutcome::Complete));
        });
        assert!(reading.counters().any(|one| one == ("cgroup.cpu.throttled_us", 50)));
    }

    #[test]
    fn what_held_a_group_above_back_held_this_one_back() {
        let folder = captured(&[
            ("proc/self/cgroup", "0::/pod/one\n"),
            ("proc/self/mountinfo", "31 24 0:27 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/pod/cpu.stat", "nr_periods 4\nnr_throttled 3\nthrottled_usec 50\n"),
            ("sys/fs/cgroup/pod/one/cpu.stat", "nr_periods 4\nnr_throttled 1\nthrottled_usec 9\n"),
        ]);
        let tree = Tree::captured(folder.path());
        let reading = reading(|into| {
            assert_eq!(ControlGroups::default().read(&tree, into), Ok(ReadOutcome::Complete));
        });
        assert!(reading.counters().any(|one| one == ("cgroup.cpu.nr_throttled", 4)));
        assert!(reading.counters().any(|one| one == ("cgroup.cpu.throttled_us", 59)));
    }
}
