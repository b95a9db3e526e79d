/* What the planted bugs of the firmware's matching need (command::planted): receives posted before and
 * after their messages, tags that differ, a message that does not fit, an acknowledged put. Two ranks. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>

#define COUNT 6
#define PORTAL 4

static int wrong;

static void expect(int is, int should)
{
    wrong += is != should;
}

/* Messages that come before their receives. */
static void unexpected(int peer)
{
    int out[COUNT], in;
    for (int i = 0; i < COUNT; i++) {
        out[i] = 100 + i;
        MPI_Send(&out[i], 1, MPI_INT, peer, i % 2, MPI_COMM_WORLD);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        const int tag = i < COUNT / 2;
        MPI_Recv(&in, 1, MPI_INT, MPI_ANY_SOURCE, tag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        expect(in, 100 + 2 * (i % (COUNT / 2)) + tag);
    }
}

/* Receives that are posted before, one of them too short; one tag, so that order tells them apart. */
static void expected(int peer)
{
    char in[COUNT][64], out[64] = {0};
    MPI_Request requests[COUNT];
    MPI_Status statuses[COUNT];
    for (int i = 0; i < COUNT; i++)
        MPI_Irecv(in[i], i == 2 ? 20 : 64, MPI_CHAR, peer, 7, MPI_COMM_WORLD, &requests[i]);
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < COUNT; i++) {
        out[0] = (char)i;
        MPI_Send(out, 8 + 8 * i, MPI_CHAR, peer, 7, MPI_COMM_WORLD);
    }
    const int code = MPI_Waitall(COUNT, requests, statuses);
    expect(code, MPI_ERR_IN_STATUS);
    for (int i = 0; i < COUNT; i++) {
        expect(in[i][0], i);
        expect(statuses[i].MPI_ERROR, i == 2 ? MPI_ERR_TRUNCATE : MPI_SUCCESS);
    }
}

static void check(int code)
{
    if (code != PTL_OK) {
        fprintf(stderr, "%s\n", PtlErrorStr(code));
        exit(1);
    }
}

/* A put to the other rank that is acknowledged. */
static void acknowledged(int rank)
{
    static char buffer[1000];
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_process_id_t target;
    ptl_handle_ni_t interface;
    ptl_handle_eq_t queue;
    ptl_handle_me_t entry;
    ptl_handle_md_t md;
    ptl_event_t event;
    int interfaces;
    check(PtlInit(&interfaces));
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface));
    check(PtlEQAlloc(interface, 16, PTL_EQ_HANDLER_NONE, &queue));
    ptl_md_t to = {.start = buffer, .length = sizeof(buffer), .threshold = 1,
                   .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE, .eq_handle = queue};
    check(PtlMEAttach(interface, PORTAL, anybody, 5, 0, PTL_UNLINK, PTL_INS_AFTER, &entry));
    check(PtlMDAttach(entry, to, PTL_UNLINK, &md));
    ptl_md_t from = {.start = buffer, .length = 500, .threshold = PTL_MD_THRESH_INF,
                     .options = PTL_MD_EVENT_START_DISABLE, .eq_handle = queue};
    check(PtlMDBind(interface, from, PTL_RETAIN, &md));
    MPI_Barrier(MPI_COMM_WORLD);
    check(PtlGetRankId(interface, 1 - (ptl_pid_t)rank, &target));
    check(PtlPut(md, PTL_ACK_REQ, target, PORTAL, 0, 5, 0, 0));
    /* SEND_END, ACK, PUT_END, UNLINK, in whatever order. */
    for (int i = 0; i < 4; i++)
        check(PtlEQWait(queue, &event));
    MPI_Barrier(MPI_COMM_WORLD);
    check(PtlNIFini(interface));
    PtlFini();
}

int main(int argc, char **argv)
{
    int rank;
    MPI_Init(&argc, &argv);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    unexpected(1 - rank);
    expected(1 - rank);
    acknowledged(rank);
    printf("%d wrong\n", wrong);
    MPI_Finalize();
    return 0;
}
