//! The options that a job has from the command line that makes it.

/// All words behind `mesh`, without the options for the job itself: `with_value` are those that have
/// a value, of `alone` one may follow.
pub(super) fn options(with_value: &[&str], alone: &[&str]) -> Vec<String> {
    let words = std::env::args_os().map(|word| word.to_string_lossy().into_owned());
    let words = words.skip_while(|word| word != "mesh").skip(1);
    filtered(&words.collect::<Vec<_>>(), with_value, alone)
}

fn filtered(words: &[String], with_value: &[&str], alone: &[&str]) -> Vec<String> {
    let mut kept = Vec::new();
    let mut words = words.iter().peekable();
    while let Some(word) = words.next() {
        let name = word.split_once('=').map_or(word.as_str(), |(name, _)| name);
        if with_value.contains(&name) {
            if name == word {
                words.next();
            }
        } else if alone.contains(&name) {
            if name == word {
                words.next_if(|value| !value.starts_with('-'));
            }
        } else {
            kept.push(word.clone());
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_of_the_job_are_left_out_with_their_values() {
        let filtered = |text: &str| {
            let words: Vec<_> = text.split_whitespace().map(str::to_owned).collect();
            filtered(&words, &["--nodes", "--secret"], &["--kubernetes"]).join(" ")
        };
        assert_eq!(filtered("--kubernetes --nodes 8 -t 2s"), "-t 2s");
        assert_eq!(filtered("-t 2s --kubernetes image:1 --nodes=8 --json"), "-t 2s --json");
        assert_eq!(filtered("--kubernetes=image:1 --secret s --expect 10G"), "--expect 10G");
    }
}
