/* Every function of portals3.h, called at least once from C, with what it must return;
 * `command::portals` compares the names here with the table in docs/reference/portals.md. Rank 0 asks,
 * rank 1 answers. */
#include <mpi.h>
#include <portals3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define EXPECT(call, expected)                                                                     \
    do {                                                                                           \
        const int got = (call);                                                                  \
        if (got != (expected)) {                                                                 \
            fprintf(stderr, "line %d: %s returned %s instead of %s\n", __LINE__, #call,            \
                    PtlErrorStr(got), PtlErrorStr(expected));                                    \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)
#define OK(call) EXPECT(call, PTL_OK)
#define THAT(fact)                                                                                 \
    do {                                                                                           \
        if (!(fact)) {                                                                             \
            fprintf(stderr, "line %d: not so: %s\n", __LINE__, #fact);                             \
            exit(1);                                                                               \
        }                                                                                          \
    } while (0)

static const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
static ptl_handle_ni_t ni;
static ptl_process_id_t ids[2];
static int rank;
static ptl_handle_eq_t events;

static ptl_md_t describe(void *start, ptl_size_t length, unsigned options)
{
    return (ptl_md_t){.start = start,
                      .length = length,
                      .threshold = PTL_MD_THRESH_INF,
                      .options = options,
                      .user_ptr = start,
                      .eq_handle = events};
}

static ptl_handle_md_t bind(void *start, ptl_size_t length)
{
    ptl_handle_md_t md;
    OK(PtlMDBind(ni, describe(start, length, PTL_MD_EVENT_START_DISABLE), PTL_RETAIN, &md));
    return md;
}

static ptl_event_t wait_for(ptl_event_kind_t kind)
{
    ptl_event_t event;
    OK(PtlEQWait(events, &event));
    if (event.type != kind) {
        fprintf(stderr, "rank %d: %s instead of %s\n", rank, PtlEventKindStr(event.type),
                PtlEventKindStr(kind));
        exit(1);
    }
    THAT(event.ni_fail_type == PTL_NI_OK);
    return event;
}

static void meet(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

/* --- one process --- */

static void begin(void)
{
    int count = 0;
    ptl_handle_ni_t again;
    ptl_ni_limits_t limits;
    unsigned found, size, nids[2], pids[2];
    EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &ni), PTL_NO_INIT);
    EXPECT(PtlInit(NULL), PTL_SEGV);
    OK(PtlInit(&count));
    THAT(count == 1);
    EXPECT(PtlGetId(1, &ids[0]), PTL_NI_INVALID);
    EXPECT(PtlNIInit(77, PTL_PID_ANY, NULL, NULL, &ni), PTL_IFACE_INVALID);
    EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, 1, NULL, NULL, &ni), PTL_PID_INVALID); /* MPI's own */
    EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, NULL), PTL_SEGV);
    OK(PtlNIInit(IFACE_FROM_BRIDGE_AND_NALID(PTL_BRIDGE_QK, PTL_IFACE_SS), PTL_PID_ANY, NULL,
                 &limits, &ni));
    THAT(limits.max_getput_md == 64 && limits.max_md_iovecs == 16 && limits.max_pt_index == 63);
    OK(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &again));
    THAT(again == ni);
    OK(PtlGetRank(ni, &found, &size));
    THAT((int)found == rank && size == 2);
    OK(PtlGetNIDMap(ni, nids, 2));
    OK(PtlGetPIDMap(ni, pids, 2));
    EXPECT(PtlGetPIDMap(ni, pids, 1), PTL_FAIL);
    for (unsigned other = 0; other < 2; other++) {
        OK(PtlGetRankId(ni, other, &ids[other]));
        THAT(ids[other].nid == nids[other] && ids[other].pid == pids[other]);
    }
    EXPECT(PtlGetRankId(ni, 2, &ids[0]), PTL_PROCESS_INVALID);
}

