/* Every process adds to a number of each process, itself included, all at once. Portals only, so that each
 * process has one interface. Every process ends with status 1 if a number ends wrong, or comes back in the
 * wrong order. */
#include <portals3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { PORTAL = 4, NUMBER = 1, LAST = 2, ADDS = 25 };

static ptl_handle_ni_t interface;

static void check(int code, const char *call)
{
    if (code == PTL_OK)
        return;
    fprintf(stderr, "%s: %s\n", call, PtlErrorStr(code));
    exit(1);
}

static ptl_md_t describe(void *start, unsigned options, ptl_handle_eq_t queue)
{
    const ptl_md_t md = {.start = start,
                         .length = 8,
                         .threshold = PTL_MD_THRESH_INF,
                         .options = options | PTL_MD_EVENT_START_DISABLE,
                         .eq_handle = queue};
    return md;
}

static void expose(ptl_match_bits_t bits, void *start, ptl_handle_eq_t queue)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    const unsigned all = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE;
    ptl_handle_me_t entry;
    ptl_handle_md_t handle;

    check(PtlMEAttach(interface, PORTAL, anybody, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    check(PtlMDAttach(entry, describe(start, all, queue), PTL_RETAIN, &handle), "PtlMDAttach");
}

/* Waits for the event of a kind. */
static void await(ptl_handle_eq_t queue, ptl_event_kind_t kind)
{
    ptl_event_t event;

    do
        check(PtlEQWait(queue, &event), "PtlEQWait");
    while (event.type != kind);
}

int main(void)
{
    static uint64_t number, last, before, operand = 1;
    int interfaces, which;
    unsigned rank, size;
    ptl_handle_eq_t came, answers;
    ptl_handle_md_t answer, one;
    ptl_event_t event;

    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlGetRank(interface, &rank, &size), "PtlGetRank");
    check(PtlEQAlloc(interface, 64, PTL_EQ_HANDLER_NONE, &came), "PtlEQAlloc");
    check(PtlEQAlloc(interface, 64, PTL_EQ_HANDLER_NONE, &answers), "PtlEQAlloc");
    check(PtlMDBind(interface, describe(&before, 0, answers), PTL_RETAIN, &answer), "PtlMDBind");
    check(PtlMDBind(interface, describe(&operand, 0, PTL_EQ_NONE), PTL_RETAIN, &one),
          "PtlMDBind");
    expose(LAST, &last, came);
    expose(NUMBER, &number, PTL_EQ_NONE);
    for (unsigned i = 0; i < size; i++) {
        const unsigned rival = (rank + i) % size;
        ptl_process_id_t owner;
        uint64_t least = 0;

        check(PtlGetRankId(interface, rival, &owner), "PtlGetRankId");
        /* It may not be there yet, and would not answer: ask until it does. */
        do
            check(PtlGet(answer, owner, PORTAL, 0, NUMBER, 0), "PtlGet");
        while (PtlEQPoll(&answers, 1, 1, &event, &which) == PTL_EQ_EMPTY);
        for (int add = 0; add < ADDS; add++) {
            check(PtlGetAdd(answer, one, owner, PORTAL, 0, NUMBER, 0, 0), "PtlGetAdd");
            await(answers, PTL_EVENT_REPLY_END);
            if (before < least || before >= (uint64_t)size * ADDS) {
                fprintf(stderr, "rank %u: add %d to rank %u found %llu after %llu\n", rank, add,
                        rival, (unsigned long long)before, (unsigned long long)least);
                return 1;
            }
            least = before + 1;
        }
        check(PtlPut(one, PTL_NO_ACK_REQ, owner, PORTAL, 0, LAST, 0, 0), "PtlPut");
    }
    for (unsigned i = 0; i < size; i++)
        await(came, PTL_EVENT_PUT_END);
    printf("rank %u: the number is %llu\n", rank, (unsigned long long)number);
    PtlFini();
    return number != (uint64_t)size * ADDS;
}
