//! Datatypes.

use super::arguments::{count, int};
use super::handler::Answer;
use crate::constant;
use crate::datatype::recipe::{Ingredients, Recipe};
use crate::datatype::Type;
use crate::error::{Error, Result};
use crate::process::Process;
use std::rc::Rc;

pub(super) fn size(mpi: &mut Process, args: &[u64]) -> Answer {
    let size = mpi.objects.types.any(args[0])?.size;
    mpi.put_int(args[1], "the size", i32::try_from(size).unwrap_or(constant::UNDEFINED))
}

pub(super) fn size_c(mpi: &mut Process, args: &[u64]) -> Answer {
    let size = mpi.objects.types.any(args[0])?.size;
    mpi.put_word(args[1], "the size", size)
}

pub(super) fn get_extent(mpi: &mut Process, args: &[u64]) -> Answer {
    let datatype = mpi.objects.types.any(args[0])?;
    mpi.put_word(args[1], "the lower bound", datatype.lower_bound as u64)?;
    mpi.put_word(args[2], "the extent", datatype.extent as u64)
}

pub(super) fn get_true_extent(mpi: &mut Process, args: &[u64]) -> Answer {
    let (low, high) = mpi.objects.types.any(args[0])?.span(1);
    mpi.put_word(args[1], "the true lower bound", low as u64)?;
    mpi.put_word(args[2], "the true extent", (high - low) as u64)
}

/// `count, oldtype, newtype`.
pub(super) fn contiguous<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let old = mpi.objects.types.any(args[1])?;
    let new = old.contiguous(count(args[0], "count")?);
    let recipe = Recipe::new(constant::COMBINER_CONTIGUOUS).counts([args[0] as i64]);
    add(mpi, new, recipe.width(W), &args[1..2], args[2])
}

/// `count, blocklength, stride, oldtype, newtype`; the stride in items.
pub(super) fn vector<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let old = mpi.objects.types.any(args[3])?;
    let (number, block) = (count(args[0], "count")?, count(args[1], "block length")?);
    let stride = (args[2] as i64).checked_mul(old.extent).ok_or_else(|| {
        Error::new(constant::ERR_ARG, format!("stride {} is too large", args[2] as i64))
    })?;
    let numbers = args[..3].iter().map(|&number| number as i64);
    let recipe = Recipe::new(constant::COMBINER_VECTOR).counts(numbers).width(W);
    add(mpi, old.vector(number, block, stride), recipe, &args[3..4], args[4])
}

/// The same; the stride in bytes.
pub(super) fn hvector<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let old = mpi.objects.types.any(args[3])?;
    let (number, block) = (count(args[0], "count")?, count(args[1], "block length")?);
    let recipe = Recipe::new(constant::COMBINER_HVECTOR).counts([args[0] as i64, args[1] as i64]);
    let recipe = recipe.addresses([args[2] as i64]).width(W);
    add(mpi, old.vector(number, block, args[2] as i64), recipe, &args[3..4], args[4])
}

/// Adds a new type, which was made so, out of the types of these handles.
pub(super) fn add(
    mpi: &mut Process,
    new: Result<Type>,
    recipe: Recipe,
    of: &[u64],
    va: u64,
) -> Answer {
    let new = new?;
    let types = of.iter().map(|&handle| mpi.objects.types.ingredient(handle));
    let types = Ingredients(types.collect::<Result<_>>()?);
    let recipe = Some(Rc::new(Recipe { types, ..recipe }));
    let handle = mpi.objects.types.add(Type { recipe, ..new });
    mpi.put_word(va, "the new datatype", handle)
}

pub(super) fn commit(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the datatype")?;
    mpi.objects.types.commit(handle)
}

pub(super) fn free(mpi: &mut Process, args: &[u64]) -> Answer {
    let handle = mpi.get_word(args[0], "the datatype")?;
    if mpi.objects.types.any(handle)?.predefined {
        return mpi.objects.types.free(handle);
    }
    mpi.delete_type_attributes(handle)?;
    mpi.objects.free_when_unused(&mut mpi.p2p, handle)?;
    mpi.put_word(args[0], "the datatype", constant::DATATYPE_NULL)
}

