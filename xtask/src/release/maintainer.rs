//! Who maintains a Debian package: a name and an address (Debian Policy, 5.6.2).

use std::env;
use std::fmt::{self, Display, Formatter};
use std::str::FromStr;

/// A maintainer; by default the authors that the workspace names, at a domain that is reserved
/// (RFC 2606), since who hands packages out has an address of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Maintainer {
    name: String,
    address: String,
}

impl Default for Maintainer {
    fn default() -> Self {
        let name = env!("CARGO_PKG_AUTHORS").to_owned();
        Self { name, address: "linerate@example.org".to_owned() }
    }
}

impl Maintainer {
    /// Of DEBFULLNAME and DEBEMAIL, which Debian's tools read as well (dch(1)); the default, unless
    /// both are set.
    pub(super) fn of_environment() -> Result<Self, &'static str> {
        match (env::var("DEBFULLNAME"), env::var("DEBEMAIL")) {
            (Ok(name), Ok(address)) => format!("{name} <{address}>").parse(),
            _ => Ok(Self::default()),
        }
    }
}

impl FromStr for Maintainer {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        const FORM: &str = "type a name and an address, as in 'Ada Lovelace <ada@example.org>'";
        let (name, rest) = text.split_once(" <").ok_or(FORM)?;
        let address = rest.strip_suffix('>').ok_or(FORM)?;
        let (user, domain) = address.split_once('@').ok_or(FORM)?;
        // What dpkg and mail programs take for a sign: these would have to be quoted (RFC 5322).
        let is_plain = |text: &str| !text.is_empty() && !text.contains(['<', '>', '@', ',', '"']);
        let is_word = |text: &str| {
            !text.is_empty()
                && text.chars().all(|one| one.is_ascii_graphic() && !"<>@,\"".contains(one))
        };
        let is_name = is_plain(name.trim()) && !name.contains(char::is_control);
        if !is_name || !is_word(user) || !is_word(domain) {
            return Err(FORM);
        }
        Ok(Self { name: name.trim().to_owned(), address: address.to_owned() })
    }
}

impl Display for Maintainer {
    fn fmt(&self, formatter: &mut Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} <{}>", self.name, self.address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_maintainer_has_a_name_and_an_address() {
        let text = "Ada Lovelace <ada@example.org>";
        assert_eq!(Maintainer::from_str(text).expect("both").to_string(), text);
        for text in ["Ada", "<ada@example.org>", " <ada@example.org>", "Ada <ada>", "Ada <a@>"] {
            assert!(Maintainer::from_str(text).is_err(), "{text}");
        }
        assert!(Maintainer::from_str("Ada\nDepends: x <a@example.org>").is_err());
        assert!(Maintainer::from_str("A, B <a@example.org>").is_err());
    }

    #[test]
    fn the_authors_of_the_workspace_are_the_default() {
        assert_eq!(
            Maintainer::default().to_string(),
            "The linerate developers <linerate@example.org>"
        );
    }
}
