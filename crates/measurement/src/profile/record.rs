//! A profile as records have it: each name once, functions by CPU and task, and call chains of
//! which each shares its begin with the one before. A profile that is not in the order of its counts
//! has a list of rows and a list of folded stacks.

use std::cmp::Reverse;
use std::collections::{BTreeMap, HashMap};
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::{FoldedStack, Mode, Profile, ProfileRow, ProfileSource, Task, is_default};
use crate::Order;

/// CPU profile of a host: samples by function.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema), schemars(rename = "Profile"))]
#[serde(default)]
pub(crate) struct Form {
    /// Origin of the samples.
    source: ProfileSource,
    /// Event that triggered the samples, by its name in perf: `cpu-clock`, `cycles`.
    event: String,
    /// Requested samples per second and CPU; 0: not known.
    hertz: u32,
    /// Time in which samples were taken, in seconds.
    #[serde(rename = "span_seconds", with = "crate::seconds")]
    #[cfg_attr(feature = "schema", schemars(with = "f64"))]
    span: Duration,
    /// Number of samples, including those of idle CPUs; for an import the sum of the weights.
    samples: u64,
    /// Samples that were lost because the ring buffer of the kernel was full.
    #[serde(skip_serializing_if = "is_default")]
    lost: u64,
    /// Whether the names of the first host's profile come before those of this one.
    #[serde(skip_serializing_if = "is_default")]
    after_first_host: bool,
    /// Names of functions, modules and processes, to which `functions` and `call_chains` refer by
    /// their index; the first of all is empty.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    names: Vec<String>,
    /// Samples by function; rare functions are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    functions: Vec<Functions>,
    /// Call chains, in alphabetical order: the number of samples, the number of names that are the
    /// first ones of the chain before, and the index of each further name, the innermost last.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    call_chains: Vec<Vec<u64>>,
    /// Samples by function, in another form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<ProfileRow>,
    /// Call chains, in another form.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    stacks: Vec<FoldedStack>,
}

/// The functions that one kind of task ran on one CPU, the most frequent first.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(default)]
struct Functions {
    /// Number of the CPU. None: not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    cpu: Option<u32>,
    /// Kind of task that was running.
    task: Task,
    /// Whether the CPU ran the kernel or a program.
    #[serde(skip_serializing_if = "Mode::is_kernel")]
    mode: Mode,
    /// Kernel module, or executable file, that contains the functions, by its index. None: the
    /// kernel itself.
    #[serde(skip_serializing_if = "Option::is_none")]
    module: Option<u64>,
    /// Names of the functions, by their index.
    symbols: Vec<u64>,
    /// For generic functions (`memcpy`, locks) the nearest caller that is not generic, by its index;
    /// 0: none. Those of 0 at the end are left out.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    within: Vec<u64>,
    /// Number of samples of each function; those of 1 at the end are left out.
    counts: Vec<u64>,
}

/// Names with their index.
#[derive(Default)]
struct Names<'a>(HashMap<&'a str, u64>);

impl<'a> Names<'a> {
    /// The most frequent first, since their index is the shortest.
    /// Those that are not among the names `before` follow them.
    fn of(profile: &'a Profile, before: &'a [String]) -> (Self, Vec<String>) {
        let mut uses = BTreeMap::<&str, usize>::new();
        let of_row = |row: &'a ProfileRow| {
            [Some(&row.symbol), row.module.as_ref(), row.within.as_ref()].into_iter().flatten()
        };
        let of_rows = profile.rows.iter().flat_map(of_row).map(String::as_str);
        let of_stacks = profile.stacks.iter().flat_map(|stack| stack.frames.split(';'));
        for name in of_rows.chain(of_stacks).filter(|name| !name.is_empty()) {
            *uses.entry(name).or_default() += 1;
        }
        let mut names: Vec<_> = uses.into_iter().collect();
        names.order_by_key(|(_, uses)| Reverse(*uses));
        let mut indices: HashMap<_, _> = before.iter().map(String::as_str).zip(0..).collect();
        let empty = before.is_empty().then_some("");
        let mut added = Vec::new();
        for name in empty.into_iter().chain(names.into_iter().map(|(name, _)| name)) {
            let next = (before.len() + added.len()) as u64;
            indices.entry(name).or_insert_with(|| {
                added.push(name.to_owned());
                next
            });
        }
        (Self(indices), added)
    }

    fn index(&self, name: &str) -> u64 {
        self.0.get(name).copied().unwrap_or(0)
    }
}

