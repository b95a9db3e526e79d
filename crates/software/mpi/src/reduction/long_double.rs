//! Arithmetic on `long double` as x86-64 keeps it: 10 bytes of x87 number in 16. Rust has no such
//! type, and going through `f64` would lose bits that the program can see.

use std::arch::asm;
use std::cmp::Ordering;

/// One `long double`, as it lies in memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LongDouble([u8; 16]);

/// Runs one two-operand x87 instruction: `a op b`.
macro_rules! binary {
    ($name:ident, $instruction:literal, $doc:literal) => {
        #[doc = $doc]
        pub fn $name(self, other: LongDouble) -> LongDouble {
            let mut out = LongDouble([0; 16]);
            // SAFETY: reads ten bytes at each of two addresses and writes ten at a third, all
            // within 16-byte arrays that live until the end of the block; the two register-stack
            // slots used are declared.
            unsafe {
                asm!(
                    "fld tbyte ptr [{a}]",
                    "fld tbyte ptr [{b}]",
                    $instruction,
                    "fstp tbyte ptr [{out}]",
                    a = in(reg) &self.0,
                    b = in(reg) &other.0,
                    out = in(reg) &mut out.0,
                    out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                    out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                    options(nostack)
                );
            }
            out
        }
    };
}

impl LongDouble {
    /// Reads it from its bytes in memory.
    pub fn from_bytes(bytes: &[u8]) -> LongDouble {
        let mut number = [0; 16];
        number[..10].copy_from_slice(&bytes[..10]);
        LongDouble(number)
    }
    /// Stores it into its bytes in memory; the six bytes of padding stay as they are.
    pub fn store(self, bytes: &mut [u8]) {
        bytes[..10].copy_from_slice(&self.0[..10]);
    }

    binary!(add, "faddp st(1), st", "Sum.");
    binary!(sub, "fsubp st(1), st", "Difference.");
    binary!(mul, "fmulp st(1), st", "Product.");

    /// Order; `None` if one is not a number.
    pub fn order(self, other: LongDouble) -> Option<Ordering> {
        let (below, equal, unordered): (u8, u8, u8);
        // SAFETY: as above; the comparison pops one operand and the next instruction the other.
        unsafe {
            asm!(
                "fld tbyte ptr [{b}]",
                "fld tbyte ptr [{a}]",
                "fcomip st, st(1)",
                "setb {below}",
                "sete {equal}",
                "setp {unordered}",
                "fstp st(0)",
                a = in(reg) &self.0,
                b = in(reg) &other.0,
                below = out(reg_byte) below,
                equal = out(reg_byte) equal,
                unordered = out(reg_byte) unordered,
                out("st(0)") _, out("st(1)") _, out("st(2)") _, out("st(3)") _,
                out("st(4)") _, out("st(5)") _, out("st(6)") _, out("st(7)") _,
                options(nostack)
            );
        }
        match (unordered, below, equal) {
            (1, ..) => None,
            (_, 1, _) => Some(Ordering::Less),
            (.., 1) => Some(Ordering::Equal),
            _ => Some(Ordering::Greater),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `value` as an x87 number: sign and exponent rebased, the hidden bit made explicit.
    fn of(value: f64) -> LongDouble {
        let bits = value.to_bits();
        let (sign, exponent) = ((bits >> 48) & 0x8000, (bits >> 52) & 0x7ff);
        let mut out = [0; 16];
        if value != 0.0 {
            let mantissa = 1 << 63 | (bits & ((1 << 52) - 1)) << 11;
            out[..8].copy_from_slice(&mantissa.to_le_bytes());
            out[8..10].copy_from_slice(&((sign | (exponent + 16383 - 1023)) as u16).to_le_bytes());
        }
        LongDouble(out)
    }

    #[test]
    fn arithmetic_agrees_with_exact_doubles() {
        for (a, b) in [(1.0, 2.0), (-3.5, 0.25), (1e10, -1e-3), (6.0, 6.0)] {
            assert_eq!(of(1.5).mul(of(a)), of(1.5 * a));
            assert_eq!(of(a).order(of(b)), a.partial_cmp(&b));
        }
        assert_eq!(of(0.75).add(of(-4.0)), of(-3.25));
        assert_eq!(of(0.75).sub(of(-4.0)), of(4.75));
    }

    #[test]
    fn keeps_more_bits_than_a_double() {
        let (one, tiny) = (of(1.0), of(2f64.powi(-60)));
        assert_ne!(one.add(tiny), one);
        assert_eq!(one.add(tiny).sub(one), tiny);
    }
}
