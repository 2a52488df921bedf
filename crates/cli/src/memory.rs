//! How much memory this process may use: what the system has to spare, and what its control group lets it have.

use std::fs;
use std::path::Path;

use anyhow::Context;

/// The least of the memory that the system has available and of the limits of this process's control groups, in bytes.
///
/// Errors: `/proc/meminfo` does not say what is available. A control group that cannot be read is none.
pub fn available() -> anyhow::Result<u64> {
    available_in(Path::new("/"))
}

/// The same of a system whose files lie under a folder.
fn available_in(root: &Path) -> anyhow::Result<u64> {
    let text = fs::read_to_string(root.join("proc/meminfo")).context("/proc/meminfo")?;
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("MemAvailable:"));
    let number = line.and_then(|line| line.trim().strip_suffix(" kB"));
    let number: u64 = number
        .context("/proc/meminfo: no MemAvailable")?
        .trim()
        .parse()?;
    let available = number.saturating_mul(1 << 10);
    let groups = fs::read_to_string(root.join("proc/self/cgroup")).unwrap_or_default();
    let limits = groups.lines().filter_map(|line| group_limit(root, line));
    Ok(limits.fold(available, u64::min))
}

/// The limit of a control group, a line of `/proc/self/cgroup`, and of those that it lies in; none where there is none.
fn group_limit(root: &Path, line: &str) -> Option<u64> {
    let mut parts = line.splitn(3, ':');
    let (_, controllers, group) = (parts.next()?, parts.next()?, parts.next()?);
    let (mounted, file) = match controllers {
        "" => ("sys/fs/cgroup", "memory.max"),
        _ if controllers.split(',').any(|name| name == "memory") => {
            ("sys/fs/cgroup/memory", "memory.limit_in_bytes")
        }
        _ => return None,
    };
    let mounted = root.join(mounted);
    // In a container the folder of the group may not be there under its name; the mounted one is then its own.
    let group = mounted.join(group.trim_start_matches('/'));
    let inside = |folder: &&Path| folder.starts_with(&mounted);
    let folders = group.ancestors().take_while(inside);
    let limit = |folder: &Path| {
        let text = fs::read_to_string(folder.join(file)).ok()?;
        // "max" is no number, and so no limit.
        text.trim().parse::<u64>().ok()
    };
    folders.filter_map(limit).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    const GIB: u64 = 1 << 30;

    /// A system with 64 GiB available and these files.
    fn system(files: &[(&str, &str)]) -> tempfile::TempDir {
        let root = tempfile::tempdir().expect("a folder");
        let meminfo = "MemTotal:       99999999 kB\nMemAvailable:   67108864 kB\n";
        for (name, text) in [("proc/meminfo", meminfo)].iter().chain(files) {
            let path = root.path().join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("it is ours");
            fs::write(path, text).expect("it is ours");
        }
        root
    }

    fn available(files: &[(&str, &str)]) -> u64 {
        available_in(system(files).path()).expect("it says")
    }

    #[test]
    fn without_limits_it_is_what_the_system_has() {
        assert_eq!(available(&[]), 64 * GIB);
        let unlimited = [
            ("proc/self/cgroup", "0::/system.slice/cuzk.service\n"),
            (
                "sys/fs/cgroup/system.slice/cuzk.service/memory.max",
                "max\n",
            ),
        ];
        assert_eq!(available(&unlimited), 64 * GIB);
        let old = [
            ("proc/self/cgroup", "4:cpu,cpuacct:/a\n3:memory:/\n"),
            (
                "sys/fs/cgroup/memory/memory.limit_in_bytes",
                "9223372036854771712\n",
            ),
            ("sys/fs/cgroup/cpu/memory.limit_in_bytes", "1\n"),
        ];
        assert_eq!(available(&old), 64 * GIB);
        assert!(available_in(Path::new("/nowhere")).is_err());
    }

    #[test]
    fn a_limit_of_the_group_or_of_one_around_it_holds() {
        let service = "sys/fs/cgroup/system.slice/cuzk.service/memory.max";
        let slice = "sys/fs/cgroup/system.slice/memory.max";
        let group = ("proc/self/cgroup", "0::/system.slice/cuzk.service\n");
        assert_eq!(available(&[group, (service, "8589934592\n")]), 8 * GIB);
        assert_eq!(available(&[group, (slice, "4294967296\n")]), 4 * GIB);
        let both = [group, (service, "8589934592\n"), (slice, "4294967296\n")];
        assert_eq!(available(&both), 4 * GIB);
        // A container sees its own group as the root.
        let container = [
            ("proc/self/cgroup", "0::/\n"),
            ("sys/fs/cgroup/memory.max", "2147483648\n"),
        ];
        assert_eq!(available(&container), 2 * GIB);
    }

    #[test]
    fn groups_of_the_first_version_hold() {
        let limit = "sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes";
        let own = "sys/fs/cgroup/memory/memory.limit_in_bytes";
        let group = ("proc/self/cgroup", "5:hugetlb,memory:/docker/abc\n0::/x\n");
        assert_eq!(available(&[group, (limit, "8589934592\n")]), 8 * GIB);
        assert_eq!(available(&[group, (own, "8589934592\n")]), 8 * GIB);
    }
}
