/* Atomic operations of all ranks on all ranks at once: swaps of every length up to 64 bytes at every offset,
 * adds to numbers of four and eight bytes, conditional swaps that count as long as it takes. Numbers that
 * all add to are whole in the end, and what is swapped into memory comes out of it once. Every rank ends
 * with status 1 if something is wrong. */
#include <mpi.h>
#include <portals3.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define AMOUNT 0x180000001ull /* Every second add has a carry from one half to the other. */

enum { PORTAL = 5, MEMORY = 1, ROUNDS = 3, LONGEST = 64, PLACES = 256 };

/* At one place on every rank: a swap's bytes, a number of eight bytes that all add to, one of four, and one
 * that conditional swaps count up. */
static struct {
    unsigned char bytes[PLACES];
    uint64_t eight;
    uint32_t four, beside;
    uint64_t counted;
} memory;

static int rank, size;
static ptl_handle_ni_t interface;
static ptl_handle_eq_t queue;

static void check(int code, const char *call)
{
    if (code == PTL_OK)
        return;
    fprintf(stderr, "%s: %s\n", call, PtlErrorStr(code));
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static void wrong(const char *what, long got)
{
    fprintf(stderr, "rank %d: %s: %ld\n", rank, what, got);
    MPI_Abort(MPI_COMM_WORLD, 1);
}

static ptl_handle_md_t bind(void *start, unsigned length, ptl_handle_eq_t eq)
{
    const ptl_md_t md = {.start = start, .length = length, .threshold = PTL_MD_THRESH_INF,
                         .options = PTL_MD_EVENT_START_DISABLE, .eq_handle = eq};
    ptl_handle_md_t handle;

    check(PtlMDBind(interface, md, PTL_RETAIN, &handle), "PtlMDBind");
    return handle;
}

/* Waits for the answer of an operation. */
static void await(void)
{
    ptl_event_t event;

    do
        check(PtlEQWait(queue, &event), "PtlEQWait");
    while (event.type != PTL_EVENT_REPLY_END);
    if (event.ni_fail_type != PTL_NI_OK)
        wrong("ni_fail_type", event.ni_fail_type);
}

enum kind { SWAP, CONDITIONAL, ADD };

static void atomic(enum kind kind, int to, size_t offset, void *answer, void *operand,
                   unsigned length, uint64_t condition)
{
    ptl_handle_md_t get = bind(answer, length, queue), put = bind(operand, length, PTL_EQ_NONE);
    ptl_process_id_t id;

    check(PtlGetRankId(interface, (unsigned)to, &id), "PtlGetRankId");
    if (kind == SWAP)
        check(PtlGetPut(get, put, id, PORTAL, 0, MEMORY, offset, 0), "PtlGetPut");
    else if (kind == ADD)
        check(PtlGetAdd(get, put, id, PORTAL, 0, MEMORY, offset, 0), "PtlGetAdd");
    else
        check(PtlCGetPut(get, put, id, PORTAL, 0, MEMORY, offset, condition), "PtlCGetPut");
    await();
    while (PtlMDUnlink(put) == PTL_MD_IN_USE) /* Its sending has not ended. */
        ;
    check(PtlMDUnlink(get), "PtlMDUnlink");
}

#define AT(member) offsetof(__typeof__(memory), member)

/* Numbers are found growing, and by all together as often as was added. */
static void numbers(int to)
{
    uint64_t eight, amount = AMOUNT, seen = 0, next;
    uint32_t four, one = 0x80000001u;

    for (int round = 0; round < ROUNDS; round++) {
        atomic(ADD, to, AT(eight), &eight, &amount, 8, 0);
        if (round > 0 && eight <= seen)
            wrong("a number shrinks", (long)eight);
        seen = eight;
        atomic(ADD, to, AT(four), &four, &one, 4, 0);
        for (uint64_t expected = 0;; expected = next) {
            uint64_t found;

            next = expected + 1;
            atomic(CONDITIONAL, to, AT(counted), &found, &next, 8, expected);
            if (found == expected)
                break;
            next = found;
        }
    }
}

/* Only one rank swaps with each other at a time, so that it knows what it finds. */
static void swaps(int to)
{
    unsigned char was[PLACES], in[LONGEST + 2], out[LONGEST];

    for (unsigned i = 0; i < PLACES; i++)
        was[i] = (unsigned char)(i * 7);
    for (unsigned length = 0; length <= LONGEST; length++) {
        unsigned offset = length * 37 % (PLACES - LONGEST);

        for (unsigned i = 0; i < length; i++)
            out[i] = (unsigned char)(length * 11 + i + (unsigned)rank);
        memset(in, 0xEE, sizeof(in));
        atomic(SWAP, to, AT(bytes) + offset, in + 1, out, length, 0);
        if (memcmp(in + 1, was + offset, length) != 0 || in[0] != 0xEE || in[length + 1] != 0xEE)
            wrong("bytes of a swap", length);
        memcpy(was + offset, out, length);
    }
    for (unsigned i = 0; i < PLACES; i += 8) {
        uint64_t back = 0;

        for (unsigned k = 0; k < 8; k++)
            back |= (uint64_t)(unsigned char)((i + k) * 7) << 8 * k;
        atomic(SWAP, to, AT(bytes) + i, in, &back, 8, 0);
        if (memcmp(in, was + i, 8) != 0)
            wrong("bytes in the end", i);
    }
}

int main(int argc, char **argv)
{
    const ptl_process_id_t anybody = {PTL_NID_ANY, PTL_PID_ANY};
    ptl_handle_me_t entry;
    ptl_handle_md_t handle;
    int interfaces;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    check(PtlInit(&interfaces), "PtlInit");
    check(PtlNIInit(PTL_IFACE_DEFAULT, PTL_PID_ANY, NULL, NULL, &interface), "PtlNIInit");
    check(PtlEQAlloc(interface, 1024, PTL_EQ_HANDLER_NONE, &queue), "PtlEQAlloc");
    for (unsigned i = 0; i < PLACES; i++)
        memory.bytes[i] = (unsigned char)(i * 7);
    const ptl_md_t md = {.start = &memory, .length = sizeof(memory), .threshold = PTL_MD_THRESH_INF,
                         .options = PTL_MD_OP_PUT | PTL_MD_OP_GET | PTL_MD_MANAGE_REMOTE |
                                    PTL_MD_EVENT_START_DISABLE | PTL_MD_EVENT_END_DISABLE,
                         .eq_handle = PTL_EQ_NONE};
    check(PtlMEAttach(interface, PORTAL, anybody, MEMORY, 0, PTL_RETAIN, PTL_INS_AFTER, &entry),
          "PtlMEAttach");
    check(PtlMDAttach(entry, md, PTL_RETAIN, &handle), "PtlMDAttach");
    MPI_Barrier(MPI_COMM_WORLD);
    for (int i = 0; i < size; i++)
        numbers((rank + i) % size);
    for (int i = 0; i < size; i++) {
        MPI_Barrier(MPI_COMM_WORLD);
        swaps((rank + i) % size);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    uint64_t all = (uint64_t)size * ROUNDS;
    if (memory.eight != all * AMOUNT || memory.four != (uint32_t)(all * 0x80000001u) ||
        memory.beside != 0 || memory.counted != all)
        wrong("numbers in the end", (long)memory.counted);
    if (rank == 0)
        printf("%d ranks: every number and every byte is right\n", size);
    MPI_Finalize();
    return 0;
}
