//! Communicators.

use super::handler::{Answer, Begun};
use crate::collective::numbering;
use crate::comm::CommId;
use crate::constant;
use crate::error::{Error, Result};
use crate::process::Process;
use abi::mpi::args;
use std::rc::Rc;

pub(super) fn rank(mpi: &mut Process, args: &args::CommRank) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let rank = mpi.rank(comm)?;
    mpi.put_int(args.rank, "the rank", rank as i32)
}

pub(super) fn size(mpi: &mut Process, args: &args::CommSize) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let size = mpi.size(comm)?;
    mpi.put_int(args.size, "the size", size as i32)
}

/// Copies a communicator with what the program has attached to it.
fn duplicate(mpi: &mut Process, handle: u64) -> Result<CommId> {
    let comm = mpi.comm_of(handle)?;
    let new = mpi.duplicate(comm)?;
    let topology = (mpi.comm(comm)?.cartesian.clone(), mpi.comm(comm)?.graph.clone());
    let copy = mpi.p2p.comms.get_mut(new)?;
    (copy.cartesian, copy.graph) = topology;
    if let Err(error) = mpi.copy_comm_attributes(comm, new) {
        mpi.p2p.comms.remove(new)?;
        return Err(error);
    }
    Ok(new)
}

pub(super) fn dup(mpi: &mut Process, args: &args::CommDup) -> Answer {
    mpi.put_word(args.newcomm, "the new communicator", constant::COMM_NULL)?;
    let new = duplicate(mpi, args.comm)?;
    mpi.put_word(args.newcomm, "the new communicator", new.handle())
}

/// No hint changes anything here.
pub(super) fn dup_with_info(mpi: &mut Process, args: &args::CommDupWithInfo) -> Answer {
    dup(mpi, &args::CommDup { comm: args.comm, newcomm: args.newcomm })
}

/// Everything except the number is there at once, as if MPI_Comm_dup were called now.
pub(super) fn begin_idup(mpi: &mut Process, args: &args::CommIdup) -> Begun {
    mpi.put_word(args.newcomm, "the new communicator", constant::COMM_NULL)?;
    let comm = mpi.comm_of(args.comm)?;
    mpi.p2p.remove_freed_comms()?;
    let old = mpi.comm(comm)?;
    let (rank, members) = (old.rank, old.members.clone());
    let topology = (old.cartesian.clone(), old.graph.clone());
    let new = mpi.p2p.comms.add_without_number(comm, rank, members);
    let copy = mpi.p2p.comms.get_mut(new)?;
    (copy.cartesian, copy.graph) = topology;
    if let Err(error) = mpi.copy_comm_attributes(comm, new) {
        mpi.p2p.comms.remove(new)?;
        // The others shall not wait for this one.
        let numbering = mpi.start(comm, |plan| numbering::plan(plan, None))?;
        mpi.p2p.abandon(numbering);
        return Err(error);
    }
    mpi.put_word(args.newcomm, "the new communicator", new.handle())?;
    mpi.start(comm, |plan| numbering::plan(plan, Some(new)))
}

/// No hint changes anything here.
pub(super) fn begin_idup_with_info(mpi: &mut Process, args: &args::CommIdupWithInfo) -> Begun {
    begin_idup(mpi, &args::CommIdup { comm: args.comm, newcomm: args.newcomm })
}

/// The members of a group, which are all in a communicator.
fn members_of(mpi: &Process, comm: CommId, group: u64) -> Result<Rc<[u32]>> {
    let (members, mut all) = (mpi.objects.groups.get(group)?, mpi.comm(comm)?.members.to_vec());
    all.sort_unstable();
    if members.iter().all(|member| all.binary_search(member).is_ok()) {
        return Ok(members);
    }
    let text = "the group has members that the communicator has not";
    Err(Error::new(constant::ERR_GROUP, text))
}

/// Only the members of the group take part.
pub(super) fn create_group(mpi: &mut Process, args: &args::CommCreateGroup) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let members = members_of(mpi, comm, args.group)?;
    let me = mpi.world().rank;
    let Some(place) = members.iter().position(|&member| member == me) else {
        return mpi.put_word(args.newcomm, "the new communicator", constant::COMM_NULL);
    };
    let passing = mpi.p2p.comms.pass(comm, place as u32, members.clone(), args.tag)?;
    let new = mpi.make_comm(passing, Some((place as u32, members)));
    mpi.p2p.comms.end_passing(passing);
    let handle = new?.map_or(constant::COMM_NULL, CommId::handle);
    mpi.put_word(args.newcomm, "the new communicator", handle)
}

/// No rank was started by another program.
pub(super) fn get_parent(mpi: &mut Process, args: &args::CommGetParent) -> Answer {
    mpi.put_word(args.parent, "the parent", constant::COMM_NULL)
}

