/* Waits for ten seconds at most for what comes at once, and ends. */
#include <portals3.h>
#include <stdio.h>

static char buffer[8];

int main(void)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    int interfaces, which, code;
    ptl_handle_ni_t ni;
    ptl_handle_eq_t queue;
    ptl_handle_me_t me;
    ptl_handle_md_t md, source;
    ptl_process_id_t self;
    ptl_event_t event;
    PtlInit(&interfaces);
    PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni);
    PtlGetId(ni, &self);
    PtlEQAlloc(ni, 16, PTL_EQ_HANDLER_NONE, &queue);
    ptl_md_t target = {.start = buffer,
                       .length = sizeof buffer,
                       .threshold = PTL_MD_THRESH_INF,
                       .options = PTL_MD_OP_PUT,
                       .eq_handle = queue};
    PtlMEAttach(ni, 0, anybody, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &me);
    PtlMDAttach(me, target, PTL_RETAIN, &md);
    target.eq_handle = PTL_EQ_NONE;
    PtlMDBind(ni, target, PTL_RETAIN, &source);
    PtlPut(source, PTL_NOACK_REQ, self, 0, 0, 1, 0, 0);
    do
        code = PtlEQPoll(&queue, 1, 10000, &event, &which);
    while (code == PTL_OK && event.type != PTL_EVENT_PUT_END);
    printf("%d %s\n", code, PtlEventKindStr(event.type));
    PtlNIFini(ni);
    PtlFini();
    return code;
}
