//! Datatypes: where the bytes of an item lie, and what they mean to a reduction.
//!
//! A type is kept as the loops that made it: its memory does not depend on how often they repeat. The runs of
//! bytes of an item come out of a walk through them, in the order of its type map, neighbours joined.
//! Reductions see items *packed*, that is without holes.

use crate::error::Error;
use layout::Layout;
use recipe::Recipe;
use signature::{Atom, Signature};
use std::rc::Rc;
use walk::Runs;

pub(crate) mod constructor;
#[cfg(test)]
mod enumerated;
pub(crate) mod items;
pub(crate) mod layout;
mod nested;
mod packing;
pub(crate) mod recipe;
mod rolling;
pub(crate) mod signature;
pub(crate) mod types;
mod walk;

/// Meaning of the bytes of a predefined type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Basic {
    /// Two's complement integer of so many bytes.
    Signed(u8),
    /// Unsigned integer of so many bytes.
    Unsigned(u8),
    /// IEEE number of 4 or 8 bytes.
    Float(u8),
    /// x87 number of 10 bytes in 16.
    LongDouble,
    /// Two IEEE numbers of so many bytes each.
    Complex(u8),
    /// Two x87 numbers.
    LongDoubleComplex,
    /// Truth value of so many bytes.
    Logical(u8),
    /// Uninterpreted byte.
    Byte,
    /// A value and an index, for MINLOC and MAXLOC.
    Pair(Value, Value),
    /// No operation is defined on it.
    Opaque,
}

/// A part of a pair.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// Signed integer of 2 bytes.
    I16,
    /// Signed integer of 4 bytes.
    I32,
    /// Signed integer of 8 bytes.
    I64,
    /// IEEE number of 4 bytes.
    F32,
    /// IEEE number of 8 bytes.
    F64,
    /// x87 number of 10 bytes in 16.
    F80,
}

impl Value {
    /// Bytes.
    pub const fn size(self) -> usize {
        match self {
            Value::I16 => 2,
            Value::I32 | Value::F32 => 4,
            Value::I64 | Value::F64 => 8,
            Value::F80 => 16,
        }
    }

    /// The predefined item that it is in a pair of this name.
    fn atom(self, pair: &str) -> Atom {
        use crate::constant as c;
        // Those with a digit are Fortran's.
        let fortran = pair.starts_with("MPI_2") && pair != "MPI_2INT";
        let handle = match (self, fortran) {
            (Value::I16, _) => c::SHORT,
            (Value::I32, false) => c::INT,
            (Value::I32, true) => c::INTEGER,
            (Value::I64, _) => c::LONG,
            (Value::F32, false) => c::FLOAT,
            (Value::F32, true) => c::REAL,
            (Value::F64, false) => c::DOUBLE,
            (Value::F64, true) => c::DOUBLE_PRECISION,
            (Value::F80, _) => c::LONG_DOUBLE,
        };
        Atom { bytes: self.size() as u64, kind: handle as u8 }
    }
}

/// A run of bytes of an item; none is empty.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Run {
    /// Bytes from the item's address to the run.
    pub offset: i64,
    /// Bytes of the run.
    pub length: u64,
}

/// A datatype.
#[derive(Clone, Debug)]
pub(crate) struct Type {
    /// Name of the predefined type, or what kind of derived type it is.
    pub name: &'static str,
    /// Bytes of data in an item.
    pub size: u64,
    /// Lower bound, bytes from the item's address.
    pub lower_bound: i64,
    /// Bytes from an item to the next.
    pub extent: i64,
    /// The data of an item.
    pub layout: Layout,
    /// The one predefined type that it is made of, if it is made of one.
    pub basic: Option<Basic>,
    /// Predefined items in an item.
    pub elements: u64,
    /// Bytes of the predefined items, in order; those of a pair are two.
    pub signature: Signature,
    /// Addresses of items in a C structure are multiples of this.
    pub alignment: u64,
    /// The bounds were set by hand (MPI_Type_create_resized): what contains it keeps to them.
    pub resized: bool,
    /// It may be used in communication.
    pub committed: bool,
    /// It may not be freed.
    pub predefined: bool,
    /// Construction of the type; `None`: it is predefined by name.
    pub recipe: Option<Rc<Recipe>>,
}

