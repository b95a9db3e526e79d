/* Entries: posted receives, unexpected messages and sends are of one kind, so that a message
 * becomes a receive, and a receive a transfer, without a copy. */
#ifndef OFFLOAD_ENTRY_H
#define OFFLOAD_ENTRY_H

#include "limits.h"
#include "plant.h"
#include "port.h"

enum entry_kind {
    ENTRY_FREE = 0,
    ENTRY_POSTED,     /* A receive that waits for its message, on postedRecvQ. */
    ENTRY_UNEXPECTED, /* A message that waits for its receive, on unexpectedQ. */
    ENTRY_TAKEN,      /* A message that TAKE has named. */
    ENTRY_RECEIVE,    /* A receive that has met its message: active. */
    ENTRY_SEND,       /* A send: on sendQ, or waiting for CLEAR. */
    ENTRY_DEAD,       /* Over, but a unit still holds its number. */
};

/* Bits of `flags`. */
#define FLAG_RENDEZVOUS 1u /* The bytes are still at the sender. */
#define FLAG_TAKING 2u     /* The payload is on its way into its buffer (unexpectedActiveQ). */
#define FLAG_WAITING 4u    /* A send that has sent REQUEST and waits for CLEAR. */
#define FLAG_CLEARED 8u    /* CLEAR has left: DATA may come. */
#define FLAG_DROPPED 16u   /* Its process is gone. */

/* A walk touches the link at the beginning, the match bits in the middle and the mask at the end:
 * in the cache an entry has the footprint of a whole request, which is what makes lists of some 400
 * too long for it (brightwell2005 s6.2). The fills of an entry that is not there go out together. */
struct entry {
    struct entry *next;
    struct entry *prev;
    uint32_t epoch;  /* Of the unit that holds it (unit.h), or 0. */
    uint16_t number; /* Its place in the pool: tag in a unit, handle on the wire. */
    uint8_t kind;
    uint8_t process;
    /* The message. */
    union {
        uint32_t length;
        uint32_t order; /* SEARCH=hash, of a posted receive: when it was posted. */
    };
    uint32_t serial;
    uint32_t node; /* The other side: bits 0 to 15 node, 16 to 23 process, as a command's target. */
    uint32_t peer;   /* Entry of the other side. */
    uint32_t buffer; /* Where the payload is kept, or 0. */
    uint32_t offset; /* Bytes that have been moved so far. */
    uint32_t bits_lo;
    uint32_t bits_hi;
    uint32_t flags;
    /* The host's part. */
    uint32_t request;
    uint32_t room; /* Bytes that the receive has room for; once it has met: bytes that will move. */
    uint32_t host_lo;
    uint32_t host_hi;
    uint16_t before, after; /* SEARCH=hash: neighbours in its chain. */
    uint32_t mask_lo; /* Bits that match anything. */
    uint32_t mask_hi;
};

#ifdef __powerpc__
_Static_assert(sizeof(struct entry) == ENTRY_STRIDE, "the footprint of an entry is calibrated");
#endif

/* A list with order in which entries come and go at any place. `end` closes the circle: a walk
 * stops there because it matches everything. */
struct queue {
    struct entry end;
    struct entry *fresh; /* First entry that no unit holds; `end` if there is none. */
    uint32_t count;
};

static inline void queue_init(struct queue *queue)
{
    queue->end.next = queue->end.prev = &queue->end;
    queue->end.mask_lo = queue->end.mask_hi = ~0u;
    queue->fresh = &queue->end;
    queue->count = 0;
}

static inline struct entry *queue_first(const struct queue *queue)
{
    return queue->end.next;
}

static inline void queue_append(struct queue *queue, struct entry *entry)
{
    struct entry *next = PLANTED(PLANT_YOUNGEST_WINS) ? queue->end.next : &queue->end;
    struct entry *last = next->prev;

    entry->next = next;
    entry->prev = last;
    next->prev = entry;
    last->next = entry;
    if (queue->fresh == &queue->end)
        queue->fresh = entry;
    ++queue->count;
}

/* Takes an entry out, wherever it stands. */
static inline void queue_remove(struct queue *queue, struct entry *entry)
{
    struct entry *next = entry->next, *prev = entry->prev;

    prev->next = next;
    next->prev = prev;
    if (queue->fresh == entry && !PLANTED(PLANT_TAIL_STAYS))
        queue->fresh = next;
    --queue->count;
}

/* A list from which only the first entry is taken. */
struct fifo {
    struct entry *first;
    struct entry *last;
};

static inline void fifo_append(struct fifo *fifo, struct entry *entry)
{
    entry->next = 0;
    if (fifo->first)
        fifo->last->next = entry;
    else
        fifo->first = entry;
    fifo->last = entry;
}

static inline void fifo_remove(struct fifo *fifo)
{
    fifo->first = fifo->first->next;
}

#endif
