/* Puts with acknowledgement, in Portals itself: rank 0 sends messages of growing size to rank 1 and waits
 * for each to be acknowledged; rank 1 sees them arrive. MPI is used to start only.
 *
 * sunstar run -n 2 --machine redstorm examples/portals_put.c */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PORTAL 4
#define BITS 0x5eed
#define BYTES_MAX (64 << 10)

static char buffer[BYTES_MAX];

static void check(int code, const char *what)
{
    if (code != PTL_OK) {
        fprintf(stderr, "%s: %s\n", what, PtlErrorStr(code));
        exit(1);
    }
}

/* Waits for the next event, which must be of this kind. */
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

static void send(ptl_handle_ni_t interface, ptl_handle_eq_t queue)
{
    ptl_process_id_t target;
    check(PtlGetRankId(interface, 1, &target), "PtlGetRankId");
    ptl_md_t md = {.start = buffer,
                   .length = BYTES_MAX,
                   .threshold = PTL_MD_THRESH_INF,
                   .options = PTL_MD_EVENT_START_DISABLE,
                   .eq_handle = queue};
    ptl_handle_md_t handle;
    check(PtlMDBind(interface, md, PTL_RETAIN, &handle), "PtlMDBind");
    for (ptl_size_t bytes = 0; bytes <= BYTES_MAX; bytes = bytes ? 16 * bytes : 1) {
        const double start = MPI_Wtime();
        memset(buffer, (int)bytes, bytes);
        check(PtlPutRegion(handle, 0, bytes, PTL_ACK_REQ, target, PORTAL, 0, BITS, 0, bytes),
              "PtlPutRegion");
        next(queue, PTL_EVENT_SEND_END);
        const ptl_event_t ack = next(queue, PTL_EVENT_ACK);
        printf("%8llu bytes acknowledged after %8.3f us\n", (unsigned long long)ack.mlength,
               (MPI_Wtime() - start) * 1e6);
    }
    check(PtlMDUnlink(handle), "PtlMDUnlink");
}

static void receive(ptl_handle_ni_t interface, ptl_handle_eq_t queue, ptl_handle_me_t *entry)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_md_t md = {.start = buffer,
                   .length = BYTES_MAX,
                   .threshold = PTL_MD_THRESH_INF,
                   .options = PTL_MD_OP_PUT | PTL_MD_MANAGE_REMOTE | PTL_MD_EVENT_START_DISABLE,
                   .eq_handle = queue};
    ptl_handle_md_t handle;
    check(PtlMEAttach(interface, PORTAL, anybody, BITS, 0, PTL_UNLINK, PTL_INS_AFTER, entry),
          "PtlMEAttach");
    check(PtlMDAttach(*entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
}

int main(int argc, char **argv)
{
    int rank, interfaces;
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    ptl_handle_ni_t interface;
    ptl_handle_eq_t queue;
    ptl_handle_me_t entry;
    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlEQAlloc(interface, 16, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    if (rank == 1)
        receive(interface, queue, &entry);
    /* Nothing may be sent before it is expected. */
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        send(interface, queue);
    if (rank == 1) {
        for (ptl_size_t bytes = 0; bytes <= BYTES_MAX; bytes = bytes ? 16 * bytes : 1) {
            const ptl_event_t event = next(queue, PTL_EVENT_PUT_END);
            if (event.mlength != bytes || event.hdr_data != bytes || buffer[0] != (char)bytes) {
                fprintf(stderr, "%llu bytes arrived instead of %llu\n",
                        (unsigned long long)event.mlength, (unsigned long long)bytes);
                exit(1);
            }
        }
        check(PtlMEUnlink(entry), "PtlMEUnlink");
    }
    check(PtlEQFree(queue), "PtlEQFree");
    check(PtlNIFini(interface), "PtlNIFini");
    PtlFini();
    MPI_Finalize();
    return 0;
}
