/* Programs without MPI may end when they like: rank 0 leaves right after a put of 1 MiB was begun, rank 1 as soon as
 * it has matched it. The memory of both stays until the message is through, and the run ends well. */
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>

static char buffer[1 << 20];

int main(void)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    int interfaces, which, code;
    unsigned rank, size;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_me_t me;
    ptl_handle_md_t md, hello;
    ptl_process_id_t to;
    ptl_event_t event;
    PtlInit(&interfaces);
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
    PtlGetRank(ni, &rank, &size);
    PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &queue);
    ptl_md_t large = {.start = buffer,
                      .length = sizeof buffer,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = PTL_MD_OP_PUT,
                      .eq_handle = queue};
    if (rank == 1) {
        PtlMEAttach(ni, 0, anybody, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
        PtlMDAttach(me, large, PTL_RETAIN, &md);
        do
            PtlEQWait(queue, &event);
        while (event.rlength < sizeof buffer);
        printf("rank 1 leaves after %s\n", PtlEventKindStr(event.type));
        return 0;
    }
    PtlGetRankId(ni, 1, &to);
    PtlMDBind(ni, large, PTL_RETAIN, &md);
    large.length = 0;
    PtlMDBind(ni, large, PTL_RETAIN, &hello);
    do {
        PtlPut(hello, PTL_ACK_REQ, to, 0, 0, 1, 0, 0);
        do
            code = PtlEQPoll(&queue, 1, 1, &event, &which);
        while (code == PTL_OK && event.type != PTL_EVENT_ACK);
    } while (code != PTL_OK);
    PtlPut(md, PTL_NO_ACK_REQ, to, 0, 0, 1, 0, 0);
    printf("rank 0 leaves\n");
    return 0;
}