static void identity(void)
{
    ptl_process_id_t id;
    ptl_uid_t uid = 1;
    ptl_jid_t jid = 1;
    unsigned long distance = 7;
    ptl_handle_ni_t found = 0;
    ptl_sr_value_t value = 1;
    OK(PtlGetId(ni, &id));
    THAT(id.nid == ids[rank].nid && id.pid == ids[rank].pid);
    OK(PtlGetUid(ni, &uid));
    OK(PtlGetJid(ni, &jid));
    THAT(uid == 0 && jid == 0);
    OK(PtlNIDist(ni, ids[rank], &distance));
    THAT(distance == 0);
    OK(PtlNIDist(ni, ids[1 - rank], &distance));
    THAT(distance == 1);
    EXPECT(PtlNIDist(ni, anybody, &distance), PTL_PROCESS_INVALID);
    OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &value));
    THAT(value == 0);
    EXPECT(PtlNIStatus(ni, 99, &value), PTL_SR_INDEX_INVALID);
    OK(PtlEQAlloc(ni, 64, PTL_EQ_HANDLER_NONE, &events));
    OK(PtlNIHandle(events, &found));
    THAT(found == ni);
    EXPECT(PtlNIHandle(PTL_INVALID_HANDLE, &found), PTL_HANDLE_INVALID);
    THAT(strcmp(PtlErrorStr(PTL_SEGV), "PTL_SEGV") == 0 && strcmp(PtlErrorStr(-1), "unknown") == 0);
    THAT(strcmp(PtlNIFailStr(ni, PTL_NI_OK), "PTL_NI_OK") == 0);
}

static void objects(void)
{
    static char bytes[100];
    ptl_handle_me_t first, second, any;
    ptl_handle_md_t md, other;
    ptl_pt_index_t portal;
    ptl_md_t old = {0}, new = describe(bytes, 50, PTL_MD_OP_PUT);
    OK(PtlMEAttach(ni, 2, anybody, 1, 0, PTL_RETAIN, PTL_INS_BEFORE, &first));
    EXPECT(PtlMEAttach(ni, 1000, anybody, 1, 0, PTL_RETAIN, PTL_INS_AFTER, &any),
           PTL_PT_INDEX_INVALID);
    EXPECT(PtlMEAttach(ni, 2, anybody, 1, 0, PTL_RETAIN, PTL_INS_AFTER, NULL), PTL_SEGV);
    OK(PtlMEInsert(first, anybody, 2, 0, PTL_UNLINK, PTL_INS_AFTER, &second));
    OK(PtlMEAttachAny(ni, &portal, anybody, 3, 0, PTL_UNLINK, &any));
    THAT(portal == 0);
    OK(PtlMDAttach(second, describe(bytes, 100, PTL_MD_OP_PUT), PTL_RETAIN, &md));
    EXPECT(PtlMDAttach(second, new, PTL_RETAIN, &other), PTL_ME_IN_USE);
    EXPECT(PtlMDAttach(any, describe(bytes, 100, 0x8000), PTL_RETAIN, &other), PTL_MD_ILLEGAL);
    EXPECT(PtlMDAttach(any, describe((void *)8, 100, 0), PTL_RETAIN, &other), PTL_SEGV);
    void *page = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    OK(PtlMDBind(ni, describe(page, 4096, 0), PTL_RETAIN, &other));
    OK(PtlMDUnlink(other));
    munmap(page, 4096);
    EXPECT(PtlMDBind(ni, describe(page, 4096, 0), PTL_RETAIN, &other), PTL_SEGV);
    OK(PtlMDUpdate(md, &old, &new, events));
    THAT(old.start == bytes && old.length == 100);
    THAT(old.user_ptr == bytes && old.eq_handle == events);
    THAT(old.threshold == PTL_MD_THRESH_INF && old.options == PTL_MD_OP_PUT);
    OK(PtlMDUpdate(md, &old, NULL, PTL_EQ_NONE));
    THAT(old.length == 50);
    OK(PtlMEMDPost(ni, first, anybody, 9, 0, PTL_UNLINK, PTL_INS_BEFORE, new, PTL_UNLINK, &any,
                   &other, events));
    OK(PtlMDUnlink(other));
    EXPECT(PtlMDUnlink(other), PTL_MD_INVALID);
    EXPECT(PtlMEUnlink(any), PTL_ME_INVALID); /* it went with its descriptor */
    OK(PtlMEUnlink(second));
    EXPECT(PtlMDUnlink(md), PTL_MD_INVALID);
    OK(PtlMEUnlink(first));
}

