//! `--format NAME`, and `--json`, which is short for one of the names.

use clap::builder::{BoolishValueParser, PossibleValue, PossibleValuesParser};
use clap::error::Error;
use clap::parser::ValueSource;
use clap::{ArgMatches, Args, Command, FromArgMatches};
use report::export::{self, Audience, Export, Json, JsonCompact, JsonStream, Table};

use crate::exit::UsageError;

/// The format in which results are printed. A flag on the command line goes before the environment,
/// and a later flag before an earlier one.
#[derive(Clone, Debug, Default)]
pub(crate) struct FormatFlags {
    /// One of the names of [`export::ALL`].
    name: Option<String>,
}

/// In which form something is printed that is no record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// Text for people.
    Text,
    /// One JSON object, indented.
    Json,
    /// One JSON object on one line.
    Compact,
}

impl FormatFlags {
    /// The format that was chosen, or the usual one.
    pub(crate) fn or(&self, usual: &'static dyn Export) -> &'static dyn Export {
        self.chosen().unwrap_or(usual)
    }

    /// The format that was chosen; none: the command's own.
    pub(crate) fn chosen(&self) -> Option<&'static dyn Export> {
        self.name.as_deref().and_then(export::by_name)
    }

    /// The format of a result that is no set of tests, such as a ladder.
    ///
    /// # Errors
    /// A format was chosen that shows single tests only.
    pub(crate) fn of_rows(&self) -> Result<&'static dyn Export, UsageError> {
        let format = self.or(&Table);
        if format.summary_writer().is_some() {
            return Ok(format);
        }
        let name = format.name();
        Err(UsageError(format!(
            "--format {name} shows single tests only: choose table, csv, markdown, openmetrics or json"
        )))
    }

    /// The form of something that is no record of a test, and that not every format can show.
    ///
    /// # Errors
    /// A format was chosen that is for records only.
    pub(crate) fn form(&self) -> Result<Form, UsageError> {
        match self.chosen().map(|format| (format.audience(), format.name())) {
            None | Some((export::Audience::People, _)) => Ok(Form::Text),
            Some((_, name)) if name == Json.name() => Ok(Form::Json),
            Some((_, name)) if name == JsonCompact.name() => Ok(Form::Compact),
            Some((_, name)) => Err(UsageError(format!(
                "--format {name} cannot show this: choose table, json or json-compact"
            ))),
        }
    }
}

/// As clap reads them.
#[derive(Debug, Args)]
struct Flags {
    /// Print the result in this format
    #[arg(long, env = "LINERATE_FORMAT", value_name = "NAME", value_parser = names())]
    format: Option<String>,
    /// Short for --format json
    #[arg(long, env = "LINERATE_JSON", value_parser = BoolishValueParser::new())]
    json: bool,
    /// Short for --format json-stream: one JSON object per line while the tests run
    #[arg(long, env = "LINERATE_JSON_STREAM", value_parser = BoolishValueParser::new())]
    json_stream: bool,
}

/// Whether the command line, else the environment, asks for JSON, whatever else is wrong with it:
/// the last of `--json` and `--format NAME` counts.
pub(crate) fn asked_for_json() -> bool {
    let set = |name: &str| std::env::var(name).unwrap_or_default().to_lowercase();
    let words: Vec<_> =
        std::env::args_os().skip(1).map(|word| word.to_string_lossy().into_owned()).collect();
    let is_on = |name| matches!(set(name).as_str(), "y" | "yes" | "t" | "true" | "on" | "1");
    let is_set = || is_on("LINERATE_JSON") || is_on("LINERATE_JSON_STREAM");
    typed(&words).unwrap_or_else(|| is_set() || is_json(&set("LINERATE_FORMAT")))
}

/// What the words of a command line ask for; none: for no format.
fn typed(words: &[String]) -> Option<bool> {
    let options = || words.iter().take_while(|word| *word != "--");
    let following = options().skip(1).map(Some).chain([None]);
    let asks = options().zip(following).filter_map(|(word, next)| match word.as_str() {
        "--json" | "--json-stream" => Some(true),
        "--format" => next.map(|name| is_json(name)),
        word => word.strip_prefix("--format=").map(is_json),
    });
    asks.last()
}

fn is_json(name: &str) -> bool {
    export::by_name(name).is_some_and(export::is_json)
}

