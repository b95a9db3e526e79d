#include "pool.h"

struct entry *pool_grow(uint32_t process)
{
    uint32_t number = nic->used_entries;

    if (number == ENTRY_COUNT)
        panic(OF_PANIC_REASON_NO_ENTRY, process);
    nic->used_entries = number + 1;
    entries[number].number = (uint16_t)number;
    return &entries[number];
}

void entry_bury(struct entry *entry)
{
    struct unit *unit = &nic->units[entry->epoch & 1];

    entry->kind = ENTRY_DEAD;
    entry->next = unit->graves;
    entry->prev = 0;
    if (unit->graves)
        unit->graves->prev = entry;
    unit->graves = entry;
}
