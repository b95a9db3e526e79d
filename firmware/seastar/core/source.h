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
#if OPT_OVERFLOW
    pending_t *kept;           /* The last of a ring of messages that may have to be repeated. */
    uint16_t number;           /* Of the next message to there. */
    uint16_t taken;            /* All messages before this number have been taken there. */
    uint16_t flying;           /* Messages to there in the transmit engine. */
    uint8_t stalled;           /* In the list of those that wait. */
    uint8_t peer;              /* PEER_* */
#else
    uint32_t serial;           /* Serial of the last message from there. */
    uint16_t heard;            /* A message has come, so that serial means something. */
    uint16_t stalled;          /* In the list of those that wait. */
    uint32_t reserved;
#endif
} __attribute__((aligned(32))) source_t;

#if OPT_OVERFLOW
#define PEER_REFUSED 1u /* It has refused a message and not taken it yet: no other is sent. */
#define PEER_CALLED 2u  /* It has room now. */
#define PEER_RESUMES 4u /* The next message is the one that it has refused. */
#define PEER_BURST 8u   /* It takes them again: messages up to the end of a burst are sent. */
#define PEER_SHIFT 4u   /* Bits from here on: the burst ends at the next multiple of 1 << them. */
#define PEER_LONGEST 128u
_Static_assert(sizeof(pending_t *) != 4 || sizeof(source_t) == 32, "budget");
#endif

#if OPT_OVERFLOW
/* Bits of a number that are 0 where the burst to a peer ends. */
static inline uint32_t burst_mask(const source_t *peer)
{
    return (1u << (peer->peer >> PEER_SHIFT)) - 1;
}

/* Whether a message comes before another to the same peer. */
static inline int is_before(uint32_t a, uint32_t b)
{
    return (int16_t)(uint16_t)((a - b) << 1) < 0; /* Without SS_NUMBER_ANSWER. */
}

/* A way: a node and the class of messages to there. What firmware answers has a source of its own, as if it
 * went to another node. */
#define WAY_ANSWERS (SS_NUMBER_ANSWER >> 1)
#define WAY(nid, number) (((nid) & (WAY_ANSWERS - 1)) | ((number) & SS_NUMBER_ANSWER) >> 1)
#define WAY_NID(way) ((way) & (WAY_ANSWERS - 1))
#endif

extern source_t sources[OPT_SOURCES];

/* Empties the hash table and puts every source into the free list. */
void source_init(void);

/* Finds the source of a node, or makes one; takes a reference. Panics when all are in use. */
source_t *source_get(uint32_t nid);

#if OPT_NUMBERED
extern uint32_t sources_idle; /* Without references. */

/* The source of a way; 0: there is none. */
source_t *source_find(uint32_t way);

/* Whether there is a source for messages from a node. */
static inline int source_available(uint32_t nid)
{
    return sources_idle || source_find(nid);
}
#endif

#if OPT_OVERFLOW
/* Whether there is a source for messages to a node, without looking for its own. Answers leave one to what
 * comes, and requests one more, to answers: nodes that wait for one another to take messages must be able
 * to. */
static inline int sources_plenty(uint32_t way)
{
    return sources_idle > (way & WAY_ANSWERS ? 1 : 1 + OPT_ACCELERATED);
}

/* The same, where its own may do. */
static inline int source_available_to(uint32_t way)
{
    const source_t *s;

    if (sources_plenty(way))
        return 1;
    s = source_find(way);
    return s && s->refs;
}
#endif

/* Gives back a reference. The source stays in the table until its structure is needed elsewhere. */
static inline void source_put(source_t *s)
{
    --s->refs;
#if OPT_NUMBERED
    if (!s->refs)
        ++sources_idle;
#endif
}

#endif
