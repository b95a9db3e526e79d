/* Progress without the target: rank 0 puts COUNT words to rank 1 and gets them back, one after another, while
 * rank 1 waits in MPI_Barrier and its descriptor has no event queue. Rank 0 compares what it gets; rank 1
 * looks at its memory afterwards. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>

enum { WORDS = 64 };
static unsigned window[WORDS], in, out;

static int wait_for(ptl_handle_eq_t queue, ptl_event_kind_t kind)
{
    ptl_event_t event;
    do {
        if (PtlEQWait(queue, &event) != PTL_OK || event.ni_fail_type != PTL_NI_OK)
            return 0;
    } while (event.type != kind);
    return 1;
}

int main(int argc, char **argv)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const unsigned count = argc > 1 ? (unsigned)atoi(argv[1]) : 1000;
    int rank, interfaces;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_me_t me;
    ptl_handle_md_t md, source, target;
    ptl_process_id_t to;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    PtlInit(&interfaces);
    if (PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni) != PTL_OK)
        return 1;
    PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &queue);
    PtlGetRankId(ni, 1 - (unsigned)rank, &to);
    ptl_md_t memory = {.start = window, .length = sizeof window, .threshold = PTL_MD_THRESH_INF,
                       .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
                       .eq_handle = PTL_EQ_NONE};
    PtlMEAttach(ni, 4, anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
    PtlMDAttach(me, memory, PTL_RETAIN, &md);
    memory.options = PTL_MD_EVENT_START_DISABLE;
    memory.eq_handle = queue;
    memory.length = sizeof in;
    memory.start = &out;
    PtlMDBind(ni, memory, PTL_RETAIN, &source);
    memory.start = &in;
    PtlMDBind(ni, memory, PTL_RETAIN, &target);
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = 0; rank == 0 && i < count; i++) {
        const ptl_size_t place = i % WORDS * sizeof in;
        out = i + 1;
        if (PtlPut(source, PTL_ACK_REQ, to, 4, 0, 0, place, 0) != PTL_OK ||
            !wait_for(queue, PTL_EVENT_ACK) || PtlGet(target, to, 4, 0, 0, place) != PTL_OK ||
            !wait_for(queue, PTL_EVENT_REPLY_END) || in != i + 1)
            return 2;
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned i = count > WORDS ? count - WORDS : 0; rank == 1 && i < count; i++)
        if (window[i % WORDS] != i + 1)
            return 3;
    if (rank == 0)
        puts("ok");
    PtlNIFini(ni);
    MPI_Finalize();
    return 0;
}
