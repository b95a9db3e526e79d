/* Sources: one structure for each node that messages are going to or coming from, in one pool
 * for the whole firmware, found by node id through a hash table (pedretti2005 s4.2). */
#ifndef SEASTAR_SOURCE_H
#define SEASTAR_SOURCE_H

#include "pending.h"

typedef struct source {
    struct source *hash_next;  /* Next in the bucket; in the free list: next free. */
    struct source *stall_next; /* Next of the sources that wait for room in the RX FIFO. */
    pending_t *rx_head;        /* RX pending list: only its head is in the DMA engine. */
    pending_t *rx_tail;
    uint16_t nid;
    uint16_t refs;             /* Pendings that point here; 0 makes it reclaimable. */
    uint32_t serial;           /* Serial of the last message from there. */
    uint16_t heard;            /* A message has come, so that serial means something. */
    uint16_t stalled;          /* In the list of those that wait. */
    uint32_t reserved;
} __attribute__((aligned(32))) source_t;

extern source_t sources[OPT_SOURCES];

/* Empties the hash table and puts every source into the free list. */
void source_init(void);

/* Finds the source of a node, or makes one; takes a reference. Panics when all are in use. */
source_t *source_get(uint32_t nid);

/* Gives back a reference. The source stays in the table until its structure is needed elsewhere. */
static inline void source_put(source_t *s)
{
    --s->refs;
}

#endif
