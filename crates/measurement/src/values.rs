//! One field of many streams, as a record has it in a table: a list of values in place of the key
//! and the value in an object for each stream.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use crate::limits::IPERF3_STREAMS;

/// Values of one field of many streams, in the order of the streams.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub(crate) enum Values<T> {
    /// The value that all streams have.
    Same(T),
    /// The value of each stream.
    Each(Vec<T>),
}

/// Addresses of many sockets; both parts are none where the address is not known.
#[derive(Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub(crate) struct Addresses {
    /// IP addresses; an IPv6 address is in brackets, with its scope.
    address: Values<Option<String>>,
    /// Ports.
    port: Values<Option<u16>>,
}

/// Column of a table: one field of all rows.
pub(crate) trait Column: Default {
    /// Type of the field.
    type Value;

    /// The field of all rows, in their order; none: this form cannot have it.
    fn of(values: impl Iterator<Item = Self::Value> + Clone) -> Option<Self>;

    /// Whether the field has its default in all rows; it is left out then.
    fn is_default(&self) -> bool;

    /// Whether it has a value for each of `rows` rows.
    fn fits(&self, rows: usize) -> bool;

    /// The value of the row with this index; the default if there is none.
    fn at(&self, row: usize) -> Self::Value;
}

/// Declares a table with a column for each field but `id` of a type; `new` makes it of a list,
/// `read` the list of it.
macro_rules! table {
    ($(#[$about:meta])* $table:ident of $row:ident {
        $($(#[$attribute:meta])* $field:ident: $column:ty,)+
    }) => {
        $(#[$about])*
        #[derive(Debug, Serialize, Deserialize)]
        #[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
        pub(crate) struct $table {
            /// Ids of the streams on the wire. A column beside it has a value for each of them, or
            /// the one that all have; one that is left out is zero, false or not known in all.
            id: Vec<u32>,
            $(
                $(#[$attribute])*
                #[serde(default, skip_serializing_if = "Column::is_default")]
                $field: $column,
            )+
        }

        impl $table {
            /// None: these are few, or not alike.
            fn new(rows: &[$row]) -> Option<Self> {
                if !$crate::values::are_many(rows.len()) {
                    return None;
                }
                Some(Self {
                    id: rows.iter().map(|row| row.id).collect(),
                    $($field: Column::of(rows.iter().map(|row| row.$field.clone()))?,)+
                })
            }

            /// None: its columns are of different lengths.
            fn read(&self) -> Option<Vec<$row>> {
                let rows = self.id.len();
                let is_even = $(self.$field.fits(rows))&&+;
                let row = |(at, id): (usize, &u32)| $row { id: *id, $($field: self.$field.at(at),)+ };
                is_even.then(|| self.id.iter().enumerate().map(row).collect())
            }
        }
    };
}

pub(crate) use table;

/// Whether a record has so many streams as a table: more than both directions of a test with
/// iperf3 can have.
pub(crate) fn are_many(streams: usize) -> bool {
    streams > 2 * IPERF3_STREAMS as usize
}

impl<T> Values<T> {
    /// How many values are written.
    pub(crate) fn written(&self) -> usize {
        match self {
            Self::Same(_) => 1,
            Self::Each(values) => values.len(),
        }
    }
}

impl<T: Default> Default for Values<T> {
    fn default() -> Self {
        Self::Same(T::default())
    }
}

impl<T: Clone + Default + PartialEq> Column for Values<T> {
    type Value = T;

    fn of(values: impl Iterator<Item = T> + Clone) -> Option<Self> {
        let mut rest = values.clone();
        Some(match rest.next() {
            Some(first) if rest.all(|value| value == first) => Self::Same(first),
            _ => Self::Each(values.collect()),
        })
    }

    fn is_default(&self) -> bool {
        matches!(self, Self::Same(value) if *value == T::default())
    }

    fn fits(&self, rows: usize) -> bool {
        match self {
            Self::Same(_) => true,
            Self::Each(values) => values.len() == rows,
        }
    }

    fn at(&self, row: usize) -> T {
        match self {
            Self::Same(value) => value.clone(),
            Self::Each(values) => values.get(row).cloned().unwrap_or_default(),
        }
    }
}

impl Column for Addresses {
    type Value = Option<SocketAddr>;

    fn of(values: impl Iterator<Item = Self::Value> + Clone) -> Option<Self> {
        let text = |address: SocketAddr| Some(address.to_string().rsplit_once(':')?.0.to_owned());
        Some(Self {
            address: Values::of(values.clone().map(|address| text(address?)))?,
            port: Values::of(values.map(|address| Some(address?.port())))?,
        })
    }

    fn is_default(&self) -> bool {
        self.address.is_default() && self.port.is_default()
    }

    fn fits(&self, rows: usize) -> bool {
        self.address.fits(rows) && self.port.fits(rows)
    }

    fn at(&self, row: usize) -> Self::Value {
        let text = format!("{}:{}", self.address.at(row)?, self.port.at(row)?);
        text.parse().ok()
    }
}
