//! Table of the handlers of all functions.

use super::handler::{Direct, Handler};
use super::{
    attribute, buffered, collective, comm, completion, contents, datatype, datatype_arrays,
    environment, errhandler, exchange, graph, group, info, matched, neighbor, op, packing,
    persistent, point_to_point, topology,
};
use abi::mpi::Function;

/// Handler of a function; `None` if it has none.
pub(crate) fn handler(function: Function) -> Option<Handler> {
    direct(function)
        .map(Handler::Direct)
        .or_else(|| point_to_point_begun(function))
        .or_else(|| collective_begun(function))
        .or_else(|| collective_with_arrays_begun(function))
        .or_else(|| neighbor_begun(function))
}

/// True if a function of the program that reduces may call this one: it is local, and lets nothing go on that
/// is under way. MPI 5.0, s6.9.5.
pub(crate) fn may_reduce(function: Function) -> bool {
    use Function::{Finalize, Init, InitThread};
    let begins = matches!(function, Init | InitThread | Finalize);

    environment(function).is_some() && !begins
        || infos(function).is_some()
        || datatypes(function).is_some()
        || local_of_communicators(function).is_some()
}

fn direct(function: Function) -> Option<Direct> {
    environment(function)
        .or_else(|| messages(function))
        .or_else(|| infos(function))
        .or_else(|| local_of_communicators(function))
        .or_else(|| communicators(function))
        .or_else(|| datatypes(function))
}

fn environment(function: Function) -> Option<Direct> {
    use Function::*;
    Some(match function {
        Init => environment::init,
        InitThread => environment::init_thread,
        QueryThread => environment::query_thread,
        IsThreadMain => environment::is_thread_main,
        Initialized => environment::initialized,
        Finalized => environment::finalized,
        Finalize => environment::finalize,
        GetProcessorName => environment::get_processor_name,
        GetVersion => environment::get_version,
        AllocMem => environment::alloc_mem,
        GetLibraryVersion => environment::get_library_version,
        Pcontrol => environment::pcontrol,
        ErrorClass => environment::error_class,
        ErrorString => environment::error_string,
        AddErrorClass => errhandler::add_error_class,
        AddErrorCode => errhandler::add_error_code,
        AddErrorString => errhandler::add_error_string,
        RemoveErrorClass => errhandler::remove_error_class,
        RemoveErrorCode => errhandler::remove_error_code,
        RemoveErrorString => errhandler::remove_error_string,
        ErrhandlerFree => errhandler::free,
        CommCreateErrhandler => errhandler::create,
        CommSetErrhandler => errhandler::set,
        CommGetErrhandler => errhandler::get,
        CommCallErrhandler => errhandler::call,
        _ => return None,
    })
}

fn messages(function: Function) -> Option<Direct> {
    use Function::*;
    Some(match function {
        Send | SendC | Rsend | RsendC => point_to_point::send,
        Ssend | SsendC => point_to_point::ssend,
        Bsend | BsendC => buffered::bsend,
        Recv | RecvC => point_to_point::recv,
        Sendrecv | SendrecvC => point_to_point::sendrecv,
        SendrecvReplace | SendrecvReplaceC => point_to_point::sendrecv_replace,
        Probe => point_to_point::probe,
        Iprobe => point_to_point::iprobe,
        Mprobe => matched::mprobe,
        Improbe => matched::improbe,
        Mrecv | MrecvC => matched::mrecv,
        GetCount => point_to_point::get_count,
        GetCountC => point_to_point::get_count_c,
        GetElements => packing::get_elements,
        GetElementsC | GetElementsX => packing::get_elements_c,
        BufferAttach | BufferAttachC => buffered::attach,
        BufferDetach => buffered::detach::<4>,
        BufferDetachC => buffered::detach::<8>,
        BufferFlush => buffered::flush,

        Wait => completion::wait,
        Waitall => completion::waitall,
        Waitany => completion::waitany,
        Waitsome => completion::waitsome,
        Test => completion::test,
        Testall => completion::testall,
        Testany => completion::testany,
        Testsome => completion::testsome,
        Cancel => completion::cancel,
        TestCancelled => completion::test_cancelled,
        StatusSetCancelled => completion::status_set_cancelled,
        RequestFree => completion::request_free,
        RequestGetStatus => completion::request_get_status,
        RequestGetStatusAll => completion::request_get_status_all,
        RequestGetStatusAny => completion::request_get_status_any,
        RequestGetStatusSome => completion::request_get_status_some,
        Start => persistent::start,
        Startall => persistent::startall,
        _ => return None,
    })
}

