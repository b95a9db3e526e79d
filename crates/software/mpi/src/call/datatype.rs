//! Datatypes.

use super::arguments::count;
use super::handler::Answer;
use crate::constant;
use crate::datatype::recipe::{Ingredients, Recipe};
use crate::datatype::Type;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;
use std::rc::Rc;

pub(super) fn size(mpi: &mut Process, args: &args::TypeSize) -> Answer {
    let size = mpi.objects.types.any(args.datatype)?.size;
    mpi.put_int(args.size, "the size", i32::try_from(size).unwrap_or(constant::UNDEFINED))
}

pub(super) fn size_c(mpi: &mut Process, args: &args::TypeSizeC) -> Answer {
    let size = mpi.objects.types.any(args.datatype)?.size;
    mpi.put_word(args.size, "the size", size)
}

pub(super) fn get_extent(mpi: &mut Process, args: &args::TypeGetExtent) -> Answer {
    let datatype = mpi.objects.types.any(args.datatype)?;
    mpi.put_word(args.lb, "the lower bound", datatype.lower_bound as u64)?;
    mpi.put_word(args.extent, "the extent", datatype.extent as u64)
}

pub(super) fn get_true_extent(mpi: &mut Process, args: &args::TypeGetTrueExtent) -> Answer {
    let (low, high) = mpi.objects.types.any(args.datatype)?.span(1);
    mpi.put_word(args.true_lb, "the true lower bound", low as u64)?;
    mpi.put_word(args.true_extent, "the true extent", (high - low) as u64)
}

pub(super) fn contiguous<const W: usize>(mpi: &mut Process, args: &args::TypeContiguous) -> Answer {
    let old = mpi.objects.types.any(args.oldtype)?;
    let new = old.contiguous(count(args.count, "count")?);
    let recipe = Recipe::new(constant::COMBINER_CONTIGUOUS).counts([args.count]);
    add(mpi, new, recipe.width(W), &[args.oldtype], args.newtype)
}

/// The stride is in items.
pub(super) fn vector<const W: usize>(mpi: &mut Process, args: &args::TypeVector) -> Answer {
    let old = mpi.objects.types.any(args.oldtype)?;
    let (number, block) = (count(args.count, "count")?, count(args.blocklength, "block length")?);
    let stride = (args.stride).checked_mul(old.extent).ok_or_else(|| {
        Error::new(constant::ERR_ARG, format!("stride {} is too large", args.stride))
    })?;
    let numbers = [args.count, args.blocklength, args.stride];
    let recipe = Recipe::new(constant::COMBINER_VECTOR).counts(numbers).width(W);
    add(mpi, old.vector(number, block, stride), recipe, &[args.oldtype], args.newtype)
}

/// The stride is in bytes.
pub(super) fn hvector<const W: usize>(mpi: &mut Process, args: &args::TypeCreateHvector) -> Answer {
    let old = mpi.objects.types.any(args.oldtype)?;
    let (number, block) = (count(args.count, "count")?, count(args.blocklength, "block length")?);
    let recipe = Recipe::new(constant::COMBINER_HVECTOR).counts([args.count, args.blocklength]);
    let recipe = recipe.addresses([args.stride]).width(W);
    add(mpi, old.vector(number, block, args.stride), recipe, &[args.oldtype], args.newtype)
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

pub(super) fn commit(mpi: &mut Process, args: &args::TypeCommit) -> Answer {
    let handle = mpi.get_word(args.datatype, "the datatype")?;
    mpi.objects.types.commit(handle)
}

pub(super) fn free(mpi: &mut Process, args: &args::TypeFree) -> Answer {
    let handle = mpi.get_word(args.datatype, "the datatype")?;
    if mpi.objects.types.any(handle)?.predefined {
        return mpi.objects.types.free(handle);
    }
    mpi.delete_type_attributes(handle)?;
    mpi.objects.free_when_unused(&mut mpi.p2p, handle)?;
    mpi.put_word(args.datatype, "the datatype", constant::DATATYPE_NULL)
}

pub(super) fn resized<const W: usize>(mpi: &mut Process, args: &args::TypeCreateResized) -> Answer {
    let old = mpi.objects.types.any(args.oldtype)?;
    let (lower, extent) = (args.lb, args.extent);
    let recipe = Recipe::new(constant::COMBINER_RESIZED).addresses([lower, extent]).width(W);
    add(mpi, Ok(old.with_bounds(lower, extent)), recipe, &[args.oldtype], args.newtype)
}

pub(super) fn dup(mpi: &mut Process, args: &args::TypeDup) -> Answer {
    let old = mpi.objects.types.any(args.oldtype)?;
    mpi.put_word(args.newtype, "the new datatype", constant::DATATYPE_NULL)?;
    let types = Ingredients(vec![mpi.objects.types.ingredient(args.oldtype)?]);
    let recipe = Some(Rc::new(Recipe { types, ..Recipe::new(constant::COMBINER_DUP) }));
    let handle = mpi.objects.types.add(Type { predefined: false, recipe, ..(*old).clone() });
    if let Err(error) = mpi.copy_type_attributes(args.oldtype, handle) {
        mpi.objects.types.free(handle)?;
        return Err(error);
    }
    mpi.put_word(args.newtype, "the new datatype", handle)
}

pub(super) fn get_name(mpi: &mut Process, args: &args::TypeGetName) -> Answer {
    if args.datatype == constant::DATATYPE_NULL {
        return mpi.put_string(args.type_name, args.resultlen, "MPI_DATATYPE_NULL");
    }
    let datatype = mpi.objects.types.any(args.datatype)?;
    let own = if datatype.predefined { datatype.name } else { "" };
    let name = mpi.objects.types.given_name(args.datatype).unwrap_or(own.as_bytes());
    mpi.put_string(args.type_name, args.resultlen, name)
}

pub(super) fn set_name(mpi: &mut Process, args: &args::TypeSetName) -> Answer {
    mpi.objects.types.any(args.datatype)?;
    let name = mpi.get_string(args.type_name, constant::MAX_OBJECT_NAME, "the name")?;
    mpi.objects.types.give_name(args.datatype, name);
    Ok(())
}

pub(super) fn match_size(mpi: &mut Process, args: &args::TypeMatchSize) -> Answer {
    let (class, size) = (args.typeclass, args.size);
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
    mpi.put_word(args.datatype, "the datatype", handle)
}
