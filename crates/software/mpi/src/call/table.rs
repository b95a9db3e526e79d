//! Table of the handlers of all functions.

use super::handler::{Direct, Handler};
use super::persistent::{make, make_collective};
use super::{
    attribute, buffered, collective, comm, completion, contents, datatype, datatype_arrays,
    environment, errhandler, exchange, graph, group, info, matched, neighbor, op, packing,
    persistent, point_to_point, topology,
};
use abi::arguments::Arguments;
use abi::mpi::args;
use abi::mpi::Function;

/// Handlers that do all of a function. Each gets the arguments of its function: one that takes others does
/// not compile here.
macro_rules! direct {
    ($function:expr; $($($name:ident)|+ => $run:expr,)*) => {
        match $function {
            $($(
                Function::$name => Some(|mpi, words| $run(mpi, &args::$name::read(words))),
            )+)*
            _ => None,
        }
    };
}

/// A handler that begins an operation.
macro_rules! begin {
    ($name:ident, $begin:expr) => {
        |mpi, words| $begin(mpi, &args::$name::read(words))
    };
}

/// Handlers of nonblocking functions and of functions that make a persistent request.
macro_rules! begun {
    ($function:expr; $($begin:expr => $($starting:ident)|+ $(, $($persistent:ident)|+)?;)*) => {
        match $function {
            $(
                $(Function::$starting => Some(Handler::Starting(begin!($starting, $begin))),)+
                $($(Function::$persistent => Some(Handler::Persistent(|mpi, _, words| {
                    make::<args::$persistent>(mpi, words, $begin)
                })),)+)?
            )*
            _ => None,
        }
    };
}

/// A collective in its three forms.
macro_rules! forms {
    (
        $function:expr;
        $($begin:expr => $($blocking:ident)|+, $($starting:ident)|+, $($persistent:ident)|+,)*
    ) => {
        match $function {
            $(
                $(Function::$blocking => Some(Handler::Blocking(begin!($blocking, $begin))),)+
                $(Function::$starting => Some(Handler::Starting(begin!($starting, $begin))),)+
                $(Function::$persistent => Some(Handler::Persistent(|mpi, function, words| {
                    make_collective::<args::$persistent>(mpi, function, words, $begin)
                })),)+
            )*
            _ => None,
        }
    };
}

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
    direct! { function;
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
    }
}

fn messages(function: Function) -> Option<Direct> {
    direct! { function;
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
    }
}

fn infos(function: Function) -> Option<Direct> {
    direct! { function;
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
    }
}

fn communicators(function: Function) -> Option<Direct> {
    direct! { function;
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
    }
}

fn local_of_communicators(function: Function) -> Option<Direct> {
    direct! { function;
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
    }
}

fn datatypes(function: Function) -> Option<Direct> {
    direct! { function;
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
    }
}

fn point_to_point_begun(function: Function) -> Option<Handler> {
    begun! { function;
        point_to_point::begin_send => Isend | IsendC | Irsend | IrsendC,
            SendInit | SendInitC | RsendInit | RsendInitC;
        point_to_point::begin_ssend => Issend | IssendC, SsendInit | SsendInitC;
        buffered::begin => Ibsend | IbsendC, BsendInit | BsendInitC;
        point_to_point::begin_receive => Irecv | IrecvC, RecvInit | RecvInitC;
        matched::begin => Imrecv | ImrecvC;
        exchange::begin_sendrecv => Isendrecv | IsendrecvC;
        exchange::begin_sendrecv_replace => IsendrecvReplace | IsendrecvReplaceC;
        comm::begin_idup => CommIdup;
        comm::begin_idup_with_info => CommIdupWithInfo;
    }
}