fn infos(function: Function) -> Option<Direct> {
    use Function::*;
    Some(match function {
        InfoCreate => info::create,
        InfoCreateEnv => info::create_env,
        InfoDelete => info::delete,
        InfoDup => info::dup,
        InfoFree => info::free,
        InfoGet => info::get,
        InfoGetNkeys => info::get_nkeys,
        InfoGetNthkey => info::get_nthkey,
        InfoGetString => info::get_string,
        InfoGetValuelen => info::get_valuelen,
        InfoSet => info::set,
        CommGetInfo => info::comm_get,
        CommSetInfo => info::comm_set,
        _ => return None,
    })
}

fn communicators(function: Function) -> Option<Direct> {
    use Function::*;
    Some(match function {
        CommDup => comm::dup,
        CommDupWithInfo => comm::dup_with_info,
        CommSplit => comm::split,
        CommSplitType => comm::split_type,
        CommCreate => comm::create,
        CommCreateGroup => comm::create_group,
        CommFree | CommDisconnect => comm::free,
        CartCreate => topology::cart_create,
        CartSub => topology::cart_sub,
        GraphCreate => graph::create,
        DistGraphCreate => graph::create_distributed,
        DistGraphCreateAdjacent => graph::create_adjacent,
        _ => return None,
    })
}

fn local_of_communicators(function: Function) -> Option<Direct> {
    use Function::*;
    Some(match function {
        CommRank => comm::rank,
        CommSize => comm::size,
        CommGetParent => comm::get_parent,
        CommCompare => comm::compare,
        CommGroup => comm::group,
        CommTestInter => comm::test_inter,
        CommSetName => comm::set_name,
        CommGetName => comm::get_name,
        CommCreateKeyval | KeyvalCreate => attribute::create_keyval,
        CommFreeKeyval | KeyvalFree | TypeFreeKeyval => attribute::free_keyval,
        CommSetAttr | AttrPut => attribute::comm_set,
        CommGetAttr | AttrGet => attribute::comm_get,
        CommDeleteAttr | AttrDelete => attribute::comm_delete,
        TypeCreateKeyval => attribute::create_keyval,
        TypeSetAttr => attribute::type_set,
        TypeGetAttr => attribute::type_get,
        TypeDeleteAttr => attribute::type_delete,

        GroupSize => group::size,
        GroupRank => group::rank,
        GroupFree => group::free,
        GroupIncl => group::incl,
        GroupExcl => group::excl,
        GroupRangeIncl => group::range_incl,
        GroupRangeExcl => group::range_excl,
        GroupUnion => group::union,
        GroupIntersection => group::intersection,
        GroupDifference => group::difference,
        GroupCompare => group::compare,
        GroupTranslateRanks => group::translate_ranks,

        CartRank => topology::cart_rank,
        CartCoords => topology::cart_coords,
        CartShift => topology::cart_shift,
        CartGet => topology::cart_get,
        CartMap => topology::cart_map,
        CartdimGet => topology::cartdim_get,
        GraphdimsGet => graph::dims_get,
        GraphGet => graph::get,
        GraphNeighborsCount => graph::neighbors_count,
        GraphNeighbors => graph::neighbors,
        GraphMap => graph::map,
        DistGraphNeighborsCount => graph::dist_neighbors_count,
        DistGraphNeighbors => graph::dist_neighbors,
        TopoTest => topology::topo_test,
        DimsCreate => topology::dims_create,

        OpCreate | OpCreateC => op::create,
        OpFree => op::free,
        OpCommutative => op::commutative,
        ReduceLocal | ReduceLocalC => op::reduce_local,
        _ => return None,
    })
}

