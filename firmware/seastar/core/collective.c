#include "collective.h"

#include "accel.h"
#include "command.h"
#include "event.h"
#include "fifo.h"
#include "niccb.h"
#include "plant.h"
#include "recover.h"
#include "soft.h"

/* Not part of most messages' way: small rather than fast. */
#define SMALL __attribute__((cold, noinline))
#define ONCE __attribute__((noinline))

/* Words of this operation and of the next one. */
#define RING (2 * SS_REDUCE_ENTRIES)

struct step {
    uint16_t nid, pid;
    uint8_t flags;
    uint8_t arrived; /* Words that have come and are not used. */
    uint8_t first;   /* The first of their entries, in the ring. */
    uint8_t unused;
};

struct group {
    uint16_t number;
    uint8_t steps;   /* 0: there is no such group. */
    uint8_t reduces;
    uint8_t entered; /* The process waits for an operation. */
    uint8_t at;      /* Its step. */
    uint8_t sent;    /* Words of this step that were sent. */
    uint8_t entries; /* 0: a barrier. */
    uint8_t kind;
    uint8_t given;   /* Entries that the process has given. */
    struct step schedule[SS_GROUP_STEPS];
};

/* What only a group that reduces needs: the first one of each process. */
struct reduction {
    uint32_t own[SS_REDUCE_ENTRIES][2];
    uint32_t heard[SS_GROUP_STEPS][RING][2];
};

static struct group groups[SS_ACCELERATED_MAX][SS_GROUPS] PORT_BELOW_STACK;
static struct reduction reductions[SS_ACCELERATED_MAX] PORT_BELOW_STACK;
static uint32_t own_nid;

_Static_assert(offsetof(struct ss_control_packet, number) == 4, "word 1");
_Static_assert(offsetof(struct ss_control_packet, pid) == 6, "word 1");
_Static_assert(offsetof(struct ss_control_packet, value) == 8, "words 2 and 3");
_Static_assert(offsetof(struct ss_group_command, nid) == 6, "word 1");
_Static_assert(offsetof(struct ss_group_command, pid) == 8, "word 2");
_Static_assert(offsetof(struct ss_collect_command, values) == 8, "from word 2 on");

void collective_begin(uint32_t index)
{
    struct group *own = groups[index - ACCELERATED_FIRST];

    for (uint32_t i = 0; i < SS_GROUPS; i++) {
        own[i].steps = 0;
        own[i].entered = 0;
    }
}

void collective_init(void)
{
    for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++)
        collective_begin(ACCELERATED_FIRST + i);
    own_nid = io_read32(SS_REG_NID);
}

ONCE static struct group *find(uint32_t index, uint32_t number)
{
    struct group *own = groups[index - ACCELERATED_FIRST];

    for (uint32_t i = 0; i < SS_GROUPS; i++)
        if (own[i].steps && own[i].number == number)
            return &own[i];
    return 0;
}

/* --- Words from other processes. --- */

/* Puts down a word for a process of this node. A word for nobody, from a faulty program, is for nobody. */
ONCE static void put(uint32_t pid, uint32_t number, uint32_t step, uint32_t lo, uint32_t hi)
{
    for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++) {
        const process_t *p = &processes[ACCELERATED_FIRST + i];
        struct group *group;
        struct step *awaits;

        if (!p->alive || p->pid != pid)
            continue;
        group = find(ACCELERATED_FIRST + i, number);
        if (!group || step >= group->steps)
            return;
        awaits = &group->schedule[step];
        if (awaits->arrived == RING)
            return;
        if (group->reduces) {
            uint32_t at = awaits->first + awaits->arrived;
            uint32_t *entry = reductions[i].heard[step][at < RING ? at : at - RING];

            entry[0] = lo;
            entry[1] = hi;
        }
        ++awaits->arrived;
        if (group->entered && group->at == step)
            waiting |= WAITING_COLLECTIVE;
        return;
    }
}

void collective_arrived(uint32_t word0, const volatile uint32_t *words)
{
    uint32_t word1 = words[1], lo = words[2], hi = words[3];

    put(word1 >> 16, word1 & 0xFFFF, word0 >> 8 & 0xFF, lo, hi);
}

