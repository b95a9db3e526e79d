/* The users of Portals in the kernels of the first nodes send back what they get (host.echo): every rank puts
 * messages to each of them and checks every byte of the echo; then all ranks exchange bytes by MPI.
 * Argument: how many nodes have an echo. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ECHO_PID 50
#define PORTAL 4
#define ROOM (64 << 10)

static char out[ROOM], in[16 * ROOM];

static void check(int code, const char *what)
{
    if (code != PTL_OK) {
        fprintf(stderr, "%s: %s\n", what, PtlErrorStr(code));
        exit(1);
    }
}

static ptl_event_t next(ptl_handle_eq_t queue, ptl_event_kind_t kind)
{
    ptl_event_t event;
    check(PtlEQWait(queue, &event), "PtlEQWait");
    if (event.type != kind || event.ni_fail_type != PTL_NI_OK) {
        fprintf(stderr, "%s instead of %s\n", PtlEventKindStr(event.type), PtlEventKindStr(kind));
        exit(1);
    }
    return event;
}

/* Sends `bytes` to the echo of node `nid` and looks at what comes back. */
static int ping(ptl_handle_md_t source, ptl_handle_eq_t queue, int rank, unsigned nid,
                unsigned bytes)
{
    const ptl_process_id_t echo = {.nid = nid, .pid = ECHO_PID};
    const ptl_size_t place = (ptl_size_t)rank * ROOM;
    const ptl_hdr_data_t mark = nid << 20 | bytes;

    for (unsigned i = 0; i < bytes; i++)
        out[i] = (char)(rank * 7 + nid * 3 + bytes + i);
    memset(in + place, 0, ROOM);
    check(PtlPutRegion(source, 0, bytes, PTL_NOACK_REQ, echo, PORTAL, 0, rank, place, mark),
          "PtlPutRegion");
    const ptl_event_t event = next(queue, PTL_EVENT_PUT_END);
    return event.initiator.nid != nid || event.initiator.pid != ECHO_PID ||
           event.mlength != bytes || event.hdr_data != mark || memcmp(in + place, out, bytes) ||
           in[place + bytes];
}

int main(int argc, char **argv)
{
    static const unsigned sizes[] = {0, 1, 12, 13, 4095, 4097, 50000};
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const unsigned echoes = argc > 1 ? (unsigned)atoi(argv[1]) : 1;
    int rank, size, interfaces, wrong = 0, all = 0;
    ptl_handle_ni_t interface;
    ptl_handle_eq_t queue;
    ptl_handle_me_t entry;
    ptl_handle_md_t target, source;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlEQAlloc(interface, 64, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    check(PtlMEAttach(interface, PORTAL, anybody, rank, 0, PTL_RETAIN, PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    ptl_md_t md = {.start = in,
                   .length = sizeof(in),
                   .threshold = PTL_MD_THRESH_INF,
                   .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
                   .eq_handle = queue};
    check(PtlMDAttach(entry, md, PTL_RETAIN, &target), "PtlMDAttach");
    md.start = out;
    md.length = sizeof(out);
    md.options = 0;
    md.eq_handle = PTL_EQ_NONE;
    check(PtlMDBind(interface, md, PTL_RETAIN, &source), "PtlMDBind");
    MPI_Barrier(MPI_COMM_WORLD);
    for (unsigned nid = 0; nid < echoes; nid++)
        for (unsigned i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
            wrong += ping(source, queue, rank, nid, sizes[i]);

    /* And between the ranks. */
    const int right = (rank + 1) % size, left = (rank + size - 1) % size;
    for (unsigned i = 0; i < ROOM; i++)
        out[i] = (char)(rank + i);
    MPI_Sendrecv(out, ROOM, MPI_BYTE, right, 0, in, ROOM, MPI_BYTE, left, 0, MPI_COMM_WORLD,
                 MPI_STATUS_IGNORE);
    for (unsigned i = 0; i < ROOM; i++)
        wrong += in[i] != (char)(left + i);
    MPI_Allreduce(&wrong, &all, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank == 0)
        printf("%d ranks, %u echoes, %d wrong\n", size, echoes, all);
    MPI_Finalize();
    return all != 0;
}