/// `oldtype, lb, extent, newtype`.
pub(super) fn resized<const W: usize>(mpi: &mut Process, args: &[u64]) -> Answer {
    let old = mpi.objects.types.any(args[0])?;
    let (lower, extent) = (args[1] as i64, args[2] as i64);
    let recipe = Recipe::new(constant::COMBINER_RESIZED).addresses([lower, extent]).width(W);
    add(mpi, Ok(old.with_bounds(lower, extent)), recipe, &args[..1], args[3])
}

/// `oldtype, newtype`.
pub(super) fn dup(mpi: &mut Process, args: &[u64]) -> Answer {
    let old = mpi.objects.types.any(args[0])?;
    mpi.put_word(args[1], "the new datatype", constant::DATATYPE_NULL)?;
    let types = Ingredients(vec![mpi.objects.types.ingredient(args[0])?]);
    let recipe = Some(Rc::new(Recipe { types, ..Recipe::new(constant::COMBINER_DUP) }));
    let handle = mpi.objects.types.add(Type { predefined: false, recipe, ..(*old).clone() });
    if let Err(error) = mpi.copy_type_attributes(args[0], handle) {
        mpi.objects.types.free(handle)?;
        return Err(error);
    }
    mpi.put_word(args[1], "the new datatype", handle)
}

/// `datatype, name, length`.
pub(super) fn get_name(mpi: &mut Process, args: &[u64]) -> Answer {
    if args[0] == constant::DATATYPE_NULL {
        return mpi.put_string(args[1], args[2], "MPI_DATATYPE_NULL");
    }
    let datatype = mpi.objects.types.any(args[0])?;
    let own = if datatype.predefined { datatype.name } else { "" };
    let name = mpi.objects.types.given_name(args[0]).unwrap_or(own.as_bytes());
    mpi.put_string(args[1], args[2], name)
}

/// `datatype, name`.
pub(super) fn set_name(mpi: &mut Process, args: &[u64]) -> Answer {
    mpi.objects.types.any(args[0])?;
    let name = mpi.get_string(args[1], constant::MAX_OBJECT_NAME, "the name")?;
    mpi.objects.types.give_name(args[0], name);
    Ok(())
}

/// `typeclass, size, datatype`.
pub(super) fn match_size(mpi: &mut Process, args: &[u64]) -> Answer {
    let (class, size) = (int(args[0]), int(args[1]));
    let handle = match (class, size) {
        (constant::TYPECLASS_REAL, 2) => constant::REAL2,
        (constant::TYPECLASS_REAL, 16) => constant::REAL16,
        (constant::TYPECLASS_INTEGER, 16) => constant::INTEGER16,
        (constant::TYPECLASS_COMPLEX, 4) => constant::COMPLEX4,
        (constant::TYPECLASS_COMPLEX, 32) => constant::COMPLEX32,
        (constant::TYPECLASS_REAL, 4) => constant::REAL4,
        (constant::TYPECLASS_REAL, 8) => constant::REAL8,
        (constant::TYPECLASS_INTEGER, 1) => constant::INTEGER1,
        (constant::TYPECLASS_INTEGER, 2) => constant::INTEGER2,
        (constant::TYPECLASS_INTEGER, 4) => constant::INTEGER4,
        (constant::TYPECLASS_INTEGER, 8) => constant::INTEGER8,
        (constant::TYPECLASS_COMPLEX, 8) => constant::COMPLEX8,
        (constant::TYPECLASS_COMPLEX, 16) => constant::COMPLEX16,
        _ => {
            let text = format!("no type of class {class} has {size} bytes");
            return Err(Error::new(constant::ERR_ARG, text));
        }
    };
    mpi.put_word(args[2], "the datatype", handle)
}
