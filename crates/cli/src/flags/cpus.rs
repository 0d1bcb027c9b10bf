//! `--cpus`: a list, or a word for some of the CPUs on which the process may run.

use std::path::Path;

use linux::topology;

/// CPUs to pin workers to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct CpuList(pub(crate) Vec<usize>);

/// Reads a list or a word; the process may run on all CPUs that it gives back.
pub(crate) fn usable_cpus(text: &str) -> Result<CpuList, String> {
    let allowed = linux::host::allowed_cpus().map_err(|error| session::reason(&error))?;
    let list = match text.split_once(':') {
        _ if text == "cores" => topology::one_of_each_core(&allowed),
        _ if text == "siblings" => siblings(&allowed)?,
        Some(("away-from", interface)) => away_from(interface, &allowed)?,
        _ => listed(text)?,
    };
    let Some(other) = list.iter().find(|cpu| !allowed.contains(cpu)) else {
        return Ok(CpuList(list));
    };
    let mine = show(&allowed);
    Err(if exists(*other) {
        format!("this process may not run on CPU {other}, only on {mine}: see taskset -p $$")
    } else {
        format!("there is no CPU {other} here: choose from {mine}")
    })
}

/// Reads `0,2-3`, the kernel's list format.
fn listed(text: &str) -> Result<Vec<usize>, String> {
    let parts: Vec<_> = text.split(',').map(str::trim).collect();
    let is_word = |part: &&&str| WORDS.contains(part) || part.starts_with("away-from:");
    if let Some(word) = parts.iter().find(is_word) {
        return Err(format!("'{word}' cannot be combined with other CPUs in a list"));
    }
    let ranges: Result<Vec<_>, _> = parts.into_iter().map(range).collect();
    Ok(ranges?.into_iter().flatten().collect())
}

/// Reads `2` or `2-3`.
fn range(part: &str) -> Result<std::ops::RangeInclusive<usize>, String> {
    let number = |text: &str| text.trim().parse::<usize>().ok().filter(|cpu| *cpu < MOST_CPUS);
    let (first, last) = part.split_once('-').unwrap_or((part, part));
    match (number(first), number(last)) {
        (Some(first), Some(last)) if first <= last => Ok(first..=last),
        _ => Err(format!(
            "'{part}' is not a CPU, a range such as 2-3, cores, siblings or away-from:INTERFACE"
        )),
    }
}

/// The CPUs of the first core, if it has several.
fn siblings(allowed: &[usize]) -> Result<Vec<usize>, String> {
    let first = allowed.first().copied().unwrap_or_default();
    let siblings = topology::siblings(first, allowed);
    if siblings.len() < 2 {
        return Err(format!(
            "no other CPU of {} shares the core of CPU {first}: give a list of CPUs",
            show(allowed)
        ));
    }
    Ok(siblings)
}

/// The CPUs that an interface leaves alone.
fn away_from(interface: &str, allowed: &[usize]) -> Result<Vec<usize>, String> {
    if interface.is_empty() {
        return Err("away-from: needs an interface, as in away-from:eth0".to_owned());
    }
    if !Path::new("/sys/class/net").join(interface).exists() {
        return Err(format!("no interface has the name '{interface}': see \"ip link\""));
    }
    let busy = topology::irq_cpus(interface)
        .map_err(|error| format!("interrupts cannot be read: {}", session::reason(&error)))?;
    if busy.is_empty() {
        return Err(format!(
            "'{interface}' has no interrupts (virtual interface): give a list of CPUs"
        ));
    }
    let rest: Vec<_> = allowed.iter().copied().filter(|cpu| !busy.contains(cpu)).collect();
    if rest.is_empty() {
        return Err(format!("every CPU serves interrupts of '{interface}': give a list of CPUs"));
    }
    Ok(rest)
}

fn exists(cpu: usize) -> bool {
    Path::new(&format!("/sys/devices/system/cpu/cpu{cpu}")).exists()
}

/// CPUs in order, as the kernel lists them.
fn show(cpus: &[usize]) -> String {
    let runs = cpus.chunk_by(|one, next| one + 1 == *next).map(|run| match run {
        [first, .., last] => format!("{first}-{last}"),
        run => run.iter().map(usize::to_string).collect(),
    });
    runs.collect::<Vec<_>>().join(",")
}

/// Bits in the kernel's CPU set.
const MOST_CPUS: usize = 1024;
const WORDS: [&str; 2] = ["cores", "siblings"];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_lists_are_the_kernels() {
        assert_eq!(listed("0,2-3"), Ok(vec![0, 2, 3]));
        for text in ["", "x", "3-2", "1-", "4096"] {
            assert!(listed(text).is_err(), "{text}");
        }
        assert_eq!(show(&[0, 1, 2, 5, 7, 8]), "0-2,5,7-8");
    }

    #[test]
    fn words_name_cpus_on_which_this_process_may_run() {
        let allowed = linux::host::allowed_cpus().expect("an affinity");
        let CpuList(cores) = usable_cpus("cores").expect("cores");
        assert!(!cores.is_empty() && cores.iter().all(|cpu| allowed.contains(cpu)));
        match usable_cpus("siblings") {
            Ok(CpuList(cpus)) => assert!(cpus.len() > 1 && cpus.contains(&allowed[0])),
            Err(refusal) => assert!(refusal.contains("shares the core of CPU"), "{refusal}"),
        }
    }

    #[test]
    fn a_refusal_names_what_is_wrong() {
        let cases = [
            ("away-from:lo", "'lo' has no interrupts"),
            ("away-from:", "needs an interface, as in away-from:eth0"),
            ("away-from:nope", "no interface has the name 'nope'"),
            ("cores,1", "'cores' cannot be combined"),
            ("1,away-from:eth0", "'away-from:eth0' cannot be combined"),
            ("all", "'all' is not a CPU, a range such as 2-3, cores, siblings or away-from:"),
            ("1023", "there is no CPU 1023 here: choose from "),
        ];
        for (text, words) in cases {
            let refusal = usable_cpus(text).expect_err(text);
            assert!(refusal.contains(words), "{text}: {refusal}");
        }
    }
}