fn datatypes(function: Function) -> Option<Direct> {
    use Function::*;
    Some(match function {
        TypeSize => datatype::size,
        TypeSizeC | TypeSizeX => datatype::size_c,
        TypeGetExtent | TypeGetExtentC | TypeGetExtentX => datatype::get_extent,
        TypeGetTrueExtent | TypeGetTrueExtentC | TypeGetTrueExtentX => datatype::get_true_extent,
        TypeGetName => datatype::get_name,
        TypeSetName => datatype::set_name,
        TypeCommit => datatype::commit,
        TypeFree => datatype::free,
        TypeDup => datatype::dup,
        TypeContiguous => datatype::contiguous::<4>,
        TypeContiguousC => datatype::contiguous::<8>,
        TypeVector => datatype::vector::<4>,
        TypeVectorC => datatype::vector::<8>,
        TypeCreateHvector => datatype::hvector::<4>,
        TypeCreateHvectorC => datatype::hvector::<8>,
        TypeCreateResized => datatype::resized::<4>,
        TypeCreateResizedC => datatype::resized::<8>,
        TypeMatchSize => datatype::match_size,
        TypeIndexed => datatype_arrays::indexed::<4>,
        TypeIndexedC => datatype_arrays::indexed::<8>,
        TypeCreateHindexed => datatype_arrays::hindexed::<4>,
        TypeCreateHindexedC => datatype_arrays::hindexed::<8>,
        TypeCreateIndexedBlock => datatype_arrays::indexed_block::<4>,
        TypeCreateIndexedBlockC => datatype_arrays::indexed_block::<8>,
        TypeCreateHindexedBlock => datatype_arrays::hindexed_block::<4>,
        TypeCreateHindexedBlockC => datatype_arrays::hindexed_block::<8>,
        TypeCreateStruct => datatype_arrays::structure::<4>,
        TypeCreateStructC => datatype_arrays::structure::<8>,
        TypeCreateSubarray => datatype_arrays::subarray::<4>,
        TypeCreateSubarrayC => datatype_arrays::subarray::<8>,
        TypeCreateDarray => datatype_arrays::darray::<4>,
        TypeCreateDarrayC => datatype_arrays::darray::<8>,
        TypeGetEnvelope => contents::get_envelope,
        TypeGetEnvelopeC => contents::get_envelope_c,
        TypeGetContents => contents::get_contents,
        TypeGetContentsC => contents::get_contents_c,
        TypeCreateF90Real => contents::f90_real,
        TypeCreateF90Complex => contents::f90_complex,
        TypeCreateF90Integer => contents::f90_integer,
        TypeGetValueIndex => contents::get_value_index,
        Pack => packing::pack::<4>,
        PackC => packing::pack::<8>,
        Unpack => packing::unpack::<4>,
        UnpackC => packing::unpack::<8>,
        PackSize => packing::pack_size::<4>,
        PackSizeC => packing::pack_size::<8>,
        StatusSetElements | StatusSetElementsC | StatusSetElementsX => packing::set_elements,
        _ => return None,
    })
}

fn point_to_point_begun(function: Function) -> Option<Handler> {
    use Function::*;
    use Handler::{Persistent, Starting};
    Some(match function {
        Isend | IsendC | Irsend | IrsendC => Starting(point_to_point::begin_send),
        Issend | IssendC => Starting(point_to_point::begin_ssend),
        Ibsend | IbsendC => Starting(buffered::begin),
        Irecv | IrecvC => Starting(point_to_point::begin_receive),
        Imrecv | ImrecvC => Starting(matched::begin),
        SendInit | SendInitC | RsendInit | RsendInitC => Persistent(point_to_point::begin_send),
        SsendInit | SsendInitC => Persistent(point_to_point::begin_ssend),
        BsendInit | BsendInitC => Persistent(buffered::begin),
        RecvInit | RecvInitC => Persistent(point_to_point::begin_receive),
        Isendrecv | IsendrecvC => Starting(exchange::begin_sendrecv),
        IsendrecvReplace | IsendrecvReplaceC => Starting(exchange::begin_sendrecv_replace),
        CommIdup => Starting(comm::begin_idup),
        CommIdupWithInfo => Starting(comm::begin_idup_with_info),
        _ => return None,
    })
}

/// A collective in its three forms.
macro_rules! forms {
    ($function:expr; $($begin:expr => $blocking:pat, $starting:pat, $persistent:pat,)*) => {
        match $function {
            $(
                $blocking => Some(Handler::Blocking($begin)),
                $starting => Some(Handler::Starting($begin)),
                $persistent => Some(Handler::PersistentCollective($begin)),
            )*
            _ => None,
        }
    };
}

