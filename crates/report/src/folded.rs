//! Chains of calls, one a line, as programs that draw flame graphs take them: frames between
//! semicolons, the outermost first, and how often they were found.

use std::io::{self, Write};

use measurement::{Profile, ProfileRow};

/// Writes the call chains of a profile as folded stacks, the input format of flame graphs: one line
/// each, `frame;frame;frame count`. A profile without call chains gives a line for each row.
///
/// # Errors
/// An error of writing to `out`.
pub fn write(profile: &Profile, out: &mut dyn Write) -> io::Result<()> {
    for stack in &profile.stacks {
        writeln!(out, "{} {}", stack.frames, stack.count)?;
    }
    if !profile.stacks.is_empty() {
        return Ok(());
    }
    let rows = profile.rows.iter();
    rows.filter(|row| !row.symbol.is_empty()).try_for_each(|row| write_row(row, out))
}

fn write_row(row: &ProfileRow, out: &mut dyn Write) -> io::Result<()> {
    if let Some(caller) = &row.within {
        write!(out, "{};", frame(caller))?;
    }
    writeln!(out, "{} {}", frame(&row.symbol), row.count)
}

/// A symbol of a program in another language may have what stands between frames here.
fn frame(symbol: &str) -> String {
    symbol.replace(';', ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn without_stacks_rows_are_written() {
        let row = |symbol: &str, within: Option<&str>| ProfileRow {
            symbol: symbol.to_owned(),
            within: within.map(str::to_owned),
            count: 3,
            ..ProfileRow::default()
        };
        let rows = vec![row("memcpy", Some("stmmac_rx")), row("tcp_ack", None)];
        let mut out = Vec::new();
        write(&Profile { rows, ..Profile::default() }, &mut out).expect("a vector takes all");
        assert_eq!(out, b"stmmac_rx;memcpy 3\ntcp_ack 3\n");
    }
}