impl Form {
    /// The form of a profile, after that of the first host, if there is one.
    pub(crate) fn of(profile: &Profile, first: Option<&Self>) -> Self {
        let Profile { source, event, hertz, span, samples, lost, rows, stacks } = profile.clone();
        let form = Self { source, event, hertz, span, samples, lost, ..Self::default() };
        let sorted = rows.is_sorted_by(|a, b| row_order(a, b).is_lt())
            && stacks.is_sorted_by(|a, b| stack_order(a, b).is_lt())
            // An empty name stands for none.
            && rows.iter().all(|row| row.within.as_deref() != Some(""));
        if !sorted || (rows.is_empty() && stacks.is_empty()) {
            return Self { rows, stacks, ..form };
        }
        let before = first.map_or(&[][..], |first| &first.names[..]);
        let (indices, names) = Names::of(profile, before);
        let (functions, call_chains) = (functions(&rows, &indices), chains(&stacks, &indices));
        Self { after_first_host: !before.is_empty(), names, functions, call_chains, ..form }
    }

    /// The profile; `first` has the names of the first host.
    pub(crate) fn read(mut self, first: &[String]) -> Result<Profile, &'static str> {
        let before = if self.after_first_host { first } else { &[] };
        let mut expander = Expander::new(&self, before);
        for functions in &self.functions {
            expander.read(functions, &mut self.rows)?;
        }
        if !self.functions.is_empty() {
            self.rows.order_by(row_order);
        }
        if !self.call_chains.is_empty() {
            expander.read_chains(&self.call_chains, &mut self.stacks)?;
            self.stacks.order_by(stack_order);
        }
        let Self { source, event, hertz, span, samples, lost, rows, stacks, .. } = self;
        Ok(Profile { source, event, hertz, span, samples, lost, rows, stacks })
    }
}

/// The most frequent first; the order of equals is that of their names.
fn row_order(a: &ProfileRow, b: &ProfileRow) -> std::cmp::Ordering {
    b.count.cmp(&a.count).then_with(|| a.cmp(b))
}

/// As above.
fn stack_order(a: &FoldedStack, b: &FoldedStack) -> std::cmp::Ordering {
    b.count.cmp(&a.count).then_with(|| a.frames.cmp(&b.frames))
}

fn functions(rows: &[ProfileRow], names: &Names<'_>) -> Vec<Functions> {
    let mut groups = BTreeMap::<_, Vec<&ProfileRow>>::new();
    for row in rows {
        groups.entry((row.cpu, row.task, row.mode, &row.module)).or_default().push(row);
    }
    let functions = groups.into_iter().map(|((cpu, task, mode, module), rows)| Functions {
        cpu,
        task,
        mode,
        module: module.as_ref().map(|name| names.index(name)),
        symbols: rows.iter().map(|row| names.index(&row.symbol)).collect(),
        within: without_last(
            0,
            rows.iter().map(|row| row.within.as_ref().map_or(0, |name| names.index(name))),
        ),
        counts: without_last(1, rows.iter().map(|row| row.count)),
    });
    functions.collect()
}

/// The numbers without those at the end that are `usual`.
fn without_last(usual: u64, numbers: impl Iterator<Item = u64>) -> Vec<u64> {
    let mut numbers: Vec<_> = numbers.collect();
    let used = numbers.iter().rposition(|number| *number != usual).map_or(0, |at| at + 1);
    numbers.truncate(used);
    numbers
}

fn chains(stacks: &[FoldedStack], names: &Names<'_>) -> Vec<Vec<u64>> {
    let split = |stack: &FoldedStack| {
        (stack.frames.split(';').map(|name| names.index(name)).collect::<Vec<_>>(), stack.count)
    };
    let mut all: Vec<_> = stacks.iter().map(|stack| (&stack.frames, split(stack))).collect();
    all.order_by(|(a, _), (b, _)| a.split(';').cmp(b.split(';')));
    let mut before: &[u64] = &[];
    let mut chains = Vec::with_capacity(all.len());
    for (_, (chain, count)) in &all {
        let shared = chain.iter().zip(before).take_while(|(a, b)| a == b).count();
        let head = [*count, shared as u64];
        chains.push(head.into_iter().chain(chain[shared..].iter().copied()).collect());
        before = chain;
    }
    chains
}

/// Puts names in the place of their indices, up to a bound.
struct Expander {
    names: Vec<String>,
    /// Bytes that names may still take.
    room: usize,
}

impl Expander {
    fn new(form: &Form, before: &[String]) -> Self {
        let all = before.iter().chain(&form.names).cloned().collect();
        let names = form.names.iter().map(String::len).sum::<usize>();
        let functions = form.functions.iter().map(|functions| functions.symbols.len());
        let numbers = functions.chain(form.call_chains.iter().map(Vec::len)).sum::<usize>();
        Self { names: all, room: MOST_EXPANDED * (names + numbers) }
    }

