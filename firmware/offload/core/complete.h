/* What the host is told. */
#ifndef OFFLOAD_COMPLETE_H
#define OFFLOAD_COMPLETE_H

#include "state.h"

/* kind: OF_COMPLETION_KIND_*; the rest are the completion's words. */
void complete(struct process *process, uint32_t kind, uint32_t request, uint32_t bits_lo,
              uint32_t bits_hi, uint32_t length, uint32_t handle, uint32_t serial)
    __attribute__((noinline));

/* RECEIVED for an entry, of which nothing else is left. */
static inline void complete_receive(const struct entry *entry)
{
    complete(&nic->processes[entry->process], OF_COMPLETION_KIND_RECEIVED, entry->request,
             entry->bits_lo, entry->bits_hi, entry->length, entry->node & 0xFFFF, entry->serial);
}

#endif
