/* The contract on the whole machine: what the cases of tests/contract/portals/ do, for programs that
 * command::contract generates from them. Rank 1 is the process that a case is about; the others are the
 * initiators that it names (rank = node). A case is a function that every rank calls; of its steps rank 1
 * does all but arrivals, in which an initiator and rank 1 take part. SUBJECTS is the interface that rank 1
 * opens. */
#include <mpi.h>
#include <portals3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define SUBJECT 1
#define ARENAS 8
#define ARENA 0x5000
#define ANSWERS 0x200
/* Longer than any message of a case is under way, in microseconds of simulated time. */
#define QUIET_US 100
#define OPERAND_MAX 64

static int rank, failures, on_nic;
static const char *current;
/* Nobody has this interface open, so it drops what comes. */
static const ptl_process_id_t nobody = {0, 100};
static ptl_handle_ni_t ni;
/* Each descriptor has memory of its own, in which the addresses of its case are offsets. */
static unsigned char arenas[ARENAS][ARENA], before[ARENAS][ARENA];

#define WRONG(...)                                                                                 \
    do {                                                                                           \
        printf("%s: line %d: ", current, __LINE__);                                                \
        printf(__VA_ARGS__);                                                                       \
        printf("\n");                                                                              \
        failures++;                                                                                \
    } while (0)

