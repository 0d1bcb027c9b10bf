//! The width of the place where text for people is shown ([`Width`]). Breaks no lines by itself.

/// Columns of a terminal; unknown where text goes to a file or a pipe, of which lines are not broken.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Width(Option<usize>);

impl Width {
    /// Not known: tables and sentences are as wide as they are.
    pub const UNKNOWN: Self = Self(None);

    /// So many columns; unknown if they are too few for any table.
    pub fn of(columns: usize) -> Self {
        Self(Some(columns).filter(|columns| *columns >= LEAST))
    }

    /// Columns of a screen: those of the terminal, else 80.
    pub fn of_screen(self) -> usize {
        self.0.unwrap_or(USUAL_WIDTH)
    }

    /// The most characters of a line.
    pub(crate) fn most(self) -> usize {
        self.0.unwrap_or(usize::MAX)
    }

    /// The most characters of a line of prose behind `indent` spaces.
    pub(crate) fn of_prose(self, indent: usize) -> usize {
        self.most().saturating_sub(indent).min(LONGEST)
    }
}

/// Columns below which nothing is readable.
const LEAST: usize = 20;
/// Letters of a line of prose, wherever there is room for more.
const LONGEST: usize = 90;
/// The width where none is known.
pub(crate) const USUAL_WIDTH: usize = 80;
