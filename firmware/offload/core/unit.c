#include "unit.h"

#include "command.h"
#include "panic.h"
#include "pool.h"
#include "receive.h"

/* Free cells from which on it is always worth to insert. */
#define BATCH 8u

#define RESULT_VALID 0x80000000u
#define RESULT_KIND(result) ((result) >> 28 & 7)
#define RESULT_VALUE(result) ((result) & 0xFFFFF)

static inline uint32_t result_read(const struct unit *unit)
{
    return io_read32(unit->registers + OF_UNIT_REGISTER_RESULT);
}

static inline void result_pop(const struct unit *unit)
{
    io_write32(unit->registers + OF_UNIT_REGISTER_POP, 1);
}

static inline void command_write(const struct unit *unit, uint32_t command)
{
    io_write32(unit->registers + OF_UNIT_REGISTER_COMMAND, command);
}

static inline uint32_t result_wait(const struct unit *unit)
{
    uint32_t result;

    do
        result = result_read(unit);
    while (!(result & RESULT_VALID));
    return result;
}

void unit_init(void)
{
    for (uint32_t i = 0; i < 2; i++) {
        struct unit *unit = &nic->units[i];

        unit->posted = i == POSTED;
        unit->registers = unit->posted ? OF_POSTED_UNIT : OF_UNEXPECTED_UNIT;
        unit->port = unit->posted ? OF_POSTED_PORT : OF_UNEXPECTED_PORT;
        unit->queue = unit->posted ? &nic->processes[0].posted : &nic->processes[0].unexpected;
        unit->few = nic->cells / 4;
        /* Epochs of the two differ in the lowest bit, and none is 0. */
        unit->epoch = 2 + i;
    }
}

static void unearth(struct unit *unit, struct entry *entry)
{
    if (entry->prev)
        entry->prev->next = entry->next;
    else
        unit->graves = entry->next;
    if (entry->next)
        entry->next->prev = entry->prev;
    entry_free(entry);
}

/* The unit returns an entry that is no longer in the list: it was cancelled or taken, or a message
 * that was not delivered has met it. A unit cannot delete, so that such entries stay in it. The
 * unit has stopped at it, and what comes behind it was not looked at: the search begins anew at
 * the head of the list. What it finds may be in the unit, too; then that entry is dead from now
 * on, and the unit will return it to a later header, which is dealt with in the same way. */
static __attribute__((noinline)) void return_dead(struct unit *unit, struct entry *entry)
{
    --unit->dead;
    entry->epoch = 0;
    if (entry->kind == ENTRY_DEAD)
        unearth(unit, entry);
}

/* Behind a failure only the part of the list that the unit does not hold is searched. Nothing
 * before that part can match: it was all in the unit when the unit said so, because whatever
 * failed before an INSERT is dealt with before it (await_acknowledge). */
struct entry *unit_answer(struct unit *unit, struct entry **start)
{
    const uint32_t live = unit->posted ? ENTRY_POSTED : ENTRY_UNEXPECTED;
    uint32_t result, number;
    struct entry *entry;

    if (PLANTED(PLANT_INSERTS_TOO_SOON) && unit->late) {
        --unit->late;
        *start = unit->queue->fresh;
        return 0;
    }
    result = result_wait(unit);
    result_pop(unit);
    if (RESULT_KIND(result) == OF_UNIT_RESULT_MATCH_FAILURE) {
        *start = PLANTED(PLANT_SKIPS_TAIL) ? &unit->queue->end : unit->queue->fresh;
        return 0;
    }
    number = RESULT_VALUE(result);
    entry = &entries[number];
    if (RESULT_KIND(result) != OF_UNIT_RESULT_MATCH_SUCCESS || number >= nic->used_entries ||
        entry->epoch != unit->epoch)
        panic(OF_PANIC_REASON_BAD_RESULT, result);
    --unit->held;
    unit_note();
    if (entry->kind == live || PLANTED(PLANT_DEAD_LIVES)) {
        entry->epoch = 0;
        return entry;
    }
    return_dead(unit, entry);
    return 0;
}

/* Waits until the unit is in insert mode, and says how many entries it has room for. Results that
 * come before belong to headers (or receives) that the unit has looked at without what is inserted
 * next: each is dealt with to its end, so that what it leaves in the lists is there before. One
 * that failed and was dealt with later would miss the entries that are inserted in between. */