#define EXPECT(call, expected)                                                                     \
    do {                                                                                           \
        const int got = (call);                                                                    \
        if (got != (expected))                                                                     \
            WRONG("%s is %s", #call, PtlErrorStr(got));                                            \
    } while (0)

static void begin(const char *name)
{
    current = name;
    if (rank == SUBJECT) {
        ptl_ni_limits_t limits;
        EXPECT(PtlNIInit(SUBJECTS, PTL_PID_ANY, NULL, &limits, &ni), PTL_OK);
        on_nic += limits.max_md_iovecs == 1;
    }
}

static void end(void)
{
    if (rank == SUBJECT)
        EXPECT(PtlNIFini(ni), PTL_OK);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* --- arrivals --- */

enum kind { PUT, GET, SWAP, CSWAP, ADD };

struct request {
    enum kind kind;
    ptl_process_id_t from;
    ptl_pt_index_t pt;
    ptl_ac_index_t ac;
    ptl_match_bits_t bits;
    ptl_size_t length, offset;
    ptl_hdr_data_t hdr_data;
    int ack;
};

/* What the initiator has seen of it. */
struct answer {
    int acked, replied;
    ptl_size_t mlength;
    unsigned char bytes[ANSWERS];
};

/* What a case expects: the descriptor's arena, or -1 if nobody takes the request. */
struct outcome {
    int into;
    int pieces; /* -1: where the bytes are is not told */
    struct {
        unsigned start, length;
    } piece[4];
    int acked;
};

static unsigned char sent(unsigned at)
{
    return (unsigned char)(0x80 | at * 7);
}

static void initiate(const struct request *r, struct answer *seen)
{
    static unsigned char out[ANSWERS];
    ptl_handle_ni_t mine;
    ptl_handle_eq_t queue;
    ptl_handle_md_t put, get;
    ptl_event_t event;
    ptl_process_id_t subject;
    int which;
    memset(seen, 0, sizeof *seen);
    for (unsigned at = 0; at < ANSWERS; at++)
        out[at] = sent(at);
    EXPECT(PtlNIInit(PTL_IFACE_DEFAULT, r->from.pid, NULL, NULL, &mine), PTL_OK);
    EXPECT(PtlGetRankId(mine, SUBJECT, &subject), PTL_OK);
    EXPECT(PtlEQAlloc(mine, 16, PTL_EQ_HANDLER_NONE, &queue), PTL_OK);
    ptl_md_t md = {.start = out, .length = r->length, .threshold = PTL_MD_THRESH_INF, .eq_handle = queue};
    EXPECT(PtlMDBind(mine, md, PTL_RETAIN, &put), PTL_OK);
    md.start = seen->bytes;
    EXPECT(PtlMDBind(mine, md, PTL_RETAIN, &get), PTL_OK);
    switch (r->kind) {
    case PUT:
        EXPECT(PtlPut(put, r->ack ? PTL_ACK_REQ : PTL_NO_ACK_REQ, subject, r->pt, r->ac, r->bits,
                      r->offset, r->hdr_data),
               PTL_OK);
        break;
    case GET:
        EXPECT(PtlGet(get, subject, r->pt, r->ac, r->bits, r->offset), PTL_OK);
        break;
    case SWAP:
        EXPECT(PtlGetPut(get, put, subject, r->pt, r->ac, r->bits, r->offset, r->hdr_data), PTL_OK);
        break;
    case CSWAP:
        EXPECT(PtlCGetPut(get, put, subject, r->pt, r->ac, r->bits, r->offset, r->hdr_data), PTL_OK);
        break;
    case ADD:
        EXPECT(PtlGetAdd(get, put, subject, r->pt, r->ac, r->bits, r->offset, r->hdr_data), PTL_OK);
        break;
    }
    usleep(QUIET_US);
    while (PtlEQPoll(&queue, 1, 0, &event, &which) == PTL_OK) {
        seen->acked |= event.type == PTL_EVENT_ACK;
        seen->replied |= event.type == PTL_EVENT_REPLY_END;
        if (event.type == PTL_EVENT_ACK || event.type == PTL_EVENT_REPLY_END)
            seen->mlength = event.mlength;
    }
    EXPECT(PtlNIFini(mine), PTL_OK);
}

/* What a byte must be that the operation has found as `old`. */
static unsigned char after(enum kind kind, unsigned char old, unsigned at, unsigned *carry)
{
    switch (kind) {
    case PUT:
    case SWAP:
        return sent(at);
    case ADD:
        *carry += old + sent(at);
        old = (unsigned char)*carry;
        *carry >>= 8;
        return old;
    default: /* the condition of a case is never the number that is there */
        return old;
    }
}

static void judge(const struct request *r, const struct outcome *o, const struct answer *seen)
{
    const int reads = r->kind != PUT;
    if (seen->acked != o->acked || seen->replied != (reads && o->into >= 0))
        WRONG("acknowledged %d, answered %d", seen->acked, seen->replied);
    unsigned at = 0, carry = 0;
    for (int i = 0; o->into >= 0 && i < o->pieces; i++) {
        for (unsigned byte = 0; byte < o->piece[i].length; byte++, at++) {
            unsigned char *memory = &before[o->into][o->piece[i].start + byte];
            if (reads && seen->bytes[at] != *memory)
                WRONG("byte %u of the answer is %02x instead of %02x", at, seen->bytes[at], *memory);
            *memory = after(r->kind, *memory, at, &carry);
        }
    }
    if (o->pieces >= 0 && (seen->acked || seen->replied) && seen->mlength != at)
        WRONG("%llu bytes moved instead of %u", (unsigned long long)seen->mlength, at);
    for (int arena = 0; arena < ARENAS; arena++) {
        const int unknown = arena == o->into && o->pieces < 0;
        if (!unknown && memcmp(arenas[arena], before[arena], ARENA) != 0)
            WRONG("the memory of descriptor %d is not what it should be", arena);
    }
}

static void arrive(struct request r, struct outcome o)
{
    static struct answer seen;
    if (rank == SUBJECT) {
        for (unsigned at = 0; at < sizeof arenas; at++)
            ((unsigned char *)arenas)[at] = (unsigned char)(at * 13 + at / ARENA) & 0x7f;
        memcpy(before, arenas, sizeof arenas);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == (int)r.from.nid) {
        initiate(&r, &seen);
        MPI_Send(&seen, sizeof seen, MPI_BYTE, SUBJECT, 0, MPI_COMM_WORLD);
    }
    if (rank == SUBJECT) {
        MPI_Recv(&seen, sizeof seen, MPI_BYTE, (int)r.from.nid, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        judge(&r, &o, &seen);
    }
}

/* --- events --- */

#define ANY (~0ull)

/* What is ANY is not compared. */
struct expected {
    ptl_event_kind_t kind;
    int dropped;
    ptl_size_t rlength, mlength, offset;
    unsigned long long match_bits, hdr_data, link, sequence, nid, pid, pt, md, threshold;
};

static void same(const char *name, unsigned long long found, unsigned long long wanted)
{
    if (wanted != ANY && found != wanted)
        WRONG("%s of the event is %llu instead of %llu", name, found, wanted);
}

static void event(ptl_handle_eq_t queue, struct expected e)
{
    ptl_event_t event;
    const int code = PtlEQGet(queue, &event);
    if (code != (e.dropped ? PTL_EQ_DROPPED : PTL_OK)) {
        WRONG("PtlEQGet is %s", PtlErrorStr(code));
        return;
    }
    if (event.type != e.kind || event.ni_fail_type != PTL_NI_OK)
        WRONG("%s instead of %s", PtlEventKindStr(event.type), PtlEventKindStr(e.kind));
    same("rlength", event.rlength, e.rlength);
    same("mlength", event.mlength, e.mlength);
    same("offset", event.offset, e.offset);
    same("match_bits", event.match_bits, e.match_bits);
    same("hdr_data", event.hdr_data, e.hdr_data);
    same("link", event.link, e.link);
    same("sequence", event.sequence, e.sequence);
    same("nid", event.initiator.nid, e.nid);
    same("pid", event.initiator.pid, e.pid);
    same("pt_index", event.pt_index, e.pt);
    same("md_handle", event.md_handle, e.md);
    same("threshold", (unsigned)event.md.threshold, e.threshold);
}

static void nothing(ptl_handle_eq_t queue)
{
    ptl_event_t event;
    EXPECT(PtlEQGet(queue, &event), PTL_EQ_EMPTY);
}

/* --- small steps --- */

static void status(ptl_sr_index_t which, ptl_sr_value_t wanted)
{
    ptl_sr_value_t found = 0;
    EXPECT(PtlNIStatus(ni, which, &found), PTL_OK);
    if (found != wanted)
        WRONG("status register %u is %llu", which, (unsigned long long)found);
}

static void was(const ptl_md_t *old, ptl_size_t length)
{
    if (old->length != length)
        WRONG("the descriptor had %llu bytes", (unsigned long long)old->length);
}

static void chosen(ptl_pt_index_t portal, ptl_pt_index_t wanted)
{
    if (portal != wanted)
        WRONG("portal %u was chosen", portal);
}
