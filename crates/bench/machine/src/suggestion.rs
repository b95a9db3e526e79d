//! Names that a mistyped one was probably meant to be: of machines, parameters, faults, options and all else
//! that has a name on a command line.

/// Names that are told at most.
const TOLD_MAX: usize = 3;

/// The names that are nearest to `wrong`, if they are near enough to be meant: all at the least distance, but
/// no more than a few. A letter that is dropped, added or another, and two that are swapped, count one each.
pub fn nearest<'a>(wrong: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let lower = wrong.to_lowercase();
    let far = |name: &'a str| (strsim::osa_distance(&lower, &name.to_lowercase()), name);
    let mut near: Vec<(usize, &str)> = names.into_iter().map(far).collect();
    near.retain(|(distance, name)| *distance <= slips(wrong) && *distance < name.chars().count());
    let least = near.iter().map(|(distance, _)| *distance).min();
    let mut near: Vec<&str> = near
        .into_iter()
        .filter(|(distance, _)| Some(*distance) == least)
        .map(|(_, name)| name)
        .collect();
    near.sort_unstable();
    near.dedup();
    near.truncate(TOLD_MAX);
    near
}

/// Slips of the fingers that a word may have.
fn slips(wrong: &str) -> usize {
    match wrong.chars().count() {
        ..=4 => 1,
        letters => (letters / 3).max(2),
    }
}

/// `did you mean NAME or NAME?`; `None` if there are no names.
pub fn question(names: &[impl AsRef<str>]) -> Option<String> {
    let (last, others) = names.split_last()?;
    let others: Vec<&str> = others.iter().map(AsRef::as_ref).collect();
    let or = if others.is_empty() { "" } else { " or " };
    Some(format!("did you mean {}{or}{}?", others.join(", "), last.as_ref()))
}

/// The question for the names that are near, or what is said if none is.
pub fn question_or<'a>(
    wrong: &str,
    names: impl IntoIterator<Item = &'a str>,
    otherwise: impl FnOnce() -> String,
) -> String {
    question(&nearest(wrong, names)).unwrap_or_else(otherwise)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: [&str; 5] = ["redstorm", "alpu", "pipe.drop", "pipe.dup", "n"];

    #[test]
    fn slips_are_found_and_strangers_are_not() {
        for (wrong, meant) in [
            ("redstrom", &["redstorm"][..]),
            ("Redstorm", &["redstorm"]),
            ("reddstor", &["redstorm"]),
            ("lapu", &["alpu"]),
            ("pipe.drp", &["pipe.drop", "pipe.dup"]),
            ("myrinet", &[]),
            ("x", &[]),
            ("", &[]),
        ] {
            assert_eq!(nearest(wrong, NAMES), meant, "{wrong}");
        }
        assert_eq!(nearest("aa", ["ab", "ac", "ad", "ae", "ab"]), ["ab", "ac", "ad"]);
    }

    #[test]
    fn a_question_names_all() {
        let none: [&str; 0] = [];
        assert_eq!(question(&none), None);
        assert_eq!(question(&["a"]).unwrap(), "did you mean a?");
        assert_eq!(question(&["a", "b"]).unwrap(), "did you mean a or b?");
        assert_eq!(question(&["a", "b", "c"]).unwrap(), "did you mean a, b or c?");
        let all = || "there are some".to_owned();
        assert_eq!(question_or("pipe.drpo", NAMES, all), "did you mean pipe.drop?");
        assert_eq!(question_or("myrinet", NAMES, all), "there are some");
    }
}