fn collective_begun(function: Function) -> Option<Handler> {
    forms! { function;
        collective::barrier => Barrier, Ibarrier, BarrierInit,
        collective::bcast => Bcast | BcastC, Ibcast | IbcastC,
            BcastInit | BcastInitC,
        collective::reduce => Reduce | ReduceC, Ireduce | IreduceC,
            ReduceInit | ReduceInitC,
        collective::allreduce => Allreduce | AllreduceC, Iallreduce | IallreduceC,
            AllreduceInit | AllreduceInitC,
        collective::gather => Gather | GatherC, Igather | IgatherC,
            GatherInit | GatherInitC,
        collective::scatter => Scatter | ScatterC, Iscatter | IscatterC,
            ScatterInit | ScatterInitC,
        collective::allgather => Allgather | AllgatherC, Iallgather | IallgatherC,
            AllgatherInit | AllgatherInitC,
        collective::alltoall => Alltoall | AlltoallC, Ialltoall | IalltoallC,
            AlltoallInit | AlltoallInitC,
        collective::reduce_scatter_block => ReduceScatterBlock | ReduceScatterBlockC,
            IreduceScatterBlock | IreduceScatterBlockC,
            ReduceScatterBlockInit | ReduceScatterBlockInitC,
        collective::scan => Scan | ScanC, Iscan | IscanC, ScanInit | ScanInitC,
        collective::exscan => Exscan | ExscanC, Iexscan | IexscanC,
            ExscanInit | ExscanInitC,
    }
}

fn collective_with_arrays_begun(function: Function) -> Option<Handler> {
    forms! { function;
        collective::gatherv::<4> => Gatherv, Igatherv, GathervInit,
        collective::gatherv::<8> => GathervC, IgathervC, GathervInitC,
        collective::scatterv::<4> => Scatterv, Iscatterv, ScattervInit,
        collective::scatterv::<8> => ScattervC, IscattervC, ScattervInitC,
        collective::allgatherv::<4> => Allgatherv, Iallgatherv, AllgathervInit,
        collective::allgatherv::<8> => AllgathervC, IallgathervC, AllgathervInitC,
        collective::alltoallv::<4> => Alltoallv, Ialltoallv, AlltoallvInit,
        collective::alltoallv::<8> => AlltoallvC, IalltoallvC, AlltoallvInitC,
        collective::alltoallw::<4> => Alltoallw, Ialltoallw, AlltoallwInit,
        collective::alltoallw::<8> => AlltoallwC, IalltoallwC, AlltoallwInitC,
        collective::reduce_scatter::<4> => ReduceScatter, IreduceScatter,
            ReduceScatterInit,
        collective::reduce_scatter::<8> => ReduceScatterC, IreduceScatterC,
            ReduceScatterInitC,
    }
}

fn neighbor_begun(function: Function) -> Option<Handler> {
    forms! { function;
        neighbor::allgather => NeighborAllgather | NeighborAllgatherC,
            IneighborAllgather | IneighborAllgatherC,
            NeighborAllgatherInit | NeighborAllgatherInitC,
        neighbor::alltoall => NeighborAlltoall | NeighborAlltoallC,
            IneighborAlltoall | IneighborAlltoallC,
            NeighborAlltoallInit | NeighborAlltoallInitC,
        neighbor::allgatherv::<4> => NeighborAllgatherv, IneighborAllgatherv,
            NeighborAllgathervInit,
        neighbor::allgatherv::<8> => NeighborAllgathervC, IneighborAllgathervC,
            NeighborAllgathervInitC,
        neighbor::alltoallv::<4> => NeighborAlltoallv, IneighborAlltoallv,
            NeighborAlltoallvInit,
        neighbor::alltoallv::<8> => NeighborAlltoallvC, IneighborAlltoallvC,
            NeighborAlltoallvInitC,
        neighbor::alltoallw::<4> => NeighborAlltoallw, IneighborAlltoallw,
            NeighborAlltoallwInit,
        neighbor::alltoallw::<8> => NeighborAlltoallwC, IneighborAlltoallwC,
            NeighborAlltoallwInitC,
    }
}
