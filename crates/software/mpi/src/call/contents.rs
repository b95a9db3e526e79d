//! Construction of datatypes as MPI_Type_get_contents reports it, and types by what they can hold.

use super::arguments::count;
use super::handler::Answer;
use crate::constant;
use crate::datatype::recipe::{Ingredient, Recipe};
use crate::datatype::types::FortranKind;
use crate::datatype::Type;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;
use std::rc::Rc;

/// Numbers of integers, addresses, large counts and types; and the combiner.
fn envelope(mpi: &Process, handle: u64) -> Result<([i64; 4], i32)> {
    let datatype = mpi.objects.types.any(handle)?;
    let Some(recipe) = &datatype.recipe else {
        return Ok(([0; 4], constant::COMBINER_NAMED));
    };
    let sizes = [
        recipe.plain().len(),
        recipe.plain_addresses().len(),
        recipe.large_counts().len(),
        recipe.types.0.len(),
    ];
    Ok((sizes.map(|size| size as i64), recipe.combiner))
}

pub(super) fn get_envelope(mpi: &mut Process, args: &args::TypeGetEnvelope) -> Answer {
    let ([integers, addresses, large, types], combiner) = envelope(mpi, args.datatype)?;
    if large > 0 {
        let text = "the datatype was made with large counts: MPI_Type_get_envelope_c tells them";
        return Err(Error::new(constant::ERR_TYPE, text));
    }
    for (va, number) in [
        (args.num_integers, integers),
        (args.num_addresses, addresses),
        (args.num_datatypes, types),
    ] {
        mpi.put_int(va, "a number", number as i32)?;
    }
    mpi.put_int(args.combiner, "the combiner", combiner)
}

pub(super) fn get_envelope_c(mpi: &mut Process, args: &args::TypeGetEnvelopeC) -> Answer {
    let ([integers, addresses, large, types], combiner) = envelope(mpi, args.datatype)?;
    for (va, number) in [
        (args.num_integers, integers),
        (args.num_addresses, addresses),
        (args.num_large_counts, large),
        (args.num_datatypes, types),
    ] {
        mpi.put_word(va, "a number", number as u64)?;
    }
    mpi.put_int(args.combiner, "the combiner", combiner)
}

/// The recipe, and an error if there is less room than it needs.
fn recipe(mpi: &Process, handle: u64, room: [i64; 4]) -> Result<Rc<Recipe>> {
    let datatype = mpi.objects.types.any(handle)?;
    let Some(recipe) = datatype.recipe.clone() else {
        let text = format!("{} is predefined: it was not made of others", datatype.name);
        return Err(Error::new(constant::ERR_TYPE, text));
    };
    let (sizes, _) = envelope(mpi, handle)?;
    for (size, room) in sizes.into_iter().zip(room) {
        if count(room, "an array's length")? < size as u64 {
            let text = format!("there is room for {room} where {size} are to be stored");
            return Err(Error::new(constant::ERR_ARG, text));
        }
    }
    Ok(recipe)
}

/// Stores the types, as handles that the program frees.
fn put_types(mpi: &mut Process, recipe: &Recipe, va: u64) -> Answer {
    let mut handles = Vec::new();
    for ingredient in &recipe.types.0 {
        handles.push(match ingredient {
            Ingredient::Predefined(handle) => *handle as i64,
            Ingredient::Derived(datatype) => mpi.objects.types.add_again(datatype) as i64,
        });
    }
    mpi.put_numbers::<8>(va, "the datatypes", &handles)
}

pub(super) fn get_contents(mpi: &mut Process, args: &args::TypeGetContents) -> Answer {
    let recipe = recipe(
        mpi,
        args.datatype,
        [args.max_integers, args.max_addresses, 0, args.max_datatypes].map(i64::from),
    )?;
    mpi.put_numbers::<4>(args.array_of_integers, "the integers", &recipe.plain())?;
    mpi.put_numbers::<8>(args.array_of_addresses, "the addresses", recipe.plain_addresses())?;
    put_types(mpi, &recipe, args.array_of_datatypes)
}

pub(super) fn get_contents_c(mpi: &mut Process, args: &args::TypeGetContentsC) -> Answer {
    let recipe = recipe(
        mpi,
        args.datatype,
        [args.max_integers, args.max_addresses, args.max_large_counts, args.max_datatypes],
    )?;
    mpi.put_numbers::<4>(args.array_of_integers, "the integers", &recipe.plain())?;
    mpi.put_numbers::<8>(args.array_of_addresses, "the addresses", recipe.plain_addresses())?;
    mpi.put_numbers::<8>(args.array_of_large_counts, "the large counts", &recipe.large_counts())?;
    put_types(mpi, &recipe, args.array_of_datatypes)
}

