//! JSON within HTML ([`Embedded`]): a block of data ends at the first `</script`, whatever its
//! language (HTML, section "Restrictions for contents of script elements").

use std::io::{self, Write};

/// Writes JSON so that nothing in it is markup: `<`, `>` and `&`, which are in its strings alone,
/// become escapes.
pub(super) struct Embedded<W>(pub(super) W);

impl<W: Write> Write for Embedded<W> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let plain = bytes.iter().position(|byte| escape(*byte).is_some());
        match plain {
            Some(0) => {
                self.0.write_all(escape(bytes[0]).unwrap_or_default())?;
                Ok(1)
            }
            Some(count) => self.0.write(&bytes[..count]),
            None => self.0.write(bytes),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

const fn escape(byte: u8) -> Option<&'static [u8]> {
    match byte {
        b'<' => Some(b"\\u003c"),
        b'>' => Some(b"\\u003e"),
        b'&' => Some(b"\\u0026"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedded(value: &serde_json::Value) -> String {
        let mut out = Vec::new();
        serde_json::to_writer(Embedded(&mut out), value).expect("a vector takes all");
        String::from_utf8(out).expect("it is text")
    }

    #[test]
    fn what_would_be_markup_is_escaped_and_reads_the_same() {
        for text in ["</script><img onerror>", "<!--", "&lt;", "a < b > c", "]]>", "plain", "\"<"] {
            let value = serde_json::json!([text, { text: 1 }]);
            let written = embedded(&value);
            assert!(!written.contains(['<', '>', '&']), "{written}");
            assert_eq!(serde_json::from_str::<serde_json::Value>(&written).expect("JSON"), value);
        }
    }
}
