/* What the studies of Portals share: rank 1 exposes memory and waits in MPI_Barrier, rank 0 works on it. */
#ifndef SUITE_PORTALS_H
#define SUITE_PORTALS_H

#include "suite.h"
#include <portals3.h>

#define PORTAL 4
#define BITS 0x5eed

static ptl_handle_ni_t interface;
static ptl_process_id_t target;
static ptl_handle_eq_t queue;

static inline void check(int code, const char *what)
{
    if (code != PTL_OK)
        fail("%s: %s", what, PtlErrorStr(code));
}

static inline ptl_md_t descriptor(void *start, ptl_size_t bytes, unsigned options,
                                  ptl_handle_eq_t events)
{
    return (ptl_md_t){.start = start,
                      .length = bytes,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = options | PTL_MD_EVENT_START_DISABLE,
                      .eq_handle = events};
}

/* Memory that this rank works with; its events go to `queue`, unless it is silent. */
static inline ptl_handle_md_t bind_memory(void *start, ptl_size_t bytes, int silent)
{
    ptl_handle_md_t handle;
    const ptl_md_t md = descriptor(start, bytes, 0, silent ? PTL_EQ_NONE : queue);
    check(PtlMDBind(interface, md, PTL_RETAIN, &handle), "PtlMDBind");
    return handle;
}

/* Waits for so many events of a kind; others are read past. */
static inline void wait_for(ptl_event_kind_t kind, int count)
{
    while (count > 0) {
        ptl_event_t event;
        check(PtlEQWait(queue, &event), "PtlEQWait");
        if (event.ni_fail_type != PTL_NI_OK)
            fail("%s failed", PtlEventKindStr(event.type));
        count -= event.type == kind;
    }
}

/* Lets others put to and get from memory, and hears nothing of it. */
static inline void expose(void *start, ptl_size_t bytes)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const ptl_md_t md =
        descriptor(start, bytes, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE, PTL_EQ_NONE);
    ptl_handle_me_t entry;
    ptl_handle_md_t handle;
    check(PtlMEAttach(interface, PORTAL, anybody, BITS, 0, PTL_RETAIN, PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    check(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
}

/* Opens the interface; rank 1 exposes its memory. */
static inline void open_memory(void *start, ptl_size_t bytes)
{
    int interfaces;
    if (ranks != 2)
        fail("this program needs 2 ranks");
    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlGetRankId(interface, 1, &target), "PtlGetRankId");
    check(PtlEQAlloc(interface, 256, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    if (rank == 1)
        expose(start, bytes);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Rank 0 is done. */
static inline void close_memory(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
    PtlFini();
    MPI_Finalize();
}

#endif