/// Decimal digits and decimal exponents of the floating-point types of Fortran, smallest first.
const REALS: [(i32, i32, u64, u64); 3] = [
    (6, 37, constant::REAL4, constant::COMPLEX8),
    (15, 307, constant::REAL8, constant::COMPLEX16),
    (33, 4931, constant::REAL16, constant::COMPLEX32),
];
/// Decimal digits of the integers of Fortran.
const INTEGERS: [(i32, u64); 4] = [
    (2, constant::INTEGER1),
    (4, constant::INTEGER2),
    (9, constant::INTEGER4),
    (18, constant::INTEGER8),
];

/// Stores the type that represents a choice of kind; every such choice has one type.
fn chosen(mpi: &mut Process, found: Option<u64>, kind: FortranKind, va: u64) -> Answer {
    let FortranKind { combiner, precision, range } = kind;
    let Some(handle) = found else {
        let text = format!("no type has {precision} digits and exponents up to {range}");
        return Err(Error::new(constant::ERR_ARG, text));
    };
    let datatype = mpi.objects.types.any(handle)?;
    let integers = match combiner {
        constant::COMBINER_F90_INTEGER => vec![range.into()],
        _ => vec![precision.into(), range.into()],
    };
    let recipe = Some(Rc::new(Recipe::new(combiner).integers(integers)));
    let handle = mpi.objects.types.lasting(kind, || Type { recipe, ..(*datatype).clone() });
    mpi.put_word(va, "the new datatype", handle)
}

fn real(precision: i32, range: i32) -> Option<(u64, u64)> {
    let enough = |wanted: i32, has: i32| wanted == constant::UNDEFINED || wanted <= has;
    let none = precision == constant::UNDEFINED && range == constant::UNDEFINED;
    let mut good = REALS.iter().filter(|real| enough(precision, real.0) && enough(range, real.1));
    good.next().filter(|_| !none).map(|&(_, _, real, complex)| (real, complex))
}

pub(super) fn f90_real(mpi: &mut Process, args: &args::TypeCreateF90Real) -> Answer {
    let (precision, range) = (args.p, args.r);
    let found = real(precision, range).map(|found| found.0);
    let combiner = constant::COMBINER_F90_REAL;
    chosen(mpi, found, FortranKind { combiner, precision, range }, args.newtype)
}

pub(super) fn f90_complex(mpi: &mut Process, args: &args::TypeCreateF90Complex) -> Answer {
    let (precision, range) = (args.p, args.r);
    let found = real(precision, range).map(|found| found.1);
    let combiner = constant::COMBINER_F90_COMPLEX;
    chosen(mpi, found, FortranKind { combiner, precision, range }, args.newtype)
}

pub(super) fn f90_integer(mpi: &mut Process, args: &args::TypeCreateF90Integer) -> Answer {
    let range = args.r;
    let found = INTEGERS.iter().find(|&&(digits, _)| range <= digits).map(|found| found.1);
    let combiner = constant::COMBINER_F90_INTEGER;
    chosen(mpi, found, FortranKind { combiner, precision: 0, range }, args.newtype)
}

/// None of the pairs has other indices than integers of C or numbers of its own kind.
pub(super) fn get_value_index(mpi: &mut Process, args: &args::TypeGetValueIndex) -> Answer {
    use constant as c;
    let pair = match (args.value_type, args.index_type) {
        (c::FLOAT, c::INT) => c::FLOAT_INT,
        (c::DOUBLE, c::INT) => c::DOUBLE_INT,
        (c::LONG, c::INT) => c::LONG_INT,
        (c::INT, c::INT) => c::TWO_INT,
        (c::SHORT, c::INT) => c::SHORT_INT,
        (c::LONG_DOUBLE, c::INT) => c::LONG_DOUBLE_INT,
        (c::REAL, c::REAL) => c::TWO_REAL,
        (c::DOUBLE_PRECISION, c::DOUBLE_PRECISION) => c::TWO_DOUBLE_PRECISION,
        (c::INTEGER, c::INTEGER) => c::TWO_INTEGER,
        (value, index) => {
            mpi.objects.types.any(value)?;
            mpi.objects.types.any(index)?;
            c::DATATYPE_NULL
        }
    };
    mpi.put_word(args.pair_type, "the pair's type", pair)
}
