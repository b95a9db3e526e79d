/* Where ranks are, to Portals: every rank prints its id, looks at everybody's, and puts its rank to
 * everybody, itself included. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>

#define MOST 16

static void ok(int code, const char *call)
{
    if (code != PTL_OK) {
        fprintf(stderr, "%s: %s\n", call, PtlErrorStr(code));
        exit(1);
    }
}

int main(int argc, char **argv)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_process_id_t me, id;
    ptl_nid_t nids[MOST];
    ptl_pid_t pids[MOST];
    unsigned rank, size, from[MOST];
    int interfaces, wrong = 0, near = 0;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_me_t entry;
    ptl_handle_md_t md;
    ptl_event_t event;
    MPI_Init(&argc, &argv);
    ok(PtlInit(&interfaces), "PtlInit");
    ok(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), "PtlNIInit");
    ok(PtlGetId(ni, &me), "PtlGetId");
    ok(PtlGetRank(ni, &rank, &size), "PtlGetRank");
    ok(PtlGetNIDMap(ni, nids, size), "PtlGetNIDMap");
    ok(PtlGetPIDMap(ni, pids, size), "PtlGetPIDMap");
    ok(PtlEQAlloc(ni, 4 * MOST, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    ptl_md_t memory = {.start = from,
                       .length = sizeof from,
                       .threshold = PTL_MD_THRESH_INF,
                       .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
                       .eq_handle = queue};
    ok(PtlMEAttach(ni, 3, anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &entry), "PtlMEAttach");
    ok(PtlMDAttach(entry, memory, PTL_RETAIN, &md), "PtlMDAttach");
    memory.start = &rank;
    memory.length = sizeof rank;
    memory.eq_handle = PTL_EQ_NONE;
    ok(PtlMDBind(ni, memory, PTL_RETAIN, &md), "PtlMDBind");
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned to = 0; to < size; to++) {
        unsigned long distance;
        ok(PtlGetRankId(ni, to, &id), "PtlGetRankId");
        ok(PtlNIDist(ni, id, &distance), "PtlNIDist");
        wrong += id.nid != nids[to] || id.pid != pids[to] || (distance == 0) != (id.nid == me.nid);
        near += distance == 0;
        ok(PtlPut(md, PTL_NOACK_REQ, id, 3, 0, 0, rank * sizeof rank, 0), "PtlPut");
    }
    for (unsigned events = 0; events < size; events++) {
        ok(PtlEQWait(queue, &event), "PtlEQWait");
        const unsigned sender = event.offset / sizeof rank;
        wrong += event.type != PTL_EVENT_PUT_END || event.initiator.nid != nids[sender] ||
                 event.initiator.pid != pids[sender];
    }
    for (unsigned sender = 0; sender < size; sender++)
        wrong += from[sender] != sender;
    printf("rank %u: nid %u pid %u, %d near, %d wrong\n", rank, (unsigned)me.nid, (unsigned)me.pid,
           near, wrong);
    ok(PtlNIFini(ni), "PtlNIFini");
    MPI_Finalize();
    return 0;
}
