/* The pool of entries. */
#ifndef OFFLOAD_POOL_H
#define OFFLOAD_POOL_H

#include "panic.h"
#include "state.h"

/* Sets up an entry that has never been used. */
struct entry *pool_grow(uint32_t process) __attribute__((cold, noinline));

/* The last one that was given back comes first: it is likely to be cached. */
static inline struct entry *entry_allocate(uint32_t process, enum entry_kind kind)
{
    struct entry *entry = nic->free_entries;

    if (entry)
        nic->free_entries = entry->next;
    else
        entry = pool_grow(process);
    entry->kind = (uint8_t)kind;
    entry->process = (uint8_t)process;
    entry->epoch = 0;
    entry->flags = 0;
    entry->offset = 0;
    entry->buffer = 0;
    return entry;
}

static inline void entry_free(struct entry *entry)
{
    entry->kind = ENTRY_FREE;
    entry->next = nic->free_entries;
    nic->free_entries = entry;
}

/* True while a unit holds it. Which unit stands in the lowest bit of the epoch. */
static inline int entry_in_unit(const struct entry *entry)
{
    return entry->epoch && entry->epoch == nic->units[entry->epoch & 1].epoch;
}

void entry_bury(struct entry *entry) __attribute__((noinline));

/* Gives an entry back. One that a unit holds cannot be used again yet, because the unit may still
 * return its number: it waits among the unit's graves. */
static inline void entry_release(struct entry *entry)
{
    if (__builtin_expect(entry_in_unit(entry), 0) && !PLANTED(PLANT_FREES_TOO_SOON))
        entry_bury(entry);
    else
        entry_free(entry);
}

/* The live entry of this kind that a number names, or none. */
static inline struct entry *entry_named(uint32_t number, enum entry_kind kind)
{
    if (number >= nic->used_entries || entries[number].kind != kind)
        return 0;
    return &entries[number];
}

#endif
