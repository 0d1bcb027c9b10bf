//! Reads the limits that control groups set for this process (cgroups(7)).

use measurement::host::ControlGroup;

use super::lists::list;
use crate::Tree;

/// The limits of this process: the tightest of its group and of all groups around it.
pub(super) fn limits(tree: &Tree) -> ControlGroup {
    let groups = groups(&tree.text("proc/self/cgroup").unwrap_or_default());
    let mounts = mounts(&tree.text("proc/self/mountinfo").unwrap_or_default());
    let folders = |controller: &str| folders(&groups, &mounts, controller);
    let online = tree.value("sys/devices/system/cpu/online").map(|text| list(&text));
    let (cpu, memory, cpuset) = (folders("cpu"), folders("memory"), folders("cpuset"));
    let cpus = cpuset.first().and_then(|first| cpus(tree, first)).unwrap_or_default();
    let version =
        [&cpu, &memory, &cpuset].into_iter().find_map(|folders| Some(folders.first()?.version));
    ControlGroup {
        version,
        cpu_thousandths: cpu.iter().filter_map(|folder| quota(tree, folder)).min(),
        // All of them are no limit.
        cpus: if Some(&cpus) == online.as_ref() { Vec::new() } else { cpus },
        memory_bytes: memory.iter().filter_map(|folder| memory_limit(tree, folder)).min(),
    }
}

/// The folder of a control group.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Folder {
    version: u32,
    path: String,
}

/// The group of this process for a controller, then those around it up to the mount.
fn folders(groups: &[Group], mounts: &[Mount], controller: &str) -> Vec<Folder> {
    let is_first = |mount: &&Mount| mount.controllers.iter().any(|one| one == controller);
    let of_first = || Some((1, mounts.iter().find(is_first)?, find(groups, controller)?));
    let of_second = || Some((2, mounts.iter().find(|mount| mount.is_second)?, find(groups, "")?));
    let Some((version, mount, path)) = of_first().or_else(of_second) else { return Vec::new() };
    // A container may see its own part of the hierarchy only.
    let below = path.strip_prefix(mount.root.trim_end_matches('/')).unwrap_or("");
    let mut path = format!("{}{}", mount.point, below.trim_end_matches('/'));
    let mut folders = Vec::new();
    // `..` stands in the path of a group outside of the own namespace.
    while path.len() >= mount.point.len() && folders.len() < MOST_DEPTH && !path.contains("..") {
        folders.push(Folder { version, path: path.trim_start_matches('/').to_owned() });
        path.truncate(path.rfind('/').unwrap_or(0));
    }
    folders
}

fn find<'a>(groups: &'a [Group], controller: &str) -> Option<&'a str> {
    let has = |group: &&Group| group.controllers.iter().any(|one| one == controller);
    groups.iter().find(has).map(|group| group.path.as_str())
}

/// The limit of CPU time in thousandths of a CPU; none: no limit.
fn quota(tree: &Tree, folder: &Folder) -> Option<u64> {
    let path = &folder.path;
    let (quota, period) = if folder.version == 1 {
        let number = |file| tree.number::<u64>(&format!("{path}/{file}"));
        // No limit is -1.
        (number("cpu.cfs_quota_us")?, number("cpu.cfs_period_us")?)
    } else {
        let text = tree.value(&format!("{path}/cpu.max"))?;
        let (quota, period) = text.split_once(' ')?;
        // No limit is `max`.
        (quota.parse().ok()?, period.parse().ok()?)
    };
    quota.checked_mul(1000)?.checked_div(period)
}

fn memory_limit(tree: &Tree, folder: &Folder) -> Option<u64> {
    let file = if folder.version == 1 { "memory.limit_in_bytes" } else { "memory.max" };
    let limit = tree.number(&format!("{}/{file}", folder.path))?;
    (limit < NO_LIMIT_BYTES).then_some(limit)
}

fn cpus(tree: &Tree, folder: &Folder) -> Option<Vec<u32>> {
    let files: [&str; 2] = match folder.version {
        1 => ["cpuset.effective_cpus", "cpuset.cpus"],
        _ => ["cpuset.cpus.effective", "cpuset.cpus"],
    };
    let text = files.iter().find_map(|file| tree.value(&format!("{}/{file}", folder.path)))?;
    Some(list(&text))
}

/// Membership of a process in a control group: a line of `/proc/self/cgroup` (cgroups(7)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Group {
    /// Controllers of the hierarchy, e.g. `cpu` and `cpuacct`; a single empty name for version 2.
    pub controllers: Vec<String>,
    /// Path of the group below the root of the hierarchy.
    pub path: String,
}

