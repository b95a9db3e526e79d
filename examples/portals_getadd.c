/* The latency of an atomic add to a number on another node, one after the other: rank 0 adds, rank 1
 * owns the number. Portals only: no MPI is needed to start. brightwell2007 gives 10.6 us for PtlGetAdd
 * in generic mode.
 *
 * sunstar run -n 2 --machine redstorm examples/portals_getadd.c [adds] */
#include <portals3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define PORTAL 4
#define NUMBER 1 /* match bits of the number */
#define LAST 2   /* match bits of the message that ends it */
#define WARM_UP 10

static void check(int code, const char *what)
{
    if (code != PTL_OK) {
        fprintf(stderr, "%s: %s\n", what, PtlErrorStr(code));
        exit(1);
    }
}

static double microseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static ptl_handle_md_t bind(ptl_handle_ni_t interface, void *start, ptl_handle_eq_t queue)
{
    const ptl_md_t md = {.start = start,
                         .length = 8,
                         .threshold = PTL_MD_THRESH_INF,
                         .options = PTL_MD_EVENT_START_DISABLE,
                         .eq_handle = queue};
    ptl_handle_md_t handle;
    check(PtlMDBind(interface, md, PTL_RETAIN, &handle), "PtlMDBind");
    return handle;
}

static void expose(ptl_handle_ni_t interface, ptl_match_bits_t bits, void *start,
                   ptl_handle_eq_t queue)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const ptl_md_t md = {.start = start,
                         .length = 8,
                         .threshold = PTL_MD_THRESH_INF,
                         .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE,
                         .eq_handle = queue};
    ptl_handle_me_t entry;
    ptl_handle_md_t handle;
    check(PtlMEAttach(interface, PORTAL, anybody, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    check(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
}

static void add(ptl_handle_ni_t interface, int adds)
{
    static int64_t before, operand = 3;
    ptl_process_id_t owner;
    ptl_handle_eq_t replies;
    ptl_event_t event;
    int which;
    check(PtlGetRankId(interface, 1, &owner), "PtlGetRankId");
    check(PtlEQAlloc(interface, 64, PTL_EQ_HANDLER_NONE, &replies), "PtlEQAlloc");
    const ptl_handle_md_t answer = bind(interface, &before, replies);
    const ptl_handle_md_t number = bind(interface, &operand, PTL_EQ_NONE);
    /* The owner may not be there yet, and would not answer: ask until it does. */
    do
        check(PtlGet(answer, owner, PORTAL, 0, NUMBER, 0), "PtlGet");
    while (PtlEQPoll(&replies, 1, 1, &event, &which) == PTL_EQ_EMPTY);
    double start = 0;
    for (int i = -WARM_UP; i < adds; i++) {
        if (i == 0)
            start = microseconds();
        check(PtlGetAdd(answer, number, owner, PORTAL, 0, NUMBER, 0, 0), "PtlGetAdd");
        check(PtlEQWait(replies, &event), "PtlEQWait");
        if (before != 100 + 3 * (i + WARM_UP)) {
            fprintf(stderr, "add %d found %lld\n", i, (long long)before);
            exit(1);
        }
    }
    printf("%d adds, %.3f us each\n", adds, (microseconds() - start) / adds);
    check(PtlPut(number, PTL_NO_ACK_REQ, owner, PORTAL, 0, LAST, 0, 0), "PtlPut");
}

static void own(ptl_handle_ni_t interface)
{
    static int64_t number = 100, last;
    ptl_handle_eq_t queue;
    ptl_event_t event;
    check(PtlEQAlloc(interface, 4, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    expose(interface, LAST, &last, queue);
    expose(interface, NUMBER, &number, PTL_EQ_NONE);
    do
        check(PtlEQWait(queue, &event), "PtlEQWait");
    while (event.type != PTL_EVENT_PUT_END);
    printf("the number is %lld\n", (long long)number);
}

int main(int argc, char **argv)
{
    const int adds = argc > 1 ? atoi(argv[1]) : 100;
    int interfaces;
    unsigned rank, size;
    ptl_handle_ni_t interface;
    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlGetRank(interface, &rank, &size), "PtlGetRank");
    if (rank == 0 && size > 1)
        add(interface, adds);
    if (rank == 1)
        own(interface);
    PtlFini();
    return 0;
}