static uint32_t await_acknowledge(struct unit *unit)
{
    for (;;) {
        uint32_t result = result_wait(unit);

        if (RESULT_KIND(result) == OF_UNIT_RESULT_START_ACKNOWLEDGE) {
            result_pop(unit);
            return RESULT_VALUE(result);
        }
        if (PLANTED(PLANT_INSERTS_TOO_SOON) &&
            RESULT_KIND(result) == OF_UNIT_RESULT_MATCH_FAILURE) {
            result_pop(unit);
            ++unit->late;
        } else if (unit->posted) {
            take_header_waiting();
        } else {
            take_command_waiting();
        }
    }
}

/* After RESET nothing is held any more. Epochs tell at once for all entries. */
static void forget(struct unit *unit)
{
    struct entry *entry;

    while ((entry = unit->graves)) {
        unit->graves = entry->next;
        entry_free(entry);
    }
    unit->epoch += 2;
    unit->held = 0;
    unit->dead = 0;
}

static void insert(struct unit *unit, struct entry *entry)
{
    const uint32_t port = unit->port;

    io_write32(port + offsetof(struct of_insert_port, bits_lo), entry->bits_lo);
    io_write32(port + offsetof(struct of_insert_port, bits_hi), entry->bits_hi);
    if (unit->posted) {
        io_write32(port + offsetof(struct of_insert_port, mask_lo), entry->mask_lo);
        io_write32(port + offsetof(struct of_insert_port, mask_hi), entry->mask_hi);
    }
    io_write32(port + offsetof(struct of_insert_port, tag), entry->number);
    entry->epoch = unit->epoch;
}

/* Empties the unit if `reset`, then inserts the oldest entries that it does not hold. RESET comes
 * before START_INSERT, so that every result of the entries that it removes comes before the
 * acknowledgement: until then they still count as held, and afterwards none can be returned. What
 * the unit looks at in between fails, and is searched for in the whole list. */
static __attribute__((noinline)) void refill(struct unit *unit, int reset)
{
    struct queue *queue = unit->queue;
    struct entry *entry;
    uint32_t room;

    if (reset) {
        command_write(unit, OF_UNIT_COMMAND_RESET);
        queue->fresh = queue_first(queue);
        if (PLANTED(PLANT_RESET_FORGETS))
            forget(unit);
    }
    command_write(unit, OF_UNIT_COMMAND_START_INSERT);
    room = await_acknowledge(unit);
    if (reset && !PLANTED(PLANT_RESET_FORGETS))
        forget(unit);
    if (room > INSERT_MAX)
        room = INSERT_MAX;
    for (entry = queue->fresh; room && entry != &queue->end; entry = entry->next, --room) {
        insert(unit, entry);
        ++unit->held;
    }
    queue->fresh = entry;
    command_write(unit, OF_UNIT_COMMAND_STOP_INSERT);
    /* There may be more. */
    unit_note();
}

static void deliver(struct unit *unit, uint32_t on)
{
    unit->on = (uint8_t)on;
    io_write32(unit->registers + OF_UNIT_REGISTER_DELIVERY, on);
}

void unit_stop(struct unit *unit)
{
    if (unit->on)
        deliver(unit, 0);
}

/* Entries are inserted in batches: starting to insert costs a few hundred nanoseconds, so that a
 * unit that is nearly full waits until some places are free, unless all of the list goes in. */
void update_unit(struct unit *unit)
{
    const struct queue *queue = unit->queue;
    uint32_t free = nic->cells - unit->held, waiting;

    if (unit->dead > unit->few) {
        refill(unit, 1);
        return;
    }
    if (!unit->on) {
        if (nic->processes[0].open && queue->count >= nic->threshold)
            deliver(unit, 1);
        else
            return;
    }
    if (queue->fresh == &queue->end) {
        /* A list that has become empty is short: its unit rests until it is long again. */
        if (nic->threshold && !queue->count && !unit->held)
            deliver(unit, 0);
        return;
    }
    waiting = queue->count - (unit->held - unit->dead);
    if (free && (free >= waiting || free >= (unit->few < BATCH ? unit->few : BATCH)))
        refill(unit, 0);
}