    fn name(&mut self, index: u64) -> Result<&str, &'static str> {
        let name = usize::try_from(index).ok().and_then(|index| self.names.get(index));
        let name = name.ok_or("a profile without one of its names")?;
        let room = self.room.checked_sub(name.len() + 1).ok_or("a profile that is too large")?;
        self.room = room;
        Ok(name)
    }

    fn optional(&mut self, index: u64) -> Result<Option<String>, &'static str> {
        if index == 0 { Ok(None) } else { self.name(index).map(|name| Some(name.to_owned())) }
    }

    fn read(
        &mut self,
        functions: &Functions,
        rows: &mut Vec<ProfileRow>,
    ) -> Result<(), &'static str> {
        let within = functions.within.iter().copied().chain(std::iter::repeat(0));
        let counts = functions.counts.iter().copied().chain(std::iter::repeat(1));
        for ((symbol, within), count) in functions.symbols.iter().zip(within).zip(counts) {
            rows.push(ProfileRow {
                cpu: functions.cpu,
                task: functions.task,
                mode: functions.mode,
                symbol: self.name(*symbol)?.to_owned(),
                module: match functions.module {
                    Some(index) => Some(self.name(index)?.to_owned()),
                    None => None,
                },
                within: self.optional(within)?,
                count,
            });
        }
        Ok(())
    }

    fn read_chains(
        &mut self,
        chains: &[Vec<u64>],
        stacks: &mut Vec<FoldedStack>,
    ) -> Result<(), &'static str> {
        let mut chain = Vec::new();
        for numbers in chains {
            let [count, shared, further @ ..] = &numbers[..] else {
                return Err("a call chain without its count");
            };
            chain.truncate(usize::try_from(*shared).unwrap_or(usize::MAX));
            chain.extend_from_slice(further);
            let mut frames = String::new();
            for (place, index) in chain.iter().enumerate() {
                let separator = if place == 0 { "" } else { ";" };
                frames.push_str(separator);
                frames.push_str(self.name(*index)?);
            }
            stacks.push(FoldedStack { frames, count: *count });
        }
        Ok(())
    }
}

impl Form {
    /// The names of this profile alone.
    pub(crate) fn names(&self) -> &[String] {
        &self.names
    }
}

/// Beyond, a reader would take much memory for little text: bytes for each byte of a name and each
/// index.
const MOST_EXPANDED: usize = 64;

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn written(profile: &Profile) -> serde_json::Value {
        serde_json::to_value(Form::of(profile, None)).expect("JSON")
    }

    fn read(json: serde_json::Value) -> Result<Profile, &'static str> {
        serde_json::from_value::<Form>(json).expect("the form of a profile").read(&[])
    }

    fn row(cpu: u32, symbol: &str, count: u64) -> ProfileRow {
        ProfileRow { cpu: Some(cpu), symbol: symbol.to_owned(), count, ..ProfileRow::default() }
    }

    fn stack(frames: &str, count: u64) -> FoldedStack {
        FoldedStack { frames: frames.to_owned(), count }
    }

    fn profile() -> Profile {
        let within = Some("tcp_sendmsg".to_owned());
        let module = Some("virtio_net".to_owned());
        let user = ProfileRow { mode: Mode::User, ..row(0, "user", 1) };
        Profile {
            samples: 30,
            span: Duration::from_secs(5),
            rows: vec![
                ProfileRow { within, ..row(0, "memcpy", 9) },
                row(1, "tcp_sendmsg", 3),
                row(0, "a", 1),
                user,
                ProfileRow { module, ..row(1, "xmit", 1) },
            ],
            stacks: vec![stack("own;a;b;c", 7), stack("own;a", 2), stack("own;a;b;d", 2)],
            ..Profile::default()
        }
    }

    #[test]
    fn names_are_written_once_and_the_profile_comes_back() {
        let json = written(&profile());
        let names = json["names"].as_array().expect("names");
        assert_eq!(names.iter().filter(|name| **name == "tcp_sendmsg").count(), 1);
        assert!(json.get("rows").is_none() && json.get("stacks").is_none(), "{json}");
        let shared: Vec<_> = (0..3).map(|at| json["call_chains"][at][1].as_u64()).collect();
        assert_eq!(shared, [Some(0), Some(2), Some(3)]);
        assert_eq!(read(json), Ok(profile()));
    }

    #[test]
    fn names_of_the_first_host_are_not_written_again() {
        let first = Form::of(&profile(), None);
        let mut other = profile();
        other.rows.push(row(9, "further", 1));
        let form = Form::of(&other, Some(&first));
        assert_eq!(form.names, ["further"]);
        assert_eq!(form.read(&first.names), Ok(other));
    }

    #[test]
    fn another_order_comes_back() {
        let mut other = profile();
        other.rows.reverse();
        let json = written(&other);
        assert!(json.get("rows").is_some() && json.get("names").is_none(), "{json}");
        assert_eq!(read(json), Ok(other));
    }

    #[test]
    fn a_small_text_does_not_fill_the_memory() {
        let name = "x".repeat(10_000);
        let chains = vec![[1, 1]; 10_000];
        let mut all = vec![json!([1, 0, 1])];
        all.extend(chains.into_iter().map(|chain| json!(chain)));
        let text = json!({ "names": ["", name], "call_chains": all });
        assert!(read(text).is_err_and(|error| error.contains("too large")));
        let text = json!({ "names": [""], "call_chains": [[1, 0, 7]] });
        assert!(read(text).is_err());
    }
}
