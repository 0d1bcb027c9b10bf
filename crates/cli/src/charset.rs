//! Which characters standard output can show.

use std::env;
use std::io::IsTerminal;

use report::Glyphs;

/// Braille on a terminal that shows it, else ASCII, as for files and pipes.
pub(crate) fn glyphs() -> Glyphs {
    let is_capable = shows_braille(|name| env::var(name).ok());
    if std::io::stdout().is_terminal() && is_capable { Glyphs::Braille } else { Glyphs::Ascii }
}

/// Whether the locale has characters beyond ASCII (locale(7)).
pub(crate) fn has_unicode() -> bool {
    is_unicode(|name| env::var(name).ok())
}

fn is_unicode(variable: impl Fn(&str) -> Option<String>) -> bool {
    let set = |name: &&str| variable(name).filter(|value| !value.is_empty());
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"].iter().find_map(set).unwrap_or_default();
    let locale = locale.to_ascii_lowercase();
    locale.contains("utf-8") || locale.contains("utf8")
}

/// By the locale, and by the terminal: the fonts of the Linux console have no braille.
fn shows_braille(variable: impl Fn(&str) -> Option<String>) -> bool {
    let terminal = variable("TERM").unwrap_or_default();
    is_unicode(variable) && !["", "dumb", "linux"].contains(&terminal.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locale_and_terminal_decide() {
        let shows = |set: &[(&str, &str)]| {
            shows_braille(|name| {
                set.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
            })
        };
        let xterm = ("TERM", "xterm-256color");
        assert!(shows(&[xterm, ("LANG", "en_GB.UTF-8")]));
        assert!(shows(&[xterm, ("LC_ALL", ""), ("LC_CTYPE", "C.utf8"), ("LANG", "C")]));
        assert!(!shows(&[xterm, ("LC_ALL", "C"), ("LANG", "en_GB.UTF-8")]));
        assert!(!shows(&[("TERM", "linux"), ("LANG", "en_GB.UTF-8")]));
        assert!(!shows(&[("LANG", "en_GB.UTF-8")]));
        assert!(!shows(&[xterm]));
    }
}
