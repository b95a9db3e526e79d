//! Addresses of sections and symbols.

use crate::input::{Kind, Parsed, Place};
use crate::mutant::{is_mutant, Mutant};
use crate::{Largest, LinkError, Map};
use std::collections::BTreeMap;

/// A section's place: of those in memory an address, of debug sections an offset in all of its name.
pub(crate) type Places = Vec<Vec<Option<u32>>>;

pub(crate) struct Global {
    pub value: u32,
    /// Object that defines it; none for those of the linker.
    pub object: Option<usize>,
    weak: bool,
}

pub(crate) struct Layout {
    /// Places by object and section.
    pub places: Places,
    pub globals: BTreeMap<String, Global>,
    /// Bytes of memory by kind: text, constants, data, zeroed.
    pub ends: BTreeMap<Kind, (u32, u32)>,
    /// All of them, however much that is.
    total: u64,
    /// Sizes of debug sections, by name.
    pub debug: BTreeMap<String, u32>,
}

pub(crate) const IN_MEMORY: [Kind; 4] = [Kind::Text, Kind::Constants, Kind::Data, Kind::Zeroed];

impl Layout {
    pub fn new(objects: &[Parsed], map: &Map) -> Result<Layout, Vec<LinkError>> {
        let mut layout = Layout {
            places: objects.iter().map(|o| vec![None; o.sections.len()]).collect(),
            globals: BTreeMap::new(),
            ends: BTreeMap::new(),
            total: 0,
            debug: BTreeMap::new(),
        };
        layout.place_in_memory(objects);
        layout.place_debug(objects);
        let mut errors = layout.define(objects);
        layout.define_own(map);
        errors.extend(layout.overflow(objects, map));
        if errors.is_empty() {
            Ok(layout)
        } else {
            Err(errors)
        }
    }

    fn place_in_memory(&mut self, objects: &[Parsed]) {
        // Wider than an address, so that no sum is cut before it is looked at.
        let mut addr = 0_u64;
        for kind in IN_MEMORY {
            // Words, so that start-up code can clear and copy by words.
            addr = addr.next_multiple_of(4);
            let begin = addr;
            for (object, places) in objects.iter().zip(&mut self.places) {
                for (section, place) in object.sections.iter().zip(places) {
                    if section.kind == kind {
                        if !is_mutant(Mutant::IgnoresAlignment) {
                            addr = addr.next_multiple_of(section.align.into());
                        }
                        *place = Some(addr as u32);
                        addr += u64::from(section.size);
                    }
                }
            }
            self.ends.insert(kind, (begin as u32, addr as u32));
        }
        self.total = addr;
    }

    fn place_debug(&mut self, objects: &[Parsed]) {
        for (object, places) in objects.iter().zip(&mut self.places) {
            for (section, place) in object.sections.iter().zip(places) {
                if section.kind == Kind::Debug {
                    let size = self.debug.entry(section.name.clone()).or_default();
                    *place = Some(*size);
                    *size += section.size;
                }
            }
        }
    }

    /// Address of a symbol that the object defines.
    pub fn address(&self, objects: &[Parsed], object: usize, symbol: usize) -> Option<u32> {
        let symbol = &objects[object].symbols[symbol];
        match symbol.place {
            Place::Undefined => None,
            Place::Absolute => Some(symbol.value),
            Place::Section(section) => {
                Some(self.places[object][section]?.wrapping_add(symbol.value))
            }
        }
    }

    fn define(&mut self, objects: &[Parsed]) -> Vec<LinkError> {
        let mut errors = Vec::new();
        for (number, object) in objects.iter().enumerate() {
            for (index, symbol) in object.symbols.iter().enumerate().filter(|(_, s)| s.global) {
                let Some(value) = self.address(objects, number, index) else {
                    continue;
                };
                let new = Global { value, object: Some(number), weak: symbol.weak };
                match self.globals.get(&symbol.name) {
                    Some(_) if is_mutant(Mutant::FirstWins) => {}
                    Some(old) if !old.weak && !new.weak => {
                        let first = &objects[old.object.expect("of an object")];
                        errors.push(LinkError::Doubled {
                            symbol: symbol.name.clone(),
                            first: first.name.clone(),
                            second: object.name.clone(),
                        });
                    }
                    Some(old) if !old.weak || new.weak || is_mutant(Mutant::WeakWins) => {}
                    _ => {
                        self.globals.insert(symbol.name.clone(), new);
                    }
                }
            }
        }
        errors
    }

    /// Symbols that start-up code needs.
    fn define_own(&mut self, map: &Map) {
        let region = map.image();
        let (zeroed, end) = self.ends[&Kind::Zeroed];
        let own = [
            ("__zeroed_start", zeroed),
            ("__zeroed_end", end.next_multiple_of(4)),
            ("__image_end", end),
            ("__stack_top", region.base + region.size),
        ];
        for (name, value) in own {
            let own = Global { value, object: None, weak: false };
            self.globals.entry(name.to_owned()).or_insert(own);
        }
    }

    fn overflow(&self, objects: &[Parsed], map: &Map) -> Option<LinkError> {
        let (region, stack) = (map.image(), map.stack());
        let end = self.total;
        let room = region.size - if is_mutant(Mutant::IgnoresStack) { 0 } else { stack };
        (end > room.into()).then(|| {
            let sections = objects.iter().flat_map(|o| o.sections.iter().map(move |s| (o, s)));
            let (object, largest) = sections
                .filter(|(_, section)| IN_MEMORY.contains(&section.kind))
                .max_by_key(|(_, section)| section.size)
                .expect("what is too long has a section");
            let largest = Largest {
                section: largest.name.clone(),
                object: object.name.clone(),
                bytes: largest.size,
            };
            let region = region.name.clone();
            LinkError::TooLong { bytes: end, region, room, stack, largest }
        })
    }
}
