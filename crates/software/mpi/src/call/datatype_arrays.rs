//! Constructors of datatypes that take arrays. `W` is the width of the numbers in them: 4 bytes
//! (`int`), 8 in the functions for large counts; offsets in bytes are always of 8.

use super::arguments::count;
use super::datatype::add;
use super::handler::Answer;
use crate::constant;
use crate::datatype::constructor::{check_shape, Block, Share};
use crate::datatype::recipe::Recipe;
use crate::datatype::{too_large, Type};
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;

/// Offsets in items become offsets in bytes.
fn scaled(places: Vec<i64>, of: &Type) -> Result<Vec<i64>> {
    let scale = |place: i64| {
        place.checked_mul(of.extent).ok_or_else(|| {
            Error::new(constant::ERR_ARG, format!("displacement {place} is too large"))
        })
    };
    places.into_iter().map(scale).collect()
}

/// A recipe that begins with the number of blocks and their lengths.
fn lengths_in(combiner: i32, lengths: &[u64]) -> Recipe {
    let recipe = Recipe::new(combiner).counts([lengths.len() as i64]);
    recipe.counts(lengths.iter().map(|&length| length as i64))
}

fn zip(places: Vec<i64>, lengths: Vec<u64>) -> Vec<(i64, u64)> {
    places.into_iter().zip(lengths).collect()
}

pub(super) fn indexed<const W: usize>(mpi: &mut Process, args: &args::TypeIndexed) -> Answer {
    let number = count(args.count, "count")?;
    let of = mpi.objects.types.any(args.oldtype)?;
    let lengths = mpi.counts::<W>(args.array_of_blocklengths, number, "the block lengths")?;
    let places = mpi.numbers::<W>(args.array_of_displacements, number, "the displacements")?;
    let recipe = lengths_in(constant::COMBINER_INDEXED, &lengths).counts(places.clone()).width(W);
    let new = of.indexed(&zip(scaled(places, &of)?, lengths));
    add(mpi, new, recipe, &[args.oldtype], args.newtype)
}

/// The displacements are in bytes.
pub(super) fn hindexed<const W: usize>(
    mpi: &mut Process,
    args: &args::TypeCreateHindexed,
) -> Answer {
    let number = count(args.count, "count")?;
    let of = mpi.objects.types.any(args.oldtype)?;
    let lengths = mpi.counts::<W>(args.array_of_blocklengths, number, "the block lengths")?;
    let places = mpi.numbers::<8>(args.array_of_displacements, number, "the displacements")?;
    let recipe = lengths_in(constant::COMBINER_HINDEXED, &lengths);
    let recipe = recipe.addresses(places.clone()).width(W);
    add(mpi, of.indexed(&zip(places, lengths)), recipe, &[args.oldtype], args.newtype)
}

pub(super) fn indexed_block<const W: usize>(
    mpi: &mut Process,
    args: &args::TypeCreateIndexedBlock,
) -> Answer {
    let (number, length) = (count(args.count, "count")?, count(args.blocklength, "block length")?);
    let of = mpi.objects.types.any(args.oldtype)?;
    let places = mpi.numbers::<W>(args.array_of_displacements, number, "the displacements")?;
    let recipe = Recipe::new(constant::COMBINER_INDEXED_BLOCK);
    let recipe = recipe.counts([number as i64, length as i64]).counts(places.clone()).width(W);
    let lengths = vec![length; places.len()];
    let new = of.indexed(&zip(scaled(places, &of)?, lengths));
    add(mpi, new, recipe, &[args.oldtype], args.newtype)
}

/// The displacements are in bytes.
pub(super) fn hindexed_block<const W: usize>(
    mpi: &mut Process,
    args: &args::TypeCreateHindexedBlock,
) -> Answer {
    let (number, length) = (count(args.count, "count")?, count(args.blocklength, "block length")?);
    let of = mpi.objects.types.any(args.oldtype)?;
    let places = mpi.numbers::<8>(args.array_of_displacements, number, "the displacements")?;
    let recipe = Recipe::new(constant::COMBINER_HINDEXED_BLOCK);
    let recipe = recipe.counts([number as i64, length as i64]).addresses(places.clone()).width(W);
    let lengths = vec![length; places.len()];
    add(mpi, of.indexed(&zip(places, lengths)), recipe, &[args.oldtype], args.newtype)
}

pub(super) fn structure<const W: usize>(
    mpi: &mut Process,
    args: &args::TypeCreateStruct,
) -> Answer {
    let number = count(args.count, "count")?;
    let lengths = mpi.counts::<W>(args.array_of_blocklengths, number, "the block lengths")?;
    let places = mpi.numbers::<8>(args.array_of_displacements, number, "the displacements")?;
    let handles = mpi.numbers::<8>(args.array_of_types, number, "the datatypes")?;
    let handles: Vec<u64> = handles.into_iter().map(|handle| handle as u64).collect();
    let recipe = lengths_in(constant::COMBINER_STRUCT, &lengths);
    let recipe = recipe.addresses(places.clone()).width(W);
    let types = handles.iter().map(|&handle| mpi.objects.types.any(handle));
    let types = types.collect::<Result<Vec<_>>>()?;
    let blocks: Vec<Block<'_>> = (lengths.into_iter().zip(places).zip(&types))
        .map(|((count, offset), of)| Block::new(offset, count, of))
        .collect();
    add(mpi, Type::structure(&blocks), recipe, &handles, args.newtype)
}

