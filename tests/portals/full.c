/* Room of an interface: both ranks put COUNT empty messages to each other, and neither looks at its queue
 * meanwhile; then rank 0 says how many match entries it can have, and what the call says that makes one
 * more. */
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

int main(int argc, char **argv)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    int interfaces, code, entries = 1, count = argc > 1 ? atoi(argv[1]) : 1000;
    unsigned rank, size;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_me_t me;
    ptl_handle_md_t md, nothing;
    ptl_process_id_t to;
    ptl_event_t event;
    PtlInit(&interfaces);
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
    PtlGetRank(ni, &rank, &size);
    PtlGetRankId(ni, 1 - rank, &to);
    PtlEQAlloc(ni, 4 * (unsigned)count + 64, PTL_EQ_HANDLER_NONE, &queue);
    ptl_md_t empty = {.threshold = PTL_MD_THRESH_INF,
                      .options = PTL_MD_OP_PUT | PTL_MD_EVENT_START_DISABLE,
                      .eq_handle = queue};
    PtlMEAttach(ni, 0, anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
    PtlMDAttach(me, empty, PTL_RETAIN, &md);
    empty.eq_handle = PTL_EQ_NONE;
    PtlMDBind(ni, empty, PTL_RETAIN, &nothing);
    double began = now();
    for (int i = 0; i < count; i++)
        if (PtlPut(nothing, PTL_NO_ACK_REQ, to, 0, 0, 0, 0, (unsigned)i) != PTL_OK)
            return 1;
    if (rank == 0)
        printf("%.0f ns a put\n", (now() - began) / count);
    for (int i = 0; i < count; i++)
        if (PtlEQWait(queue, &event) != PTL_OK || event.hdr_data != (unsigned)i)
            return 2;
    if (rank == 0) {
        while ((code = PtlMEAttach(ni, 1, anybody, 0, 0, PTL_RETAIN, PTL_INS_AFTER, &me)) == PTL_OK)
            entries++;
        printf("%d entries, then %s\n", entries, PtlErrorStr((unsigned)code));
    }
    return 0;
}
