/* Events: one word in a ring in host memory, so that a single store posts it and the host needs
 * to read no index to see it (pedretti2005 s4.1). */
#ifndef SEASTAR_EVENT_H
#define SEASTAR_EVENT_H

#include "context.h"
#include "trace.h"

/* Stores the word of an event of `pending` into the ring of `process`. */
static inline void event_store(uint32_t type)
{
    uint32_t slot = process->event_next;

    trace_val((uint8_t)type);
    io_order();
    io_write32(process->event_local + (slot << 2), type << 16 | pending->index);
    process->event_next = (slot + 1) & process->event_mask;
}

/* Posts an event of `pending` to `process`, and interrupts the host if that is the generic process:
 * accelerated ones poll. Everything written to host memory before is there when the event is. */
void event_post(uint32_t type);

#if OPT_RELAY
/* Posts an event that is of no pending, and interrupts the host. */
void event_tell(uint32_t word);
#endif

#endif
