//! Reduction operations on packed items.

use super::long_double::LongDouble;
use crate::datatype::{Basic, Value};
use std::cmp::Ordering;

/// A predefined operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // The names are those of the standard.
pub enum Op {
    Sum,
    Min,
    Max,
    Prod,
    BitAnd,
    BitOr,
    BitXor,
    LogicalAnd,
    LogicalOr,
    LogicalXor,
    MinLoc,
    MaxLoc,
    Replace,
    NoOp,
}

impl Op {
    /// The operation of a handle.
    pub(crate) fn from_handle(handle: u64) -> Option<Op> {
        use crate::constant as c;
        Some(match handle {
            c::SUM => Op::Sum,
            c::MIN => Op::Min,
            c::MAX => Op::Max,
            c::PROD => Op::Prod,
            c::BAND => Op::BitAnd,
            c::BOR => Op::BitOr,
            c::BXOR => Op::BitXor,
            c::LAND => Op::LogicalAnd,
            c::LOR => Op::LogicalOr,
            c::LXOR => Op::LogicalXor,
            c::MINLOC => Op::MinLoc,
            c::MAXLOC => Op::MaxLoc,
            c::REPLACE => Op::Replace,
            c::NO_OP => Op::NoOp,
            _ => return None,
        })
    }

    /// The standard's name.
    pub fn name(self) -> &'static str {
        match self {
            Op::Sum => "MPI_SUM",
            Op::Min => "MPI_MIN",
            Op::Max => "MPI_MAX",
            Op::Prod => "MPI_PROD",
            Op::BitAnd => "MPI_BAND",
            Op::BitOr => "MPI_BOR",
            Op::BitXor => "MPI_BXOR",
            Op::LogicalAnd => "MPI_LAND",
            Op::LogicalOr => "MPI_LOR",
            Op::LogicalXor => "MPI_LXOR",
            Op::MinLoc => "MPI_MINLOC",
            Op::MaxLoc => "MPI_MAXLOC",
            Op::Replace => "MPI_REPLACE",
            Op::NoOp => "MPI_NO_OP",
        }
    }

    /// True if the standard defines the operation on the type (MPI 5.0 section 6.9.2). MPI_REPLACE
    /// and MPI_NO_OP are for one-sided communication only.
    pub(crate) fn is_legal(self, basic: Basic) -> bool {
        use Basic::*;
        let integer = matches!(basic, Signed(_) | Unsigned(_));
        let real = matches!(basic, Float(_) | LongDouble);
        let complex = matches!(basic, Complex(_) | LongDoubleComplex);
        match self {
            Op::Sum | Op::Prod => integer || real || complex,
            Op::Min | Op::Max => integer || real,
            Op::BitAnd | Op::BitOr | Op::BitXor => integer || basic == Byte,
            Op::LogicalAnd | Op::LogicalOr | Op::LogicalXor => {
                integer || matches!(basic, Logical(_))
            }
            Op::MinLoc | Op::MaxLoc => matches!(basic, Pair(..)),
            Op::Replace | Op::NoOp => false,
        }
    }

    /// `inout[i] = input[i] op inout[i]` over packed items. The operation must be legal on the
    /// type.
    pub(crate) fn apply(self, basic: Basic, input: &[u8], inout: &mut [u8]) {
        assert_eq!(input.len(), inout.len());
        match basic {
            Basic::Signed(1) => self.integer::<i8, 1>(input, inout),
            Basic::Signed(2) => self.integer::<i16, 2>(input, inout),
            Basic::Signed(4) => self.integer::<i32, 4>(input, inout),
            Basic::Signed(8) => self.integer::<i64, 8>(input, inout),
            Basic::Unsigned(1) | Basic::Byte => self.integer::<u8, 1>(input, inout),
            Basic::Unsigned(2) => self.integer::<u16, 2>(input, inout),
            Basic::Unsigned(4) => self.integer::<u32, 4>(input, inout),
            Basic::Unsigned(8) => self.integer::<u64, 8>(input, inout),
            Basic::Logical(1) => self.integer::<u8, 1>(input, inout),
            Basic::Logical(2) => self.integer::<u16, 2>(input, inout),
            Basic::Logical(4) => self.integer::<u32, 4>(input, inout),
            Basic::Logical(8) => self.integer::<u64, 8>(input, inout),
            Basic::Float(4) => self.real::<f32, 4>(input, inout),
            Basic::Float(8) => self.real::<f64, 8>(input, inout),
            Basic::Complex(4) => self.complex::<f32, 4, 8>(input, inout),
            Basic::Complex(8) => self.complex::<f64, 8, 16>(input, inout),
            Basic::LongDouble => self.long_double(input, inout),
            Basic::LongDoubleComplex => self.long_double_complex(input, inout),
            Basic::Pair(value, index) => self.pair(value, index, input, inout),
            other => unreachable!("{} is not legal on {other:?}", self.name()),
        }
    }

    fn integer<T: Integer<N>, const N: usize>(self, input: &[u8], inout: &mut [u8]) {
        let f: fn(T, T) -> T = match self {
            Op::Sum => T::wrapping_add,
            Op::Prod => T::wrapping_mul,
            Op::Min => T::min,
            Op::Max => T::max,
            Op::BitAnd => T::and,
            Op::BitOr => T::or,
            Op::BitXor => T::xor,
            Op::LogicalAnd => |a, b| T::truth(a.is_true() && b.is_true()),
            Op::LogicalOr => |a, b| T::truth(a.is_true() || b.is_true()),
            Op::LogicalXor => |a, b| T::truth(a.is_true() != b.is_true()),
            _ => unreachable!("{} is not legal on integers", self.name()),
        };
        each::<N>(input, inout, |a, b| f(T::load(a), T::load(b)).bytes());
    }

    fn real<T: Real<N>, const N: usize>(self, input: &[u8], inout: &mut [u8]) {
        let f: fn(T, T) -> T = match self {
            Op::Sum => |a, b| a + b,
            Op::Prod => |a, b| a * b,
            Op::Min => |a, b| if a < b { a } else { b },
            Op::Max => |a, b| if a > b { a } else { b },
            _ => unreachable!("{} is not legal on floating-point numbers", self.name()),
        };
        each::<N>(input, inout, |a, b| f(T::load(a), T::load(b)).bytes());
    }

    fn complex<T: Real<N>, const N: usize, const N2: usize>(self, input: &[u8], inout: &mut [u8]) {
        each::<N2>(input, inout, |a, b| {
            let part = |z: &[u8; N2], i: usize| {
                T::load(z[i * N..][..N].try_into().expect("half of a complex number"))
            };
            let ((ar, ai), (br, bi)) = ((part(&a, 0), part(&a, 1)), (part(&b, 0), part(&b, 1)));
            let (re, im) = match self {
                Op::Sum => (ar + br, ai + bi),
                Op::Prod => (ar * br - ai * bi, ar * bi + ai * br),
                _ => unreachable!("{} is not legal on complex numbers", self.name()),
            };
            let mut out = [0; N2];
            out[..N].copy_from_slice(&re.bytes());
            out[N..].copy_from_slice(&im.bytes());
            out
        });
    }

    fn long_double(self, input: &[u8], inout: &mut [u8]) {
        for (a, b) in input.chunks_exact(16).zip(inout.chunks_exact_mut(16)) {
            let (x, y) = (LongDouble::from_bytes(a), LongDouble::from_bytes(b));
            let out = match self {
                Op::Sum => x.add(y),
                Op::Prod => x.mul(y),
                Op::Min if x.order(y) == Some(Ordering::Less) => x,
                Op::Max if x.order(y) == Some(Ordering::Greater) => x,
                Op::Min | Op::Max => y,
                _ => unreachable!("{} is not legal on long double", self.name()),
            };
            out.store(b);
        }
    }

    fn long_double_complex(self, input: &[u8], inout: &mut [u8]) {
        for (a, b) in input.chunks_exact(32).zip(inout.chunks_exact_mut(32)) {
            let part = |z: &[u8], i: usize| LongDouble::from_bytes(&z[i * 16..]);
            let (ar, ai, br, bi) = (part(a, 0), part(a, 1), part(b, 0), part(b, 1));
            let (re, im) = match self {
                Op::Sum => (ar.add(br), ai.add(bi)),
                Op::Prod => (ar.mul(br).sub(ai.mul(bi)), ar.mul(bi).add(ai.mul(br))),
                _ => unreachable!("{} is not legal on complex numbers", self.name()),
            };
            re.store(&mut b[..16]);
            im.store(&mut b[16..]);
        }
    }

    /// The pair with the smaller (larger) value wins; of equal values, the one with the smaller
    /// index.
    fn pair(self, value: Value, index: Value, input: &[u8], inout: &mut [u8]) {
        let (split, size) = (value.size(), value.size() + index.size());
        let wanted = if self == Op::MinLoc { Ordering::Less } else { Ordering::Greater };
        for (a, b) in input.chunks_exact(size).zip(inout.chunks_exact_mut(size)) {
            let first = match compare(value, &a[..split], &b[..split]) {
                Some(Ordering::Equal) => {
                    compare(index, &a[split..], &b[split..]) == Some(Ordering::Less)
                }
                order => order == Some(wanted),
            };
            if first {
                b.copy_from_slice(a);
            }
        }
    }
}