pub(super) fn subarray<const W: usize>(
    mpi: &mut Process,
    args: &args::TypeCreateSubarray,
) -> Answer {
    let number = count(args.ndims, "the number of dimensions")?;
    let mut whole = mpi.counts::<W>(args.array_of_sizes, number, "the sizes")?;
    let mut part = mpi.counts::<W>(args.array_of_subsizes, number, "the subsizes")?;
    let mut start = mpi.counts::<W>(args.array_of_starts, number, "the starts")?;
    check_shape(&whole, &part, &start)?;
    let numbers = [&whole, &part, &start].into_iter().flatten().map(|&number| number as i64);
    let recipe = Recipe::new(constant::COMBINER_SUBARRAY).integers([number as i64]);
    let recipe = recipe.counts(numbers).integers([args.order.into()]).width(W);
    match args.order {
        constant::ORDER_C => {}
        constant::ORDER_FORTRAN => {
            [&mut whole, &mut part, &mut start].into_iter().for_each(|list| list.reverse());
        }
        order => {
            let text = format!("order {order} is neither MPI_ORDER_C nor MPI_ORDER_FORTRAN");
            return Err(Error::new(constant::ERR_ARG, text));
        }
    }
    let of = mpi.objects.types.any(args.oldtype)?;
    add(mpi, of.subarray(&whole, &part, &start), recipe, &[args.oldtype], args.newtype)
}

/// Distribution of a dimension's items over processes: kind, argument, processes.
type Spread = (i32, i64, u64);

/// Share of `whole` items that the process with this coordinate has.
fn share(whole: u64, (kind, argument, processes): Spread, at: u64) -> Result<Share> {
    let wrong = |text: String| Error::new(constant::ERR_ARG, text);
    let default = argument == i64::from(constant::DISTRIBUTE_DFLT_DARG);
    let block = match kind {
        constant::DISTRIBUTE_NONE if processes == 1 => whole.max(1),
        constant::DISTRIBUTE_NONE => {
            let text = format!("a dimension that is not distributed has {processes} processes");
            return Err(wrong(text));
        }
        constant::DISTRIBUTE_BLOCK if default => whole.div_ceil(processes).max(1),
        constant::DISTRIBUTE_CYCLIC if default => 1,
        constant::DISTRIBUTE_BLOCK | constant::DISTRIBUTE_CYCLIC if argument > 0 => argument as u64,
        constant::DISTRIBUTE_BLOCK | constant::DISTRIBUTE_CYCLIC => {
            return Err(wrong(format!("distribution argument {argument} is not positive")));
        }
        _ => return Err(wrong(format!("there is no distribution {kind}"))),
    };
    let round = block.checked_mul(processes).ok_or_else(too_large)?;
    if kind == constant::DISTRIBUTE_BLOCK && round < whole {
        let text = format!("{processes} blocks of {block} are less than {whole} items");
        return Err(wrong(text));
    }
    let first = at * block;
    let Some(room) = whole.checked_sub(first) else { return Ok(Share::default()) };
    let blocks = room.checked_sub(block).map_or(0, |room| room / round + 1);
    let step = if blocks > 1 { round } else { 0 };
    let next = blocks.checked_mul(round).and_then(|end| end.checked_add(first));
    let rest = next.filter(|&next| next < whole).map_or((0, 0), |next| (next, whole - next));
    Ok(Share { first, block, blocks, step, rest })
}

/// Processes are in their grid with the last dimension varying fastest.
pub(super) fn darray<const W: usize>(mpi: &mut Process, args: &args::TypeCreateDarray) -> Answer {
    let wrong = |text: String| Error::new(constant::ERR_ARG, text);
    let number = count(args.ndims, "the number of dimensions")?;
    let sizes = mpi.counts::<W>(args.array_of_gsizes, number, "the sizes")?;
    let kinds = mpi.numbers::<4>(args.array_of_distribs, number, "the distributions")?;
    let arguments = mpi.numbers::<4>(args.array_of_dargs, number, "the distribution arguments")?;
    let processes = mpi.counts::<4>(args.array_of_psizes, number, "the sizes of the grid")?;
    let (all, mut rank) = (count(args.size, "size")?, count(args.rank, "rank")?);
    let places = processes.iter().try_fold(1, |product: u64, &n| product.checked_mul(n));
    if rank >= all || places != Some(all) {
        let text = format!("rank {rank} of {all} has no place in a grid of {processes:?}");
        return Err(wrong(text));
    }
    let mut dimensions = Vec::new();
    for d in (0..sizes.len()).rev() {
        let spread = (kinds[d] as i32, arguments[d], processes[d]);
        dimensions.push((sizes[d], share(sizes[d], spread, rank % processes[d])?));
        rank /= processes[d];
    }
    match args.order {
        constant::ORDER_C => {}
        constant::ORDER_FORTRAN => dimensions.reverse(),
        order => return Err(wrong(format!("order {order} is neither MPI_ORDER_C nor of Fortran"))),
    }
    let of = mpi.objects.types.any(args.oldtype)?;
    let signed = |list: &[u64]| list.iter().map(|&n| n as i64).collect::<Vec<_>>();
    let recipe = Recipe::new(constant::COMBINER_DARRAY)
        .integers([args.size, args.rank, args.ndims].map(i64::from))
        .counts(signed(&sizes))
        .integers(kinds)
        .integers(arguments)
        .integers(signed(&processes))
        .integers([args.order.into()]);
    add(mpi, of.distributed(&dimensions), recipe.width(W), &[args.oldtype], args.newtype)
}
