//! Each bug that can be planted in the linker is found by what `objects` passes.

use crate::objects;
use lanai_link::{set_mutant, Mutant};
use std::panic::catch_unwind;

const BUGS: [Mutant; 10] = [
    Mutant::CutsAddress,
    Mutant::LosesUpperBits,
    Mutant::RoundsUpperHalf,
    Mutant::LosesAddend,
    Mutant::UndefinedIsZero,
    Mutant::FirstWins,
    Mutant::WeakWins,
    Mutant::IgnoresAlignment,
    Mutant::IgnoresStack,
    Mutant::LosesLines,
];

/// True if one of the tests fails.
fn is_found(bug: Option<Mutant>) -> bool {
    let tests: [fn(); 7] = [
        objects::sections_follow_one_another_and_addresses_are_filled_in,
        objects::the_elf_file_names_functions_and_lines,
        objects::missing_and_double_symbols_are_sentences,
        objects::addresses_beyond_their_field_are_sentences,
        objects::addresses_are_added_to_and_halved,
        objects::sections_are_aligned,
        objects::an_image_that_does_not_fit_its_region_is_a_sentence,
    ];
    set_mutant(bug);
    let found = tests.iter().any(|test| catch_unwind(test).is_err());
    set_mutant(None);
    found
}

#[test]
fn bugs_of_the_linker_are_found() {
    assert!(!is_found(None), "without a bug");
    for bug in BUGS {
        assert!(is_found(Some(bug)), "{bug:?} is not found");
    }
}