impl Type {
    fn predefined(handle: u64, name: &'static str, basic: Basic, size: u64, extent: i64) -> Type {
        let runs = match basic {
            // The only pair with a hole between its parts.
            Basic::Pair(Value::I16, Value::I32) => vec![(0, 2), (4, 4)],
            _ => vec![(0, size)],
        };
        let own = vec![Atom { bytes: size, kind: handle as u8 }];
        let (atoms, alignment) = match basic {
            Basic::Pair(value, index) => {
                let atoms = [value, index].map(|part| part.atom(name));
                (atoms.to_vec(), atoms[0].bytes.max(atoms[1].bytes))
            }
            Basic::Complex(part) => (own, part.into()),
            Basic::LongDoubleComplex => (own, 16),
            _ => (own, size.clamp(1, 16)),
        };
        let mut layout = layout::Builder::default();
        for (offset, length) in runs {
            layout.run(offset, length).expect("a small item");
        }
        Type {
            name,
            size,
            lower_bound: 0,
            extent,
            layout: layout.finish(),
            basic: Some(basic),
            elements: 1,
            signature: Signature::atoms(&atoms),
            alignment,
            resized: false,
            committed: true,
            predefined: true,
            recipe: None,
        }
    }

    /// So many items in words: "4 MPI_INT", "2 of a structure type (MPI_INT, 3 MPI_DOUBLE ...)".
    pub(crate) fn described(&self, count: u64) -> String {
        /// Predefined items that are looked at.
        const MOST: u64 = 16;
        if self.recipe.is_none() {
            return format!("{count} {}", self.name);
        }
        let runs = self.signature.first_kinds(MOST);
        let of = runs.into_iter().map(|(number, kind)| match number {
            1 => types::name_of(kind).to_string(),
            _ => format!("{number} {}", types::name_of(kind)),
        });
        let more = if self.signature.count() > MOST { " ..." } else { "" };
        format!("{count} of {} ({}{more})", self.name, of.collect::<Vec<_>>().join(", "))
    }

    /// True if `count` items from an address on are one run of bytes that starts at that address.
    pub fn is_contiguous(&self, count: u64) -> bool {
        let gapless = self.extent >= 0 && self.extent as u64 == self.size || count <= 1;
        self.layout.is_empty() || gapless && self.layout.single().is_some_and(|run| run.offset == 0)
    }

    /// First and one past the last byte of `count` items, from the buffer's address; empty if there
    /// are none.
    pub fn span(&self, count: u64) -> (i64, i64) {
        let (low, high) = self.layout.span();
        if count == 0 || low == high {
            return (0, 0);
        }
        let last = (count as i64 - 1).saturating_mul(self.extent);
        (low.min(low.saturating_add(last)), high.max(high.saturating_add(last)))
    }

    /// The runs of `count` items that hold the first `bytes` packed bytes: offset from the buffer,
    /// length. Those that touch are joined within an item.
    pub fn runs_of(&self, count: u64, bytes: u64) -> Runs<'_> {
        Runs::new(&self.layout, self.extent, count, bytes)
    }
}

pub(crate) fn too_large() -> Error {
    Error::new(crate::constant::ERR_ARG, "the new type spans more than 2^63 bytes")
}