/* --- event queues --- */

static int handled;
static void count(ptl_event_t *event)
{
    ptl_process_id_t id;
    /* Portals may be called from here. */
    OK(PtlGetId(ni, &id));
    handled += event->type == PTL_EVENT_SEND_END;
}

static void queues(void)
{
    static char byte;
    ptl_event_t event;
    ptl_handle_eq_t small, none, both[2];
    ptl_handle_md_t md;
    int which = 7;
    EXPECT(PtlEQGet(events, &event), PTL_EQ_EMPTY);
    EXPECT(PtlEQGet(PTL_EQ_NONE, &event), PTL_EQ_INVALID);
    OK(PtlEQAlloc(ni, 0, PTL_EQ_HANDLER_NONE, &none));
    THAT(none == PTL_EQ_NONE);
    OK(PtlEQAlloc(ni, 2, count, &small));
    both[0] = events;
    both[1] = small;
    EXPECT(PtlEQPoll(both, 2, 1, &event, &which), PTL_EQ_EMPTY);
    EXPECT(PtlEQPoll(both, 0, 1, &event, &which), PTL_EQ_INVALID);
    /* Puts to this process itself that nobody takes; of their eight events two are kept. */
    ptl_md_t sent = describe(&byte, 1, 0);
    sent.eq_handle = small;
    OK(PtlMDBind(ni, sent, PTL_RETAIN, &md));
    for (int i = 0; i < 4; i++)
        OK(PtlPut(md, PTL_NO_ACK_REQ, ids[rank], 5, 0, 0, 0, 0));
    OK(PtlNIEqDump(ni));
    EXPECT(PtlEQPoll(both, 2, PTL_TIME_FOREVER, &event, &which), PTL_EQ_DROPPED);
    THAT(which == 1 && event.type == PTL_EVENT_SEND_START && handled == 0);
    OK(PtlEQWait_timeout(small, &event));
    THAT(event.type == PTL_EVENT_SEND_END && event.link + 1 == event.sequence && handled == 1);
    EXPECT(PtlEQGet(small, &event), PTL_EQ_EMPTY);
    OK(PtlMDUnlink(md));
    OK(PtlEQFree(small));
    EXPECT(PtlEQFree(small), PTL_EQ_INVALID);
}

/* --- two processes --- */

#define PORTAL 6
static char text[64], mine[64];
static int64_t number = 40;

static ptl_handle_me_t expose(ptl_match_bits_t bits, ptl_md_t md)
{
    ptl_handle_me_t me;
    ptl_handle_md_t handle;
    OK(PtlMEAttach(ni, PORTAL, anybody, bits, 0, PTL_RETAIN, PTL_INS_AFTER, &me));
    OK(PtlMDAttach(me, md, PTL_RETAIN, &handle));
    return me;
}

