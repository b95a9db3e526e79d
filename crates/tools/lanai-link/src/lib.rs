//! A linker for clang's LANai objects, which no other linker takes.
//!
//! | module | what |
//! |---|---|
//! | `map` | the memory map: regions, from the data in `abi/` |
//! | `input` | an object: sections, symbols, relocations |
//! | `layout` | where each section goes; symbols and their addresses |
//! | `relocate` | the six kinds of relocation |
//! | `image` | flat image, C array (`gendat` in vorakosit2001 s3), sizes, later instructions |
//! | `mutant` | bugs for the tests to find |
//! | `elf` | the same with symbols and lines, for profiles and debuggers |
//! | [`command`] | options, files, sizes |
//!
//! The image begins at address 0, where the processor begins: the first object's `.text` is the start-up
//! code. Text, constants, data and zeroed data follow one another in the first region, with the stack at
//! its end. Every way in which objects do not fit together, or the image does not fit the map, is a
//! sentence ([`LinkError`]).

#![forbid(unsafe_code)]

pub mod command;
mod elf;
mod image;
mod input;
mod layout;
mod link_error;
mod map;
mod mutant;
mod relocate;

pub use image::{Image, Later, Size, Symbol};
pub use input::Input;
pub use link_error::{At, Largest, LinkError, ObjectError, RelocationError};
pub use map::{Map, MapError, Region};
#[cfg(debug_assertions)]
pub use mutant::{set_mutant, Mutant};

/// Links objects in the order given. All mistakes are reported, not only the first.
pub fn link(inputs: &[Input], map: &Map) -> Result<Image, Vec<LinkError>> {
    let objects = input::read_all(inputs)?;
    let layout = layout::Layout::new(&objects, map)?;
    let sections = relocate::apply(&objects, &layout)?;
    Ok(image::Image::new(&objects, &layout, sections))
}
