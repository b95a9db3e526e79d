/* Collective operations between cores: each node has the state of core/collective.c, and what one sends
 * comes to another in order, at any time. Nobody leaves an operation before all have entered it, and
 * results are those of the same steps on this processor, bit by bit. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Packets go to the test's own network. */
#define COLLECTIVE_ALONE
static int carry(uint32_t word0, uint32_t word1, uint32_t lo, uint32_t hi);
#include "../../core/collective.c"

#define NODES 9u
#define RANKS_MAX (NODES * SS_ACCELERATED_MAX)
#define PACKETS 4096u

/* --- The node at hand. --- */

static struct node {
    struct group groups[SS_ACCELERATED_MAX][SS_GROUPS];
    struct reduction reductions[SS_ACCELERATED_MAX];
    uint32_t waiting;
    uint32_t over[SS_ACCELERATED_MAX]; /* Operations that have ended. */
    uint32_t results[SS_ACCELERATED_MAX][SS_REDUCE_ENTRIES * 2];
} nodes[NODES];
static uint32_t here;

static struct packet { uint32_t from, to, words[4]; } packets[PACKETS];
static uint32_t packet_count;
static uint32_t room; /* Packets that the engine takes now. */

process_t *process;
uint32_t waiting;
process_t processes[SS_MAILBOX_COUNT];
struct ss_niccb cached_niccb;
volatile struct ss_niccb niccb;
uint64_t random_state;

static uint32_t below(uint32_t limit)
{
    random_state = random_state * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(random_state >> 33) % limit;
}

static void fail(const char *what)
{
    printf("FAIL: collective: %s\n", what);
    exit(1);
}

static void visit(uint32_t node)
{
    struct node *left = &nodes[here], *next = &nodes[node];

    memcpy(left->groups, groups, sizeof groups);
    memcpy(left->reductions, reductions, sizeof reductions);
    left->waiting = waiting;
    memcpy(groups, next->groups, sizeof groups);
    memcpy(reductions, next->reductions, sizeof reductions);
    waiting = next->waiting;
    here = own_nid = node;
    for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++) {
        process_t *p = &processes[ACCELERATED_FIRST + i];

        p->index = (uint8_t)(ACCELERATED_FIRST + i);
        p->pid = 100 + i;
        p->alive = 1;
        p->event_local = 0x10000 * (i + 1);
        p->upper_local = 0x1000 * (i + 1);
        p->event_next = 0;
        p->event_mask = 0; /* A ring of one line. */
    }
}

uint32_t io_read32(uint32_t address)
{
    return address == SS_REG_NID ? here : 0;
}

void io_write32(uint32_t address, uint32_t value)
{
    uint32_t user = address / 0x10000, at = (address % 0x1000) / 4;

    if (user) {
        if (value >> 16 != SS_EVENT_TYPE_COLLECTIVE)
            fail("another event");
        ++nodes[here].over[user - 1];
    } else {
        nodes[here].results[address / 0x1000 - 1][at] = value;
    }
}

static int carry(uint32_t word0, uint32_t word1, uint32_t lo, uint32_t hi)
{
    struct packet *packet = &packets[packet_count];

    if (!room)
        return 0;
    --room;
    if (packet_count == PACKETS)
        fail("too many packets");
    ++packet_count;
    *packet = (struct packet){here, word0 >> 16, {word0, word1, lo, hi}};
    return 1;
}

/* Any packet that none before it has the same way as. */
static void deliver(void)
{
    uint32_t at = below(packet_count);
    struct packet packet;

    for (uint32_t i = 0; i < at; i++)
        if (packets[i].from == packets[at].from && packets[i].to == packets[at].to)
            at = i;
    packet = packets[at];
    memmove(&packets[at], &packets[at + 1], (--packet_count - at) * sizeof packet);
    visit(packet.to);
    collective_arrived(packet.words[0], packet.words);
}

/* --- Groups. --- */

static struct { uint32_t nid, user; } place[RANKS_MAX];
static uint32_t ranks;

static void tell_step(uint32_t number, uint32_t step, uint32_t flags, uint32_t to)
{
    int silent = 0;
    uint32_t words[4] = {0, step | flags << 8 | place[to].nid << 16, 100 + place[to].user, 0};

    if (collective_group(number << 16, words, &silent) != 0 || !silent)
        fail("a step is refused");
}

static void open_group(uint32_t rank, uint32_t number, uint32_t steps, uint32_t reduces)
{
    int silent = 0;
    uint32_t words[4] = {0, steps | SS_GROUP_FLAG_OPEN << 8, reduces << 16, 0};

    visit(place[rank].nid);
    process = &processes[ACCELERATED_FIRST + place[rank].user];
    if (collective_group(number << 16, words, &silent) != SS_ENTRY_RESULT_DONE || silent)
        fail("a group is refused");
}