static void moves_of_the_asking(void)
{
    const ptl_process_id_t to = ids[1];
    const ptl_process_id_t beyond = {60000, to.pid};
    ptl_handle_md_t md = bind(mine, sizeof mine);
    strcpy(mine, "put by rank zero");
    EXPECT(PtlPut(md, PTL_ACK_REQ, beyond, PORTAL, 0, 1, 0, 11), PTL_PROCESS_INVALID);
    EXPECT(PtlGet(md, beyond, PORTAL, 0, 1, 0), PTL_PROCESS_INVALID);
    OK(PtlPut(md, PTL_ACK_REQ, to, PORTAL, 0, 1, 0, 11));
    wait_for(PTL_EVENT_SEND_END);
    THAT(wait_for(PTL_EVENT_ACK).mlength == 64);
    OK(PtlPutRegion(md, 4, 2, PTL_ACK_REQ, to, PORTAL, 0, 1, 0, 12));
    wait_for(PTL_EVENT_SEND_END);
    THAT(wait_for(PTL_EVENT_ACK).mlength == 2);
    meet();
    memset(mine, 0, sizeof mine);
    OK(PtlGet(md, to, PORTAL, 0, 1, 0));
    wait_for(PTL_EVENT_REPLY_END);
    THAT(strcmp(mine, "byt by rank zero") == 0);
    OK(PtlGetRegion(md, 60, 3, to, PORTAL, 0, 1, 7));
    THAT(wait_for(PTL_EVENT_REPLY_END).offset == 60);
    THAT(memcmp(mine + 60, "ran", 3) == 0);
    EXPECT(PtlGetRegion(md, 60, 5, to, PORTAL, 0, 1, 7), PTL_MD_ILLEGAL);
    EXPECT(PtlGet(md, anybody, PORTAL, 0, 1, 0), PTL_PROCESS_INVALID);
    OK(PtlMDUnlink(md));
}

static void atomics_of_the_asking(void)
{
    static int64_t operand, found;
    const ptl_process_id_t to = ids[1];
    const ptl_handle_md_t get = bind(&found, 8), put = bind(&operand, 8);
    operand = 2;
    OK(PtlGetAdd(get, put, to, PORTAL, 0, 2, 0, 0));
    wait_for(PTL_EVENT_SEND_END);
    THAT(wait_for(PTL_EVENT_REPLY_END).md_handle == get && found == 40);
    operand = 7;
    OK(PtlCGetPut(get, put, to, PORTAL, 0, 2, 0, 41)); /* it is 42 */
    wait_for(PTL_EVENT_SEND_END);
    wait_for(PTL_EVENT_REPLY_END);
    OK(PtlCGetPut(get, put, to, PORTAL, 0, 2, 0, 42));
    wait_for(PTL_EVENT_SEND_END);
    wait_for(PTL_EVENT_REPLY_END);
    THAT(found == 42);
    operand = 8;
    OK(PtlGetPut(get, put, to, PORTAL, 0, 2, 0, 99));
    wait_for(PTL_EVENT_SEND_END);
    wait_for(PTL_EVENT_REPLY_END);
    THAT(found == 7);
    EXPECT(PtlGetPut(get, PTL_INVALID_HANDLE, to, PORTAL, 0, 2, 0, 0), PTL_MD_INVALID);
    /* More than fits in a header, with one descriptor for both ways. */
    strcpy(mine, "swapped by rank zero");
    const ptl_handle_md_t both = bind(mine, sizeof mine);
    OK(PtlGetPut(both, both, to, PORTAL, 0, 1, 0, 0));
    wait_for(PTL_EVENT_SEND_END);
    THAT(wait_for(PTL_EVENT_REPLY_END).mlength == 64);
    THAT(strcmp(mine, "byt by rank zero") == 0);
}

/* Data from three regions, through an access control entry that rank 1 opens for rank 0 only. */
static void regions_of_the_asking(void)
{
    ptl_md_iovec_t parts[3] = {{mine + 1, 3}, {mine + 20, 2}, {mine + 40, 10}};
    ptl_md_t md = describe(parts, 3, PTL_MD_IOVEC | PTL_MD_EVENT_START_DISABLE);
    ptl_handle_md_t handle;
    memcpy(mine, " one                2                   and the rest", 53);
    OK(PtlMDBind(ni, md, PTL_RETAIN, &handle));
    OK(PtlPut(handle, PTL_NO_ACK_REQ, ids[1], PORTAL, 2, 3, 0, 0)); /* not admitted */
    wait_for(PTL_EVENT_SEND_END);
    OK(PtlPut(handle, PTL_ACK_REQ, ids[1], PORTAL, 3, 3, 0, 0));
    wait_for(PTL_EVENT_SEND_END);
    THAT(wait_for(PTL_EVENT_ACK).mlength == 14); /* truncated */
}