/// Handle and description of every predefined type.
pub(crate) fn predefined() -> Vec<(u64, Type)> {
    use crate::constant::*;
    use Basic::*;
    use Value::*;
    let t = |handle: u64, name, basic, size: u64, extent: i64| {
        (handle, Type::predefined(handle, name, basic, size, extent))
    };
    let pair = |handle, name, value: Value, extent| {
        let size = value.size() as u64 + 4;
        t(handle, name, Pair(value, I32), size, extent)
    };
    let int = |handle, name, size: u8| t(handle, name, Signed(size), size.into(), size.into());
    let uint = |handle, name, size: u8| t(handle, name, Unsigned(size), size.into(), size.into());
    let float = |handle, name, size: u8| t(handle, name, Float(size), size.into(), size.into());
    let truth = |handle, name, size: u8| t(handle, name, Logical(size), size.into(), size.into());
    let complex =
        |handle, name, size: u8| t(handle, name, Complex(size), size as u64 * 2, size as i64 * 2);
    let opaque =
        |handle, name, size: u64| t(handle, name, Opaque, size, i64::try_from(size).unwrap_or(0));
    vec![
        int(AINT, "MPI_AINT", 8),
        int(COUNT, "MPI_COUNT", 8),
        int(OFFSET, "MPI_OFFSET", 8),
        t(PACKED, "MPI_PACKED", Opaque, 1, 1),
        int(SHORT, "MPI_SHORT", 2),
        int(INT, "MPI_INT", 4),
        int(LONG, "MPI_LONG", 8),
        int(LONG_LONG, "MPI_LONG_LONG", 8),
        uint(UNSIGNED_SHORT, "MPI_UNSIGNED_SHORT", 2),
        uint(UNSIGNED, "MPI_UNSIGNED", 4),
        uint(UNSIGNED_LONG, "MPI_UNSIGNED_LONG", 8),
        uint(UNSIGNED_LONG_LONG, "MPI_UNSIGNED_LONG_LONG", 8),
        float(FLOAT, "MPI_FLOAT", 4),
        complex(C_FLOAT_COMPLEX, "MPI_C_FLOAT_COMPLEX", 4),
        complex(CXX_FLOAT_COMPLEX, "MPI_CXX_FLOAT_COMPLEX", 4),
        float(DOUBLE, "MPI_DOUBLE", 8),
        complex(C_DOUBLE_COMPLEX, "MPI_C_DOUBLE_COMPLEX", 8),
        complex(CXX_DOUBLE_COMPLEX, "MPI_CXX_DOUBLE_COMPLEX", 8),
        truth(LOGICAL, "MPI_LOGICAL", 4),
        int(INTEGER, "MPI_INTEGER", 4),
        float(REAL, "MPI_REAL", 4),
        complex(COMPLEX, "MPI_COMPLEX", 4),
        float(DOUBLE_PRECISION, "MPI_DOUBLE_PRECISION", 8),
        complex(DOUBLE_COMPLEX, "MPI_DOUBLE_COMPLEX", 8),
        t(CHARACTER, "MPI_CHARACTER", Opaque, 1, 1),
        t(LONG_DOUBLE, "MPI_LONG_DOUBLE", LongDouble, 16, 16),
        t(C_LONG_DOUBLE_COMPLEX, "MPI_C_LONG_DOUBLE_COMPLEX", LongDoubleComplex, 32, 32),
        t(CXX_LONG_DOUBLE_COMPLEX, "MPI_CXX_LONG_DOUBLE_COMPLEX", LongDoubleComplex, 32, 32),
        pair(FLOAT_INT, "MPI_FLOAT_INT", F32, 8),
        pair(DOUBLE_INT, "MPI_DOUBLE_INT", F64, 16),
        pair(LONG_INT, "MPI_LONG_INT", I64, 16),
        pair(TWO_INT, "MPI_2INT", I32, 8),
        pair(SHORT_INT, "MPI_SHORT_INT", I16, 8),
        pair(LONG_DOUBLE_INT, "MPI_LONG_DOUBLE_INT", F80, 32),
        t(TWO_REAL, "MPI_2REAL", Pair(F32, F32), 8, 8),
        t(TWO_DOUBLE_PRECISION, "MPI_2DOUBLE_PRECISION", Pair(F64, F64), 16, 16),
        t(TWO_INTEGER, "MPI_2INTEGER", Pair(I32, I32), 8, 8),
        truth(C_BOOL, "MPI_C_BOOL", 1),
        truth(CXX_BOOL, "MPI_CXX_BOOL", 1),
        t(WCHAR, "MPI_WCHAR", Opaque, 4, 4),
        int(INT8_T, "MPI_INT8_T", 1),
        uint(UINT8_T, "MPI_UINT8_T", 1),
        // Not for reductions in the standard, but programs use it there and other libraries let them.
        int(CHAR, "MPI_CHAR", 1),
        int(SIGNED_CHAR, "MPI_SIGNED_CHAR", 1),
        uint(UNSIGNED_CHAR, "MPI_UNSIGNED_CHAR", 1),
        t(BYTE, "MPI_BYTE", Byte, 1, 1),
        int(INT16_T, "MPI_INT16_T", 2),
        uint(UINT16_T, "MPI_UINT16_T", 2),
        int(INT32_T, "MPI_INT32_T", 4),
        uint(UINT32_T, "MPI_UINT32_T", 4),
        int(INT64_T, "MPI_INT64_T", 8),
        uint(UINT64_T, "MPI_UINT64_T", 8),
        truth(LOGICAL1, "MPI_LOGICAL1", 1),
        int(INTEGER1, "MPI_INTEGER1", 1),
        truth(LOGICAL2, "MPI_LOGICAL2", 2),
        int(INTEGER2, "MPI_INTEGER2", 2),
        opaque(REAL2, "MPI_REAL2", 2),
        truth(LOGICAL4, "MPI_LOGICAL4", 4),
        int(INTEGER4, "MPI_INTEGER4", 4),
        float(REAL4, "MPI_REAL4", 4),
        opaque(COMPLEX4, "MPI_COMPLEX4", 4),
        truth(LOGICAL8, "MPI_LOGICAL8", 8),
        int(INTEGER8, "MPI_INTEGER8", 8),
        float(REAL8, "MPI_REAL8", 8),
        complex(COMPLEX8, "MPI_COMPLEX8", 4),
        opaque(LOGICAL16, "MPI_LOGICAL16", 16),
        opaque(INTEGER16, "MPI_INTEGER16", 16),
        opaque(REAL16, "MPI_REAL16", 16),
        complex(COMPLEX16, "MPI_COMPLEX16", 8),
        opaque(COMPLEX32, "MPI_COMPLEX32", 32),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use constructor::Block;

    fn named(name: &str) -> Type {
        predefined().into_iter().find(|t| t.1.name == name).expect("a predefined type").1
    }

    #[test]
    fn sizes_and_extents_are_those_of_c() {
        for (name, size, extent) in [
            ("MPI_CHAR", 1, 1),
            ("MPI_INT", 4, 4),
            ("MPI_DOUBLE", 8, 8),
            ("MPI_LONG_DOUBLE", 16, 16),
            ("MPI_SHORT_INT", 6, 8),
            ("MPI_DOUBLE_INT", 12, 16),
            ("MPI_LONG_INT", 12, 16),
            ("MPI_LONG_DOUBLE_INT", 20, 32),
            ("MPI_C_LONG_DOUBLE_COMPLEX", 32, 32),
        ] {
            let t = named(name);
            assert_eq!((t.size, t.extent), (size, extent), "{name}");
        }
        let mut handles: Vec<u64> = predefined().iter().map(|t| t.0).collect();
        handles.sort_unstable();
        handles.dedup();
        assert_eq!(handles.len(), predefined().len());
    }

    #[test]
    fn vectors_merge_what_touches() {
        let int = named("MPI_INT");
        let v = int.vector(3, 2, 16).expect("legal");
        assert_eq!((v.size, v.extent, v.elements), (24, 40, 6));
        let offsets: Vec<_> = v.runs_of(1, 24).map(|r| (r.offset, r.length)).collect();
        assert_eq!(offsets, [(0, 8), (16, 8), (32, 8)]);
        assert!(!v.is_contiguous(1));
        assert!(int.vector(3, 2, 8).expect("legal").is_contiguous(5));
        assert_eq!(v.span(2), (0, 80));
    }

    #[test]
    fn a_contiguous_type_of_a_type_with_holes_keeps_the_holes() {
        let t = named("MPI_SHORT_INT").contiguous(2).expect("legal");
        assert_eq!((t.size, t.extent), (12, 16));
        let runs: Vec<_> = t.runs_of(1, 12).map(|r| (r.offset, r.length)).collect();
        assert_eq!(runs, [(0, 2), (4, 6), (12, 4)]);
        let first: Vec<_> = t.runs_of(2, 7).map(|r| (r.offset, r.length)).collect();
        assert_eq!(first, [(0, 2), (4, 5)]);
        assert!(named("MPI_INT").contiguous(0).expect("legal").is_contiguous(9));
    }

    #[test]
    fn what_is_empty_hides_nothing_behind_it() {
        let int = named("MPI_INT");
        let nothing = int.contiguous(0).expect("legal");
        let wide = int.with_bounds(0, 16);
        let member = |offset, count, of| Block::new(offset, count, of);
        let members = [member(0, 1, &int), member(16, 1, &nothing), member(8, 1, &int)];
        let t = Type::structure(&members).expect("legal");
        assert_eq!(t.runs_of(1, 8).map(|r| r.offset).collect::<Vec<_>>(), [0, 8]);
        assert_eq!(t.span(1), (0, 12));
        let members = [member(0, 2, &int), member(8, 0, &wide)];
        assert_eq!(Type::structure(&members).expect("legal").extent, 8);
    }

    #[test]
    fn what_is_empty_widens_no_bounds_but_those_set_by_hand() {
        let bounds = |t: Result<Type, Error>| t.map(|t| (t.lower_bound, t.extent)).expect("legal");
        let int = named("MPI_INT");
        let nothing = int.contiguous(0).expect("legal");
        let member = |offset, count, of| Block::new(offset, count, of);
        assert_eq!(bounds(nothing.contiguous(3)), (0, 0));
        assert_eq!(bounds(nothing.vector(4, 1, 12)), (0, 0));
        assert_eq!(bounds(nothing.vector(4, 1, -12)), (0, 0));
        assert_eq!(bounds(nothing.indexed(&[(8, 1), (20, 2)])), (0, 0));
        assert_eq!(bounds(Type::structure(&[member(8, 1, &nothing)])), (0, 0));
        // The type map of this has just one entry.
        let t = Type::structure(&[member(-40, 2, &nothing), member(8, 1, &int)]).expect("legal");
        assert_eq!((t.lower_bound, t.extent, t.basic), (8, 4, int.basic));
        let wide = nothing.with_bounds(-4, 8);
        assert_eq!(bounds(wide.contiguous(3)), (-4, 24));
        assert_eq!(bounds(Type::structure(&[member(0, 1, &wide), member(9, 1, &int)])), (-4, 8));
    }
}
