//! The kinds of relocation of a LANai object.

use crate::input::{Kind, Parsed, Relocation};
use crate::layout::Layout;
use crate::mutant::{is_mutant, Mutant};
use crate::{At, LinkError, RelocationError};
use std::collections::BTreeSet;

/// Sections with all addresses filled in, by object and section.
pub(crate) type Filled = Vec<Vec<Vec<u8>>>;

/// Fills in all addresses, or tells every one that cannot be.
pub(crate) fn apply(objects: &[Parsed], layout: &Layout) -> Result<Filled, Vec<LinkError>> {
    let mut errors = Vec::new();
    // A missing symbol is reported once an object, with its first use.
    let mut undefined = BTreeSet::new();
    let mut filled: Filled = Vec::new();
    for (number, object) in objects.iter().enumerate() {
        let mut sections: Vec<Vec<u8>> = object.sections.iter().map(|s| s.data.clone()).collect();
        for (section, data) in object.sections.iter().zip(&mut sections) {
            let loses_lines = section.kind == Kind::Debug && is_mutant(Mutant::LosesLines);
            if section.kind == Kind::Other || loses_lines {
                continue;
            }
            for relocation in &section.relocations {
                let symbol = &object.symbols[relocation.symbol];
                let at = || At {
                    object: object.name.clone(),
                    section: section.name.clone(),
                    offset: relocation.offset,
                };
                let local = layout.address(objects, number, relocation.symbol);
                let global = layout.globals.get(&symbol.name).filter(|_| symbol.global);
                let value = match global.map(|global| global.value).or(local) {
                    Some(value) => value,
                    None if symbol.weak || is_mutant(Mutant::UndefinedIsZero) => 0,
                    None => {
                        if undefined.insert((number, relocation.symbol)) {
                            let symbol = symbol.name.clone();
                            errors.push(LinkError::Undefined { at: at(), symbol });
                        }
                        continue;
                    }
                };
                if let Err(fault) = fill(data, relocation, value, &symbol.name) {
                    errors.push(LinkError::Relocation { at: at(), fault });
                }
            }
        }
        filled.push(sections);
    }
    if errors.is_empty() {
        Ok(filled)
    } else {
        Err(errors)
    }
}

fn fill(
    data: &mut [u8],
    relocation: &Relocation,
    value: u32,
    name: &str,
) -> Result<(), RelocationError> {
    let symbol = || name.to_owned();
    let addend = if is_mutant(Mutant::LosesAddend) { 0 } else { relocation.addend };
    let sum = i64::from(value) + addend;
    let Ok(sum) = u32::try_from(sum) else {
        return Err(RelocationError::Sum { symbol: symbol(), addend: relocation.addend, sum });
    };
    let offset = relocation.offset as usize;
    let Some(place) = data.get_mut(offset..offset + 4) else {
        return Err(RelocationError::Beyond);
    };
    let word = u32::from_be_bytes(place.try_into().expect("four bytes"));
    let filled = insert(word, relocation.kind, sum).map_err(|why| match why {
        Why::Bits(bits) => RelocationError::Bits { symbol: symbol(), addr: sum, bits },
        Why::Misaligned => RelocationError::Misaligned { symbol: symbol(), addr: sum },
        Why::Kind => RelocationError::Kind(relocation.kind),
    })?;
    place.copy_from_slice(&filled.to_be_bytes());
    Ok(())
}

/// Reason for which an address does not go into a word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Why {
    /// It needs more bits than these.
    Bits(u32),
    /// Its last two bits are not zero.
    Misaligned,
    /// There is no such relocation.
    Kind,
}

/// `word` with `value` in the field that the relocation `kind` names (numbers as in LLVM's `Lanai.def`).
fn insert(word: u32, kind: u32, value: u32) -> Result<u32, Why> {
    let cuts = is_mutant(Mutant::CutsAddress);
    let fits = |bits: u32| if value >> bits == 0 || cuts { Ok(()) } else { Err(Why::Bits(bits)) };
    let aligned = || if value % 4 == 0 { Ok(()) } else { Err(Why::Misaligned) };
    let upper = if is_mutant(Mutant::LosesUpperBits) { 0 } else { value >> 16 & 31 };
    let in_two_fields = word & !0x007c_ffff | upper << 18 | value & 0xffff;
    let rounded =
        if is_mutant(Mutant::RoundsUpperHalf) { value.wrapping_add(0x8000) } else { value };
    match kind {
        0 => Ok(word),
        1 => fits(21).map(|()| in_two_fields),
        2 => fits(21).and(aligned()).map(|()| in_two_fields),
        3 => fits(25).and(aligned()).map(|()| word & !0x01ff_fffc | value & 0x01ff_fffc),
        4 => Ok(value),
        5 => Ok(word & !0xffff | rounded >> 16),
        6 => Ok(word & !0xffff | value & 0xffff),
        _ => Err(Why::Kind),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_go_into_their_fields() {
        // ld [0x0], %r1; mov 0x0, %r1; bt 0x0; mov 0x0, %r1 (high); or %r1, 0x0, %r1
        assert_eq!(insert(0xf080_0000, 2, 0x001f_fffc), Ok(0xf0fc_fffc));
        assert_eq!(insert(0xf082_0000, 1, 0x0012_3457), Ok(0xf0ca_3457));
        assert_eq!(insert(0xe000_0000, 3, 0x01ff_fffc), Ok(0xe1ff_fffc));
        assert_eq!(insert(0x0081_0000, 5, 0x1234_5678), Ok(0x0081_1234));
        assert_eq!(insert(0x5084_0000, 6, 0x1234_5678), Ok(0x5084_5678));
        assert_eq!(insert(0, 4, 0x1234_5678), Ok(0x1234_5678));
    }

    #[test]
    fn what_does_not_fit_is_refused() {
        assert_eq!(insert(0xf082_0000, 1, 0x0020_0000), Err(Why::Bits(21)));
        assert_eq!(insert(0xf080_0000, 2, 0x0020_0000), Err(Why::Bits(21)));
        assert_eq!(insert(0xf080_0000, 2, 2), Err(Why::Misaligned));
        assert_eq!(insert(0xe000_0000, 3, 0x0200_0000), Err(Why::Bits(25)));
        assert_eq!(insert(0xe000_0000, 3, 6), Err(Why::Misaligned));
        assert_eq!(insert(0, 7, 0), Err(Why::Kind));
    }
}