/* As the library plans them (crates/mpi). */
static void plan_barrier(uint32_t rank, uint32_t number)
{
    uint32_t steps = 0;

    while (1u << steps < ranks)
        steps++;
    open_group(rank, number, steps, 0);
    for (uint32_t i = 0; i < steps; i++)
        tell_step(number, i, SS_GROUP_FLAG_SEND | SS_GROUP_FLAG_AWAIT, (rank + (1u << i)) % ranks);
}

static void plan_reduction(uint32_t rank, uint32_t number)
{
    uint32_t bits = 31 - (uint32_t)__builtin_clz(ranks), extra = ranks - (1u << bits);
    uint32_t in_pair = rank < 2 * extra, mine = in_pair ? rank / 2 : rank - extra;

    open_group(rank, number, bits + 2, 1);
    if (in_pair && rank % 2 == 0) {
        tell_step(number, 0, SS_GROUP_FLAG_SEND, rank + 1);
        tell_step(number, bits + 1, SS_GROUP_FLAG_AWAIT | SS_GROUP_FLAG_REPLACE, rank);
        return;
    }
    if (in_pair) {
        tell_step(number, 0, SS_GROUP_FLAG_AWAIT, rank);
        tell_step(number, bits + 1, SS_GROUP_FLAG_SEND, rank - 1);
    }
    for (uint32_t i = 0; i < bits; i++) {
        uint32_t other = mine ^ 1u << i;

        tell_step(number, i + 1, SS_GROUP_FLAG_SEND | SS_GROUP_FLAG_AWAIT,
                  other < extra ? 2 * other + 1 : other + extra);
    }
}

/* What rank 0 has after the same steps with the processor's own arithmetic. */
static double sum_of(const double *given)
{
    uint32_t bits = 31 - (uint32_t)__builtin_clz(ranks), extra = ranks - (1u << bits);
    double at[RANKS_MAX], next[RANKS_MAX];

    for (uint32_t i = 0; i < 1u << bits; i++)
        at[i] = i < extra ? given[2 * i] + given[2 * i + 1] : given[i + extra];
    for (uint32_t bit = 1; bit < 1u << bits; bit *= 2) {
        for (uint32_t i = 0; i < 1u << bits; i++)
            next[i] = at[i ^ bit] + at[i];
        memcpy(at, next, sizeof at);
    }
    return at[0];
}

static double given[SS_REDUCE_ENTRIES][RANKS_MAX];

static void enter(uint32_t rank, uint32_t number, uint32_t entries)
{
    uint32_t first = 0;

    visit(place[rank].nid);
    process = &processes[ACCELERATED_FIRST + place[rank].user];
    do {
        struct ss_collect_command command = {.first = (uint8_t)first, .entries = (uint8_t)entries,
            .kind = SS_REDUCE_OP_SUM | SS_REDUCE_TYPE_F64 << 4, .group = (uint16_t)number};
        uint32_t words[16];

        for (uint32_t i = 0; i < SS_COLLECT_ENTRIES && first + i < entries; i++)
            memcpy(&command.values[2 * i], &given[first + i][rank], 8);
        memcpy(words, &command, sizeof words);
        if (collective_enter(words[0], words) != 0)
            fail("an operation is refused");
        first += SS_COLLECT_ENTRIES;
    } while (first < entries);
}

static void check_results(uint32_t rank, uint32_t entries)
{
    for (uint32_t i = 0; i < entries; i++) {
        double got, wanted = sum_of(given[i]);

        memcpy(&got, &nodes[place[rank].nid].results[place[rank].user][2 * i], 8);
        if (memcmp(&got, &wanted, 8) != 0)
            fail("another sum");
    }
}