/// Parses the text of `/proc/self/cgroup` (cgroups(7)). Malformed lines are left out.
pub fn groups(text: &str) -> Vec<Group> {
    let group = |line: &str| {
        let (controllers, path) = line.split_once(':')?.1.split_once(':')?;
        let controllers = controllers.split(',').map(str::to_owned).collect();
        Some(Group { controllers, path: path.to_owned() })
    };
    text.lines().filter_map(group).collect()
}

/// A mounted hierarchy of control groups (cgroups(7)).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// Path of the group that is the root of the mount.
    pub root: String,
    /// Path of the mount point.
    pub point: String,
    /// Whether the hierarchy is of version 2 (`cgroup2`).
    pub is_second: bool,
    /// Mount options of a hierarchy of version 1, which include its controllers; empty for version
    /// 2.
    pub controllers: Vec<String>,
}

/// Parses the mounts of control groups in the text of `/proc/self/mountinfo`
/// (proc_pid_mountinfo(5)). Other mounts and malformed lines are left out.
pub fn mounts(text: &str) -> Vec<Mount> {
    let mount = |line: &str| {
        let (first, second) = line.split_once(" - ")?;
        let [_, _, _, root, point, ..] = first.split(' ').collect::<Vec<_>>()[..] else {
            return None;
        };
        let [kind, _, options] = second.splitn(3, ' ').collect::<Vec<_>>()[..] else { return None };
        let is_second = kind == "cgroup2";
        let is_first = kind == "cgroup";
        let controllers = options.split(',').filter(|_| is_first).map(str::to_owned).collect();
        let mount =
            Mount { root: root.to_owned(), point: point.to_owned(), is_second, controllers };
        (is_first || is_second).then_some(mount)
    };
    text.lines().filter_map(mount).collect()
}

/// Version 1 says "no limit" as the highest multiple of a page.
const NO_LIMIT_BYTES: u64 = 1 << 62;
const MOST_DEPTH: usize = 64;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Archive, TreeEntry};

    fn tree(files: &[(&str, &str)]) -> Tree {
        let file = |(path, text): &(&str, &str)| {
            ((*path).to_owned(), TreeEntry::File(text.as_bytes().to_vec()))
        };
        Tree::archived(Archive::from_entries(files.iter().map(file)))
    }

    #[test]
    fn the_tightest_group_on_the_way_up_limits() {
        let tree = tree(&[
            ("proc/self/cgroup", "0::/outer/inner\n"),
            ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
            ("sys/fs/cgroup/outer/cpu.max", "150000 100000\n"),
            ("sys/fs/cgroup/outer/inner/cpu.max", "max 100000\n"),
            ("sys/fs/cgroup/outer/inner/memory.max", "1048576\n"),
            ("sys/fs/cgroup/outer/memory.max", "max\n"),
            ("sys/fs/cgroup/outer/inner/cpuset.cpus.effective", "0-1\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
        ]);
        let expected = ControlGroup {
            version: Some(2),
            cpu_thousandths: Some(1500),
            cpus: vec![0, 1],
            memory_bytes: Some(1 << 20),
        };
        assert_eq!(limits(&tree), expected);
    }

    #[test]
    fn version_one_has_a_hierarchy_for_each_controller() {
        let tree = tree(&[
            ("proc/self/cgroup", "4:memory:/a\n2:cpuset:/\n1:cpu,cpuacct:/docker/x/y\n0::/\n"),
            (
                "proc/self/mountinfo",
                "32 31 0:29 /docker/x /sys/fs/cgroup/cpu rw - cgroup cgroup rw,cpu,cpuacct\n\
                 33 31 0:30 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n\
                 34 31 0:31 / /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n\
                 35 31 0:32 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n",
            ),
            ("sys/fs/cgroup/cpu/y/cpu.cfs_quota_us", "-1\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_quota_us", "50000\n"),
            ("sys/fs/cgroup/cpu/cpu.cfs_period_us", "100000\n"),
            ("sys/fs/cgroup/memory/a/memory.limit_in_bytes", "9223372036854771712\n"),
            ("sys/fs/cgroup/cpuset/cpuset.cpus", "0-3\n"),
            ("sys/devices/system/cpu/online", "0-3\n"),
        ]);
        let expected = ControlGroup {
            version: Some(1),
            cpu_thousandths: Some(500),
            ..ControlGroup::default()
        };
        assert_eq!(limits(&tree), expected);
    }

    #[test]
    fn a_group_outside_of_the_namespace_limits_nothing() {
        let tree = tree(&[
            ("proc/self/cgroup", "0::/../../other\n"),
            ("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n"),
        ]);
        assert_eq!(limits(&tree), ControlGroup::default());
    }
}
