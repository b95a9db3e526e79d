/* The matching units: how a list's head is kept in one, and what its answers mean. */
#ifndef OFFLOAD_UNIT_H
#define OFFLOAD_UNIT_H

#include "pool.h"
#include "state.h"

/* What the unit says to the oldest delivered header or receive that is not dealt with: the entry
 * that matches, or none, and then `start` is where a search has to begin. */
struct entry *unit_answer(struct unit *unit, struct entry **start);

/* A list that a unit serves, or what the unit holds of it, has changed. */
static inline void unit_note(void)
{
    nic->unit_work = nic->has_units;
}

/* An entry has left its list. If the unit holds it, it is dead there from now on. */
static inline void unit_bereave(struct unit *unit, const struct entry *entry)
{
    if (__builtin_expect(entry_in_unit(entry), 0)) {
        ++unit->dead;
        unit_note();
    }
}

/* Brings the unit up to date with its list. */
void update_unit(struct unit *unit) __attribute__((noinline));

/* Nothing is delivered to it any more. */
void unit_stop(struct unit *unit);

void unit_init(void);

#endif