/* So many operations, one after the other, each rank at its own time. */
static void world(void)
{
    uint32_t operations = 1 + below(4), reduces, entries, number = 1 + below(2000);
    uint32_t entered[RANKS_MAX] = {0}, left[RANKS_MAX] = {0}, all = 0;

    memset(nodes, 0, sizeof nodes);
    memset(groups, 0, sizeof groups);
    packet_count = 0;
    waiting = 0;
    room = 0;
    ranks = 2 + below(RANKS_MAX - 1);
    for (uint32_t i = 0; i < ranks; i++) {
        place[i].nid = ranks <= NODES ? i : i / 2;
        place[i].user = ranks <= NODES ? 0 : i % 2;
    }
    reduces = below(2);
    entries = reduces ? 1 + below(SS_REDUCE_ENTRIES) : 0;
    for (uint32_t i = 0; i < ranks; i++)
        (reduces ? plan_reduction : plan_barrier)(i, number);
    for (uint32_t i = 0; i < SS_REDUCE_ENTRIES; i++)
        for (uint32_t j = 0; j < ranks; j++)
            given[i][j] = (double)(int32_t)below(2000000) / 7.0 - 100000.0;
    for (uint32_t idle = 0; all < ranks * operations;) {
        uint32_t rank = below(ranks), node = below(NODES), did = 1;

        switch (below(4)) {
        case 0:
            if (entered[rank] == left[rank] && entered[rank] < operations) {
                enter(rank, number, entries);
                ++entered[rank];
            }
            break;
        case 1:
            did = packet_count > 0;
            if (did)
                deliver();
            break;
        case 2:
            room = below(8);
            break;
        default:
            visit(node);
            did = (waiting & WAITING_COLLECTIVE) != 0;
            if (did)
                collective_progress();
        }
        for (uint32_t i = 0; i < ranks; i++) {
            if (nodes[place[i].nid].over[place[i].user] == left[i])
                continue;
            if (nodes[place[i].nid].over[place[i].user] != ++left[i] || left[i] > entered[i])
                fail("an operation ends twice");
            for (uint32_t j = 0; j < ranks; j++)
                if (entered[j] < left[i])
                    fail("somebody leaves before all have entered");
            check_results(i, entries);
            ++all;
        }
        idle = did ? 0 : idle + 1;
        if (idle > 100000)
            fail("nothing moves");
    }
    if (packet_count)
        fail("a packet is left");
}

/* --- Floating point. --- */

static uint64_t bits_of(double value)
{
    uint64_t bits;

    memcpy(&bits, &value, 8);
    return bits;
}

/* Around the limits of exponents and significands more often than anywhere else. */
static double odd(void)
{
    static const uint64_t exponents[] = {0,    1,    2,    52,   53,   54,   55,   56,
                                         1022, 1023, 1024, 1075, 1076, 2045, 2046, 2047};
    static const uint64_t fractions[] = {
        0, 1, 2, 3, 4, 5, 7, 8, 0x7FFFFFFFu, 0x80000000u, 0xFFFFFFFFu, 0x100000000u,
        0x8000000000000u, 0xFFFFFFFFFFFFFu, 0xFFFFFFFFFFFFEu, 0x7FFFFFFFFFFFFu};
    uint64_t exponent = below(3) ? exponents[below(16)] : below(2048);
    uint64_t many = (uint64_t)below(1 << 20) << 32 | below(1u << 31) * 2u | below(2);
    uint64_t run = (UINT64_C(1) << below(52)) - below(2);
    uint64_t fraction = below(3) ? fractions[below(16)] : below(3) ? many : run;
    uint64_t bits = (uint64_t)below(2) << 63 | exponent << 52 | fraction;
    double value;

    memcpy(&value, &bits, 8);
    return value;
}

/* Of an exponent about that of another, so that bits of one are halves, or less, of the other's last; by
 * chance with the bits of its significand, too, of which a difference leaves few. */
static double close_to(double other)
{
    uint64_t near = bits_of(other) >> 52, bits = bits_of(below(4) ? odd() : other);
    double value;

    near = (near + below(58) - below(58)) & 0x7FF;
    bits = (bits & ~(UINT64_C(0x7FF) << 52)) | near << 52;
    bits ^= (uint64_t)below(2) << 63 | below(4);
    memcpy(&value, &bits, 8);
    return value;
}

static void soft(uint32_t rounds)
{
    for (uint32_t i = 0; i < rounds; i++) {
        double x = odd(), y = below(2) ? odd() : close_to(x);
        volatile double a = x, b = y, sum = a + b;
        uint32_t one[2], other[2];
        uint64_t got;

        memcpy(one, &x, 8);
        memcpy(other, &y, 8);
        if (soft_less(one, other) != (a < b))
            fail("another order");
        soft_add(one, other);
        memcpy(&got, other, 8);
        if (got != bits_of(sum)) {
            printf("%a + %a = %a\n", a, b, sum);
            fail("another sum of two");
        }
    }
}

int main(int count, char **arguments)
{
    uint32_t worlds = count > 1 ? (uint32_t)atoi(arguments[1]) : 4000;

    for (uint64_t seed = 1; seed <= worlds; seed++) {
        random_state = seed * 0x9E3779B97F4A7C15u;
        world();
    }
    printf("pass: collective: nobody leaves before all have entered, sums are right: %u worlds\n",
           worlds);
    random_state = 1;
    soft(worlds * 200);
    printf("pass: collective: %u sums and comparisons are those of the processor\n", worlds * 200);
    return 0;
}
