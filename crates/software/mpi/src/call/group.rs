//! Groups.

use super::arguments::count;
use super::handler::Answer;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;
use std::collections::BTreeSet;
use std::rc::Rc;

fn members(mpi: &Process, handle: u64) -> Result<Rc<[u32]>> {
    mpi.objects.groups.get(handle)
}

fn add(mpi: &mut Process, members: Vec<u32>, va: u64) -> Answer {
    let handle = mpi.objects.groups.add(members.into());
    mpi.put_word(va, "the new group", handle)
}

pub(super) fn size(mpi: &mut Process, args: &args::GroupSize) -> Answer {
    let size = members(mpi, args.group)?.len();
    mpi.put_int(args.size, "the size", size as i32)
}

pub(super) fn rank(mpi: &mut Process, args: &args::GroupRank) -> Answer {
    let me = mpi.world().rank;
    let rank = members(mpi, args.group)?.iter().position(|&member| member == me);
    mpi.put_int(args.rank, "the rank", rank.map_or(constant::UNDEFINED, |rank| rank as i32))
}

pub(super) fn free(mpi: &mut Process, args: &args::GroupFree) -> Answer {
    let handle = mpi.get_word(args.group, "the group")?;
    mpi.objects.groups.remove(handle)?;
    mpi.put_word(args.group, "the group", constant::GROUP_NULL)
}

/// The ranks of an array, each at most once.
fn ranks(mpi: &Process, number: i32, va: u64, size: usize) -> Result<Vec<usize>> {
    let list = mpi.numbers::<4>(va, count(number, "the number of ranks")?, "the ranks")?;
    distinct(list.into_iter(), size)
}

fn distinct(list: impl Iterator<Item = i64>, size: usize) -> Result<Vec<usize>> {
    let wrong = |text: String| Error::new(constant::ERR_RANK, text);
    let mut seen = vec![false; size];
    let mut ranks = Vec::new();
    for rank in list {
        let known = usize::try_from(rank).ok().filter(|&rank| rank < size);
        let known =
            known.ok_or_else(|| wrong(format!("{rank} is no rank of the group (size {size})")))?;
        if std::mem::replace(&mut seen[known], true) {
            return Err(wrong(format!("rank {rank} is named twice")));
        }
        ranks.push(known);
    }
    Ok(ranks)
}

/// The ranks of triples `first, last, stride`.
fn ranges(mpi: &Process, number: i32, va: u64, size: usize) -> Result<Vec<usize>> {
    let number = count(number, "the number of ranges")?.saturating_mul(3);
    let words = mpi.numbers::<4>(va, number, "the ranges")?;
    let mut list = Vec::new();
    for triple in words.chunks_exact(3) {
        let (first, last, stride) = (triple[0], triple[1], triple[2]);
        if stride == 0 {
            return Err(Error::new(constant::ERR_ARG, "the stride of a range is 0"));
        }
        let mut rank = first;
        while if stride > 0 { rank <= last } else { rank >= last } {
            list.push(rank);
            rank += stride;
            // One of these is wrong, and no more are needed to tell which.
            if list.len() > size {
                return distinct(list.into_iter(), size);
            }
        }
    }
    distinct(list.into_iter(), size)
}

fn kept(all: &[u32], dropped: &[usize]) -> Vec<u32> {
    let mut keep = vec![true; all.len()];
    dropped.iter().for_each(|&rank| keep[rank] = false);
    all.iter().zip(keep).filter_map(|(&member, keep)| keep.then_some(member)).collect()
}

pub(super) fn incl(mpi: &mut Process, args: &args::GroupIncl) -> Answer {
    let all = members(mpi, args.group)?;
    let chosen = ranks(mpi, args.n, args.ranks, all.len())?;
    add(mpi, chosen.into_iter().map(|rank| all[rank]).collect(), args.newgroup)
}

pub(super) fn excl(mpi: &mut Process, args: &args::GroupExcl) -> Answer {
    let all = members(mpi, args.group)?;
    let dropped = ranks(mpi, args.n, args.ranks, all.len())?;
    add(mpi, kept(&all, &dropped), args.newgroup)
}

pub(super) fn range_incl(mpi: &mut Process, args: &args::GroupRangeIncl) -> Answer {
    let all = members(mpi, args.group)?;
    let chosen = ranges(mpi, args.n, args.ranges, all.len())?;
    add(mpi, chosen.into_iter().map(|rank| all[rank]).collect(), args.newgroup)
}

pub(super) fn range_excl(mpi: &mut Process, args: &args::GroupRangeExcl) -> Answer {
    let all = members(mpi, args.group)?;
    let dropped = ranges(mpi, args.n, args.ranges, all.len())?;
    add(mpi, kept(&all, &dropped), args.newgroup)
}

fn two(mpi: &mut Process, args: &args::GroupUnion, f: fn(&[u32], &[u32]) -> Vec<u32>) -> Answer {
    let (one, other) = (members(mpi, args.group1)?, members(mpi, args.group2)?);
    add(mpi, f(&one, &other), args.newgroup)
}

/// Members of `one`, in its order, that are in `other`, or those that are not.
fn of_both(one: &[u32], other: &[u32], shared: bool) -> Vec<u32> {
    let other: BTreeSet<u32> = other.iter().copied().collect();
    one.iter().copied().filter(|member| other.contains(member) == shared).collect()
}

pub(super) fn union(mpi: &mut Process, args: &args::GroupUnion) -> Answer {
    two(mpi, args, |one, other| [one, &of_both(other, one, false)].concat())
}

pub(super) fn intersection(mpi: &mut Process, args: &args::GroupIntersection) -> Answer {
    two(mpi, args, |one, other| of_both(one, other, true))
}

pub(super) fn difference(mpi: &mut Process, args: &args::GroupDifference) -> Answer {
    two(mpi, args, |one, other| of_both(one, other, false))
}

pub(super) fn compare(mpi: &mut Process, args: &args::GroupCompare) -> Answer {
    let (one, other) = (members(mpi, args.group1)?, members(mpi, args.group2)?);
    let (mut a, mut b) = (one.to_vec(), other.to_vec());
    a.sort_unstable();
    b.sort_unstable();
    let result = match () {
        () if one == other => constant::IDENT,
        () if a == b => constant::SIMILAR,
        () => constant::UNEQUAL,
    };
    mpi.put_int(args.result, "the result", result)
}

pub(super) fn translate_ranks(mpi: &mut Process, args: &args::GroupTranslateRanks) -> Answer {
    let (one, other) = (members(mpi, args.group1)?, members(mpi, args.group2)?);
    let number = count(args.n, "the number of ranks")?;
    let mut place = vec![constant::UNDEFINED; mpi.world().size as usize];
    for (rank, &member) in other.iter().enumerate() {
        place[member as usize] = rank as i32;
    }
    let mut translated = Vec::new();
    for rank in mpi.numbers::<4>(args.ranks1, number, "the ranks")? {
        if rank == i64::from(constant::PROC_NULL) {
            translated.push(constant::PROC_NULL);
            continue;
        }
        let member = usize::try_from(rank).ok().and_then(|rank| one.get(rank));
        let member = member.ok_or_else(|| {
            let text = format!("{rank} is no rank of the group (size {})", one.len());
            Error::new(constant::ERR_RANK, text)
        })?;
        translated.push(place[*member as usize]);
    }
    let ranks: Vec<i64> = translated.into_iter().map(i64::from).collect();
    mpi.put_numbers::<4>(args.ranks2, "the ranks", &ranks)
}