fn collective_begun(function: Function) -> Option<Handler> {
    use Function as F;
    forms! { function;
        collective::barrier => F::Barrier, F::Ibarrier, F::BarrierInit,
        collective::bcast => F::Bcast | F::BcastC, F::Ibcast | F::IbcastC,
            F::BcastInit | F::BcastInitC,
        collective::reduce => F::Reduce | F::ReduceC, F::Ireduce | F::IreduceC,
            F::ReduceInit | F::ReduceInitC,
        collective::allreduce => F::Allreduce | F::AllreduceC, F::Iallreduce | F::IallreduceC,
            F::AllreduceInit | F::AllreduceInitC,
        collective::gather => F::Gather | F::GatherC, F::Igather | F::IgatherC,
            F::GatherInit | F::GatherInitC,
        collective::scatter => F::Scatter | F::ScatterC, F::Iscatter | F::IscatterC,
            F::ScatterInit | F::ScatterInitC,
        collective::allgather => F::Allgather | F::AllgatherC, F::Iallgather | F::IallgatherC,
            F::AllgatherInit | F::AllgatherInitC,
        collective::alltoall => F::Alltoall | F::AlltoallC, F::Ialltoall | F::IalltoallC,
            F::AlltoallInit | F::AlltoallInitC,
        collective::reduce_scatter_block => F::ReduceScatterBlock | F::ReduceScatterBlockC,
            F::IreduceScatterBlock | F::IreduceScatterBlockC,
            F::ReduceScatterBlockInit | F::ReduceScatterBlockInitC,
        collective::scan => F::Scan | F::ScanC, F::Iscan | F::IscanC, F::ScanInit | F::ScanInitC,
        collective::exscan => F::Exscan | F::ExscanC, F::Iexscan | F::IexscanC,
            F::ExscanInit | F::ExscanInitC,
    }
}

fn collective_with_arrays_begun(function: Function) -> Option<Handler> {
    use Function as F;
    forms! { function;
        collective::gatherv::<4> => F::Gatherv, F::Igatherv, F::GathervInit,
        collective::gatherv::<8> => F::GathervC, F::IgathervC, F::GathervInitC,
        collective::scatterv::<4> => F::Scatterv, F::Iscatterv, F::ScattervInit,
        collective::scatterv::<8> => F::ScattervC, F::IscattervC, F::ScattervInitC,
        collective::allgatherv::<4> => F::Allgatherv, F::Iallgatherv, F::AllgathervInit,
        collective::allgatherv::<8> => F::AllgathervC, F::IallgathervC, F::AllgathervInitC,
        collective::alltoallv::<4> => F::Alltoallv, F::Ialltoallv, F::AlltoallvInit,
        collective::alltoallv::<8> => F::AlltoallvC, F::IalltoallvC, F::AlltoallvInitC,
        collective::alltoallw::<4> => F::Alltoallw, F::Ialltoallw, F::AlltoallwInit,
        collective::alltoallw::<8> => F::AlltoallwC, F::IalltoallwC, F::AlltoallwInitC,
        collective::reduce_scatter::<4> => F::ReduceScatter, F::IreduceScatter,
            F::ReduceScatterInit,
        collective::reduce_scatter::<8> => F::ReduceScatterC, F::IreduceScatterC,
            F::ReduceScatterInitC,
    }
}

fn neighbor_begun(function: Function) -> Option<Handler> {
    use Function as F;
    forms! { function;
        neighbor::allgather => F::NeighborAllgather | F::NeighborAllgatherC,
            F::IneighborAllgather | F::IneighborAllgatherC,
            F::NeighborAllgatherInit | F::NeighborAllgatherInitC,
        neighbor::alltoall => F::NeighborAlltoall | F::NeighborAlltoallC,
            F::IneighborAlltoall | F::IneighborAlltoallC,
            F::NeighborAlltoallInit | F::NeighborAlltoallInitC,
        neighbor::allgatherv::<4> => F::NeighborAllgatherv, F::IneighborAllgatherv,
            F::NeighborAllgathervInit,
        neighbor::allgatherv::<8> => F::NeighborAllgathervC, F::IneighborAllgathervC,
            F::NeighborAllgathervInitC,
        neighbor::alltoallv::<4> => F::NeighborAlltoallv, F::IneighborAlltoallv,
            F::NeighborAlltoallvInit,
        neighbor::alltoallv::<8> => F::NeighborAlltoallvC, F::IneighborAlltoallvC,
            F::NeighborAlltoallvInitC,
        neighbor::alltoallw::<4> => F::NeighborAlltoallw, F::IneighborAlltoallw,
            F::NeighborAlltoallwInit,
        neighbor::alltoallw::<8> => F::NeighborAlltoallwC, F::IneighborAlltoallwC,
            F::NeighborAlltoallwInitC,
    }
}
