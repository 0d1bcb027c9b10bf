//! Text of others: of peers, agents and programs, and of files that anybody may have written.

use std::fmt::{self, Display, Formatter};

use serde::{Deserialize, Deserializer, Serialize};

/// Text of others that is one line and does nothing to a terminal, a log or a table: what is not shown
/// ([`is_shown`]) is a blank in it. It can be made in no other way, and is made so when it is read.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(transparent)]
pub struct Foreign(String);

impl Foreign {
    /// The first `most` letters of a text.
    pub fn begin(text: &str, most: usize) -> Self {
        Self(
            text.chars()
                .map(|letter| if is_shown(letter) { letter } else { ' ' })
                .take(most)
                .collect(),
        )
    }

    /// It as text that is written nowhere but to terminals, logs and files that quote it.
    pub fn into_text(self) -> String {
        self.0
    }
}

/// The whole of a text.
impl From<&str> for Foreign {
    fn from(text: &str) -> Self {
        Self::begin(text, usize::MAX)
    }
}

impl From<String> for Foreign {
    fn from(text: String) -> Self {
        if text.chars().all(is_shown) { Self(text) } else { Self::from(text.as_str()) }
    }
}

impl Display for Foreign {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl<'de> Deserialize<'de> for Foreign {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer).map(Self::from)
    }
}

/// Whether a character is safe to print on a terminal: it is visible, does not move the cursor, and
/// does not change the direction of text.
pub fn is_shown(letter: char) -> bool {
    // Format characters (Unicode, general category Cf) and separators of lines.
    let hides = matches!(letter,
        '\u{ad}' | '\u{61c}' | '\u{180e}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}'
        | '\u{2060}'..='\u{206f}' | '\u{feff}' | '\u{fff9}'..='\u{fffb}'
        | '\u{e0000}'..='\u{e007f}');
    !hides && !letter.is_control()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_moves_the_cursor_or_turns_text_around_is_a_blank_however_it_comes() {
        let (text, harmless) = ("a\r\n\u{9b}31mb\u{202e}c\u{2028}ä", "a   31mb c ä");
        assert_eq!(Foreign::from(text).to_string(), harmless);
        assert_eq!(Foreign::from(text.to_owned()).into_text(), harmless);
        let json = serde_json::to_string(text).expect("JSON");
        let read: Foreign = serde_json::from_str(&json).expect("a text");
        assert_eq!(serde_json::to_string(&read).expect("JSON"), format!("\"{harmless}\""));
        assert_eq!(Foreign::begin(text, 3).to_string(), "a  ");
    }
}
