//! `linerate iperf3`, and a link to linerate that is named `iperf3`: the command line,
//! the text and the JSON of iperf3 3.21.

use std::ffi::OsString;
use std::process::ExitCode;

use clap::CommandFactory;
use linux::event::StopSignals;
use report::iperf3::Role;

mod client;
mod end;
mod json;
mod pidfile;
mod plan;
mod printer;
#[cfg(feature = "full")]
mod secrets;
#[cfg(not(feature = "full"))]
#[path = "iperf3/no_secrets.rs"]
mod secrets;
mod server;
mod subject;
mod text;
mod words;

use self::json::JsonReport;
use self::pidfile::PidFile;
use self::printer::Printer;
use self::subject::{Report, Signals, Subject};
use self::text::TextReport;
use self::words::Failure;
use crate::flags::Iperf3Flags;

/// Does what iperf3 would do with these arguments; its own name is not among them.
pub(crate) fn run(arguments: Vec<OsString>) -> ExitCode {
    let (flags, given) = match Iperf3Flags::read(arguments) {
        Ok(read) => read,
        Err(error) => return words::refuse_flag(&error),
    };
    if flags.help {
        return print(&Iperf3Flags::command().render_help().to_string());
    }
    if flags.version {
        return print(&words::version());
    }
    if let Err(wrong) = plan::check_roles(&flags, given) {
        return words::refuse_usage(&flags, &wrong);
    }
    if let Some(lacking) = plan::what_is_lacking(&flags) {
        words::complain(&lacking);
        return ExitCode::FAILURE;
    }
    match serve_or_test(&flags) {
        Ok(code) => code,
        Err(Failure::Usage(wrong)) => words::refuse_usage(&flags, &wrong),
        Err(Failure::Run(why)) => {
            let why = format!("error - {why}");
            if flags.is_json() {
                print(&json::of_nothing(&flags, &why));
            } else {
                words::complain(&why);
            }
            ExitCode::FAILURE
        }
    }
}

fn serve_or_test(flags: &Iperf3Flags) -> Result<ExitCode, Failure> {
    words::warn_of_oddities(flags);
    linux::host::raise_file_limit();
    if flags.server { server::run(flags) } else { client::run(flags) }
}

fn print(text: &str) -> ExitCode {
    match crate::output::print_text(text.as_bytes()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(_) => ExitCode::FAILURE,
    }
}

/// Resources that both roles hold while they run.
struct Frame {
    signals: Signals,
    printer: Printer,
    /// Removes the file when it is dropped.
    _pidfile: Option<PidFile>,
}

impl Frame {
    fn new(flags: &Iperf3Flags) -> Result<Self, Failure> {
        let interrupts = StopSignals::open()
            .map_err(|error| Failure::system("cannot handle signals", &error))?;
        let pidfile = flags.pidfile.as_deref().map(PidFile::create).transpose()?;
        let signals = Signals::new(interrupts);
        Ok(Self { signals, printer: Printer::new(flags)?, _pidfile: pidfile })
    }

    fn report(&self, role: Role, flags: &Iperf3Flags) -> Box<dyn Report> {
        let subject = Subject::new(role, flags, &self.printer, &self.signals);
        if flags.is_json() {
            Box::new(JsonReport::new(subject, flags))
        } else {
            Box::new(TextReport::new(subject, flags))
        }
    }
}
