//! The memory map, as data: pairs of constants `REGION_NAME_BASE` and `REGION_NAME_SIZE` of a file in
//! `abi/`.

use serde::Deserialize;

/// A region of the memory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// Lower-case name.
    pub name: String,
    /// First address.
    pub base: u32,
    /// Bytes.
    pub size: u32,
}

/// The regions, by rising address; the first holds the image and, at its end, the stack.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Map {
    regions: Vec<Region>,
    /// Bytes at the end of the first region that are left to the stack.
    stack: u32,
}

/// Reason for which a memory map makes no sense.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[allow(missing_docs)] // The sentences say what the fields are.
pub enum MapError {
    /// Its text is not in the format.
    #[error("memory map: {0}")]
    Format(toml::de::Error),
    /// A region has an address alone.
    #[error("memory map: region {0} has no size")]
    NoSize(String),
    /// Two regions have addresses in common.
    #[error("memory map: regions {lower} and {upper} overlap")]
    Overlap { lower: String, upper: String },
    /// There is no memory.
    #[error("memory map: it has no region")]
    Empty,
    /// The processor does not begin in the first region.
    #[error("memory map: region {0} does not begin at 0")]
    Base(String),
    /// The first region has no room for an image.
    #[error("memory map: region {0} is all stack")]
    Stack(String),
}

#[derive(Deserialize)]
struct File {
    #[serde(rename = "constant")]
    constants: Vec<Constant>,
}

#[derive(Deserialize)]
struct Constant {
    name: String,
    value: u32,
}

impl Map {
    /// Parses the text of a layout file; constants of other names are ignored, except `STACK_SIZE`, the
    /// bytes that are left to the stack.
    pub fn parse(text: &str) -> Result<Map, MapError> {
        let file: File = toml::from_str(text).map_err(MapError::Format)?;
        let value = |name: &str| file.constants.iter().find(|c| c.name == name).map(|c| c.value);
        let mut regions = Vec::new();
        for constant in &file.constants {
            let Some(name) =
                constant.name.strip_prefix("REGION_").and_then(|n| n.strip_suffix("_BASE"))
            else {
                continue;
            };
            let size = value(&format!("REGION_{name}_SIZE"))
                .ok_or_else(|| MapError::NoSize(name.to_lowercase()))?;
            regions.push(Region { name: name.to_lowercase(), base: constant.value, size });
        }
        Map::new(regions, value("STACK_SIZE").unwrap_or(0))
    }

    /// Map of these regions, which must not overlap; `stack` bytes at the end of the first are left free.
    pub fn new(mut regions: Vec<Region>, stack: u32) -> Result<Map, MapError> {
        regions.sort_by_key(|region| region.base);
        for pair in regions.windows(2) {
            if u64::from(pair[0].base) + u64::from(pair[0].size) > u64::from(pair[1].base) {
                let [lower, upper] = [0, 1].map(|place: usize| pair[place].name.clone());
                return Err(MapError::Overlap { lower, upper });
            }
        }
        match regions.first() {
            None => Err(MapError::Empty),
            Some(first) if first.base != 0 => Err(MapError::Base(first.name.clone())),
            Some(first) if stack >= first.size => Err(MapError::Stack(first.name.clone())),
            Some(_) => Ok(Map { regions, stack }),
        }
    }

    /// All regions, by rising address.
    pub fn regions(&self) -> &[Region] {
        &self.regions
    }

    /// The region of the image.
    pub fn image(&self) -> &Region {
        &self.regions[0]
    }

    /// Bytes at the end of the image's region that are left to the stack.
    pub fn stack(&self) -> u32 {
        self.stack
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sentences that no test of a file makes (`tests/link/objects.rs`).
    #[test]
    fn maps_without_room_are_refused() {
        let region = |base| vec![Region { name: "program".to_owned(), base, size: 64 }];
        for (base, stack, sentence) in [
            (4, 0, "memory map: region program does not begin at 0"),
            (0, 64, "memory map: region program is all stack"),
        ] {
            assert_eq!(Map::new(region(base), stack).unwrap_err().to_string(), sentence);
        }
        let error = Map::parse("constant = 1").unwrap_err();
        let MapError::Format(why) = &error else { panic!("{error}") };
        assert_eq!(error.to_string(), format!("memory map: {why}"));
    }
}
