//! A strict reader of the part of OpenMetrics 1.0 that is written: counters,
//! gauges, infos, state sets and summaries without time stamps and exemplars.

use std::collections::{BTreeMap, BTreeSet};

/// Samples by name and labels, as in `linerate_sessions_total{ended="failed"}`.
#[derive(Debug, Default)]
pub(crate) struct Exposition {
    samples: BTreeMap<String, String>,
    families: BTreeSet<String>,
}

impl Exposition {
    /// Reads a whole exposition; panics at the first thing that is not as it should be.
    pub(crate) fn read(text: &str) -> Self {
        let lines = text.strip_suffix("# EOF\n").expect("an end");
        assert!(!text.contains('\r') && !lines.contains("# EOF"), "{text}");
        let mut exposition = Self::default();
        let mut family = Family::default();
        for line in lines.lines() {
            match line.strip_prefix("# ") {
                Some(head) => family.head(head, &mut exposition),
                None => family.sample(line, &mut exposition),
            }
        }
        exposition
    }

    pub(crate) fn value(&self, sample: &str) -> f64 {
        self.text(sample).parse().expect("a number")
    }

    /// A value that is a whole number.
    pub(crate) fn count(&self, sample: &str) -> u64 {
        self.text(sample).parse().expect("a whole number")
    }

    fn text(&self, sample: &str) -> &str {
        let text = self.samples.get(sample);
        text.unwrap_or_else(|| panic!("no '{sample}' in {:#?}", self.samples.keys()))
    }
}

/// The family whose lines are being read.
#[derive(Default)]
struct Family {
    name: String,
    kind: Option<String>,
    heads: BTreeSet<String>,
    has_samples: bool,
}

impl Family {
    fn head(&mut self, head: &str, exposition: &mut Exposition) {
        let words: Vec<_> = head.splitn(3, ' ').collect();
        let [keyword, name, rest] = words[..] else { panic!("{head}") };
        assert!(!rest.is_empty() && rest.trim() == rest && is_name(name), "{head}");
        if name != self.name {
            assert!(exposition.families.insert(name.to_owned()), "{name} comes twice");
            *self = Self { name: name.to_owned(), ..Self::default() };
        }
        assert!(!self.has_samples, "{head} comes after samples");
        assert!(self.heads.insert(keyword.to_owned()), "{head} comes twice");
        match keyword {
            "HELP" => {}
            "TYPE" => self.kind = Some(rest.to_owned()),
            // "The unit … MUST be a suffix of the MetricFamily name, separated by an
            // underscore."
            "UNIT" => assert!(name.ends_with(&format!("_{rest}")), "{head}"),
            _ => panic!("{head}"),
        }
    }

    fn sample(&mut self, line: &str, exposition: &mut Exposition) {
        let (sample, value) = line.rsplit_once(' ').expect("a value");
        let name = sample.split('{').next().unwrap_or_default();
        assert!(is_name(name), "{line}");
        if let Some(labels) = sample.strip_prefix(name).filter(|labels| !labels.is_empty()) {
            check_labels(labels);
        }
        let number: f64 = value.parse().unwrap_or_else(|_| panic!("{line}"));
        assert!(number.is_finite() && number >= 0.0, "{line}");
        let suffix = name.strip_prefix(&self.name).unwrap_or_else(|| panic!("{line} is a stray"));
        match (self.kind.as_deref(), suffix) {
            (Some("counter"), "_total") | (Some("gauge"), "") | (Some("summary"), "_count") => {}
            (Some("info"), "_info") => assert_eq!(value, "1", "{line}"),
            // "Each State's sample MUST have a label with the MetricFamily name".
            (Some("stateset"), "") => {
                assert!(["0", "1"].contains(&value) && sample.contains(&format!(",{name}=")));
            }
            (Some("summary"), "") => assert!(sample.contains("quantile=\""), "{line}"),
            _ => panic!("{line} does not fit its family"),
        }
        self.has_samples = true;
        assert!(
            exposition.samples.insert(sample.to_owned(), value.to_owned()).is_none(),
            "{line} comes twice"
        );
    }
}

/// `{name="value",…}`, of which no value here has a quote in it.
fn check_labels(labels: &str) {
    let inner = labels.strip_prefix('{').and_then(|labels| labels.strip_suffix('}'));
    let mut names = BTreeSet::new();
    for label in inner.expect("braces").split(',') {
        let (name, value) = label.split_once('=').expect("a value");
        assert!(is_name(name) && !name.contains(':') && names.insert(name), "{labels}");
        let value = value.strip_prefix('"').and_then(|value| value.strip_suffix('"'));
        assert!(!value.expect("quotes").contains(['"', '\\', '\n']), "{labels}");
    }
}

fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || letter == '_' || letter == ':';
    name.chars().all(fits) && name.chars().next().is_some_and(|first| !first.is_ascii_digit())
}
