//! The four flags, and the sixteen conditions on them.

/// Set if a result is zero.
pub(crate) const Z: u32 = 1;
/// Set to a result's most significant bit.
pub(crate) const N: u32 = 2;
/// Set by signed overflow.
pub(crate) const V: u32 = 4;
/// Set by a carry out of an addition; a subtraction adds the complement and one.
pub(crate) const C: u32 = 8;

/// Tells whether `flags` meet condition `code` (`DDDI`): the upper three bits select it, the lowest
/// inverts.
const fn is_met(code: u32, flags: u32) -> bool {
    let (z, n) = (flags & Z != 0, flags & N != 0);
    let (v, c) = (flags & V != 0, flags & C != 0);
    let met = match code >> 1 {
        0 => true,
        1 => c && !z,
        2 => !c,
        3 => !z,
        4 => !v,
        5 => !n,
        6 => n == v,
        _ => n == v && !z,
    };
    met != (code & 1 != 0)
}

/// Table of conditions: a bit for each of the flags' sixteen values.
const MET: [u16; 16] = {
    let mut table = [0; 16];
    let mut code = 0;
    while code < 16 {
        let mut flags = 0;
        while flags < 16 {
            if is_met(code, flags) {
                table[code as usize] |= 1 << flags;
            }
            flags += 1;
        }
        code += 1;
    }
    table
};

/// True if `flags` meet condition `code`.
#[inline(always)]
pub(crate) fn meet(flags: u32, code: u8) -> bool {
    MET[usize::from(code & 15)] >> (flags & 15) & 1 != 0
}

/// Conditions as LLVM's assembler spells them. `ult` holds if the carry is clear: it is clear after a
/// subtraction that borrows.
pub(crate) const NAMES: [&str; 16] = [
    "t", "f", "ugt", "ule", "ult", "uge", "ne", "eq", "vc", "vs", "pl", "mi", "ge", "lt", "gt",
    "le",
];

#[cfg(test)]
mod tests {
    use super::*;

    /// Flags after a subtraction, by the definition of the instruction set.
    fn after_sub(a: u32, b: u32) -> u32 {
        let (x, borrow) = a.overflowing_sub(b);
        let v = (a as i32).overflowing_sub(b as i32).1;
        let bits = [(x == 0, Z), (x >> 31 != 0, N), (v, V), (!borrow, C)];
        bits.iter().filter(|(set, _)| *set).map(|(_, bit)| bit).sum()
    }

    #[test]
    fn conditions_after_a_subtraction_compare() {
        let values = [0, 1, 2, 0x7fff_ffff, 0x8000_0000, 0x8000_0001, 0xffff_ffff];
        for (a, b) in values.iter().flat_map(|a| values.iter().map(move |b| (*a, *b))) {
            let (s, t) = (a as i32, b as i32);
            let expected = [
                ("t", true),
                ("f", false),
                ("ugt", a > b),
                ("ule", a <= b),
                ("ult", a < b),
                ("uge", a >= b),
                ("ne", a != b),
                ("eq", a == b),
                ("ge", s >= t),
                ("lt", s < t),
                ("gt", s > t),
                ("le", s <= t),
            ];
            for (name, holds) in expected {
                let code = NAMES.iter().position(|other| *other == name).unwrap() as u8;
                assert_eq!(meet(after_sub(a, b), code), holds, "{a:#x} {name} {b:#x}");
            }
        }
    }
}