fn compare(value: Value, a: &[u8], b: &[u8]) -> Option<Ordering> {
    fn as_array<const N: usize>(bytes: &[u8]) -> [u8; N] {
        bytes.try_into().expect("a part of a pair has its size")
    }
    match value {
        Value::I16 => Some(i16::load(as_array(a)).cmp(&i16::load(as_array(b)))),
        Value::I32 => Some(i32::load(as_array(a)).cmp(&i32::load(as_array(b)))),
        Value::I64 => Some(i64::load(as_array(a)).cmp(&i64::load(as_array(b)))),
        Value::F32 => f32::load(as_array(a)).partial_cmp(&f32::load(as_array(b))),
        Value::F64 => f64::load(as_array(a)).partial_cmp(&f64::load(as_array(b))),
        Value::F80 => LongDouble::from_bytes(a).order(LongDouble::from_bytes(b)),
    }
}

fn each<const N: usize>(a: &[u8], b: &mut [u8], f: impl Fn([u8; N], [u8; N]) -> [u8; N]) {
    for (x, y) in a.chunks_exact(N).zip(b.chunks_exact_mut(N)) {
        let x = x.try_into().expect("chunks are exact");
        let old = (&*y).try_into().expect("chunks are exact");
        y.copy_from_slice(&f(x, old));
    }
}