pub(super) fn split(mpi: &mut Process, args: &args::CommSplit) -> Answer {
    let (comm, color) = (mpi.comm_of(args.comm)?, args.color);
    if color < 0 && color != constant::UNDEFINED {
        let text = format!("color {color} is negative and not MPI_UNDEFINED");
        return Err(Error::new(constant::ERR_ARG, text));
    }
    give(mpi, comm, color, args.key, args.newcomm)
}

fn give(mpi: &mut Process, comm: CommId, color: i32, key: i32, va: u64) -> Answer {
    let new = mpi.split(comm, color, key)?;
    mpi.put_word(va, "the new communicator", new.map_or(constant::COMM_NULL, CommId::handle))
}

/// Ranks on one node share memory; nothing else is shared, and a request for it gives no
/// communicator.
pub(super) fn split_type(mpi: &mut Process, args: &args::CommSplitType) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let shares_memory = match args.split_type {
        constant::COMM_TYPE_SHARED => true,
        constant::COMM_TYPE_HW_GUIDED | constant::COMM_TYPE_RESOURCE_GUIDED => {
            args.info != constant::INFO_NULL
                && mpi.value(args.info, b"mpi_hw_resource_type")?.as_deref()
                    == Some(b"mpi_shared_memory")
        }
        constant::COMM_TYPE_HW_UNGUIDED | constant::UNDEFINED => false,
        kind => {
            let text = format!("split type {kind} is no MPI_COMM_TYPE_... and not MPI_UNDEFINED");
            return Err(Error::new(constant::ERR_ARG, text));
        }
    };
    let node = mpi.p2p.transport.node_of(mpi.world().rank) as i32;
    let color = if shares_memory { node } else { constant::UNDEFINED };
    give(mpi, comm, color, args.key, args.newcomm)
}

pub(super) fn create(mpi: &mut Process, args: &args::CommCreate) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let members = members_of(mpi, comm, args.group)?;
    let me = mpi.world().rank;
    let place = members.iter().position(|&member| member == me);
    let new = mpi.make_comm(comm, place.map(|place| (place as u32, members)))?;
    let handle = new.map_or(constant::COMM_NULL, CommId::handle);
    mpi.put_word(args.newcomm, "the new communicator", handle)
}

pub(super) fn free(mpi: &mut Process, args: &args::CommFree) -> Answer {
    let handle = mpi.get_word(args.comm, "the communicator")?;
    let comm = mpi.comm_of(handle)?;
    if comm == Process::WORLD || comm == Process::SELF {
        let text = "MPI_COMM_WORLD and MPI_COMM_SELF cannot be freed";
        return Err(Error::new(constant::ERR_COMM, text));
    }
    mpi.delete_comm_attributes(comm)?;
    mpi.put_word(args.comm, "the communicator", constant::COMM_NULL)?;
    mpi.objects.free_when_unused(&mut mpi.p2p, handle)
}

pub(super) fn compare(mpi: &mut Process, args: &args::CommCompare) -> Answer {
    let (one, other) = (mpi.comm_of(args.comm1)?, mpi.comm_of(args.comm2)?);
    let members = |comm| mpi.comm(comm).map(|comm| comm.members.to_vec());
    let (mut a, mut b) = (members(one)?, members(other)?);
    let same_order = a == b;
    a.sort_unstable();
    b.sort_unstable();
    let result = match () {
        () if one == other => constant::IDENT,
        () if same_order => constant::CONGRUENT,
        () if a == b => constant::SIMILAR,
        () => constant::UNEQUAL,
    };
    mpi.put_int(args.result, "the result", result)
}

pub(super) fn group(mpi: &mut Process, args: &args::CommGroup) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let members = mpi.comm(comm)?.members.clone();
    let handle = mpi.objects.groups.add(members);
    mpi.put_word(args.group, "the group", handle)
}

/// There are no intercommunicators.
pub(super) fn test_inter(mpi: &mut Process, args: &args::CommTestInter) -> Answer {
    mpi.comm_of(args.comm)?;
    mpi.put_int(args.flag, "the flag", 0)
}

pub(super) fn set_name(mpi: &mut Process, args: &args::CommSetName) -> Answer {
    let comm = mpi.comm_of(args.comm)?;
    let name = mpi.get_string(args.comm_name, constant::MAX_OBJECT_NAME, "the name")?;
    let comm = mpi.p2p.comms.get_mut(comm)?;
    comm.name = String::from_utf8_lossy(&name).into();
    comm.given_name = Some(name.into());
    Ok(())
}

pub(super) fn get_name(mpi: &mut Process, args: &args::CommGetName) -> Answer {
    if args.comm == constant::COMM_NULL {
        return mpi.put_string(args.comm_name, args.resultlen, "MPI_COMM_NULL");
    }
    let comm = mpi.comm_of(args.comm)?;
    let name = mpi.comm(comm)?.given_name.clone().unwrap_or_default();
    mpi.put_string(args.comm_name, args.resultlen, name)
}
