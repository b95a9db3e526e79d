//! The memory map, as data: pairs of constants `REGION_NAME_BASE` and `REGION_NAME_SIZE` of a file in
//! `abi/`.

use crate::LinkError;
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
    pub fn parse(text: &str) -> Result<Map, LinkError> {
        let file: File =
            toml::from_str(text).map_err(|error| LinkError::new(format!("memory map: {error}")))?;
        let value = |name: &str| file.constants.iter().find(|c| c.name == name).map(|c| c.value);
        let mut regions = Vec::new();
        for constant in &file.constants {
            let Some(name) =
                constant.name.strip_prefix("REGION_").and_then(|n| n.strip_suffix("_BASE"))
            else {
                continue;
            };
            let size = value(&format!("REGION_{name}_SIZE")).ok_or_else(|| {
                LinkError::new(format!("memory map: region {} has no size", name.to_lowercase()))
            })?;
            regions.push(Region { name: name.to_lowercase(), base: constant.value, size });
        }
        Map::new(regions, value("STACK_SIZE").unwrap_or(0))
    }

    /// Map of these regions, which must not overlap; `stack` bytes at the end of the first are left free.
    pub fn new(mut regions: Vec<Region>, stack: u32) -> Result<Map, LinkError> {
        regions.sort_by_key(|region| region.base);
        for pair in regions.windows(2) {
            if u64::from(pair[0].base) + u64::from(pair[0].size) > u64::from(pair[1].base) {
                let (a, b) = (&pair[0].name, &pair[1].name);
                return Err(LinkError::new(format!("memory map: regions {a} and {b} overlap")));
            }
        }
        match regions.first() {
            None => Err(LinkError::new("memory map: it has no region")),
            Some(first) if first.base != 0 => Err(LinkError::new(format!(
                "memory map: region {} does not begin at 0",
                first.name
            ))),
            Some(first) if stack >= first.size => {
                Err(LinkError::new(format!("memory map: region {} is all stack", first.name)))
            }
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