/// A number that memory holds little endian.
trait Number<const N: usize>: Copy {
    fn load(bytes: [u8; N]) -> Self;
    fn bytes(self) -> [u8; N];
}
trait Integer<const N: usize>: Number<N> + Ord {
    fn wrapping_add(self, other: Self) -> Self;
    fn wrapping_mul(self, other: Self) -> Self;
    fn and(self, other: Self) -> Self;
    fn or(self, other: Self) -> Self;
    fn xor(self, other: Self) -> Self;
    fn is_true(self) -> bool;
    fn truth(truth: bool) -> Self;
}
trait Real<const N: usize>:
    Number<N>
    + PartialOrd
    + std::ops::Add<Output = Self>
    + std::ops::Sub<Output = Self>
    + std::ops::Mul<Output = Self>
{
}

macro_rules! number {
    ($($t:ty = $n:literal),*) => {$(
        impl Number<$n> for $t {
            fn load(bytes: [u8; $n]) -> $t { <$t>::from_le_bytes(bytes) }
            fn bytes(self) -> [u8; $n] { self.to_le_bytes() }
        }
    )*};
}
macro_rules! integer {
    ($($t:ty = $n:literal),*) => {$(
        impl Integer<$n> for $t {
            fn wrapping_add(self, other: $t) -> $t { self.wrapping_add(other) }
            fn wrapping_mul(self, other: $t) -> $t { self.wrapping_mul(other) }
            fn and(self, other: $t) -> $t { self & other }
            fn or(self, other: $t) -> $t { self | other }
            fn xor(self, other: $t) -> $t { self ^ other }
            fn is_true(self) -> bool { self != 0 }
            fn truth(truth: bool) -> $t { <$t>::from(truth) }
        }
    )*};
}
number!(i8 = 1, i16 = 2, i32 = 4, i64 = 8, u8 = 1, u16 = 2, u32 = 4, u64 = 8, f32 = 4, f64 = 8);
integer!(i8 = 1, i16 = 2, i32 = 4, i64 = 8, u8 = 1, u16 = 2, u32 = 4, u64 = 8);
impl Real<4> for f32 {}
impl Real<8> for f64 {}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::datatype::predefined;

    const OPS: [Op; 14] = [
        Op::Sum,
        Op::Min,
        Op::Max,
        Op::Prod,
        Op::BitAnd,
        Op::BitOr,
        Op::BitXor,
        Op::LogicalAnd,
        Op::LogicalOr,
        Op::LogicalXor,
        Op::MinLoc,
        Op::MaxLoc,
        Op::Replace,
        Op::NoOp,
    ];

    fn i32s(op: Op, a: i32, b: i32) -> i32 {
        let mut out = b.to_le_bytes();
        op.apply(Basic::Signed(4), &a.to_le_bytes(), &mut out);
        i32::from_le_bytes(out)
    }

    #[test]
    fn every_legal_pair_of_operation_and_type_is_defined() {
        for (_, t) in predefined() {
            let basic = t.basic.expect("predefined");
            for op in OPS.into_iter().filter(|op| op.is_legal(basic)) {
                let mut out = vec![1; 3 * t.size as usize];
                op.apply(basic, &out.clone(), &mut out);
            }
        }
    }

    #[test]
    fn integers() {
        assert_eq!(i32s(Op::Sum, i32::MAX, 1), i32::MIN);
        assert_eq!(i32s(Op::Prod, -3, 7), -21);
        assert_eq!(i32s(Op::Min, -3, 7), -3);
        assert_eq!(i32s(Op::Max, -3, 7), 7);
        assert_eq!(i32s(Op::BitXor, 6, 3), 5);
        assert_eq!(i32s(Op::LogicalAnd, 6, 9), 1);
        assert_eq!(i32s(Op::LogicalXor, 6, 9), 0);
    }

    #[test]
    fn complex_products() {
        let bytes = |re: f64, im: f64| [re.to_le_bytes(), im.to_le_bytes()].concat();
        let mut out = bytes(3.0, 4.0);
        Op::Prod.apply(Basic::Complex(8), &bytes(1.0, 2.0), &mut out);
        assert_eq!(out, bytes(-5.0, 10.0));
    }

    #[test]
    fn of_equal_values_the_smaller_index_wins() {
        let bytes =
            |value: f64, index: i32| [&value.to_le_bytes()[..], &index.to_le_bytes()[..]].concat();
        let basic = Basic::Pair(Value::F64, Value::I32);
        for (op, a, b, wanted) in [
            (Op::MinLoc, (1.0, 9), (2.0, 1), (1.0, 9)),
            (Op::MaxLoc, (1.0, 9), (2.0, 1), (2.0, 1)),
            (Op::MinLoc, (2.0, 9), (2.0, 1), (2.0, 1)),
            (Op::MaxLoc, (2.0, 0), (2.0, 1), (2.0, 0)),
        ] {
            let mut out = bytes(b.0, b.1);
            op.apply(basic, &bytes(a.0, a.1), &mut out);
            assert_eq!(out, bytes(wanted.0, wanted.1), "{op:?} {a:?} {b:?}");
        }
    }

    #[test]
    fn the_standard_forbids() {
        assert!(!Op::BitAnd.is_legal(Basic::Float(8)));
        assert!(!Op::Max.is_legal(Basic::Complex(8)));
        assert!(!Op::Sum.is_legal(Basic::Byte));
        assert!(!Op::MinLoc.is_legal(Basic::Signed(4)));
        assert!(!Op::LogicalAnd.is_legal(Basic::Float(4)));
    }
}