/// Takes the name of any format.
pub(super) fn names() -> PossibleValuesParser {
    names_of(|_| true)
}

/// Lists those formats alone; the command itself says what it cannot show.
fn names_of(is_listed: impl Fn(&dyn Export) -> bool) -> PossibleValuesParser {
    let value = |format: &dyn Export| {
        PossibleValue::new(format.name()).help(format.summary()).hide(!is_listed(format))
    };
    PossibleValuesParser::new(export::ALL.map(value))
}

/// The command with those formats alone in its help that can show its result, where that is no
/// record of a test.
pub(super) fn narrow(command: Command) -> Command {
    let is_of_rows = matches!(
        command.get_name(),
        "ab" | "copy" | "dut" | "ladder" | "mesh" | "packets" | "search" | "tune"
    );
    if !is_of_rows {
        return command;
    }
    let is_listed = |format: &dyn Export| {
        let is_usual = format.audience() == Audience::Programs || format.name() == Table.name();
        is_usual && format.summary_writer().is_some()
    };
    command.mut_arg("format", |arg| arg.value_parser(names_of(is_listed)))
}

impl FromArgMatches for FormatFlags {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, Error> {
        let Flags { format, json, json_stream } = Flags::from_arg_matches(matches)?;
        // Where on the command line; none, which is less: it is not there.
        let typed = |id: &str| {
            let is_typed = matches.value_source(id) == Some(ValueSource::CommandLine);
            matches.index_of(id).filter(|_| is_typed)
        };
        let chosen = [
            (format, typed("format")),
            (json.then(|| Json.name().to_owned()), typed("json")),
            (json_stream.then(|| JsonStream.name().to_owned()), typed("json_stream")),
        ];
        // The last of those that were typed; else the first of those in the environment.
        let chosen = chosen.into_iter().filter_map(|(name, place)| Some((name?, place)));
        let name = chosen.rev().max_by_key(|(_, place)| *place).map(|(name, _)| name);
        Ok(Self { name })
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), Error> {
        *self = Self::from_arg_matches(matches)?;
        Ok(())
    }
}

impl Args for FormatFlags {
    fn augment_args(command: Command) -> Command {
        Flags::augment_args(command)
    }

    fn augment_args_for_update(command: Command) -> Command {
        Flags::augment_args_for_update(command)
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        format: FormatFlags,
    }

    fn chosen(words: &[&str]) -> Result<&'static str, Error> {
        let line = Line::try_parse_from([&["linerate"], words].concat())?;
        Ok(line.format.or(&Table).name())
    }

    #[test]
    fn every_name_is_taken_and_the_last_flag_counts() {
        for format in export::ALL {
            assert_eq!(chosen(&["--format", format.name()]).ok(), Some(format.name()));
        }
        assert_eq!(chosen(&[]).ok(), Some("table"));
        assert_eq!(chosen(&["--json"]).ok(), Some("json"));
        assert_eq!(chosen(&["--json", "--format", "table"]).ok(), Some("table"));
        assert_eq!(chosen(&["--format", "table", "--json"]).ok(), Some("json"));
        assert_eq!(chosen(&["--json", "--json-stream"]).ok(), Some("json-stream"));
        assert_eq!(chosen(&["--json-stream", "--json"]).ok(), Some("json"));
        assert!(chosen(&["--format", "nonesuch"]).is_err());
    }

    #[test]
    fn a_broken_command_line_still_tells_whether_it_wants_json() {
        let typed =
            |line: &str| typed(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
        assert_eq!(typed("test host --nonesuch"), None);
        assert_eq!(typed("test --json --nonesuch"), Some(true));
        assert_eq!(typed("test --format=json-compact -t"), Some(true));
        assert_eq!(typed("test --json --format table"), Some(false));
        assert_eq!(typed("test --format"), None);
        assert_eq!(typed("test -- --json"), None);
    }

    #[test]
    fn what_is_no_record_is_text_or_json() {
        let form = |name: &str| FormatFlags { name: Some(name.to_owned()) }.form();
        assert_eq!(FormatFlags::default().form().ok(), Some(Form::Text));
        assert_eq!(form("table").ok(), Some(Form::Text));
        assert_eq!(form("json").ok(), Some(Form::Json));
        assert_eq!(form("json-compact").ok(), Some(Form::Compact));
        assert!(form("csv").is_err_and(|error| error.0.contains("table, json or json-compact")));
    }
}