/* Sends a packet. Returns 0 if there is no room but what recovery may need. */
#ifndef COLLECTIVE_ALONE
static int carry(uint32_t word0, uint32_t word1, uint32_t lo, uint32_t hi)
{
    if (recover_room < 4)
        recover_room = (io_read32(SS_TX_CONTROL_HEAD) - recover_tail - 1) & (SS_DMA_FIFO_DEPTH - 1);
    if (recover_room < 4)
        return 0;
    fifo_entry_write(SS_TX_CONTROL_FIFO + (recover_tail << 4), word0, word1, lo, hi);
    recover_tail = FIFO_AFTER(recover_tail);
    --recover_room;
    io_write32(SS_TX_CONTROL_TAIL, recover_tail);
    return 1;
}
#endif

/* Tells the process of a step. Returns 0 if there is no room. */
ONCE static int send(const struct group *group, const struct step *step, const uint32_t *entry)
{
    uint32_t lo = entry ? entry[0] : 0, hi = entry ? entry[1] : 0;
    uint32_t number = group->at;

    if (step->nid == own_nid) {
        put(step->pid, group->number, number, lo, hi);
        return 1;
    }
    return carry(SS_CONTROL_OP_COLLECTIVE | number << 8 | (uint32_t)step->nid << 16,
                         group->number | (uint32_t)step->pid << 16, lo, hi);
}

/* --- Reductions. --- */

static int less(uint32_t type, const uint32_t *a, const uint32_t *b)
{
    switch (type) {
    case SS_REDUCE_TYPE_I32:
        return (int32_t)a[0] < (int32_t)b[0];
    case SS_REDUCE_TYPE_U32:
        return a[0] < b[0];
    case SS_REDUCE_TYPE_I64:
        return (int32_t)a[1] < (int32_t)b[1] || (a[1] == b[1] && a[0] < b[0]);
    case SS_REDUCE_TYPE_U64:
        return a[1] < b[1] || (a[1] == b[1] && a[0] < b[0]);
    default:
        return soft_less(a, b);
    }
}

/* into = a op into. */
ONCE static void combine(uint32_t kind, const uint32_t *a, uint32_t *into)
{
    uint32_t type = kind >> 4;

    switch (kind & 0xF) {
    case SS_REDUCE_OP_SUM:
        if (type == SS_REDUCE_TYPE_F64) {
            soft_add(a, into);
            return;
        }
        into[0] += a[0];
        into[1] += a[1] + (into[0] < a[0] && !PLANTED(PLANT_LOSES_CARRY));
        return;
    case SS_REDUCE_OP_MIN:
        if (!less(type, a, into))
            return;
        break;
    case SS_REDUCE_OP_MAX:
        if (!less(type, into, a))
            return;
        break;
    case SS_REDUCE_OP_BAND:
        into[0] &= a[0];
        into[1] &= a[1];
        return;
    case SS_REDUCE_OP_BOR:
        into[0] |= a[0];
        into[1] |= a[1];
        return;
    default:
        into[0] ^= a[0];
        into[1] ^= a[1];
        return;
    }
    into[0] = a[0];
    into[1] = a[1];
}

/* Uses the entries that have come for a step. */
static void take_in(const struct group *group, struct step *step, struct reduction *reduction)
{
    uint32_t at = step->first;

    for (uint32_t i = 0; i < group->entries; i++) {
        const uint32_t *heard = reduction->heard[group->at][at];

        if (step->flags & SS_GROUP_FLAG_REPLACE) {
            reduction->own[i][0] = heard[0];
            reduction->own[i][1] = heard[1];
        } else {
            combine(group->kind, heard, reduction->own[i]);
            if (i == 0 && PLANTED(PLANT_REDUCES_TWICE))
                combine(group->kind, heard, reduction->own[i]);
        }
        at = at + 1 == RING ? 0 : at + 1;
    }
    step->first = (uint8_t)at;
}

/* --- Operations. --- */

/* The operation of a group is over: its results and the event go to the library. */
static void finish(const process_t *p, struct group *group, const struct reduction *reduction)
{
    uint32_t beside = p->upper_local +
                      p->num_pendings * (uint32_t)(sizeof(struct ss_upper_pending) + SS_ATOMIC_MAX);
    process_t *owner = &processes[p->index];

    for (uint32_t i = 0; i < group->entries; i++) {
        io_write32(beside + i * 8, reduction->own[i][0]);
        io_write32(beside + i * 8 + 4, reduction->own[i][1]);
    }
    group->entered = 0;
    group->given = 0;
    NICCB_ADD(collectives, 1);
    event_end(owner, SS_EVENT_TYPE_COLLECTIVE, group->number);
}

