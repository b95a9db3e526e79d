//! Environment of a guest's program: what this page names, and what the user gives. Nothing of the caller's.

use std::ffi::{OsStr, OsString};

/// Variables of each program that are not given otherwise.
///
/// A loader looks for libraries in folders for this computer's kind of processor, and each folder that is not
/// there is a system call: so that runs are equal on all computers, it is to know no newer kind than
/// x86-64-v2.
const OWN: [(&str, &str); 3] = [
    ("PATH", "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"),
    ("HOME", "/root"),
    ("GLIBC_TUNABLES", "glibc.cpu.hwcaps=-AVX2,-AVX512CD,-AVX512F"),
];

/// Environment of a program that is given these variables; of two of a name the last one holds.
pub(crate) fn of_program(given: &[(OsString, OsString)]) -> Vec<(OsString, OsString)> {
    let mut all: Vec<(OsString, OsString)> =
        OWN.map(|(name, value)| (name.into(), value.into())).into();
    for (name, value) in given {
        match all.iter_mut().find(|(own, _)| own == name) {
            Some((_, own)) => own.clone_from(value),
            None => all.push((name.clone(), value.clone())),
        }
    }
    debug_assert!(all.iter().all(|(name, _)| name != OsStr::new("")), "names are checked before");
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_given_holds_and_the_last_of_a_name() {
        let given = [("A", "1"), ("HOME", "/x"), ("A", "2")].map(|(n, v)| (n.into(), v.into()));
        let all = of_program(&given);
        let of = |name: &str| {
            let mut found = all.iter().filter(|(own, _)| own == name);
            let first = found.next().map(|(_, value)| value.to_str().expect("text"));
            assert_eq!(found.next(), None, "{name} stands there once");
            first
        };
        assert_eq!((of("A"), of("HOME")), (Some("2"), Some("/x")));
        assert_eq!(of("PATH"), Some(OWN[0].1));
        assert_eq!(all.len(), OWN.len() + 1);
    }
}
