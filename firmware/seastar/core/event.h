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

#if OPT_ACCELERATED
_Static_assert(sizeof(struct ss_event_line) == 64, "slots are found by shifting");

/* The line of an accelerated process's next event, through the window of its ring. */
static inline uint32_t event_line(const process_t *p)
{
    return p->event_local + (p->event_next << 6);
}

/* Stores the word of an event, of `index`, behind all that was stored before. */
static inline void event_end(process_t *p, uint32_t type, uint32_t index)
{
    trace_val((uint8_t)type);
    io_order();
    io_write32(event_line(p) + offsetof(struct ss_event_line, word), type << 16 | index);
    p->event_next = (p->event_next + 1) & p->event_mask;
}
#endif

/* Posts an event of `pending` to `process`, and interrupts the host if that is the generic process:
 * accelerated ones poll. Everything written to host memory before is there when the event is. */
void event_post(uint32_t type);

#if OPT_RELAY
/* Posts an event that is of no pending, and interrupts the host. */
void event_tell(uint32_t word);
#endif

#endif