/* Does the steps of an operation, as far as it can. */
SMALL static void advance(uint32_t index, struct group *group)
{
    struct reduction *reduction = &reductions[index - ACCELERATED_FIRST];
    uint32_t words = group->entries ? group->entries : 1;

    for (; group->at < group->steps; group->at++) {
        struct step *step = &group->schedule[group->at];

        if (step->flags & SS_GROUP_FLAG_SEND) {
            for (; group->sent < words; group->sent++) {
                if (!send(group, step, group->entries ? reduction->own[group->sent] : 0)) {
                    waiting |= WAITING_COLLECTIVE;
                    return;
                }
            }
        }
        if ((step->flags & SS_GROUP_FLAG_AWAIT) && !PLANTED(PLANT_MEETS_NOBODY)) {
            if (step->arrived < words)
                return;
            if (group->entries)
                take_in(group, step, reduction);
            step->arrived = (uint8_t)(step->arrived - words);
        }
        group->sent = 0;
    }
    group->at = 0;
    finish(&processes[index], group, reduction);
}

SMALL void collective_progress(void)
{
    waiting &= ~WAITING_COLLECTIVE;
    for (uint32_t i = 0; i < SS_ACCELERATED_MAX; i++)
        for (uint32_t j = 0; j < SS_GROUPS; j++)
            if (groups[i][j].entered)
                advance(ACCELERATED_FIRST + i, &groups[i][j]);
}

/* --- Commands. --- */

static int open(uint32_t number, uint32_t steps, uint32_t reduces)
{
    struct group *own = groups[process->index - ACCELERATED_FIRST];

    if (!steps || steps > SS_GROUP_STEPS)
        return SS_ENTRY_RESULT_REFUSED;
    /* The first can reduce. */
    for (uint32_t i = reduces ? 0 : 1; i < (reduces ? 1 : SS_GROUPS); i++) {
        struct group *group = &own[i];

        if (group->steps)
            continue;
        group->number = (uint16_t)number;
        group->steps = (uint8_t)steps;
        group->reduces = reduces != 0;
        group->entered = 0;
        group->at = 0;
        group->sent = 0;
        group->given = 0;
        for (uint32_t j = 0; j < steps; j++) {
            group->schedule[j].flags = 0;
            group->schedule[j].arrived = 0;
            group->schedule[j].first = 0;
        }
        return SS_ENTRY_RESULT_DONE;
    }
    return SS_ENTRY_RESULT_REFUSED;
}

SMALL int collective_group(uint32_t word0, const uint32_t *words, int *silent)
{
    uint32_t number = word0 >> 16, step = words[1] & 0xFF, flags = words[1] >> 8 & 0xFF;
    struct group *group = find(process->index, number);

    if (flags & SS_GROUP_FLAG_OPEN) {
        if (group)
            return COMMAND_BAD;
        return open(number, step, words[2] >> 16 & 0xFF);
    }
    if (!group || group->entered)
        return COMMAND_BAD;
    *silent = 1;
    if (flags & SS_GROUP_FLAG_CLOSE) {
        group->steps = 0;
        return 0;
    }
    if (step >= group->steps)
        return COMMAND_BAD;
    group->schedule[step].flags = (uint8_t)flags;
    group->schedule[step].nid = (uint16_t)(words[1] >> 16);
    group->schedule[step].pid = (uint16_t)words[2];
    return 0;
}

SMALL int collective_enter(uint32_t word0, const uint32_t *words)
{
    uint32_t first = words[1] & 0xFF, entries = words[1] >> 8 & 0xFF, kind = words[1] >> 16 & 0xFF;
    struct group *group = find(process->index, word0 >> 16);
    uint32_t (*own)[2] = reductions[process->index - ACCELERATED_FIRST].own;

    if (!group || group->entered || first != group->given || entries > SS_REDUCE_ENTRIES ||
        (entries && !group->reduces) || (entries && first >= entries) ||
        (kind & 0xF) > SS_REDUCE_OP_BXOR || kind >> 4 > SS_REDUCE_TYPE_F64)
        return COMMAND_BAD;
    for (uint32_t i = 0; i < SS_COLLECT_ENTRIES && first + i < entries; i++) {
        own[first + i][0] = words[2 + 2 * i];
        own[first + i][1] = words[3 + 2 * i];
    }
    first += SS_COLLECT_ENTRIES;
    group->given = (uint8_t)(first < entries ? first : entries);
    if (group->given < entries)
        return 0;
    group->entries = (uint8_t)entries;
    group->kind = (uint8_t)kind;
    group->entered = 1;
    advance(process->index, group);
    return 0;
}