static void answer(void)
{
    ptl_event_t event;
    ptl_sr_value_t dropped;
    static char ends[2][10];
    ptl_md_iovec_t parts[2] = {{ends[1], 4}, {ends[0], 10}};
    ptl_md_t md = describe(text, sizeof text, PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE);
    expose(1, md);
    md.start = &number;
    md.length = 8;
    expose(2, md);
    expose(3, describe(parts, 2, PTL_MD_IOVEC | PTL_MD_OP_PUT | PTL_MD_TRUNCATE));
    EXPECT(PtlACEntry(ni, 99, anybody, PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY),
           PTL_AC_INDEX_INVALID);
    OK(PtlACEntry(ni, 2, ids[1], PTL_UID_ANY, PTL_JID_ANY, PTL_PT_INDEX_ANY));
    OK(PtlACEntry(ni, 3, ids[0], PTL_UID_ANY, PTL_JID_ANY, PORTAL));
    meet();
    for (ptl_hdr_data_t word = 11; word <= 12; word++) {
        wait_for(PTL_EVENT_PUT_START);
        event = wait_for(PTL_EVENT_PUT_END);
        THAT(event.hdr_data == word);
        THAT(event.initiator.nid == ids[0].nid && event.initiator.pid == ids[0].pid);
        THAT(event.pt_index == PORTAL && event.match_bits == 1 && event.md.user_ptr == text);
        memcpy(text, word == 12 ? "byt" : "put", 3);
    }
    meet();
    for (int gets = 0; gets < 2; gets++) {
        wait_for(PTL_EVENT_GET_START);
        THAT(wait_for(PTL_EVENT_GET_END).rlength == (gets ? 3 : 64));
    }
    static const int64_t numbers[] = {42, 42, 7, 8};
    static const ptl_hdr_data_t words[] = {0, 41, 42, 99};
    for (int i = 0; i < 4; i++) {
        wait_for(PTL_EVENT_GETPUT_START);
        event = wait_for(PTL_EVENT_GETPUT_END);
        THAT(number == numbers[i] && event.hdr_data == words[i]);
    }
    wait_for(PTL_EVENT_GETPUT_START);
    wait_for(PTL_EVENT_GETPUT_END);
    THAT(strcmp(text, "swapped by rank zero") == 0);
    wait_for(PTL_EVENT_PUT_START);
    event = wait_for(PTL_EVENT_PUT_END);
    THAT(event.rlength == 15 && event.mlength == 14 && event.md.length == 2);
    THAT(memcmp(ends[1], "one2", 4) == 0 && memcmp(ends[0], " and the r", 10) == 0);
    OK(PtlNIStatus(ni, PTL_SR_DROP_COUNT, &dropped));
    THAT(dropped == 5); /* four of its own, and the one that was not admitted */
}

int main(int argc, char **argv)
{
    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    begin();
    identity();
    objects();
    queues();
    if (rank == 0) {
        meet();
        moves_of_the_asking();
        atomics_of_the_asking();
        regions_of_the_asking();
    } else {
        answer();
    }
    meet();
    OK(PtlNIFini(ni));
    EXPECT(PtlNIFini(ni), PTL_NI_INVALID);
    PtlFini();
    EXPECT(PtlEQFree(events), PTL_NO_INIT);
    printf("rank %d: done\n", rank);
    MPI_Finalize();
    return 0;
}
