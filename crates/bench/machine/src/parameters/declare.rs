//! Declaration of parameters: one line is the row, with kind and range, the key, and a field with its type.
//!
//! ```text
//! parameters! {
//!     /// A link.
//!     pub struct Link in "link" {
//!         /// Time from end to end.
//!         latency: time("1 ns", "1 ms"),
//!         window: count("1", "1024") as u16,
//!     }
//! }
//! Link::of(machine).window      the value of a machine, a u16
//! Link::find(machine)           the same, if its model has that part
//! Link::window                  its key, "link.window"
//! Link::ROWS                    its rows, for a model's
//! ```
//!
//! Kinds are the functions of [`schema`](super::schema). A number is a `u64`, or what stands behind `as`; a
//! word is a `&'static str`, or the value that stands behind its arrow. With `=> TYPE` instead of `struct`
//! the fields are those of a struct that exists.

/// Declares a section of parameters (`machine::parameters::declare`).
#[macro_export]
macro_rules! parameters {
    (
        $(#[$doc:meta])*
        $vis:vis struct $name:ident in $section:literal {
            $( $(#[$field_doc:meta])* $field:ident : $kind:ident $args:tt $(as $ty:ty)? ),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name {
            $(
                $(#[$field_doc])*
                #[doc = concat!("(`", $section, ".", stringify!($field), "`)")]
                pub $field: $crate::parameter!(type $kind $args $($ty)?),
            )*
        }
        $crate::parameters!(keys $name in $section { $( $field: $kind $args )* });
        impl $name {
            /// The values of a machine.
            #[allow(dead_code)]
            pub fn of(machine: &$crate::parameters::Parameters) -> $name {
                $name { $( $field:
                    $crate::parameter!(value $kind $args (machine) $name::$field) ),* }
            }
        }
        $crate::parameters!(find $name: $name);
    };
    (
        $(#[$doc:meta])*
        $vis:vis $name:ident in $section:literal => $made:ty {
            $( $(#[$field_doc:meta])* $field:ident : $kind:ident $args:tt ),* $(,)?
        }
    ) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug)]
        $vis struct $name;
        $crate::parameters!(keys $name in $section { $( $field: $kind $args )* });
        impl $name {
            /// The values of a machine.
            #[allow(dead_code)]
            pub fn of(machine: &$crate::parameters::Parameters) -> $made {
                type Made = $made;
                Made { $( $field:
                    $crate::parameter!(value $kind $args (machine) $name::$field) ),* }
            }
        }
        $crate::parameters!(find $name: $made);
    };
    ( find $name:ident: $made:ty ) => {
        impl $name {
            /// The values of a machine; none if its model has no such part.
            #[allow(dead_code)]
            pub fn find(machine: &$crate::parameters::Parameters) -> Option<$made> {
                machine.is_set($name::ROWS[0].key).then(|| $name::of(machine))
            }
        }
    };
    ( keys $name:ident in $section:literal { $( $field:ident : $kind:ident $args:tt )* } ) => {
        #[allow(dead_code, missing_docs, non_upper_case_globals)]
        impl $name {
            $( pub const $field: &'static str = concat!($section, ".", stringify!($field)); )*
            /// The rows, in the order of the fields.
            pub const ROWS: &'static [$crate::parameters::Row] =
                &[ $( $crate::parameter!(row $kind $args $name::$field) ),* ];
        }
    };
}

/// A part of [`parameters!`]: type, row or value of a field.
#[doc(hidden)]
#[macro_export]
macro_rules! parameter {
    (type $kind:ident $args:tt $ty:ty) => { $ty };
    (type time $args:tt) => { $crate::parameters::declare::Duration };
    (type frequency $args:tt) => { $crate::parameters::declare::Clock };
    (type switch $args:tt) => { bool };
    (type choice $args:tt) => { &'static str };
    (type $kind:ident $args:tt) => { u64 };

    (row choice ( $( $word:literal $(=> $value:expr)? ),* $(,)? ) $key:expr) => {
        $crate::parameters::schema::choice($key, &[ $( $word ),* ])
    };
    (row $kind:ident ( $( $bound:literal ),* ) $key:expr) => {
        $crate::parameters::schema::$kind($key $(, $bound)*)
    };

    (value choice ( $( $word:literal => $value:expr ),* $(,)? ) ($machine:ident) $key:expr) => {
        match $machine.choice($key) {
            $( $word => $value, )*
            word => unreachable!("{word} is no word of its row"),
        }
    };
    (value choice $args:tt ($machine:ident) $key:expr) => { $machine.choice($key) };
    (value time $args:tt ($machine:ident) $key:expr) => { $machine.duration($key) };
    (value frequency $args:tt ($machine:ident) $key:expr) => { $machine.clock($key) };
    (value switch $args:tt ($machine:ident) $key:expr) => { $machine.switch($key) };
    (value $kind:ident $args:tt ($machine:ident) $key:expr) => { $machine.number($key) };
}

/// The rows of several sections, one after another: the parameters of a model.
#[macro_export]
macro_rules! rows {
    ( $( $part:expr ),* $(,)? ) => {{
        const PARTS: &[&[$crate::parameters::Row]] = &[ $( $part ),* ];
        const ALL: [$crate::parameters::Row; $crate::parameters::declare::total(PARTS)] =
            $crate::parameters::declare::joined(PARTS);
        &ALL
    }};
}

use super::Row;
#[doc(hidden)]
pub use des::{Clock, Duration};

/// Number of rows of all parts.
#[doc(hidden)]
pub const fn total(parts: &[&[Row]]) -> usize {
    let (mut sum, mut part) = (0, 0);
    while part < parts.len() {
        sum += parts[part].len();
        part += 1;
    }
    sum
}

/// The rows of all parts, of which there are `N`, and one at least.
#[doc(hidden)]
pub const fn joined<const N: usize>(parts: &[&[Row]]) -> [Row; N] {
    let mut all = [parts[0][0]; N];
    let (mut at, mut part) = (0, 0);
    while part < parts.len() {
        let mut row = 0;
        while row < parts[part].len() {
            all[at] = parts[part][row];
            (at, row) = (at + 1, row + 1);
        }
        part += 1;
    }
    all
}

#[cfg(test)]
mod tests {
    use crate::parameters::{schema, Parameters};

    parameters! {
        /// A link.
        pub struct Link in "link" {
            /// Time from end to end.
            latency: time("1 ns", "1 ms"),
            window: count("1", "1024") as u16,
            check: choice("none" => false, "crc" => true) as bool,
            topology: choice("row", "ring"),
        }
    }

    parameters! {
        /// Fields of something that exists.
        Spans in "span" => std::ops::Range<u64> {
            start: bytes("0 B", "1 KB"),
            end: bytes("0 B", "1 KB"),
        }
    }

    #[test]
    fn a_line_is_row_and_key() {
        assert_eq!([Link::latency, Link::window], ["link.latency", "link.window"]);
        let rows = [
            schema::time(Link::latency, "1 ns", "1 ms"),
            schema::count(Link::window, "1", "1024"),
            schema::choice(Link::check, &["none", "crc"]),
            schema::choice(Link::topology, &["row", "ring"]),
            schema::bytes(Spans::start, "0 B", "1 KB"),
            schema::bytes(Spans::end, "0 B", "1 KB"),
        ];
        let joined = rows![Link::ROWS, Spans::ROWS];
        assert_eq!(joined.map(|row| format!("{row:?}")), rows.map(|row| format!("{row:?}")));
    }

    /// The types of fields are those of the declaration.
    #[test]
    fn a_field_has_its_type() {
        let link = Link { latency: des::Duration(5), window: 7_u16, check: true, topology: "row" };
        assert_eq!((link.latency.0, link.window, link.check, link.topology), (5, 7, true, "row"));
        let _: [fn(&Parameters) -> std::ops::Range<u64>; 1] = [Spans::of];
    }
}
